"""Many arms in one picture: who is shown in full, and who only as a density. Takes time in proportion to the arms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from frontguard._common.typing import Bools, Floats, Ints
from frontguard.plot.arms import Arms
from frontguard.plot.looks import MANY, VERDICTS, Look
from frontguard.plot.picture import Axis, Density
from frontguard.verdicts import Verdict

ALL = 120
"""Up to so many arms, all are shown in full."""

MOST: Mapping[Verdict, int] = {Verdict.IN: 300, Verdict.UNDECIDED: 60, Verdict.COVERED: 60}
"""Beyond that, so many of each kind are at most: those that matter."""

MOST_FOOLED = 50
"""Of arms that only means call the front, so many are shown."""

CELLS = (42, 34)
"""Cells of a density along x and y."""

_ROOMY = 40  # marks of which each can have its full size
_SMALLEST = 0.5  # of its size: what a mark has at least
_GROUPS = ((Verdict.OUT, Verdict.COVERED), (Verdict.UNDECIDED,), (Verdict.IN,))  # a density for each, the last on top
_WORDS = {
    Verdict.OUT: "that are out",
    Verdict.COVERED: "that are covered",
    Verdict.UNDECIDED: "undecided",
    Verdict.IN: "that are in",
}


@dataclass(frozen=True, eq=False)
class Chosen:
    """Which arms (K,) of those that have a place are shown in full, and which are left to a density."""

    full: Bools
    rest: Bools


def choose(
    arms: Arms, places: Bools, *, everyone: int = ALL, most: Mapping[Verdict, int] = MOST, total: int | None = None
) -> Chosen:
    """Show everyone if they are few; else those in, undecided or covered, of each kind up to `most`, up to a total.

    Where there are more of one kind than there is room, those that come nearest to being best are taken. Arms that
    means would have put on the front but which are out are shown too: they are who was fooled about.
    """
    if int(places.sum()) <= everyone:
        return Chosen(places, np.zeros_like(places))
    full = np.zeros_like(places)
    for verdict, room in most.items():
        if total is not None:
            room = min(room, total - int(full.sum()))
        some = arms.with_verdict(verdict, places)
        full[some if len(some) <= room else some[_foremost(arms, some, room)]] = True
    fooled = np.flatnonzero(arms.beaten_by_means & places)
    full[fooled if len(fooled) <= MOST_FOOLED else fooled[_foremost(arms, fooled, MOST_FOOLED)]] = True
    return Chosen(full, places & ~full)


def smaller(look: Look, count: int) -> Look:
    """How one of so many marks looks: the more there are, the smaller each is.

    >>> from frontguard.plot.looks import IN
    >>> smaller(IN, 10) is IN, smaller(IN, 160).size, smaller(IN, 10_000).size
    (True, 4.0, 4.0)
    """
    if count <= _ROOMY:
        return look
    return replace(look, size=look.size * max(_SMALLEST, (_ROOMY / count) ** 0.5))


def _foremost(arms: Arms, some: Ints, count: int) -> Ints:
    """Positions in `some` of those that come nearest to being best, whichever objectives one cares for more."""
    if count <= 0:
        return np.empty(0, np.int64)
    shortfall = np.full(len(some), np.inf)
    values = _scaled(arms, some)
    for weights in _weights(values.shape[1]):
        merit = values @ weights
        shortfall = np.minimum(shortfall, merit.max() - merit)
    # Equal ones in the order of arms, so that a moving picture does not flicker.
    return np.sort(np.argsort(shortfall, kind="stable")[:count])


def _scaled(arms: Arms, some: Ints) -> Floats:
    """Estimates, larger is better, on scales that far values do not stretch: −3 to 3."""
    values = np.array(arms.estimates[some], np.float64)
    for d in range(values.shape[1]):
        column = -values[:, d] if arms.minimized(d) else values[:, d]
        column = np.where(np.isfinite(column), column, column[np.isfinite(column)].min(initial=0.0))
        low, middle, high = np.quantile(column, [0.1, 0.5, 0.9])
        width = (high - low) or 1.0
        values[:, d] = np.clip((column - middle) / width, -3.0, 3.0)
    return values


def _weights(objectives: int) -> Floats:
    """Ways to care for objectives: each alone, all alike, and some between, the same ones every time."""
    if objectives == 1:
        return np.ones((1, 1))
    between = np.random.default_rng(0).dirichlet(np.ones(objectives), 16)
    return np.concatenate([np.eye(objectives), np.full((1, objectives), 1.0 / objectives), between])


def edges_along(axis: Axis, values: Floats, count: int) -> Floats:
    """The edges of so many cells, equally wide on the axis, from the lowest value to the highest that it shows.

    >>> edges_along(Axis(high=5.0), np.array([1.0, 2.0, 9.0]), 2).tolist()
    [1.0, 3.0, 5.0]
    >>> edges_along(Axis(scale="log"), np.array([1.0, 100.0]), 2).round(6).tolist()
    [1.0, 10.0, 100.0]
    """
    low, high = float(values.min()), float(values.max())
    low = low if axis.low is None else max(low, axis.low)
    high = high if axis.high is None else min(high, axis.high)
    if not low < high:
        low, high = (0.99 * low, 1.01 * low) if axis.scale == "log" else (low - 0.5, low + 0.5)
    along = np.geomspace(low, high, count + 1) if axis.scale == "log" else np.linspace(low, high, count + 1)
    along[0], along[-1] = low, high  # rounding must not leave the outermost values outside
    return np.asarray(along, np.float64)


def densities(arms: Arms, rest: Bools) -> Iterator[tuple[Bools, str, Look]]:
    """Who of those that are not shown in full lies in a density with whom, in words and as a look, the lowest first.

    Those that are still undecided have one of their own: they may yet be on the front.
    """
    for verdicts in _GROUPS:
        mine = rest & np.isin(arms.codes, verdicts)
        counts = {verdict: count for verdict in verdicts if (count := int((arms.codes[mine] == verdict).sum()))}
        if not counts:
            continue
        look = MANY if Verdict.OUT in verdicts else replace(MANY, colour=VERDICTS[verdicts[0]].colour)
        what = "that are out or covered" if len(counts) > 1 else _WORDS[next(iter(counts))]
        words = f"{sum(counts.values()):,} more {what}"
        yield mine, words, replace(look, label=f"{words}, as a density")


def density(x: Floats, y: Floats, x_axis: Axis, y_axis: Axis, look: Look) -> Density:
    """How many of the points lie where. Those beyond the ends of an axis are left out: they are not seen."""
    inside = x_axis.holds(x) & y_axis.holds(y)
    if not inside.any():
        return Density(np.array([]), np.array([]), np.zeros((0, 0), np.int64), look)
    edges = edges_along(x_axis, x[inside], CELLS[0]), edges_along(y_axis, y[inside], CELLS[1])
    return Density(*edges, np.histogram2d(x[inside], y[inside], edges)[0].astype(np.int64), look)
