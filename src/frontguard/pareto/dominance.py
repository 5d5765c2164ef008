"""Batch dominance queries over a million points: who is at least as large everywhere, and who leads by most.

Only *maxima* matter as dominators: whatever a point dominates, one of the maxima above it dominates too. So most other
points are left out first, those that the maxima of a sample dominate; the rest are kept in a tree. A node knows the
largest coordinates of the points below it, its upper corner: where that does not reach a query, nothing below does.
Before the tree stand a few *guards*, the maxima that dominate most of a sample of the queries: they settle most in one
comparison. Work and memory do not grow with the square of anything, unless all points are maxima of many objectives.

Results depend on the arrays alone, in their order. Larger is better; infinite coordinates are welcome, NaN is refused.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from frontguard._common.compiled import inlined, kernel
from frontguard._common.machine import usable_cores
from frontguard._common.typing import Bools, Floats, Ints
from frontguard.errors import BadArgument, BadInput

LEAF = 8
"""Points in a leaf, at most."""

NOBODY = np.empty(0, np.int64)

NOWHERE, SOMEWHERE, UNLESS_EARLIER = range(3)
"""Where a point has to be strictly larger than what it dominates: the last is somewhere, unless its owner is before."""


class BoxTree(NamedTuple):
    """Points (N, M) as leaves; a node's children are 2 node + 1 and 2 node + 2.

    Node `position` of a level with `width` nodes holds the points from N · position // width on.
    """

    points: Floats
    owners: Ints
    corners: Floats  # (nodes, M): the largest coordinates below each node
    guards: Ints  # places in `points`


def plant(points: Floats, owners: Ints, guards: Ints = NOBODY) -> BoxTree:
    """Return the tree over the points `owners`, with those of them that are `guards` in front."""
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
    """Tell whether point n is at least as large as query q everywhere, and strictly so somewhere or nowhere."""
    enough, strictly = True, strict != SOMEWHERE
    for d in range(queries.shape[1]):
        if points[n, d] < queries[q, d]:
            enough = False
            break
        if points[n, d] > queries[q, d]:
            strictly = True
    return enough and strictly


@inlined
def _settles(tree: BoxTree, n: int, queries: Floats, q: int, strict: int, own: int) -> bool:
    """Tell whether point n of the tree dominates query q, which is of the point `own`."""
    if strict == UNLESS_EARLIER:
        return dominates(tree.points, n, queries, q, NOWHERE if tree.owners[n] < own else SOMEWHERE)
    return dominates(tree.points, n, queries, q, strict) and tree.owners[n] != own


@kernel(over="queries", deep=True)
def find(tree: BoxTree, queries: Floats, strict: int, exclude: Ints) -> Ints:
    """Return for each query a point that dominates it, a guard or the first found, or −1; not its `exclude`."""
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
    """Return the point that leads a query (M,) by most, or the first that leads by `settled`, and its lead.

    −1 and −∞ if none leads by at least `least`. Rounding keeps the order, so the lead of a node's corner is never below
    that of a point in it.
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
    """Return for each query the point that leads it by most (or the first by `settled`), and by how much."""
    who, leads = np.empty(queries.shape[0], np.int64), np.empty(queries.shape[0])
    stack, bounds = np.empty(128, np.int64), np.empty(128)
    for q in range(queries.shape[0]):
        own = exclude[q] if exclude.size else -1
        who[q], leads[q] = _find_lead(tree, queries[q], tolerance, own, least, settled, stack, bounds)
    return who, leads


@kernel(over="queries", deep=True)
def find_worst(tree: BoxTree, queries: Floats, tolerance: Floats) -> float:
    """Return the least over queries of the greatest lead; a query is left once it cannot be the least any more."""
    worst = np.inf
    stack, bounds = np.empty(128, np.int64), np.empty(128)
    for q in range(queries.shape[0]):
        _, lead = _find_lead(tree, queries[q], tolerance, -1, -np.inf, worst, stack, bounds)
        worst = min(worst, lead)
    return worst


