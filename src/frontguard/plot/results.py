"""Pictures of results beside the front: all arms against a baseline, how robust; and of experiments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import ROUND_FLOOR
from typing import Any

import numpy as np

from frontguard._common.typing import Floats, Ints
from frontguard.comparisons.effects import Comparisons, Contrast, by_difference
from frontguard.errors import BadArgument, BadInput
from frontguard.objectives import parse_tolerance
from frontguard.phrases import are, natural, number, number_of, percent
from frontguard.plot.fronts import Arms, axis_of, drawable, frame, in_rows, read
from frontguard.plot.picture import (
    BY_MEANS,
    CONTESTANTS,
    GOAL,
    GREEN,
    GREY,
    PINK,
    VERMILION,
    Axis,
    Layer,
    Lines,
    Look,
    Panel,
    Picture,
    Points,
    Region,
    Rule,
    Spans,
    looks_of,
    sentences,
    short,
)
from frontguard.results import Answer, Profile
from frontguard.statements import Statement
from frontguard.verdicts import Verdict
from frontguard.words.certificate import true_values
from frontguard.words.comparisons import contrast_in_words, effect_in_words, rows_of

# A forest plot: how many times as much, or how much more, each arm has than a baseline -------------------------------


MOST_ARMS = 40
"""Arms that are drawn, the front first."""

MOST_METRICS = 4
"""Metrics that are drawn, each in a panel."""

_FACTOR = 3.0  # ratios that differ by more than this factor have a logarithmic axis
_BEYOND = " beyond the tolerance"
_BASELINE = Look("", "", "bar", width=1.2)
_TOLERATED = Look("", GREY, "square")


def forest(result: Answer, baseline: str) -> Picture:
    """Every arm against a baseline, a panel for each metric: ratios, or differences where there is no ratio.

    Parameters
    ----------
    result
        The answer to draw.
    baseline
        The name of an arm.

    Returns
    -------
    Picture

    Raises
    ------
    BadInput
        No arm has that name.

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
    by_ratio = not (by_difference(metric) or np.isnan(compared.ratios.lower[:, d]).any())
    spans = compared.ratios if by_ratio else compared.differences
    centre, low, high = (drawable(each[:, d]) for each in (spans.estimates, spans.lower, spans.upper))
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
        axis_of(short(metric.name, 40), metric.minimized, begin, end, log),
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


# The robustness profile: how much of the data may be lies before verdicts are no longer certain ----------------------


OTHERS = 30
"""Arms that are not on the front and are shown, the most fragile ones."""

MOST_FRONT = 40
"""Arms of the front that are shown, the most fragile ones if there are more."""

# There is room for a figure behind the longest bar.
_LIES = Axis("how much may lie, ε", low=0.0, high=0.62, ticks=tuple((k / 10, f"{10 * k}%") for k in range(6)))


def robustness(result: Answer, profile: Profile | None = None) -> Picture:
    """The largest share ε of lies at which each verdict, and the whole answer, stands.

    Parameters
    ----------
    result
        The answer to draw.
    profile
        Unless given, that of the analysis.

    Returns
    -------
    Picture

    Raises
    ------
    BadInput
        There is no profile, or one of other arms.

    >>> from frontguard.demo.cases import analyze_reviews
    >>> [panel.x.title for panel in robustness(analyze_reviews().analysis).panels]
    ['how much may lie, ε']
    """
    known = profile or (None if result.log is None else result.log.profile)
    if known is None:
        raise BadInput(
            "robustness(result) needs the robustness profile: give it as `profile`, or analyse the log with one"
        )
    if len(known.per_arm) != len(result.arms):
        raise BadArgument(
            "profile", must=f"be of the {len(result.arms)} arms of the result", got=f"{len(known.per_arm)} arms"
        )
    arms = read(result)
    declared = float(known.levels[0])
    order = _fragile_first(arms, known)
    without = int(np.isnan(known.per_arm).sum())
    left = len(arms.names) - without - len(order)

    def written(i: int) -> str:
        return percent(float(known.per_arm[i]), ROUND_FLOOR)

    def hint(i: int) -> str:
        holds = Statement.HOLDS_UP_TO(verdict=arms.result.verdict(i).word, eps=written(i))
        return f"{short(arms.names[i])}: {holds} lies"

    layers = in_rows(arms, order, known.per_arm, np.full(len(arms.names), declared), known.per_arm, hint, written)
    layers.append(Rule(declared, replace(GOAL, label="declared"), upright=True))
    note, answer = "", result.goal
    if known.front < 0.5:
        layers.append(Rule(known.front, Look(f"the {answer} changes", BY_MEANS.colour), upright=True))
        note = Statement.NOTED(answer=answer, declared=percent(declared), level=percent(known.front))
    elif not np.isnan(known.front):
        note = Statement.NOTED_BELOW_HALF(answer=answer, declared=percent(declared))
    panel = Panel(_LIES, Axis(names=arms.named(order), reverse=True), tuple(layers), note=note)
    return Picture(
        rows=((panel,),),
        legend=looks_of(layers[::-1]),
        caption=sentences(
            "A longer bar is a verdict that more lies are needed to shake.",
            f"{number_of(left)} less fragile {are(left)} not drawn." if left else "",
            f"{number_of(without)} without a figure." if without else "",
        ),
        height=max(3.0, 1.6 + 0.22 * len(order)),
        name="robustness",
    )


