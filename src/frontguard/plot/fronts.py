"""The arms of a result in pictures: the front, all pairs, all objectives at once; and which of a million are shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from frontguard._common.typing import Bools, Floats, Ints
from frontguard.errors import BadArgument, BadInput
from frontguard.pareto.dominance import pareto_mask
from frontguard.phrases import joined, listed, number, number_of
from frontguard.plot.frames import Scale, limits
from frontguard.plot.picture import (
    BLUE,
    BY_MEANS,
    MANY,
    PLAIN,
    VERDICTS,
    Axis,
    Band,
    Boxes,
    Density,
    Layer,
    Lines,
    Look,
    Panel,
    Picture,
    Points,
    Region,
    Rule,
    Spans,
    in_columns,
    interval,
    looks_of,
    sentences,
    short,
)
from frontguard.results import Answer
from frontguard.statements import Statement
from frontguard.verdicts import VERDICT_ORDER, Feasibility, Verdict
from frontguard.words.certificate import true_values

NOTHING = "nothing is measured yet"
"""The note of a picture without anything on it."""

FOOLED = replace(BY_MEANS, label=Statement.LEGEND_FOOLED())
"""Around beaten arms, and which a comparison of means would have returned."""

BEATEN = Look("", BLUE, "square", filled=False)

_NAMED = {Verdict.KEEP: 24, Verdict.UNDECIDED: 8}  # up to so many arms have their names beside them
_NAMED_FOOLED = 6
_ALL_BOXED = 40  # up to so many arms all have a box
_MOST_BOUNDED = 150  # of a verdict
_ALWAYS_BOUNDED = 12  # on the front
_CROWDED = 2.0  # other marks in a box, on average: beyond that a verdict's boxes are not drawn
_ORDER = VERDICT_ORDER[::-1]  # what matters most lies on top


def front(result: Answer, x: str | int | None = None, y: str | int | None = None) -> Picture:
    """The arms of a result in two objectives: boxes in which the true values lie, verdicts at the estimates.

    Parameters
    ----------
    result
        The answer to draw.
    x, y
        Names or numbers of objectives. Without them, one objective gives a list of intervals, two the picture of both,
        and more a matrix of pairs.

    Returns
    -------
    Picture

    Raises
    ------
    BadInput
        `x` or `y` is no objective, or both are the same.

    >>> from frontguard.demo.cases import analyze_reviews
    >>> picture = front(analyze_reviews().analysis)
    >>> picture.panels[0].x.title, picture.panels[0].x.better
    ('19-25', 'higher')
    """
    arms = read(result)
    M = len(result.objectives)
    if x is None and y is None and M > 2:
        return pairs(result)
    if M == 1 and x in (None, 0, *result.objectives) and y in (None, 0, *result.objectives):
        return list_picture(arms)
    column = 0 if x is None else position_of(result.objectives, x, "x")
    row = next(d for d in (1, 0) if d != column) if y is None else position_of(result.objectives, y, "y")
    if x is None and row == 0:
        column = 1
    if column == row:
        raise BadInput(f"x and y must be two objectives; got {short(result.objectives[row])!r} for both")
    places = arms.places(column, row)
    chosen = choose(arms, places)
    boxed = boxed_arms(arms, column, row, chosen)
    axes = axes_of(arms, (column, row), chosen, boxed)
    panel = front_panel(arms, axes, chosen, boxed, named=True)
    return Picture(
        rows=((panel,),),
        legend=looks_of(panel.layers[::-1]),
        caption=front_caption(arms, chosen, axes),
        width=7.5,
        height=5.6,
        name="front",
    )


def axes_of(arms: Arms, columns: Iterable[int], chosen: Chosen, boxed: Bools) -> dict[int, Axis]:
    """Axes for some objectives, by their numbers."""
    return {d: arms.axis(d, chosen.full | chosen.rest, boxed, crowd=bool(chosen.rest.any())) for d in columns}


def front_panel(arms: Arms, axes: Mapping[int, Axis], chosen: Chosen, boxed: Bools, *, named: bool) -> Panel:
    """One pair of objectives, across and along, by their numbers."""
    (x, across), (y, along) = axes.items()
    layers: list[Layer] = []
    beaten = beaten_region(arms, x, y) if len(arms.objectives) == 2 else None
    if beaten is not None:
        layers.append(beaten)
    for mine, _, look in densities(arms, chosen.rest):
        layers.append(density(arms.estimates[mine, x], arms.estimates[mine, y], across, along, look))
    for verdict in _ORDER:
        some = _distinct_boxes(arms, x, y, arms.with_verdict(verdict, boxed))
        look = replace(VERDICTS[verdict], label="")
        if verdict == Verdict.BEATEN:  # an outline, so that many of them do not darken the picture
            look = replace(look, filled=False, width=0.6)
        if len(some):
            low, high = arms.low[some], arms.high[some]
            ends = low[:, x], low[:, y], high[:, x], high[:, y]
            layers.append(Boxes(*ends, look, arms.hints(some), tuple(some.tolist())))
    marks = int(chosen.full.sum())
    centres = _apart(arms, x, y, chosen.full, Panel(across, along, tuple(layers)))
    for verdict in _ORDER:
        some = arms.with_verdict(verdict, chosen.full)
        if len(some):
            few = named and len(some) <= _NAMED.get(verdict, 0)
            layers.append(_marks(arms, centres, some, smaller(VERDICTS[verdict], marks), named=few))
    fooled = np.flatnonzero(arms.beaten_by_means & chosen.full)
    if len(fooled):
        few = named and len(fooled) <= _NAMED_FOOLED
        layers.append(_marks(arms, centres, fooled, FOOLED, named=few, more="; on the front by means"))
    return Panel(across, along, tuple(layers), note="" if layers else NOTHING)


def _marks(arms: Arms, centres: Floats, some: Ints, look: Look, *, named: bool, more: str = "") -> Points:
    hints = tuple(f"{hint}{more}" for hint in arms.hints(some))
    names = arms.named(some) if named else ()
    return Points(centres[0, some], centres[1, some], look, hints, names, tuple(some.tolist()))


def boxed_arms(arms: Arms, x: int, y: int, chosen: Chosen) -> Bools:
    """Mask of the arms (K,) with a box: all of few; of many, by verdict, those whose boxes hide few other marks."""
    some = np.flatnonzero(chosen.full)
    if len(some) <= _ALL_BOXED and not chosen.rest.any():
        return chosen.full
    boxed = np.zeros_like(chosen.full)
    centres = arms.estimates[some][:, [x, y]]
    for verdict in _ORDER[1:] if chosen.rest.any() else _ORDER:
        mine = arms.with_verdict(verdict, chosen.full)
        low, high = (ends[mine][:, None, [x, y]] for ends in (arms.low, arms.high))
        others = ((low <= centres) & (centres <= high)).all(axis=2).sum(axis=1) - 1
        few = verdict == Verdict.KEEP and len(mine) <= _ALWAYS_BOUNDED
        if few or (0 < len(mine) <= _MOST_BOUNDED and others.mean() <= _CROWDED):
            boxed[mine] = True
    return boxed


def _distinct_boxes(arms: Arms, x: int, y: int, some: Ints) -> Ints:
    """The first of all arms with the very same box, and none of which nothing is known: others would only darken."""
    ends = np.concatenate([arms.low[some][:, [x, y]], arms.high[some][:, [x, y]]], axis=1)
    bounded = np.isfinite(ends).any(axis=1)
    _, first = np.unique(ends[bounded], axis=0, return_index=True)
    return np.asarray(some[bounded][np.sort(first)])


def _apart(arms: Arms, x: int, y: int, full: Bools, panel: Panel) -> Floats:
    """Places of marks (2, K): the estimates, on a small circle around them where several arms have the same."""
    centres = np.array(arms.estimates[:, [x, y]].T, np.float64)
    some = np.flatnonzero(full)
    if len(some) < 2:
        return centres
    _, group, size = np.unique(centres[:, some], axis=1, return_inverse=True, return_counts=True)
    group = group.ravel()
    frame = limits(
        replace(panel, layers=(*panel.layers, Points(centres[0, some], centres[1, some], VERDICTS[Verdict.BEATEN])))
    )
    for g in np.flatnonzero(size > 1).tolist():
        members = some[group == g]
        turn = 2.0 * np.pi * np.arange(len(members)) / len(members)
        radius = min(0.04, 0.008 * len(members) ** 0.5)
        for d, (way, axis) in enumerate(((np.cos(turn), panel.x), (np.sin(turn), panel.y))):
            low, high = frame[d]
            if axis.scale == "log":
                centres[d, members] *= (high / low) ** (radius * way)
            else:
                centres[d, members] += (high - low) * radius * way
    return centres


def beaten_region(arms: Arms, x: int, y: int) -> Region | None:
    """The region that the kept arms beat by their estimates; None if no arm is in."""
    some = arms.with_verdict(Verdict.KEEP, arms.places(x, y))
    if not len(some):
        return None
    signs = np.array([-1.0 if arms.minimized(d) else 1.0 for d in (x, y)])
    polygon = beaten_by(arms.estimates[some][:, [x, y]], signs)
    return Region(polygon[:, 0], polygon[:, 1], BEATEN)


def beaten_by(points: Floats, signs: Floats) -> Floats:
    """The polygon of what points (n, 2) beat, open to infinity; a sign is −1 where smaller is better."""
    points = np.unique(points * signs, axis=0)
    points = points[pareto_mask(points)]
    corners = [(-np.inf, -np.inf), (-np.inf, points[0, 1])]
    for k, (right, top) in enumerate(points.tolist()):
        corners.append((right, top))
        corners.append((right, points[k + 1, 1] if k + 1 < len(points) else -np.inf))
    return np.array(corners) * signs


def front_caption(arms: Arms, chosen: Chosen, axes: Mapping[int, Axis]) -> str:
    """Say what to look at; axes by the number of their objective."""
    columns = tuple(axes)
    marks, rest = int(chosen.full.sum()), int(chosen.rest.sum())
    shaded = len(arms.objectives) == 2 and (arms.codes == Verdict.KEEP).any()
    return sentences(
        f"Marks are estimates; {true_values(arms.result, 'boxes')}.",
        "A box that is cut off at the edge goes on beyond it.",
        f"Shaded is what the {arms.result.goal} beats." if shaded else "",
        "" if not arms.beaten_by_means.any() else "Rings: who a comparison of means would have been fooled about.",
        f"{number_of(marks)} with a mark each, {rest:,} more as a density." if rest else "",
        arms.not_seen(chosen.full | chosen.rest, axes),
        arms.not_drawn(*columns),
    )


LINES = 40
"""Arms that a list names at most."""


def list_picture(arms: Arms) -> Picture:
    """The arms of a result with one objective. If they are many, those that matter, and one line for the rest."""
    places = arms.places(0)
    chosen = choose(arms, places, everyone=LINES, total=LINES)
    some = np.flatnonzero(chosen.full)
    values = arms.estimates[some, 0] if arms.minimized(0) else -arms.estimates[some, 0]
    # The best first. Equal estimates: who is in comes before who is not.
    order = some[np.lexsort((arms.codes[some] != Verdict.KEEP, values))]
    rest = chosen.rest
    axis = arms.axis(0, places, chosen.full, crowd=bool(rest.any()))
    layers: list[Layer] = []
    names = list(arms.named(order))
    for mine, words, look in densities(arms, rest):
        edges = edges_along(axis, arms.estimates[mine, 0], CELLS[0])
        counts = np.histogram(arms.estimates[mine, 0], edges)[0].astype(np.int64)  # of those that the axis shows
        line = len(names)
        layers.append(Density(edges, np.array([line - 0.4, line + 0.4]), counts[:, None], look))
        names.append(words)
    layers += in_rows(arms, order, arms.estimates[:, 0], arms.low[:, 0], arms.high[:, 0], arms.hint)
    panel = Panel(axis, Axis(names=tuple(names), reverse=True), tuple(layers))
    last = "in the last line" if len(names) == len(order) + 1 else "below them"
    thinned = f"{number_of(int(rest.sum()))} that matter less are counted {last}." if rest.any() else ""
    return Picture(
        rows=((panel,),),
        legend=looks_of(layers[::-1]),
        caption=sentences(
            f"Marks are estimates; {true_values(arms.result, 'lines')}.",
            thinned,
            arms.not_seen(places, {0: axis}),
            arms.not_drawn(0),
        ),
        height=1.4 + 0.26 * max(3, len(names)),
        name="front",
    )


MOST_OBJECTIVES = 5
"""More than that are not drawn in pairs: the panels would become too small to read."""

_NAMED_UP_TO = 3  # with more objectives, panels are too small for names


def pairs(result: Answer) -> Picture:
    """Every pair of the first five objectives in a panel of its own, as a lower triangle.

    Parameters
    ----------
    result
        The answer to draw.

    Returns
    -------
    Picture

    Raises
    ------
    BadInput
        There are fewer than two objectives.

    >>> import numpy as np
    >>> from frontguard import RPSI, Prescient, Subgaussian
    >>> policy = RPSI(2, 3, threat=Prescient(0.1), spread=Subgaussian(0.1), accuracy=0.5)
    >>> asked = policy.ask()
    >>> policy.tell(asked, np.ones((len(asked), 3)))
    >>> [[panel is not None for panel in row] for row in pairs(policy.result()).rows]
    [[True, False], [True, True]]
    """
    M = min(len(result.objectives), MOST_OBJECTIVES)
    if M < 2:
        raise BadInput("pairs(result) needs two objectives at least; front(result) shows one")
    arms = read(result)
    places = arms.places(*range(M))
    chosen = choose(arms, places)
    named = len(result.objectives) <= _NAMED_UP_TO
    boxed = {(x, y): boxed_arms(arms, x, y, chosen) for y in range(1, M) for x in range(y)}
    somewhere = np.logical_or.reduce(list(boxed.values()))
    axes = axes_of(arms, range(M), chosen, somewhere)
    rows: list[tuple[Panel | None, ...]] = []
    for y in range(1, M):
        row: list[Panel | None] = [None] * (M - 1)
        for x in range(y):
            # Only the outermost panels say what lies across and along; the others would say it again.
            across = axes[x] if y == M - 1 else replace(axes[x], title="", better="")
            along = axes[y] if x == 0 else replace(axes[y], title="", better="")
            row[x] = front_panel(arms, {x: across, y: along}, chosen, boxed[x, y], named=named)
        rows.append(tuple(row))
    unseen = arms.objectives[M:]
    side = 3.6 if M <= 3 else 2.9 if M == 4 else 2.5
    return Picture(
        rows=tuple(rows),
        legend=looks_of([layer for row in rows for panel in row if panel for layer in panel.layers[::-1]]),
        caption=sentences(
            front_caption(arms, chosen, axes),
            "An arm that seems beaten in one pair can be on the front by another objective." if M > 2 else "",
            f"Not drawn: the objectives {listed(in_columns(unseen, 32), 4)}." if unseen else "",
        ),
        width=1.0 + side * (M - 1),
        height=1.2 + 0.85 * side * (M - 1),
        name="pairs",
    )


_ALL = 60  # arms whose lines can still be told apart
_MOST = {Verdict.KEEP: 60, Verdict.UNDECIDED: 24, Verdict.MATCHED: 8}
_BOLD = {Verdict.KEEP: 24, Verdict.UNDECIDED: 8, Verdict.MATCHED: 8, Verdict.BEATEN: 8}  # more lines are fainter
_DASHES = {Verdict.UNDECIDED: (6.0, 3.0), Verdict.MATCHED: (2.0, 2.0)}
_WITH_INTERVALS = 8  # arms on the front whose intervals are drawn as well
_NAMED_LINES = 12
_QUANTILES = (0.1, 0.9)


def parallel(result: Answer) -> Picture:
    """All objectives at once, better always higher; of many arms, most are a band from 10 to 90 % of them.

    Parameters
    ----------
    result
        The answer to draw.

    Returns
    -------
    Picture

    >>> from frontguard.demo.cases import analyze_reviews
    >>> picture = parallel(analyze_reviews().analysis)
    >>> picture.panels[0].x.names
    ('19-25 (higher is better)', '26-35 (higher is better)')
    """
    arms = read(result)
    M = len(result.objectives)
    places = arms.places(*range(M))
    chosen = choose(arms, places, everyone=_ALL, most=_MOST)
    scales, ends = zip(*(_ladder(arms, d, chosen.full, chosen.rest) for d in range(M)), strict=True)
    x = np.arange(M, dtype=np.float64)
    heights = np.stack([scales[d](arms.estimates[:, d]) for d in range(M)], axis=1)
    layers: list[Layer] = [Rule(float(d), replace(PLAIN, width=0.8), upright=True) for d in range(M)]
    rest = int(chosen.rest.sum())
    if rest:
        look = replace(MANY, label=f"between them 10–90 % of {rest:,} more")
        low, high = np.quantile(heights[chosen.rest], _QUANTILES, axis=0)
        layers.append(Band(x, low, high, look, hint=f"10 to 90 % of {number_of(rest)} that are not drawn"))
    ins = arms.with_verdict(Verdict.KEEP, chosen.full)
    if 0 < len(ins) <= _WITH_INTERVALS:
        layers.extend(_intervals(arms, scales, ins))
    for verdict in _ORDER:
        some = arms.with_verdict(verdict, chosen.full)
        if not len(some):
            continue
        look, opacity = _of_many(verdict, VERDICTS[verdict], len(some))
        rows, keys = np.tile(x, (len(some), 1)), tuple(some.tolist())
        layers.append(Lines(rows, heights[some], look, arms.hints(some), keys, opacity, marks=True))
    at_the_ends = replace(PLAIN, size=0.01)
    for height, values in zip((1.08, -0.08), zip(*ends, strict=True), strict=True):
        written = tuple(number(value) for value in values)  # in the objective's own units
        layers.append(Points(x, np.full(M, height), at_the_ends, written=written))
    if 0 < len(ins) <= _NAMED_LINES:
        look, named = replace(VERDICTS[Verdict.KEEP], label=""), arms.named(ins)
        layers.append(Points(np.full(len(ins), M - 1.0), heights[ins, -1], look, written=named))
    names = tuple(
        f"{short(name, 28)} ({'lower' if arms.minimized(d) else 'higher'} is better)"
        for d, name in enumerate(result.objectives)
    )
    across = Axis(names=names, low=-0.25, high=M - 1 + (0.6 if 0 < len(ins) <= _NAMED_LINES else 0.25))
    up = Axis(title="better is up", low=-0.16, high=1.16, ticks=())
    return Picture(
        rows=((Panel(across, up, tuple(layers)),),),
        legend=looks_of(layers[::-1]),
        caption=sentences(
            "Each line is an arm; a line that lies above another in every objective beats it.",
            "Bars are the intervals of the front." if 0 < len(ins) <= _WITH_INTERVALS else "",
            f"{rest:,} more arms are only in the band." if rest else "",
            arms.not_drawn(*range(M)),
        ),
        width=max(6.0, 2.0 + 1.9 * M),
        height=5.0,
        name="parallel",
    )


def _of_many(verdict: Verdict, look: Look, count: int) -> tuple[Look, float]:
    """Look and opacity of one of so many lines: the more there are, the fainter, the front the least."""
    loud = min(1.0, _BOLD[verdict] / count)
    quiet = replace(look, dash=_DASHES.get(verdict, ()), width=look.width * max(0.6, loud))
    return quiet, max(0.6 if verdict == Verdict.KEEP else 0.35, 0.9 * loud)


def _ladder(arms: Arms, d: int, full: Bools, rest: Bools) -> tuple[Scale, tuple[float, float]]:
    """The scale of an upright line, from the worst estimate of those drawn and of the band to the best; and these."""
    values = arms.estimates[full, d]
    if rest.any():
        values = np.concatenate([values, np.quantile(arms.estimates[rest, d], _QUANTILES)])
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)
    foot, head = (high, low) if arms.minimized(d) else (low, high)
    log = low > 0.0 and arms.axis(d, full | rest, full & ~full).scale == "log"
    if low == high:  # which is in the middle then
        low, high = low - abs(low) - 1.0, high + abs(high) + 1.0
        log = False
    return Scale(low, high, float(foot > head), float(foot <= head), log=log), (head, foot)


def _intervals(arms: Arms, scales: Sequence[Scale], ins: Ints) -> Iterator[Spans]:
    look = replace(VERDICTS[Verdict.KEEP], label="")
    for d, scale in enumerate(scales):
        low, high = np.sort(scale(np.stack([arms.low[ins, d], arms.high[ins, d]])), axis=0)
        at = np.linspace(-0.015, 0.015, len(ins)) * (len(ins) - 1) + d  # beside each other
        yield Spans(at, low, high, look, upright=True, opacity=0.3, thickness=3.0)


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
    """Arms as pictures need them. Ends (K, M) are infinite where nothing is known, also of a positive metric."""

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
        """Mask of the arms (K,) that cannot be measured."""
        return np.asarray(self.codes == Verdict.EXCLUDED)

    def minimized(self, d: int) -> bool:
        """True if smaller is better. Without metrics the values are inner ones, of which larger are better."""
        return bool(self.result.metrics) and self.result.metrics[d].minimized

    def relative(self, d: int) -> bool:
        """True if differences of this objective are shares of it."""
        return bool(self.result.metrics) and self.result.metrics[d].relative

    def places(self, *columns: int) -> Bools:
        """Mask of the arms (K,) with estimates of these objectives that are not excluded."""
        return np.isfinite(self.estimates[:, list(columns)]).all(axis=1) & ~self.excluded

    def with_verdict(self, verdict: Verdict, among: Bools | None = None) -> Ints:
        """The arms that have a verdict, among those given."""
        mine = self.codes == verdict
        return np.flatnonzero(mine if among is None else mine & among)

    def hint(self, i: int) -> str:
        """An arm in one line: name, verdict, estimates with their intervals, pulls."""
        result = self.result
        known = zip(self.objectives, self.estimates[i], self.low[i], self.high[i], strict=True)
        values = "; ".join(f"{short(name, 40)} {number(value)} {interval(*ends)}" for name, value, *ends in known)
        word = result.verdict(i).word
        if result.limits is not None and (place := result.limits.worst(i)) >= 0:
            keeping = Feasibility(int(result.limits.codes[i, place])).word
            word = f"{word} ({keeping}: {short(str(result.limits.gates[place]), 40)})"
        return f"{short(self.names[i])}: {word}; {values}; {number_of(int(result.pulls_per_arm[i]), 'pull')}"

    def named(self, which: Ints) -> tuple[str, ...]:
        """The names of some arms."""
        return tuple(self.names[i] for i in which.tolist())

    def hints(self, which: Ints) -> tuple[str, ...]:
        """`hint` of some arms."""
        return tuple(self.hint(i) for i in which.tolist())

    def axis(self, d: int, shown: Bools, boxed: Bools, *, crowd: bool = False) -> Axis:
        """The axis of an objective, on which every estimate of an arm that is not out is seen.

        Arms that are out, and ends of intervals (of `boxed` arms) far beyond the estimates, are cut off: few pulls or
        an attacker may have put them anywhere. `crowd` if there are too many arms for a mark each.
        """
        matter = shown & (self.codes != Verdict.BEATEN)
        telling = boxed & matter if (boxed & matter).any() else boxed
        ends = np.concatenate([self.low[telling, d], self.high[telling, d]])
        factor = FACTOR if not self.relative(d) else CROWD_FACTOR if crowd else RELATIVE_FACTOR
        seen = frame(self.estimates[shown, d], ends, factor, self.estimates[matter, d])
        return axis_of(self.objectives[d], self.minimized(d), *seen)

    def not_seen(self, which: Bools, axes: Mapping[int, Axis]) -> str:
        """Count the arms beyond the ends of axes (by objective) in a sentence; "" if none. All of them are out."""
        seen = [axis.holds(self.estimates[which, d]) for d, axis in axes.items()]
        count = int((~np.logical_and.reduce(seen)).sum())
        if count > 1:
            return f"{count:,} beaten arms lie beyond the edge."
        return "1 beaten arm lies beyond the edge." if count else ""

    def not_drawn(self, *columns: int) -> str:
        """Count the arms without a place in the picture, with the reason, in a sentence; "" if all have one."""
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
    """Arms below each other: a line from low to high, a verdict's mark and a text `written` beside it, by arm (K,)."""
    row = np.full(len(arms.names), np.nan)
    row[order] = np.arange(len(order))
    layers: list[Layer] = []
    for verdict in reversed(VERDICTS):
        some, look = arms.with_verdict(verdict, np.isfinite(row)), VERDICTS[verdict]
        if len(some):
            keys, hints = tuple(some.tolist()), tuple(map(hint, some.tolist()))
            quiet = replace(look, label="")
            words = tuple(map(written, some.tolist())) if written else ()
            layers.append(Spans(row[some], low[some], high[some], quiet, hints=hints, keys=keys))
            layers.append(Points(at[some], row[some], look, hints, words, keys))
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
    """Ends of an axis, None without any value, and True if it is logarithmic: values positive, and a `factor` apart.

    All `centres` that `matter` are seen; others, and the `ends` of intervals, as far as they leave room for these.

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
    """Masks of the arms (K,) shown in full, and of those left to a density."""

    full: Bools
    rest: Bools


def choose(
    arms: Arms, places: Bools, *, everyone: int = ALL, most: Mapping[Verdict, int] = MOST, total: int | None = None
) -> Chosen:
    """Show everyone if they are few; else of each verdict up to `most`, those nearest to being best, up to a total.

    Arms that means would have put on the front but which are out are shown too: they are who was fooled about.
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
    """The look of one of so many marks: the more there are, the smaller each is.

    >>> look = VERDICTS[Verdict.KEEP]
    >>> smaller(look, 10) is look, smaller(look, 160).size, smaller(look, 10_000).size
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
    """Give the arms of each verdict that are not shown in full, in words and as a look, what matters most last."""
    for verdict in VERDICT_ORDER[::-1]:
        mine = rest & (arms.codes == verdict)
        if mine.any():
            words = f"{int(mine.sum()):,} more {verdict.word}"
            yield mine, words, replace(MANY, colour=VERDICTS[verdict].colour, label=f"{words}, as a density")


def density(x: Floats, y: Floats, x_axis: Axis, y_axis: Axis, look: Look) -> Density:
    """Count points in cells; those beyond the ends of an axis are left out."""
    inside = x_axis.holds(x) & y_axis.holds(y)
    if not inside.any():
        return Density(np.array([]), np.array([]), np.zeros((0, 0), np.int64), look)
    edges = edges_along(x_axis, x[inside], CELLS[0]), edges_along(y_axis, y[inside], CELLS[1])
    return Density(*edges, np.histogram2d(x[inside], y[inside], edges)[0].astype(np.int64), look)
