"""The arms of a result as pictures need them: in the user's units, with a word for each, and a scale for each axis."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from frontguard._common.typing import Bools, Floats, Ints
from frontguard.errors import BadArgument
from frontguard.phrases import joined, number_of
from frontguard.plot.picture import MANY, VERDICTS, Axis, Density, Layer, Look, Points, Spans
from frontguard.plot.text import short, with_intervals
from frontguard.results import Answer
from frontguard.statements import Statement
from frontguard.verdicts import VERDICT_ORDER, Feasibility, Verdict

FACTOR = 50.0
"""A positive metric whose values differ by more than this factor has a logarithmic axis."""

RELATIVE_FACTOR = 20.0
"""The same for one whose tolerance is relative: it is compared by ratios anyway."""

CROWD_FACTOR = 5.0
"""The same where also very many arms are drawn, of which most are far behind: the front gets more room by ratios."""

_LARGEST = 1e150  # squares and ratios of such numbers are numbers still
_OTHERS = 2.5  # other estimates are seen as far as so many times the range of those that matter from these,
_BULK = 0.5  # or as far as so much of the range of four fifths of all estimates, where that is more
_MOST_OFFERED = 20  # names in an error's choice
_EDGE = 0.05  # free space at either end, as a share of the axis


@dataclass(frozen=True, eq=False)
class Arms:
    """Names, verdicts, estimates (K, M), ends of intervals (K, M) and pulls, with the metrics' own directions.

    `low` and `high` are infinite where nothing is known: also for a positive metric, whose own lower end would be 0.
    """

    result: Answer
    names: tuple[str, ...]
    objectives: tuple[str, ...]
    codes: Ints  # verdicts (K,)
    estimates: Floats
    low: Floats
    high: Floats
    beaten_by_means: Bools  # (K,) arms that means would have put on the front, and which are out

    @property
    def excluded(self) -> Bools:
        """Which arms (K,) cannot be measured."""
        return np.asarray(self.codes == Verdict.EXCLUDED)

    def minimized(self, d: int) -> bool:
        """Whether smaller is better. Without metrics the values are inner ones, of which larger are better."""
        return bool(self.result.metrics) and self.result.metrics[d].minimized

    def relative(self, d: int) -> bool:
        """Whether differences of this objective are shares of it."""
        return bool(self.result.metrics) and self.result.metrics[d].relative

    def places(self, *columns: int) -> Bools:
        """Which arms (K,) have a place in a picture of these objectives: estimates, and they are not excluded."""
        return np.isfinite(self.estimates[:, list(columns)]).all(axis=1) & ~self.excluded

    def with_verdict(self, verdict: Verdict, among: Bools | None = None) -> Ints:
        """The arms that have a verdict, among those given."""
        mine = self.codes == verdict
        return np.flatnonzero(mine if among is None else mine & among)

    def hint(self, i: int) -> str:
        """An arm in one line: name, verdict, estimates with their intervals, pulls."""
        result = self.result
        values = with_intervals(self.objectives, self.estimates[i], self.low[i], self.high[i], 40)
        word = result.verdict(i).word
        if result.limits is not None and (place := result.limits.worst(i)) >= 0:
            keeping = Feasibility(int(result.limits.codes[i, place])).word
            word = f"{word} ({keeping}: {short(str(result.limits.gates[place]), 40)})"
        return f"{short(self.names[i])}: {word}; {values}; {number_of(int(result.pulls_per_arm[i]), 'pull')}"

    def look(self, verdict: Verdict) -> Look:
        """How arms with this verdict look; those on a list are called so; with limits, *out* may mean two things."""
        found = VERDICTS[verdict]
        if verdict is Verdict.KEEP and self.result.goal == "list":
            return replace(found, label=Statement.LEGEND_LISTED())
        limited = verdict is Verdict.BEATEN and self.result.limits is not None
        return replace(found, label=Statement.LEGEND_INFEASIBLE()) if limited else found

    def named(self, which: Ints) -> tuple[str, ...]:
        """The names of some arms."""
        return tuple(self.names[i] for i in which.tolist())

    def hints(self, which: Ints) -> tuple[str, ...]:
        """`hint` of some arms."""
        return tuple(self.hint(i) for i in which.tolist())

    def axis(self, d: int, shown: Bools, boxed: Bools, *, crowd: bool = False) -> Axis:
        """The axis of an objective: its name and direction, and a scale on which the estimates of `shown` tell.

        `boxed` are those whose intervals are drawn. Every estimate of an arm that is not out is seen. An arm that is
        out may lie anywhere, and its box even more so: the others decide what is seen of it; `not_seen` counts those
        that are not. Where a box reaches far beyond the estimates, as it does after few pulls or when an attacker
        chose its end, the axis ends before. `crowd` if there are too many for a mark each.
        """
        matter = shown & (self.codes != Verdict.BEATEN)
        telling = boxed & matter if (boxed & matter).any() else boxed
        ends = np.concatenate([self.low[telling, d], self.high[telling, d]])
        factor = FACTOR if not self.relative(d) else CROWD_FACTOR if crowd else RELATIVE_FACTOR
        seen = frame(self.estimates[shown, d], ends, factor, self.estimates[matter, d])
        return axis_of(self.objectives[d], self.minimized(d), *seen)

    def not_seen(self, which: Bools, axes: Mapping[int, Axis]) -> str:
        """How many of some arms have estimates beyond the ends of an axis, in a sentence; "" if none.

        They are out: every other arm's estimate is seen. Axes are given by the number of their objective.
        """
        seen = [axis.holds(self.estimates[which, d]) for d, axis in axes.items()]
        count = int((~np.logical_and.reduce(seen)).sum())
        if count > 1:
            return f"{count:,} beaten arms lie beyond the edge."
        return "1 beaten arm lies beyond the edge." if count else ""

    def not_drawn(self, *columns: int) -> str:
        """How many arms have no place in the picture, and why, in a sentence; "" if all have one."""
        excluded = int(self.excluded.sum())
        unknown = int((~self.places(*columns) & ~self.excluded).sum())
        reasons = []
        if excluded:
            reasons.append(
                f"{number_of(excluded)} excluded because {'it' if excluded == 1 else 'they'} cannot be measured"
            )
        if unknown:
            reasons.append(f"{number_of(unknown)} not measured yet")
        return f"Not drawn: {joined(reasons)}." if reasons else ""


def read(result: Answer) -> Arms:
    """The arms of a result."""
    estimates, low, high = (drawable(values) for values in (result.estimates, result.lower, result.upper))
    if result.metrics:
        relative = np.array([metric.relative for metric in result.metrics])
        low = np.where(relative[None, :] & (low <= 0.0), -np.inf, low)
    by_means = None if result.log is None else result.log.mean_front
    fooled = np.zeros(len(result.arms), np.bool_)
    if by_means is not None and len(by_means) == len(fooled):
        fooled = np.asarray(by_means & (result.verdict_codes == Verdict.BEATEN), np.bool_)
    return Arms(result, result.arms, result.objectives, result.verdict_codes, estimates, low, high, fooled)


def axis_of(title: str, minimized: bool, low: float | None, high: float | None, log: bool) -> Axis:
    """The axis of an objective that shows low to high."""
    return Axis(title, "lower" if minimized else "higher", "log" if log else "linear", low=low, high=high)


def in_rows(
    arms: Arms,
    order: Ints,
    at: Floats,
    low: Floats,
    high: Floats,
    hint: Callable[[int], str],
    written: Callable[[int], str] | None = None,
) -> list[Layer]:
    """Some arms below each other: a line from low to high and the mark of the verdict at a value, each by arm (K,).

    `written` stands behind the line of an arm.
    """
    row = np.full(len(arms.names), np.nan)
    row[order] = np.arange(len(order))
    layers: list[Layer] = []
    for verdict in reversed(VERDICTS):
        some, look = arms.with_verdict(verdict, np.isfinite(row)), arms.look(verdict)
        if len(some):
            keys, hints = tuple(some.tolist()), tuple(map(hint, some.tolist()))
            quiet = replace(look, label="")
            words = tuple(map(written, some.tolist())) if written else ()
            layers.append(Spans(row[some], low[some], high[some], quiet, hints=hints, keys=keys, written=words))
            layers.append(Points(at[some], row[some], look, hints=hints, keys=keys))
    return layers


def drawable(values: npt.ArrayLike) -> Floats:
    """Values with which coordinates can be computed: none beyond 1e150, none but 0 within 1e-150; infinity stays.

    >>> drawable([1e300, 2.0, -1e-300, np.inf]).tolist()
    [1e+150, 2.0, 0.0, inf]
    """
    array = np.array(values, np.float64)
    finite = np.isfinite(array)
    array[finite] = np.clip(array[finite], -_LARGEST, _LARGEST)
    array[np.abs(array) < 1.0 / _LARGEST] = 0.0
    return array


def position_of(names: Sequence[str], which: object, argument: str, what: str = "an objective") -> int:
    """The number of an objective (or whatever else it is) that is given by its name or number."""
    if isinstance(which, str):
        if which in names:
            return list(names).index(which)
    elif not isinstance(which, bool) and isinstance(which, (int, np.integer)) and 0 <= which < len(names):
        return int(which)
    choice = ", ".join(f"{d} {name!r}" for d, name in enumerate(names[:_MOST_OFFERED]))
    more = ", …" if len(names) > _MOST_OFFERED else ""
    raise BadArgument(argument, must=f"be {what}, by its name or number: {choice}{more}", got=repr(which))


def frame(
    centres: Floats, ends: Floats, factor: float = FACTOR, matter: Floats | None = None
) -> tuple[float | None, float | None, bool]:
    """Where an axis begins and ends, None where there is nothing to go by, and whether it is logarithmic.

    It is if the centres that tell are positive and differ by more than the factor. `matter` are those of the centres
    that must be seen, all of them unless given. Other centres, and the `ends` of intervals, are seen as far as they
    leave room for these: a box that reaches far beyond, after few pulls or by an attacker's choice, is cut off.

    >>> frame(np.array([1.0, 2.0]), np.array([0.5, 2.5]))
    (0.4, 2.6, False)
    >>> frame(np.array([0.0, 10.0]), np.array([-1.0, 1650.0]))
    (-1.55, 10.55, False)
    >>> frame(np.array([0.0, 10.0, 20.0, 900.0]), np.array([]), matter=np.array([0.0, 10.0]))
    (-1.0, 21.0, False)
    """
    centres, ends = centres[np.isfinite(centres)], ends[np.isfinite(ends)]
    matter = centres if matter is None else matter[np.isfinite(matter)]
    if not len(centres):
        return None, None, False
    few = max(1, len(centres) // 10)  # a tenth, and one at least: a single one never decides
    core = np.concatenate([matter, np.sort(centres)[few : len(centres) - few]])
    core = core if len(core) and np.ptp(core) else centres
    log = bool(core.min() > 0.0 and core.max() > factor * core.min())
    if log:
        centres, ends, matter, core = (np.log(each[each > 0.0]) for each in (centres, ends, matter, core))
    low, high = float(core.min()), float(core.max())
    spread = float(np.ptp(matter)) if len(matter) else 0.0
    low, high = _reaching(low, high, centres, max(_OTHERS * spread, _BULK * (high - low)))
    room = max(spread, _BULK * (high - low))
    if not room and len(ends):  # all estimates are the same
        room = float(np.median(np.abs(ends - low)))
    low, high = _reaching(low, high, ends, room)
    edge = _EDGE * (high - low) or 0.1 * abs(low) or 0.5
    low, high = low - edge, high + edge
    if log:
        low, high = (float(np.exp(np.clip(end, -700.0, 700.0))) for end in (low, high))
    elif low < 0.0 < centres.min():
        low = -0.02 * high  # nothing was estimated below 0
    return low, high, log


def _reaching(low: float, high: float, others: Floats, room: float) -> tuple[float, float]:
    """A range, and what lies within so much room to either side of it."""
    near = others[(others >= low - room) & (others <= high + room)]
    return float(near.min(initial=low)), float(near.max(initial=high))


# Many arms in one picture: who is shown in full, and who only as a density --------------------------------------------

ALL = 120
"""Up to so many arms, all are shown in full."""

MOST: Mapping[Verdict, int] = {Verdict.KEEP: 300, Verdict.UNDECIDED: 60, Verdict.MATCHED: 60}
"""Beyond that, so many of each kind are at most: those that matter."""

MOST_FOOLED = 50
"""Of arms that only means call the front, so many are shown."""

CELLS = (42, 34)
"""Cells of a density along x and y."""

_ROOMY = 40  # marks of which each can have its full size
_SMALLEST = 0.5  # of its size: what a mark has at least


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

    >>> from frontguard.plot.picture import IN
    >>> smaller(IN, 10) is IN, smaller(IN, 160).size, smaller(IN, 10_000).size
    (True, 4.0, 4.0)
    """
    if count <= _ROOMY:
        return look
    return replace(look, size=look.size * max(_SMALLEST, (_ROOMY / count) ** 0.5))


