"""The kernels that draw clean rewards, one a family of laws. See `environments` for the laws in words.

The words of the generator are laid down in the memory of `out` itself and turned into rewards in place: mostly no
workspace, and one pass through the cache.
"""

from __future__ import annotations

import numpy as np

from frontguard._common.typing import Floats, Ints
from frontguard.simulation.contracts import draw_kernel
from frontguard.simulation.random import Words, below, fill_normals, fill_words, unit


@draw_kernel
def draw_constant(out: Floats, arm: int, reals: Floats, ints: Ints, stream: Words) -> None:
    """reals: value (K, M)."""
    objectives = out.shape[0]
    at = objectives * arm
    for d in range(objectives):
        out[d, :] = reals[at + d]


@draw_kernel
def draw_gaussian(out: Floats, arm: int, reals: Floats, ints: Ints, stream: Words) -> None:
    """reals: (median, σ) of each (K, M)."""
    objectives, count = out.shape
    at = 2 * objectives * arm
    for d in range(objectives):
        row = out[d]
        fill_normals(row, row.view(np.uint64), stream)
        median, sigma = reals[at + 2 * d], reals[at + 2 * d + 1]
        for i in range(count):
            row[i] = median + sigma * row[i]


@draw_kernel
def draw_uniform(out: Floats, arm: int, reals: Floats, ints: Ints, stream: Words) -> None:
    """reals: (median, width) of each (K, M)."""
    objectives, count = out.shape
    at = 2 * objectives * arm
    for d in range(objectives):
        row = out[d]
        words = row.view(np.uint64)
        fill_words(words, stream)
        median, width = reals[at + 2 * d], reals[at + 2 * d + 1]
        for i in range(count):
            row[i] = median + width * (unit(words[i]) - 0.5)


@draw_kernel
def draw_categorical(out: Floats, arm: int, reals: Floats, ints: Ints, stream: Words) -> None:
    """Walker's alias tables: the upper half of a word picks a cell, the lower half one of its two values.

    ints: S, then the thresholds of the cells (K, M, S) on the scale of 2³²; reals: (own value, alias value)
    of each cell.
    """
    objectives, count = out.shape
    cells = ints[0]
    for d in range(objectives):
        row = out[d]
        words = row.view(np.uint64)
        fill_words(words, stream)
        at = cells * (objectives * arm + d)
        for i in range(count):
            cell = at + below(words[i], cells)
            coin = np.int64(words[i] & np.uint64(0xFFFFFFFF))
            row[i] = reals[2 * cell + (1 if coin >= ints[1 + cell] else 0)]


@draw_kernel
def draw_rows(out: Floats, arm: int, reals: Floats, ints: Ints, stream: Words) -> None:
    """One word a pull picks a row for all objectives.

    ints: (first row, rows) of each arm; reals: points (N, M).
    """
    objectives, count = out.shape
    start, rows = ints[2 * arm], ints[2 * arm + 1]
    words = out[0].view(np.uint64)
    fill_words(words, stream)
    picks = out[0].view(np.int64)  # objective by objective with the picks kept is a fifth faster than pull by pull
    for i in range(count):
        picks[i] = objectives * (start + below(words[i], rows))
    for back in range(objectives):  # the first objective comes last: its memory holds the picks
        d = objectives - 1 - back
        row = out[d]
        for i in range(count):
            row[i] = reals[picks[i] + d]


@draw_kernel
def draw_noisy_rows(out: Floats, arm: int, reals: Floats, ints: Ints, stream: Words) -> None:
    """A row and Gaussian noise. ints: as for rows; reals: σ of each objective, then points (N, M)."""
    objectives, count = out.shape
    start, rows = ints[2 * arm], ints[2 * arm + 1]
    picks = np.empty(count, np.uint64)
    fill_words(picks, stream)
    for d in range(objectives):
        row = out[d]
        fill_normals(row, row.view(np.uint64), stream)
        for i in range(count):
            chosen = 1 + start + below(picks[i], rows)  # one on: the deviations come first
            row[i] = reals[objectives * chosen + d] + reals[d] * row[i]