def _fragile_first(arms: Arms, known: Profile) -> Ints:
    """The arms of the front, then others; of each, those first whose verdict falls first; together, by name."""
    decided = ~np.isnan(known.per_arm)
    order = np.flatnonzero(decided)
    order = order[np.argsort(known.per_arm[order], kind="stable")]
    ins = arms.codes[order] == Verdict.KEEP
    shown = [*order[ins][:MOST_FRONT].tolist(), *order[~ins][:OTHERS].tolist()]
    shown.sort(key=lambda arm: (arms.codes[arm] != Verdict.KEEP, known.per_arm[arm], natural(arms.names[arm])))
    return np.array(shown, np.int64)


# Experiments: samples and success against ε for every policy, with the paper's numbers beside them --------------------


_APART = 0.0025  # in ε, so that policies with the same success do not hide each other
_SAMPLES = Axis(title="samples", better="lower", scale="log")
_SHARES = tuple((k / 5, f"{20 * k}%") for k in range(6))
_SUCCESSFUL = Axis(title="successful runs", better="higher", low=-0.05, high=1.08, ticks=_SHARES)


def sample_complexity(rows: Sequence[Any]) -> Picture:
    """Samples (logarithmic) and ratio of successful runs against ε; bars are 95 % intervals, hollow marks the paper's.

    Parameters
    ----------
    rows
        Those of an experiment (`experiments.results.Row`), one a policy and ε.

    Returns
    -------
    Picture

    Raises
    ------
    BadInput
        There are no rows.

    >>> from frontguard.experiments.results import Row
    >>> row = Row(dataset="movielens", policy="rpsi", contamination=0.1, runs=1, rsr=1.0, sc=900.0, ro=1.0, rf1=1.0,
    ...           accuracy=0.1, returned=4.0, returned_off_front=0.0)
    >>> [panel.y.title for panel in sample_complexity([row]).panels]
    ['samples', 'successful runs']
    """
    if not rows:
        raise BadInput("sample_complexity(rows) needs one result at least; got none")
    titles = {row.policy: row.policy_title for row in rows}
    looks = {
        policy: replace(CONTESTANTS[k % len(CONTESTANTS)], label=short(title, 40))
        for k, (policy, title) in enumerate(titles.items())
    }
    groups: dict[str, list[Any]] = {}
    for row in rows:
        groups.setdefault(row.title, []).append(row)
    grid = []
    for group, own in groups.items():
        heading = ("Sample complexity", "Success") if len(groups) == 1 else (f"{group}: samples", f"{group}: success")
        grid.append((_of_policies(own, looks, _SAMPLES, heading[0], success=False),))
        grid.append((_of_policies(own, looks, _SUCCESSFUL, heading[1], success=True),))
    printed = {row.policy for row in rows if row.published is not None}
    legend: list[Look] = []
    for policy, look in looks.items():
        legend += [look, _printed(look)] if policy in printed else [look]
    return Picture(
        rows=tuple(grid),
        title=next(iter(groups)) if len(groups) == 1 else "",
        legend=tuple(legend),
        caption="Samples: mean of runs. Bars are 95 % intervals; hollow marks are the numbers that the paper printed.",
        height=0.9 + 2.8 * len(grid),
        name="sample-complexity",
    )


def _printed(look: Look) -> Look:
    return replace(look, label=f"{look.label}, paper", filled=False, size=11.0)


def _samples(row: Any) -> tuple[float, float, float, str]:
    said = f"{number(row.sc)} samples, {number_of(row.runs, 'run')}"
    if row.sc_low is None or row.sc_high is None:  # a single run has no spread
        return row.sc, row.sc, row.sc, said
    # A bar on a logarithmic axis must stay above zero.
    return row.sc, max(row.sc_low, 0.5 * min(1.0, row.sc)), row.sc_high, said


def _success(row: Any) -> tuple[float, float, float, str]:
    return row.rsr, row.rsr_low, row.rsr_high, f"{percent(row.rsr)} of {number_of(row.runs, 'run')} successful"


def _of_policies(rows: Sequence[Any], looks: dict[str, Look], axis: Axis, title: str, *, success: bool) -> Panel:
    layers: list[Layer] = []
    present = [policy for policy in looks if any(row.policy == policy for row in rows)]
    for k, policy in enumerate(present):
        own, look = sorted((r for r in rows if r.policy == policy), key=lambda r: r.contamination), looks[policy]
        quiet = replace(look, label="")
        x = np.array([row.contamination for row in own])
        if success:
            x = x + _APART * (k - (len(present) - 1) / 2.0)
        value, low, high, said = zip(*map(_success if success else _samples, own), strict=True)
        y = np.array(value)
        hints = tuple(f"{look.label}, ε {row.contamination:g}: {each}" for row, each in zip(own, said, strict=True))
        layers += [
            Spans(x, np.array(low), np.array(high), quiet, upright=True, opacity=0.5, thickness=3.0),
            Lines(x[None, :], y[None, :], look),
            Points(x, y, quiet, hints=hints),
        ]
        known = [(at, row.published) for at, row in zip(x.tolist(), own, strict=True) if row.published]
        if known:
            theirs = [paper.rsr if success else paper.sc for _, paper in known]
            what = "successful" if success else "samples"
            hints = tuple(f"{look.label} in the paper: {number(each)} {what}" for each in theirs)
            layers.append(Points(np.array([at for at, _ in known]), np.array(theirs), _printed(look), hints=hints))
    return Panel(Axis(title="contamination ε"), axis, tuple(layers), title=title)