T = TypeVar("T")
_SCANNED = 256  # maxima up to which a plain scan is as fast as a tree
_FEW = 8192  # points of a sample; up to four times as many are searched as they are
_SAMPLE = 512  # queries on which guards are tried
_GUARDS = 12
_STRONGEST = 64  # maxima from which guards are chosen
_HANDFUL = 8  # points that all queries are compared with, without a kernel
_PORTION = 20_000  # queries that are worth a thread of their own


def _choose_guards(points: Floats, among: Ints, queries: Floats, most: int) -> Ints:
    """Choose of the points `among`, one after another, the one that dominates most of the queries that are left.

    >>> points, queries = np.array([[3.0, 1.0], [1.0, 3.0], [0.0, 0.0]]), np.array([[2.0, 1.0], [1.0, 1.0], [1.0, 2.0]])
    >>> _choose_guards(points, np.array([2, 1, 0]), queries, 3).tolist()
    [1, 0]
    """
    settles: Bools = np.asarray(~(points[among][:, None] < queries).any(axis=2))  # by point and query
    chosen: list[int] = []
    while len(chosen) < most and len(among):
        counts = settles.sum(axis=1)
        best = int(counts.argmax())
        if counts[best] <= len(queries) // 100:  # a guard that settles less than that is not worth asking
            break
        chosen.append(int(among[best]))
        settles &= ~settles[best]
    return np.array(chosen, np.int64)


@kernel(over="order", deep=True)
def scan(points: Floats, order: Ints, strict: int) -> Ints:
    """Return the points that no earlier one dominates, in an order in which no later one dominates any."""
    kept = np.empty(order.size, np.int64)
    size = 0
    for n in order:
        gone = False
        for k in range(size):
            if dominates(points, kept[k], points, n, strict):
                gone = True
                break
        if not gone:
            kept[size] = n
            size += 1
    return kept[:size].copy()


def _sweep(points: Floats, kept: Ints) -> Ints:
    """Return the maxima in two coordinates of the points `kept`, which rise, largest first; not worth a kernel."""
    first = points[kept, 0]
    order = np.argsort(-first)
    first = first[order]
    same = first[1:] == first[:-1]
    if same.any():  # side by side, and in the order of their places
        tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
        order[tied] = order[tied][np.lexsort((order[tied], -first[tied]))]
    second = points[kept[order], 1]
    higher = np.append(True, second[1:] > np.maximum.accumulate(second)[:-1])
    steps = np.flatnonzero(higher)
    last = np.append(first[steps][1:] != first[steps][:-1], True)  # of those with the same first coordinate
    return np.asarray(kept[order[steps[last]]], np.int64)


