"""A tree of boxes over points, searched for one that dominates a query or that leads it by most.

A node knows the largest coordinates of the points below it, its upper corner: where that does not reach a query,
nothing below does. Kernels over plain arrays; `frontguard.pareto.dominance` is what others call.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from frontguard._common.compiled import inlined, kernel
from frontguard._common.typing import Floats, Ints

LEAF = 8
"""Points in a leaf, at most."""

NOBODY = np.empty(0, np.int64)

NOWHERE, SOMEWHERE, EVERYWHERE, UNLESS_EARLIER = range(4)
"""Where a point has to be strictly larger than what it dominates: the last is somewhere, unless its owner is before."""


class BoxTree(NamedTuple):
    """Points (N, M) in the order of the leaves, and whose they are; a node's children are 2 node + 1 and 2 node + 2.

    Node `position` of a level with `width` nodes holds the points from N · position // width on.
    """

    points: Floats
    owners: Ints
    corners: Floats  # (nodes, M): the largest coordinates below each node
    guards: Ints  # places in `points`


def plant(points: Floats, owners: Ints, guards: Ints = NOBODY) -> BoxTree:
    """The tree over the points `owners`, with those of them that are `guards` in front."""
    ordered, order = np.ascontiguousarray(points[owners]), np.arange(len(owners))
    leaves = 1
    while leaves * LEAF < len(owners):
        leaves *= 2
    corners = np.empty((2 * leaves - 1, points.shape[1]))
    _order_leaves(ordered, order, leaves, corners)
    place = np.empty(len(owners), np.int64)
    place[order] = np.arange(len(owners))
    return BoxTree(ordered, owners[order], corners, place[guards])


@kernel
def _part(points: Floats, order: Ints, low: int, high: int, middle: int, d: int) -> None:
    """Exchange points[low:high] until those before `middle` have coordinates d that are at most those from it on."""
    high -= 1
    while low < high:
        a, b, c = points[low, d], points[(low + high) // 2, d], points[high, d]
        pivot = max(min(a, b), min(max(a, b), c))
        left, right = low, high
        while left <= right:
            while points[left, d] < pivot:
                left += 1
            while points[right, d] > pivot:
                right -= 1
            if left <= right:
                for e in range(points.shape[1]):
                    points[left, e], points[right, e] = points[right, e], points[left, e]
                order[left], order[right] = order[right], order[left]
                left += 1
                right -= 1
        if middle <= right:
            high = right
        elif middle >= left:
            low = left
        else:
            return


@kernel(over="points", deep=True)
def _order_leaves(points: Floats, order: Ints, leaves: int, corners: Floats) -> None:
    """Order the points into leaves, halving by one coordinate after another, and find the corners."""
    N, M = points.shape
    width, turn = 1, 0
    while width < leaves:
        for position in range(width):
            low, high = N * position // width, N * (position + 1) // width
            middle = N * (2 * position + 1) // (2 * width)
            for e in range(M):  # a coordinate in which they are all alike would separate nothing
                d = (turn + e) % M
                alike = True
                for n in range(low + 1, high):
                    if points[n, d] != points[low, d]:
                        alike = False
                        break
                if not alike:
                    _part(points, order, low, high, middle, d)
                    break
        width *= 2
        turn += 1
    corners[:] = -np.inf
    for leaf in range(leaves):
        for n in range(N * leaf // leaves, N * (leaf + 1) // leaves):
            for d in range(M):
                corners[leaves - 1 + leaf, d] = max(corners[leaves - 1 + leaf, d], points[n, d])
    for node in range(leaves - 2, -1, -1):
        for d in range(M):
            corners[node, d] = max(corners[2 * node + 1, d], corners[2 * node + 2, d])


@inlined
def dominates(points: Floats, n: int, queries: Floats, q: int, strict: int) -> bool:
    """Whether point n is at least as large as query q everywhere, and strictly so nowhere, somewhere or everywhere."""
    enough, strictly = True, strict != SOMEWHERE
    for d in range(queries.shape[1]):
        if points[n, d] < queries[q, d] or (strict == EVERYWHERE and points[n, d] == queries[q, d]):
            enough = False
            break
        if points[n, d] > queries[q, d]:
            strictly = True
    return enough and strictly


@inlined
def _settles(tree: BoxTree, n: int, queries: Floats, q: int, strict: int, own: int) -> bool:
    """Whether point n of the tree dominates query q, which is of the point `own`."""
    if strict == UNLESS_EARLIER:
        return dominates(tree.points, n, queries, q, NOWHERE if tree.owners[n] < own else SOMEWHERE)
    return dominates(tree.points, n, queries, q, strict) and tree.owners[n] != own


@kernel(over="queries", deep=True)
def find(tree: BoxTree, queries: Floats, strict: int, exclude: Ints) -> Ints:
    """For each query a point of the tree that dominates it, or −1: a guard if one does, else the first on the way.

    `exclude` says which point each query is itself, or is empty.
    """
    points, owners, corners = tree.points, tree.owners, tree.corners
    N, nodes = points.shape[0], corners.shape[0]
    leaves = (nodes + 1) // 2
    found = np.full(queries.shape[0], -1, np.int64)
    entered = NOWHERE if strict == UNLESS_EARLIER else strict  # what no corner does, no point below it does
    stack = np.empty(128, np.int64)
    for q in range(queries.shape[0]):
        own = exclude[q] if exclude.size else -1
        for g in tree.guards:
            if _settles(tree, g, queries, q, strict, own):
                found[q] = owners[g]
                break
        size = 0
        if found[q] < 0 and dominates(corners, 0, queries, q, entered):
            stack[0] = 0
            size = 1
        while size > 0:
            size -= 1
            node = stack[size]
            if node >= leaves - 1:
                leaf = node - (leaves - 1)
                for n in range(N * leaf // leaves, N * (leaf + 1) // leaves):
                    if _settles(tree, n, queries, q, strict, own):
                        found[q] = owners[n]
                        size = 0
                        break
            else:
                for child in range(2 * node + 1, 2 * node + 3):
                    if dominates(corners, child, queries, q, entered):
                        stack[size] = child
                        size += 1
    return found


@inlined
def _lead(points: Floats, n: int, query: Floats, tolerance: Floats) -> float:
    """min over objectives of point − query − tolerance, in this order of rounding."""
    least = np.inf
    for d in range(tolerance.shape[0]):
        least = min(least, points[n, d] - query[d] - tolerance[d])
    return least


@kernel
def _find_lead(
    tree: BoxTree, query: Floats, tolerance: Floats, own: int, least: float, settled: float, stack: Ints, bounds: Floats
) -> tuple[int, float]:
    """The point of the tree that leads a query (M,) by most, and by how much; the first one that leads by `settled`.

    −1 and −∞ if none leads by at least `least`.

    Rounding keeps the order, so the lead of a node's corner is never below that of a point in it.
    """
    points, owners, corners = tree.points, tree.owners, tree.corners
    N, nodes = points.shape[0], corners.shape[0]
    leaves = (nodes + 1) // 2
    best, who = -np.inf, -1
    stack[0], bounds[0] = 0, _lead(corners, 0, query, tolerance)
    size = 1
    while size > 0 and not (who >= 0 and best >= settled):
        size -= 1
        node = stack[size]
        if bounds[size] < least or (who >= 0 and bounds[size] <= best):
            continue
        if node >= leaves - 1:
            leaf = node - (leaves - 1)
            for n in range(N * leaf // leaves, N * (leaf + 1) // leaves):
                lead = _lead(points, n, query, tolerance)
                if lead >= least and owners[n] != own and (lead > best or who < 0):
                    best, who = lead, owners[n]
            continue
        left, right = 2 * node + 1, 2 * node + 2
        of_left, of_right = _lead(corners, left, query, tolerance), _lead(corners, right, query, tolerance)
        if of_left > of_right:  # the more promising one is looked at first
            left, right, of_left, of_right = right, left, of_right, of_left
        stack[size], bounds[size] = left, of_left
        stack[size + 1], bounds[size + 1] = right, of_right
        size += 2
    return who, best


@kernel(over="queries", deep=True)
def find_leads(
    tree: BoxTree, queries: Floats, tolerance: Floats, exclude: Ints, least: float, settled: float
) -> tuple[Ints, Floats]:
    """For each query the point that leads it by most (or the first by `settled`), and by how much."""
    who, leads = np.empty(queries.shape[0], np.int64), np.empty(queries.shape[0])
    stack, bounds = np.empty(128, np.int64), np.empty(128)
    for q in range(queries.shape[0]):
        own = exclude[q] if exclude.size else -1
        who[q], leads[q] = _find_lead(tree, queries[q], tolerance, own, least, settled, stack, bounds)
    return who, leads


@kernel(over="queries", deep=True)
def find_worst(tree: BoxTree, queries: Floats, tolerance: Floats) -> float:
    """The least over queries of the greatest lead: a query is left as soon as it cannot be the least any more."""
    worst = np.inf
    stack, bounds = np.empty(128, np.int64), np.empty(128)
    for q in range(queries.shape[0]):
        _, lead = _find_lead(tree, queries[q], tolerance, -1, -np.inf, worst, stack, bounds)
        worst = min(worst, lead)
    return worst
