"""A forest plot: how many times as much, or how much more, each arm has than a baseline, with what is certain of it."""

from __future__ import annotations

import numpy as np

from frontguard._common.typing import Floats, Ints
from frontguard.comparisons.effects import Comparisons, Contrast, by_difference
from frontguard.objectives import parse_tolerance
from frontguard.phrases import number_of
from frontguard.plot.arms import drawable, frame
from frontguard.plot.looks import GREEN, GREY, PINK, VERMILION, Look
from frontguard.plot.picture import Axis, Layer, Panel, Picture, Points, Region, Rule, Spans, looks_of
from frontguard.plot.text import sentences, short
from frontguard.results import Result
from frontguard.statements import Statement
from frontguard.words.certificate import true_values
from frontguard.words.comparisons import contrast_in_words, effect_in_words, rows_of

MOST_ARMS = 40
"""Arms that are drawn, the front first."""

MOST_METRICS = 4
"""Metrics that are drawn, each in a panel."""

_FACTOR = 3.0  # ratios that differ by more than this factor have a logarithmic axis
_BEYOND = " beyond the tolerance"
_BASELINE = Look("", "", "bar", width=1.2)
_TOLERATED = Look("", GREY, "square")


def forest(result: Result, baseline: str) -> Picture:
    """Every arm against a baseline, a panel for each metric: ratios, or differences where there is no ratio.

    >>> from frontguard.demo.cases import analyze_reviews
    >>> found = analyze_reviews().analysis
    >>> [panel.x.title for panel in forest(found, found.arms[0]).panels]
    ['19-25', '26-35']
    """
    compared = result.against(baseline)
    rows = rows_of(result, compared, MOST_ARMS)
    chosen = compared.some(rows)
    tolerated = any(metric.inner_tolerance > 0.0 for metric in compared.metrics)
    looks = _looks(tolerated)
    panels = [_panel(chosen, d, looks) for d in range(min(len(compared.metrics), MOST_METRICS))]
    left, unseen = len(compared) - len(rows), len(compared.metrics) - len(panels)
    used = {look for panel in panels for look in looks_of(panel.layers)}
    name = short(compared.baseline, 40)
    return Picture(
        rows=(tuple(panels),),
        legend=tuple(look for look in looks.values() if look in used),
        caption=sentences(
            f"Marks are estimates, against {name}; {true_values(result, 'lines')}.",
            "Within the shaded band a difference does not matter." if tolerated else "",
            f"{number_of(left)} more are not drawn." if left > 0 else "",
            f"{number_of(unseen, 'metric')} more {'is' if unseen == 1 else 'are'} not drawn." if unseen > 0 else "",
        ),
        width=max(7.0, 4.6 * len(panels)),
        height=1.7 + 0.28 * max(3, len(rows)),
        name="forest",
    )


def _looks(tolerated: bool) -> dict[Contrast, Look]:
    by = _BEYOND if tolerated else ""
    return {
        Contrast.BETTER: Look(Statement.BETTER_BY(by=by), GREEN, "circle", size=8.0),
        Contrast.NO_WORSE: Look(Statement.NOT_WORSE_BY(by=by), GREEN, "circle", filled=False, size=8.0),
        Contrast.ALIKE: Look(
            Statement.ALIKE(within="the tolerance") if tolerated else Statement.EQUAL(), GREY, "square", size=7.0
        ),
        Contrast.NO_BETTER: Look(Statement.NOT_BETTER_BY(by=by), VERMILION, "diamond", filled=False, size=8.0),
        Contrast.WORSE: Look(Statement.WORSE_BY(by=by), VERMILION, "diamond", size=8.0),
        Contrast.OPEN: Look("open", PINK, "triangle", filled=False, size=8.0),
    }


def _panel(compared: Comparisons, d: int, looks: dict[Contrast, Look]) -> Panel:
    metric, baseline = compared.metrics[d], short(compared.baseline, 24)
    by_ratio = not (by_difference(metric) or np.isnan(compared.ratios.low[:, d]).any())
    spans = compared.ratios if by_ratio else compared.differences
    centre, low, high = (drawable(each[:, d]) for each in (spans.estimates, spans.low, spans.high))
    same = 1.0 if by_ratio else 0.0
    band = _tolerated(compared, d, by_ratio)
    begin, end, log = frame(np.append(centre, same), np.concatenate([low, high, band]), _FACTOR)
    if log:
        low = np.where(low > 0.0, low, -np.inf)
    layers: list[Layer] = []
    if len(band):
        across = np.array([band[0], band[0], band[1], band[1]])
        layers.append(Region(across, np.array([-np.inf, np.inf, np.inf, -np.inf]), _TOLERATED))
    layers.append(Rule(same, _BASELINE, upright=True))
    at = np.arange(len(compared), dtype=np.float64)
    for contrast, look in looks.items():
        some = np.flatnonzero(compared.contrasts[:, d] == contrast)
        if len(some):
            layers += _marks(compared, d, some, (at, centre, low, high), look)
    return Panel(
        Axis(
            short(metric.name, 40),
            "lower" if metric.minimized else "higher",
            "log" if log else "linear",
            low=begin,
            high=end,
        ),
        Axis(names=tuple(compared.arms), reverse=True),  # in each: on a narrow page they stand below each other
        tuple(layers),
        title=f"{'times' if by_ratio else 'more than'} {baseline}",
    )


def _marks(
    compared: Comparisons, d: int, some: Ints, places: tuple[Floats, Floats, Floats, Floats], look: Look
) -> list[Layer]:
    at, centre, low, high = (each[some] for each in places)
    keys = tuple(compared.numbers[some].tolist())
    hints = []
    for row in some.tolist():
        effect = compared.effect(row, d)
        said = effect_in_words(short(compared.arms[row], 40), short(compared.baseline, 40), effect)
        hints.append(f"{said}: {contrast_in_words(effect)}")
    quiet = Look("", look.colour, look.mark, look.filled, look.dash, look.size, look.width)
    return [
        Spans(at, low, high, quiet, hints=tuple(hints), keys=keys, opacity=0.55),
        Points(centre, at, look, hints=tuple(hints), keys=keys),
    ]


def _tolerated(compared: Comparisons, d: int, by_ratio: bool) -> Floats:
    """Between which ratios or differences an arm is alike the baseline; nothing where the two scales do not agree."""
    metric = compared.metrics[d]
    amount, relative = parse_tolerance(metric.tolerance)
    if amount == 0.0 or relative != by_ratio:
        return np.empty(0)
    return np.array([1.0 / (1.0 + amount), 1.0 + amount]) if relative else np.array([-amount, amount])