def _foremost(arms: Arms, some: Ints, count: int) -> Ints:
    """Positions in `some` of those that come nearest to being best, in one objective or by the mean of their ranks."""
    signs = [1.0 if arms.minimized(d) else -1.0 for d in range(arms.estimates.shape[1])]
    ranks = np.argsort(np.argsort(signs * arms.estimates[some], axis=0, kind="stable"), axis=0)
    by_mean = np.argsort(np.argsort(ranks.mean(axis=1), kind="stable"))
    shortfall = np.minimum(ranks.min(axis=1), by_mean)
    # Equal ones in the order of arms, so that a moving picture does not flicker.
    return np.sort(np.argsort(shortfall, kind="stable")[: max(count, 0)])


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
    """Those with a verdict that are not shown in full, in words and as a look, what matters most last."""
    for verdict in VERDICT_ORDER[::-1]:
        mine = rest & (arms.codes == verdict)
        if mine.any():
            words = f"{int(mine.sum()):,} more {verdict.word}"
            yield mine, words, replace(MANY, colour=VERDICTS[verdict].colour, label=f"{words}, as a density")


def density(x: Floats, y: Floats, x_axis: Axis, y_axis: Axis, look: Look) -> Density:
    """How many of the points lie where. Those beyond the ends of an axis are left out: they are not seen."""
    inside = x_axis.holds(x) & y_axis.holds(y)
    if not inside.any():
        return Density(np.array([]), np.array([]), np.zeros((0, 0), np.int64), look)
    edges = edges_along(x_axis, x[inside], CELLS[0]), edges_along(y_axis, y[inside], CELLS[1])
    return Density(*edges, np.histogram2d(x[inside], y[inside], edges)[0].astype(np.int64), look)
