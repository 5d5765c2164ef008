"""Pictures of how it was measured: boxes over pulls, the certificate, pulls of each arm and a minute, raw values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np

from frontguard._common.typing import Bools, Floats, Ints
from frontguard.errors import BadArgument, BadInput
from frontguard.objectives import Objective, parse_tolerance
from frontguard.phrases import duration, listed, natural, number, number_of, percent, rounded
from frontguard.plot.frames import widened
from frontguard.plot.fronts import FACTOR, RELATIVE_FACTOR, axis_of, drawable, frame, position_of, read
from frontguard.plot.picture import (
    CONTESTANTS,
    FAILED,
    FORECAST,
    GOAL,
    KEEP,
    NOW,
    PLAIN,
    SUSPECT,
    VALUE,
    VERDICTS,
    VERMILION,
    Axis,
    Band,
    Bars,
    Layer,
    Lines,
    Look,
    Panel,
    Picture,
    Points,
    Rule,
    in_columns,
    interval,
    looks_of,
    sentences,
    short,
)
from frontguard.results import Answer
from frontguard.studies.alarms import suspects
from frontguard.studies.follow import History, Measurements, Rate
from frontguard.verdicts import Verdict
from frontguard.words.certificate import one_beside_goal

MOST = len(CONTESTANTS)
"""Arms that can be told apart in one picture."""

_FRONT = 4  # of these, so many from the front if there are rivals too
_MOST_SHARES = 300.0  # of a tolerance: beyond that nothing is as good as certain
_OBJECTIVES = tuple(look for look in CONTESTANTS if look.colour != GOAL.colour)
_TOLD = replace(NOW, label="pulls a minute", mark="square")
_LOST = replace(FAILED, label="of these failed", colour=VERMILION, mark="square")


def shrinking(history: History, arms: Sequence[str | int] | None = None) -> Picture:
    """The intervals of some arms over the pulls of the whole study, with their estimates; a panel for each objective.

    Parameters
    ----------
    history
        That of a `Follower`'s overview.
    arms
        Names or numbers, six at most; unless given, the front and those nearest to it.

    Returns
    -------
    Picture

    Raises
    ------
    BadInput
        There is no moment, or an arm is unknown.

    >>> from frontguard import Objective, Study
    >>> from frontguard.studies.follow import Follower
    >>> study = Study(["a", "b"], [Objective("ms", "minimize", tolerance=1)])
    >>> _ = study.tell_many([(pull, {"ms": float(pull.id % 5)}) for pull in study.ask(60)])
    >>> follower = Follower(study.storage, "study")
    >>> [panel.x.title for panel in shrinking(follower.catch_up().history, ["a"]).panels]
    ['pulls of the whole study']
    """
    if not history.moments:
        raise BadInput("shrinking(history) needs one moment at least; got none")
    chosen = (
        _telling(history)
        if arms is None
        else [position_of(history.arms, arm, "each of `arms`", "an arm") for arm in arms]
    )
    if not 0 < len(chosen) <= MOST or len(set(chosen)) < len(chosen):
        raise BadArgument(
            "arms", must=f"be 1 to {MOST} different ones", got=f"{len(chosen)}: {listed([str(arm) for arm in chosen])}"
        )
    names = in_columns([history.arms[arm] for arm in chosen], 40)
    looks = [replace(look, label=name) for look, name in zip(CONTESTANTS, names, strict=False)]
    panels = [_shrinking_panel(history, d, chosen, looks) for d in range(len(history.objectives))]
    return Picture(
        rows=tuple((panel,) for panel in panels),
        legend=tuple(looks),
        caption="The band is where the true value lies, the line the estimate; a band that touches the edge goes on "
        "beyond it. Bands that have come apart are decided in that objective.",
        height=0.9 + 3.0 * len(panels),
        name="shrinking",
    )


def _shrinking_panel(history: History, d: int, chosen: list[int], looks: list[Look]) -> Panel:
    objective = history.objectives[d]
    moments = [moment for moment in history.moments if moment.pulls > 0] or list(history.moments)
    x = np.array([moment.pulls for moment in moments], np.float64)
    low, high, middle = (
        drawable([getattr(moment, what)[chosen, d] for moment in moments])  # (moments, arms)
        for what in ("low", "high", "estimates")
    )
    if objective.relative:
        low = np.where(low <= 0.0, -np.inf, low)
    middle = np.where(np.isfinite(middle), middle, np.nan)
    # An axis is made for where estimates and intervals are in the end, not for how wide they once were.
    settled = np.concatenate([middle[-1], _near(low[-1], high[-1], middle[-1])])
    ends = np.concatenate([low.ravel(), high.ravel(), middle.ravel()])
    seen = frame(settled, ends, RELATIVE_FACTOR if objective.relative else FACTOR)
    layers: list[Layer] = []
    for k, (arm, look) in enumerate(zip(chosen, looks, strict=True)):
        # Of what is not bounded at all there is nothing to show; such bands would only darken the panel.
        known = ~np.isnan(middle[:, k]) & (np.isfinite(low[:, k]) | np.isfinite(high[:, k]))
        if known.any():
            quiet = replace(look, label="")
            across, below = _steps(x[known], low[known, k])
            layers.append(Band(across, below, _steps(x[known], high[known, k])[1], quiet, look.label, key=arm))
    for k, (arm, look) in enumerate(zip(chosen, looks, strict=True)):
        layers.append(Lines(*_steps(x[None, :], middle[None, :, k]), look, hints=(look.label,), keys=(arm,)))
    return Panel(
        Axis(title="pulls of the whole study", scale="log" if x[-1] > 3.0 * max(x[0], 1.0) else "linear"),
        axis_of(objective.name, objective.minimized, *seen),
        tuple(layers),
    )


def _steps(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """The corners of a line that stays at y until the next x: (…, n) becomes (…, 2n − 1).

    >>> x, y = _steps(np.array([0.0, 1.0, 3.0]), np.array([5.0, 4.0, 2.0]))
    >>> x.tolist(), y.tolist()
    ([0.0, 1.0, 1.0, 3.0, 3.0], [5.0, 5.0, 4.0, 4.0, 2.0])
    """
    return np.repeat(x, 2, axis=-1)[..., 1:], np.repeat(y, 2, axis=-1)[..., :-1]


def _near(low: Floats, high: Floats, middle: Floats) -> Floats:
    """The ends of intervals but for those unusually far out, which an attacker chose or few pulls left there."""
    ends = np.concatenate([low, high])
    away = np.abs(ends - np.tile(middle, 2))
    known = np.isfinite(away)
    return ends[known & (away <= 2.0 * np.median(away[known]))] if known.any() else ends[:0]


def _telling(history: History) -> list[int]:
    """Arms of the front, and the others that were pulled most, as those are that come nearest to it."""
    last = history.moments[-1]
    ins = np.flatnonzero(last.verdict_codes == Verdict.KEEP)
    others = np.flatnonzero(last.verdict_codes != Verdict.KEEP)
    # Who is not out yet comes before who is.
    gone = last.verdict_codes[others] == Verdict.BEATEN
    rivals = others[np.lexsort((-last.pulls_per_arm[others], gone))]
    room = max(_FRONT, MOST - len(rivals))
    if len(ins) > room:  # so many from the first to the last, evenly
        evenly = np.unique(np.round(np.linspace(0, len(ins) - 1, room)).astype(np.int64))
        ins = ins[np.argsort(last.estimates[ins, 0], kind="stable")][evenly]
    return [*ins.tolist(), *rivals[: MOST - len(ins)].tolist()]


def certainty(history: History, pulls_left: int | None = None) -> Picture:
    """Within how many tolerances the answer held after so many pulls, for each objective that has one; 1 is the goal.

    Parameters
    ----------
    history
        That of a `Follower`'s overview. Objectives without a tolerance have no goal and are left out.
    pulls_left
        A forecast, drawn as a dashed line to where the goal would be reached.

    Returns
    -------
    Picture

    Raises
    ------
    BadInput
        There is no moment.

    >>> from frontguard import Objective, Study
    >>> from frontguard.studies.follow import Follower
    >>> study = Study(["a", "b"], [Objective("ms", "minimize", tolerance=1)])
    >>> _ = study.tell_many([(pull, {"ms": float(pull.id % 5)}) for pull in study.ask(60)])
    >>> follower = Follower(study.storage, "study")
    >>> [panel.x.title for panel in certainty(follower.catch_up().history).panels]
    ['pulls of the whole study']
    """
    if not history.moments:
        raise BadInput("certainty(history) needs one moment at least; got none")
    x = np.array([moment.pulls for moment in history.moments], np.float64)
    uncertain = drawable([moment.uncertain for moment in history.moments]).reshape(len(x), -1)
    goals = np.array([parse_tolerance(objective.tolerance).amount for objective in history.objectives])
    drawn = np.flatnonzero(goals > 0.0).tolist()
    shares = np.where(np.isfinite(uncertain), uncertain, np.nan)
    with np.errstate(over="ignore"):
        shares = drawable(shares / np.where(goals > 0.0, goals, np.nan))
    layers: list[Layer] = []
    legend: list[Look] = []
    for k, d in enumerate(drawn):
        objective = history.objectives[d]
        look = replace(_OBJECTIVES[k % len(_OBJECTIVES)], label=short(objective.name, 40))
        now = f"{short(objective.name, 32)}: {one_beside_goal(float(history.moments[-1].uncertain[d]), objective)}"
        # A certificate can be exact, 0 tolerances wide; on a logarithmic axis that is drawn as a hundredth.
        y = np.where(shares[:, d] <= 0.0, 0.01, shares[:, d])
        layers.append(Lines(*_steps(x[None, :], y[None, :]), look, hints=(now,)))
        legend.append(look)
    layers.append(Rule(1.0, GOAL))
    legend.append(GOAL)
    ahead = _ahead(x, shares[:, drawn], pulls_left)
    if ahead is not None:
        layers.append(ahead)
        legend.append(ahead.look)
    without = [objective.name for objective, goal in zip(history.objectives, goals, strict=True) if goal == 0.0]
    last = x[-1] if pulls_left is None else x[-1] + pulls_left
    first = float(x[x > 0].min()) if (x > 0).any() else 1.0
    panel = Panel(
        Axis(title="pulls of the whole study", scale="log" if last > 3.0 * first else "linear"),
        Axis(title="certain within × goal", scale="log", high=_ceiling(shares)),
        tuple(layers),
        note="" if drawn else "no objective has a tolerance: there is no goal to be reached",
    )
    return Picture(
        rows=((panel,),),
        legend=tuple(legend),
        caption=sentences(
            "At 1 the answer holds within the tolerance, which is the goal.",
            _foreseen(pulls_left),
            f"Left out, since their tolerance is 0: {listed(in_columns(without, 32))}." if without else "",
        ),
        height=4.0,
        name="certainty",
    )


def _ceiling(shares: Floats) -> float | None:
    """The end of the axis: some hundreds of tolerances are as good as nothing certain, and would hide the rest."""
    known = shares[np.isfinite(shares)]
    if not len(known) or float(known.max()) <= _MOST_SHARES:
        return None
    last = shares[-1][np.isfinite(shares[-1])]
    return max(_MOST_SHARES, 3.0 * float(last.max(initial=0.0)))


def _foreseen(pulls_left: int | None) -> str:
    if pulls_left is None:
        return ""
    return f"Forecast: about {rounded(pulls_left)} more pulls." if pulls_left > 0 else "The goal is reached."


def _ahead(x: Floats, shares: Floats, pulls_left: int | None) -> Lines | Points | None:
    """Dashed lines from where each objective stands to where the goal is; a mark there while nothing is certain."""
    if not pulls_left or pulls_left <= 0:
        return None
    there = float(x[-1] + pulls_left)
    now = shares[-1]
    starts = now[np.isfinite(now) & (now > 1.0)]
    hint = f"forecast: the goal after about {number(there)} pulls"
    if not len(starts):
        return Points(np.array([there]), np.array([1.0]), replace(FORECAST, mark="ring"), hints=(hint,))
    ends = np.stack([starts, np.ones(len(starts))], axis=1)
    return Lines(np.tile([float(x[-1]), there], (len(starts), 1)), ends, FORECAST, hints=(hint,) * len(starts))


def rate(rate: Rate) -> Picture:
    """The speed of a study: a bar for each span of time, as high as its pulls a minute; the failed ones within.

    Parameters
    ----------
    rate
        That of a `Follower`'s overview.

    Returns
    -------
    Picture

    >>> told = Rate(np.array([0.0, 60.0, 120.0]), np.array([30, 60]), np.array([0, 6]))
    >>> [layer.high.tolist() for layer in rate(told).panels[0].layers]
    [[30.0, 60.0], [0.0, 6.0]]
    """
    seconds = np.diff(rate.edges)
    kept = seconds > 0.0
    seconds = seconds[kept]
    told, failed = rate.told[kept], rate.failed[kept]
    start = float(rate.edges[0]) if len(rate.edges) else 0.0
    unit, length = _unit(float(rate.edges[-1]) - start if len(rate.edges) else 0.0)
    middle = ((rate.edges[:-1] + rate.edges[1:])[kept] / 2.0 - start) / length
    width = float(seconds.mean()) if len(seconds) else 60.0
    hints = tuple(
        f"{number_of(int(n), 'pull')} in {duration(float(s))}, {int(lost):,} failed"
        for n, lost, s in zip(told, failed, seconds, strict=True)
    )
    layers = [
        Bars(
            middle,
            60.0 * counts / seconds,
            look,
            upright=True,
            thickness=0.9 * width / length,
            hints=hints,
        )
        for counts, look in ((told, _TOLD), (failed, _LOST))
        if look is _TOLD or failed.any()
    ]
    total, lost = int(rate.told.sum()), int(rate.failed.sum())
    took = float(rate.edges[-1] - rate.edges[0]) if len(rate.edges) > 1 else 0.0
    speed = f", {number(60.0 * total / took)} a minute" if took > 0.0 else ""
    in_all = f"{number_of(total, 'pull')} in {duration(took)}{speed}"
    panel = Panel(
        Axis(title=f"{unit} since {datetime.fromtimestamp(start, UTC):%Y-%m-%d %H:%M} UTC"),
        Axis(title="pulls a minute", low=0.0),
        tuple(layers),
        note="" if total else "nothing told yet",
    )
    return Picture(
        rows=((panel,),),
        legend=tuple(layer.look for layer in layers),
        caption=f"{in_all}; {lost:,} failed." if lost else f"{in_all}.",
        height=3.0,
        name="rate",
    )


def _unit(seconds: float) -> tuple[str, float]:
    """The unit of time in which so long a study is read, and its seconds."""
    if seconds < 3.0 * 3600.0:
        return "minutes", 60.0
    return ("hours", 3600.0) if seconds < 3.0 * 86400.0 else ("days", 86400.0)


# Pulls of each arm: where the measurements went ----------------------------------------------------------------------


NAMED = 40
"""Up to so many arms have a bar and a name each."""

_LOG_FACTOR = 100.0  # pulls that differ by more have a logarithmic axis


def pulls(result: Answer) -> Picture:
    """Bars of the pulls of each arm, by verdict; of many arms, those that were pulled most.

    Parameters
    ----------
    result
        The answer to draw.

    Returns
    -------
    Picture

    >>> from frontguard.demo.cases import analyze_reviews
    >>> pulls(analyze_reviews().analysis).panels[0].x.title
    'pulls'
    """
    arms = read(result)
    counts = result.pulls_per_arm
    ranked = sorted(range(len(counts)), key=lambda arm: (-counts[arm], natural(arms.names[arm])))
    order, left = np.array(ranked[:NAMED], np.int64), ranked[NAMED:]
    row = np.full(len(counts), np.nan)
    row[order] = np.arange(len(order))
    layers = [
        Bars(
            row[some],
            counts[some].astype(np.float64),
            VERDICTS[verdict],
            hints=arms.hints(some),
            keys=tuple(some.tolist()),
        )
        for verdict in VERDICTS
        if len(some := arms.with_verdict(verdict, np.isfinite(row)))
    ]
    figures = tuple(f"{count:,}" for count in counts[order].tolist())  # behind the ends of the bars
    ends = Points(counts[order].astype(np.float64), row[order], replace(PLAIN, size=0.01), written=figures)
    least, most = int(counts.min()), int(counts.max())
    return Picture(
        rows=((Panel(_pulls_axis(counts[order]), Axis(names=arms.named(order), reverse=True), (*layers, ends)),),),
        legend=looks_of(layers),
        caption=sentences(
            f"All have {number_of(least, 'pull')}." if least == most else "The most pulled come first.",
            f"Not drawn: {number_of(len(left))} with {int(counts[left[0]]):,} pulls or fewer." if left else "",
        ),
        height=1.4 + 0.24 * max(4, len(order)),
        name="pulls",
    )


def _pulls_axis(lengths: Ints) -> Axis:
    least, most = float(lengths.min()), float(lengths.max())
    if most == 0.0:
        return Axis(title="pulls", low=0.0, high=1.0, ticks=((0.0, "0"), (1.0, "1")))
    if least > 0.0 and most > _LOG_FACTOR * least:
        return Axis(title="pulls", scale="log", low=least / 2.0, high=most * (2.0 * most / least) ** 0.3)
    return Axis(title="pulls", low=0.0, high=1.3 * most)


FEW = 8
"""Up to so many different values, how often each is there is counted."""

FAR = 20.0
"""A value so many robust ranges (those of the middle half) from the middle is drawn at the edge."""

INFEASIBLE = replace(SUSPECT, label="beyond the edge", mark="triangle", filled=True)

_HINTED = 500  # beyond so many values, only those that stand out say under the pointer what they are


@dataclass(frozen=True, eq=False)
class _Column:
    """The values of one objective with what is known of them."""

    objective: Objective
    values: Floats  # (n,), NaN where failed
    lies: Bools  # (n,) suspected; none where a mean counts, or the value itself
    low: float  # the arm's interval and estimate
    high: float
    middle: float


def measurements(
    measurements: Measurements,
    history: History | None = None,
    objective: str | int | None = None,
    *,
    contamination: float | Mapping[str, float] | None = None,
) -> Picture:
    """Every pull of an arm, a panel for each objective (or one), with the arm's interval if a history is given.

    Parameters
    ----------
    measurements, history
        Of a `Follower`, and of its overview.
    objective
        Its name or number; all unless given.
    contamination
        The ε that is allowed, of all metrics or by name, to compare with how many are suspected: a hint for the eye.

    Returns
    -------
    Picture

    Raises
    ------
    BadInput
        There is no such objective.

    >>> from frontguard import Objective, Study
    >>> from frontguard.studies.follow import Follower
    >>> study = Study(["a", "b"], [Objective("ms", "minimize", tolerance=1)])
    >>> _ = study.tell_many([(pull, {"ms": float(pull.id % 5)}) for pull in study.ask(60)])
    >>> follower = Follower(study.storage, "study")
    >>> [panel.y.title for panel in measurements(follower.measurements(0)).panels]
    ['ms']
    """
    names = [each.name for each in measurements.objectives]
    shown = range(len(names)) if objective is None else [position_of(names, objective, "objective", "one of these")]
    columns = [_column(measurements, history, d) for d in shown]
    first = measurements.total - len(measurements.values)
    x = np.arange(first + 1.0, first + 1.0 + len(measurements.values))
    of_all = None if isinstance(contamination, Mapping) else contamination
    own = contamination if isinstance(contamination, Mapping) else {}
    panels = [_panel(measurements, each, x, own.get(each.objective.name, of_all)) for each in columns]
    return Picture(
        rows=tuple((panel,) for panel in panels),
        title=short(measurements.name),
        legend=looks_of([layer for panel in panels for layer in panel.layers]),
        caption=_caption(columns),
        height=1.0 + 3.2 * len(panels),
        name="measurements",
    )


def _column(measurements: Measurements, history: History | None, d: int) -> _Column:
    objective = measurements.objectives[d]
    values = drawable(measurements.values[:, d])
    values = np.where(objective.usable(values), values, np.nan)
    measured = values[np.isfinite(values)]
    low, high = -np.inf, np.inf
    middle = np.nan
    if len(measured) and (objective.has_quantile or objective.exact):
        middle = float(np.quantile(measured, objective.level))
    elif len(measured) and objective.statistic == "mean":
        middle = float(measured.mean())
    if history is not None and history.moments and d < len(history.objectives):  # not of a metric that is limited only
        last = history.moments[-1]
        low, high, middle = drawable(
            [each[measurements.arm, d] for each in (last.low, last.high, last.estimates)]
        ).tolist()
    if objective.relative and low <= 0.0:
        low = -np.inf
    lies = np.zeros(len(values), np.bool_)
    if objective.has_quantile:  # far from the others is no sign where each value is 0 or 1, and bounds keep within them
        lies = suspects(values, relative=objective.relative)
    return _Column(objective, values, lies, low, high, middle)


def _panel(measurements: Measurements, column: _Column, x: Floats, contamination: float | None) -> Panel:
    objective, values = column.objective, column.values
    low, high, log = edges(column.values, (column.low, column.high), objective.relative)
    y_low, y_high = widened((low, high), -0.03, log=log)  # where marks of what lies beyond are seen whole
    failed = np.isnan(values)
    beyond = ~failed & ((values < y_low) | (values > y_high))
    lies = column.lies & ~failed & ~beyond
    plain = ~failed & ~beyond & ~lies
    layers: list[Layer] = []
    if len(x) and column.low != column.high and (np.isfinite(column.low) or np.isfinite(column.high)):
        across = np.array([x[0] - 0.5, x[-1] + 0.5])
        words = f"{_what(objective)}: {interval(column.low, column.high)}"
        band = replace(KEEP, label=f"interval of {_what(objective)}")
        layers.append(Band(across, np.full(2, column.low), np.full(2, column.high), band, words))
    if np.isfinite(column.middle):
        layers.append(Rule(column.middle, replace(KEEP, label="", width=1.2)))
    for which, look, y in (
        (plain, VALUE, values),
        (lies, SUSPECT, values),
        (beyond, INFEASIBLE, np.clip(values, y_low, y_high)),
        (failed, FAILED, np.full(len(x), y_low)),
    ):
        some = np.flatnonzero(which)
        if len(some):
            quiet = look is VALUE and len(x) > _HINTED
            hints = () if quiet else tuple(_hint(measurements, column, i) for i in some.tolist())
            layers.append(Points(x[some], y[some], look, hints=hints))
    up = axis_of(objective.name, objective.minimized, low, high, log)
    return Panel(Axis(title="pull of this arm"), up, tuple(layers), note=_note(column, contamination))


def edges(values: Floats, ends: tuple[float, float], relative: bool) -> tuple[float, float, bool]:
    """Ends of the axis, and True if it goes by ratios: all values that are not `FAR` from the middle half are shown.

    >>> edges(np.array([1.0, 2.0, 3.0, 4.0, 1e9, np.nan]), (1.5, 5.0), False)
    (0.8, 5.2, False)
    """
    known = values[np.isfinite(values)]
    near = known
    if len(known):
        quarter, middle, three = np.quantile(known, [0.25, 0.5, 0.75])
        near = known[np.abs(known - middle) <= FAR * (three - quarter)]
    low, high, log = frame(known, np.array(ends), RELATIVE_FACTOR if relative else FACTOR, near)
    return (0.0, 1.0, False) if low is None or high is None else (low, high, log)


def _what(objective: Objective) -> str:
    if objective.exact:
        return "the value"
    if objective.has_quantile and objective.level != 0.5:
        return f"the {objective.level:g}-quantile"
    return f"the {objective.statistic_word}"


def _caption(columns: Sequence[_Column]) -> str:
    said = ["Values in the order in which they were told."]
    if any(column.objective.has_quantile for column in columns):
        said.append(
            "Those far from the others are marked as suspected: a hint for the eye, on which no verdict depends."
        )
    return " ".join([*said, "The interval is where the true value lies, lies or no lies."])


def _note(column: _Column, contamination: float | None) -> str:
    count, n = int(column.lies.sum()), len(column.values)
    failed = int(np.isnan(column.values).sum())
    too = f"; {failed:,} failed" if failed else ""
    if not column.objective.has_quantile:
        return f"{_counts(column.values[~np.isnan(column.values)])}{too}"
    shares = []
    if n:  # whole percents are enough for a share of few values, unless it is less than one
        shares.append(percent(count / n, digits=0 if count / n >= 0.01 else 1))
    if contamination is not None:
        shares.append(f"{percent(contamination)} declared")
    in_brackets = f" ({'; '.join(shares)})" if shares else ""
    return f"{count:,} of {n:,} suspected{in_brackets}{too}"


def _counts(values: Floats) -> str:
    """Count each value, if they are few; else all of them.

    >>> _counts(np.array([1.0, 0.0, 1.0])), _counts(np.arange(9.0))
    ('1 × 0, 2 × 1', '9 values')
    """
    different, counts = np.unique(values, return_counts=True)
    if len(different) > FEW:
        return number_of(len(values), "value")
    return ", ".join(f"{count:,} × {number(value)}" for value, count in zip(different.tolist(), counts, strict=True))


def _hint(measurements: Measurements, column: _Column, i: int) -> str:
    value = float(column.values[i])
    what = number(value)
    if np.isnan(value):
        reason = measurements.reasons[i] if i < len(measurements.reasons) else ""
        what = f"failed: {short(reason)}" if reason else "failed"
    worker = measurements.workers[i] if i < len(measurements.workers) else ""
    by = f", worker {short(worker, 24)}" if worker else ""
    pull = f"pull {int(measurements.pulls[i]):,}" if i < len(measurements.pulls) else "pull"
    return f"{pull}: {what}{', suspected' if column.lies[i] else ''}{by}"
