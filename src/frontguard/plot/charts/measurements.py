"""The raw values of an arm in the order of its pulls: what was measured, what failed, what looks like a lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from frontguard._common.typing import Bools, Floats
from frontguard.objectives import Objective
from frontguard.phrases import number, number_of, percent
from frontguard.plot.arms import RELATIVE_FACTOR, axis_of, beside_each_other, drawable, position_of
from frontguard.plot.layout.frames import widened
from frontguard.plot.layout.names import short
from frontguard.plot.looks import FAILED, IN, SUSPECT, VALUE
from frontguard.plot.picture import Axis, Band, Layer, Panel, Picture, Points, Rule, looks_of
from frontguard.plot.sentences import interval, sentences
from frontguard.studies.overview import History, Measurements
from frontguard.suspects import suspects

FEW = 8
"""Up to so many different values, how often each is there is counted."""

FAR = 20.0
"""A value so many robust ranges (those of the middle half) from the middle is drawn at the edge."""

BEYOND = replace(SUSPECT, label="beyond the edge", mark="triangle", filled=True)

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
    contamination: float | None = None,
) -> Picture:
    """Every pull of an arm, a panel for each objective (or one), with the arm's interval if a history is given.

    `contamination` is the share ε that the threat model allows, to be compared with how many are suspected. To suspect
    is a hint for the eye: no verdict depends on it.
    """
    names = [each.name for each in measurements.objectives]
    shown = range(len(names)) if objective is None else [position_of(names, objective, "objective", "one of these")]
    columns = [_column(measurements, history, d) for d in shown]
    first = measurements.total - len(measurements.values)
    x = np.arange(first + 1.0, first + 1.0 + len(measurements.values))
    panels = [_panel(measurements, column, x, contamination) for column in columns]
    across = 1 if len(panels) == 1 or len(x) > 400 else 2
    rows = beside_each_other(panels, across)
    return Picture(
        rows=rows,
        title=short(measurements.name),
        legend=looks_of([layer for panel in panels for layer in panel.layers]),
        description=sentences(
            f"The {'last ' if first else ''}{number_of(len(x), 'pull')} of {short(measurements.name)}"
            + (f" (of {measurements.total:,})." if first else "."),
            *(_told(column) for column in columns),
        ),
        caption=_caption(columns),
        width=7.0 if across == 1 else 10.0,
        height=1.2 + 3.8 * len(rows),
        name="measurements",
    )


def _column(measurements: Measurements, history: History | None, d: int) -> _Column:
    objective = measurements.objectives[d]
    values = drawable(measurements.values[:, d])
    values = np.where(objective.usable(values), values, np.nan)
    measured = values[np.isfinite(values)]
    low, high = -np.inf, np.inf
    middle = np.nan
    if len(measured):
        middle = float(measured.mean() if objective.statistic == "mean" else np.quantile(measured, objective.level))
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
    y_low, y_high, log = edges(column.values, (column.low, column.high), objective.relative)
    failed = np.isnan(values)
    beyond = ~failed & ((values < y_low) | (values > y_high))
    lies = column.lies & ~failed & ~beyond
    plain = ~failed & ~beyond & ~lies
    layers: list[Layer] = []
    if len(x) and column.low != column.high and (np.isfinite(column.low) or np.isfinite(column.high)):
        across = np.array([x[0] - 0.5, x[-1] + 0.5])
        words = f"{_what(objective)}: {interval(column.low, column.high)}"
        band = replace(IN, label=f"interval of {_what(objective)}")
        layers.append(Band(across, np.full(2, column.low), np.full(2, column.high), band, words))
    if np.isfinite(column.middle):
        layers.append(Rule(column.middle, replace(IN, label="", width=1.2), written=number(column.middle)))
    for which, look, y in (
        (plain, VALUE, values),
        (lies, SUSPECT, values),
        (beyond, BEYOND, np.clip(values, y_low, y_high)),
        (failed, FAILED, np.full(len(x), y_low)),
    ):
        some = np.flatnonzero(which)
        if len(some):
            quiet = look is VALUE and len(x) > _HINTED
            hints = () if quiet else tuple(_hint(measurements, column, i) for i in some.tolist())
            layers.append(Points(x[some], y[some], look, hints=hints))
    up = axis_of(objective.name, objective.minimized, *widened((y_low, y_high), 0.04, log=log), log)
    return Panel(Axis(title="pull of this arm"), up, tuple(layers), note=_note(column, contamination))


def edges(values: Floats, ends: tuple[float, float], relative: bool) -> tuple[float, float, bool]:
    """What part of the values is shown, and whether by ratios: all that are not `FAR` from the middle half.

    >>> edges(np.array([1.0, 2.0, 3.0, 4.0, 1e9, np.nan]), (-np.inf, 5.0), False)
    (1.0, 5.0, False)
    >>> edges(np.array([2.0]), (-np.inf, np.inf), False)
    (1.8, 2.2, False)
    """
    known = values[np.isfinite(values)]
    if not len(known):
        finite = [end for end in ends if np.isfinite(end)]
        return (min(finite), max(finite), False) if len(set(finite)) == 2 else (0.0, 1.0, False)
    log = relative and float(known.min()) > 0.0
    scaled = np.log(known) if log else known
    quarter, middle, three = np.quantile(scaled, [0.25, 0.5, 0.75])
    reach = three - quarter
    if reach == 0.0:  # more than half are the same: how far the others are from it, as long as they are few
        away = np.abs(scaled - middle)
        reach = float(np.median(away[away > 0.0])) if (away > 0.0).any() else 0.0
    near = scaled[np.abs(scaled - middle) <= FAR * reach]
    low, high = float(near.min()), float(near.max())
    for end in ends:
        if np.isfinite(end) and (end > 0.0 or not log):
            place = float(np.log(end)) if log else end
            if abs(place - middle) <= FAR * reach:
                low, high = min(low, place), max(high, place)
    if log:
        low, high = float(np.exp(low)), float(np.exp(high))
        log = high > RELATIVE_FACTOR * low
    if low == high:
        half = 0.1 * abs(low) or 0.5
        low, high = low - half, high + half
    return low, high, log


def _what(objective: Objective) -> str:
    if objective.exact:
        return "the value"
    if objective.statistic == "mean":
        return "the mean"
    return "the median" if objective.level == 0.5 else f"the {objective.level:g}-quantile"


def _caption(columns: Sequence[_Column]) -> str:
    """What is shown, and what of it is a hint only."""
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
    """How often each value is there, if they are few; else how many there are.

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


def _told(column: _Column) -> str:
    failed = int(np.isnan(column.values).sum())
    middle = f"{_what(column.objective)} {number(column.middle)}"
    where = "" if column.low == column.high else f", {interval(column.low, column.high)}"
    suspected = f"{int(column.lies.sum()):,} suspected, " if column.objective.has_quantile else ""
    return f"{short(column.objective.name, 32)}: {middle}{where}; {suspected}{failed:,} failed."