def _best_first(points: Floats, kept: Ints) -> Ints:
    """Return the points `kept` by the sum of their scaled coordinates: none is dominated by a later one.

    Rounding keeps the order of sums, up to ties; these are broken by the coordinates and at last by the index.
    """
    total = np.zeros(len(kept))
    for d in range(points.shape[1]):
        column = points[kept, d]
        some = column[:: max(1, len(kept) // _SAMPLE)]
        some = np.clip(np.sort(some[np.isfinite(some)]), -1e300, 1e300)
        middle, spread = (
            (some[len(some) // 2], some[-1 - len(some) // 8] - some[len(some) // 8]) if len(some) else (0, 0)
        )
        with np.errstate(over="ignore"):
            total += np.clip((column - middle) / (spread if spread > 1e-300 else 1.0), -1e12, 1e12)
    order = np.argsort(-total)
    ranked = total[order]
    if (ranked[1:] == ranked[:-1]).any():
        order = np.lexsort((*(-points[kept, d] for d in reversed(range(points.shape[1]))), -total))
    return kept[order]


def _layered(points: Floats, order: Ints) -> Ints:
    """Return the maxima of points in such an order: in portions that grow, each past a tree of what is kept."""
    kept = scan(points, order[:_SCANNED], NOWHERE)
    start = _SCANNED
    while start < len(order):
        portion = order[start : start + max(4 * _SCANNED, 2 * len(kept))]
        start += len(portion)
        tree = plant(points, kept)
        found = find(tree, points[portion], NOWHERE, NOBODY)
        kept = np.concatenate((kept, _layered(points, portion[found < 0])))
    return kept


def _ordered_maxima(points: Floats, kept: Ints) -> Ints:
    """Return the maxima of the points `kept`, one of equal ones (the first)."""
    if points.shape[1] == 2:
        return _sweep(points, kept) if len(kept) else kept
    return _layered(points, _best_first(points, kept))


def _tree_with_guards(points: Floats, among: Ints, queries: Floats) -> BoxTree:
    """Return the tree over the points `among`, with guards if there are many queries."""
    if len(queries) < _SAMPLE:
        return plant(points, among)
    here = np.ascontiguousarray(points[among])
    some = np.arange(len(among))[:: 1 + len(among) // (4 * _SAMPLE)]
    strongest = scan(here, _best_first(here, some)[: 4 * _STRONGEST], NOWHERE)[:_STRONGEST]
    return plant(points, among, _choose_guards(here, strongest, queries[:: len(queries) // _SAMPLE], _GUARDS))


def _below(points: Floats, among: Ints, tree: BoxTree) -> Bools:
    """Tell which of the points `among` some point of the tree dominates, or equals and comes before."""
    queries = points if len(among) == len(points) else points[among]
    return np.concatenate(_shared(lambda queries, own: find(tree, queries, UNLESS_EARLIER, own), queries, among)) >= 0


def _thinned(points: Floats, layers: int) -> Ints:
    """Leave out most of the points that at least `layers` others dominate, if most points are such.

    The maxima of a sample, and those of the rest of it if two are asked for, dominate nearly all that is not a maximum,
    unless there are many objectives that are traded off against each other. Whoever is left out has as many above it
    that are not: the highest of those left out would have another one above it otherwise.
    """
    everything = np.arange(len(points))
    if len(points) <= 4 * _FEW:
        return everything
    sample, probe = everything[:: len(points) // _FEW], everything[len(points) // _FEW // 2 :: len(points) // _SAMPLE]
    trees = []
    for _ in range(layers):
        strong = _ordered_maxima(points, sample)
        trees.append(_tree_with_guards(points, strong, points[probe]))
        highest = np.zeros(len(points), np.bool_)
        highest[strong] = True
        sample = sample[~highest[sample]]
        if not len(sample) or 2 * _below(points, probe, trees[-1]).sum() < len(probe):
            return everything
    below = _below(points, everything, trees[0])
    for tree in trees[1:]:
        reached = np.flatnonzero(below)
        below[reached] = _below(points, reached, tree)
    return np.flatnonzero(~below)


def _maxima(points: Floats) -> Ints:
    if len(points) == 0:
        return NOBODY
    if points.shape[1] == 1:
        return np.array([np.argmax(points[:, 0])])
    return _ordered_maxima(points, _thinned(points, 1))


def _candidates(points: Floats, exclude: Ints) -> Ints:
    """Return the points among which a dominator is to be found: all maxima at least.

    Where a query's own point does not count, what only one other dominates is kept: that one may be the query's own.
    """
    if not exclude.size:
        return _maxima(points) if points.shape[1] <= 2 else _thinned(points, 1)
    return _thinned(points, 2)


def _on_stairs(steps: Floats, owners: Ints, queries: Floats) -> Ints:
    """Return `dominators` among maxima of two coordinates: of steps that reach a query, the nearest is highest."""
    nearest = np.searchsorted(steps[:, 0], queries[:, 0])
    reached = np.flatnonzero(nearest < len(steps))
    step, asked = steps[nearest[reached]], queries[reached]
    enough = step[:, 1] >= asked[:, 1]
    enough &= (step[:, 0] > asked[:, 0]) | (step[:, 1] > asked[:, 1])
    found = np.full(len(queries), -1)
    found[reached[enough]] = owners[nearest[reached[enough]]]
    return found


def maxima(points: npt.ArrayLike) -> Ints:
    """Return the indices of the points that no other point dominates, ascending; of equal points only the first.

    >>> maxima([[1.0, 3.0], [2.0, 2.0], [1.0, 2.0], [2.0, 2.0]])
    array([0, 1])
    """
    return np.sort(_maxima(_checked(points, "points")))


def dominators(queries: npt.ArrayLike, points: npt.ArrayLike, *, exclude: npt.ArrayLike | None = None) -> Ints:
    """Return for each query (Q, M) the index of a point (N, M) that dominates it, or −1.

    It is at least as large in every coordinate, and larger in one. `exclude` (Q,) gives for each query the index of a
    point that does not count, such as its own. The dominator named may be dominated itself.

    >>> dominators([[1.0, 1.0], [2.0, 2.0], [0.0, 3.0]], [[2.0, 2.0], [0.0, 1.0]])
    array([ 0, -1, -1])
    """
    asked, given, without = _checked_all(queries, points, exclude)
    among = _candidates(given, without)
    if not len(among):
        return np.full(len(asked), -1, np.int64)
    if given.shape[1] == 2 and not without.size:
        stairs = among[np.argsort(given[among, 0])]
        steps = given[stairs]
        return np.concatenate(_shared(lambda queries, _: _on_stairs(steps, stairs, queries), asked, without))
    tree = _tree_with_guards(given, among, asked)
    return np.concatenate(_shared(lambda queries, own: find(tree, queries, SOMEWHERE, own), asked, without))


def best_leads(
    queries: npt.ArrayLike,
    points: npt.ArrayLike,
    tolerance: npt.ArrayLike,
    *,
    exclude: npt.ArrayLike | None = None,
    least: float = -np.inf,
    settled: float = np.inf,
    tree: BoxTree | None = None,
) -> tuple[Ints, Floats]:
    """Return for each query i the point j with the greatest lead min_d (points_j − queries_i − tolerance)_d, and that.

    −1 and −∞ where no point leads by at least `least`. A point that leads by `settled` is good enough: the search ends
    there, and the lead is only known to be at least that. Differences are rounded in the order in which they are
    written, as in the certified policy's rule. Equal infinities must not meet: they have no difference. `tree` is what
    `tree_of_rivals` made of the points, where they are asked for more than once, each time with `exclude`.

    >>> who, leads = best_leads([[1.0, 1.0], [3.0, 0.0]], [[2.0, 2.0], [3.5, 0.5]], [0.25, 0.25])
    >>> who.tolist(), leads.tolist()
    ([0, 1], [0.75, 0.25])
    """
    asked, given, without = _checked_all(queries, points, exclude)
    allowed = _checked_tolerance(tolerance, asked.shape[1])
    grown = plant(given, _candidates(given, without)) if tree is None else tree
    if not len(grown.owners):
        return np.full(len(asked), -1, np.int64), np.full(len(asked), -np.inf)
    parts = _shared(lambda queries, own: find_leads(grown, queries, allowed, own, least, settled), asked, without)
    return np.concatenate([who for who, _ in parts]), np.concatenate([leads for _, leads in parts])


def tree_of_rivals(points: npt.ArrayLike) -> BoxTree:
    """Return the tree in which `best_leads` finds who leads any query by most, the query's own point left out."""
    given = _checked(points, "points")
    return plant(given, _thinned(given, 2))


def worst_lead(queries: npt.ArrayLike, points: npt.ArrayLike, tolerance: npt.ArrayLike) -> float:
    """Return the least over queries of their greatest leads, without finding each of these; +∞ for no query.

    >>> worst_lead([[1.0, 1.0], [3.0, 0.0]], [[2.0, 2.0], [3.5, 0.5]], [0.25, 0.25])
    0.25
    """
    asked, given, _ = _checked_all(queries, points, None)
    allowed = _checked_tolerance(tolerance, asked.shape[1])
    if not len(given):
        return -np.inf if len(asked) else np.inf
    among = _candidates(given, NOBODY)
    if len(among) <= _HANDFUL:
        best = np.full(len(asked), -np.inf)
        for point in given[among]:
            np.maximum(best, (point - asked - allowed).min(axis=1), out=best)
        return float(best.min(initial=np.inf))
    tree = plant(given, among)
    return min(_shared(lambda queries, _: find_worst(tree, queries, allowed), asked, NOBODY))


# x is *dominated* by y (x ≺ y) when y is at least as good in every objective and strictly better in one, so that equal
# points never dominate each other.


def as_points(points: npt.ArrayLike, *, name: str = "points") -> Floats:
    """Return `points` as a contiguous array (K, M) of one arm at least; refuse NaN."""
    array = _checked(points, name)
    if not len(array):
        raise BadInput(f"{name} must have a row for each arm, at least one; got {array.shape}")
    return array


def pareto_mask(points: npt.ArrayLike) -> Bools:
    """Tell which points no other point dominates (Definition 1). Duplicates of an undominated point are all kept.

    Points are visited in lexicographic order from the best downwards: a point can only be dominated by one that came
    before it, so each is compared with the front found so far. O(K log K + K |front| M).

    >>> pareto_mask([[1.0, 3.0], [2.0, 2.0], [1.0, 2.0], [2.0, 2.0]])
    array([ True,  True, False,  True])
    """
    array = as_points(points)
    order = np.lexsort(tuple(-array[:, d] for d in reversed(range(array.shape[1]))))
    mask = np.zeros(len(array), np.bool_)
    mask[scan(array, order, SOMEWHERE)] = True
    return mask


def suboptimality_gaps(points: npt.ArrayLike) -> Floats:
    """Δ_i = max over Pareto optimal j of max(0, min over d of m_j^d − m_i^d) (Definition 4). Zero on the front.

    >>> suboptimality_gaps([[1.0, 3.0], [2.0, 2.0], [0.5, 1.75]])
    array([0. , 0. , 0.5])
    """
    array = as_points(points)
    gaps = np.zeros(len(array))
    for best in array[pareto_mask(array)]:
        gaps = np.maximum(gaps, (best - array).min(axis=1))
    return gaps


def _shared(work: Callable[[Floats, Ints], T], queries: Floats, exclude: Ints) -> list[T]:
    """Do the work on portions of the queries, in threads; what comes of a query does not depend on the others."""
    workers = min(usable_cores(), 1 + len(queries) // _PORTION)
    ends = [len(queries) * part // workers for part in range(workers + 1)]
    portions = [(queries[low:high], exclude[low:high]) for low, high in itertools.pairwise(ends)]
    if workers == 1:
        return [work(*portions[0])]
    with ThreadPoolExecutor(workers) as threads:
        return list(threads.map(work, *zip(*portions, strict=True)))


def _checked(array: npt.ArrayLike, name: str) -> Floats:
    checked = np.ascontiguousarray(array, np.float64)
    if checked.ndim != 2 or checked.shape[1] == 0:
        raise BadInput(f"{name} must have the shape (rows, M) with at least one objective; got {np.shape(array)}")
    wrong = np.isnan(checked)
    if wrong.any():
        row = int(wrong.any(axis=1).argmax())
        raise BadInput(f"{name} must not contain NaN; got {checked[row].tolist()} in row {row}")
    return checked


def _checked_all(
    queries: npt.ArrayLike, points: npt.ArrayLike, exclude: npt.ArrayLike | None
) -> tuple[Floats, Floats, Ints]:
    asked, given = _checked(queries, "queries"), _checked(points, "points")
    if asked.shape[1] != given.shape[1]:
        raise BadInput(
            f"queries and points must have as many objectives; got {asked.shape[1]} and {given.shape[1]} columns"
        )
    if exclude is None:
        return asked, given, NOBODY
    without = np.ascontiguousarray(exclude)
    if without.shape != (len(asked),) or not np.issubdtype(without.dtype, np.integer):
        raise BadInput(f"exclude must be {len(asked)} indices of points, one for each query; got {exclude!r}")
    return asked, given, without.astype(np.int64)


def _checked_tolerance(tolerance: npt.ArrayLike, objectives: int) -> Floats:
    checked = np.ascontiguousarray(tolerance, np.float64)
    if checked.shape != (objectives,) or not np.isfinite(checked).all():
        raise BadArgument(
            "tolerance", must=f"be {objectives} finite numbers, one for each objective", got=repr(tolerance)
        )
    return checked
