"""Arms beside each other, in words: how they compare, which one to choose, which one does for another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR
from typing import TYPE_CHECKING

import numpy as np

from frontguard._common.typing import Ints
from frontguard.comparisons.effects import Comparison, Comparisons, Contrast, Effect, Span
from frontguard.comparisons.picks import PER_CENT, Pick, Replacement, Wish
from frontguard.objectives import Objective
from frontguard.phrases import at_least, at_most, between, joined, number, percent, percentage, rounded_up, visible
from frontguard.results import Answer
from frontguard.statements import Statement
from frontguard.words.arm_table import ArmCell, names_in_short, order, place_for, shown
from frontguard.words.terminal import TextColumn, titled

if TYPE_CHECKING:
    from rich.console import Group


COLOURS = {
    Contrast.BETTER: "green",
    Contrast.NO_WORSE: "cyan",
    Contrast.ALIKE: "",
    Contrast.NO_BETTER: "magenta",
    Contrast.WORSE: "red",
    Contrast.OPEN: "yellow",
}
"""How contrasts look on a terminal."""


def span_in_words(span: Span, sign: str = "") -> str:
    """An estimate and its interval, with ends rounded outwards; one number where it is known, or nothing bounds it.

    >>> span_in_words(Span(1.0512, 1.0181, 1.0839)), span_in_words(Span(2.0, 2.0, 2.0), "×")
    ('1.051 [1.018, 1.084]', '2×')
    >>> span_in_words(Span(1.3, 0.0, float("inf")))
    'about 1.3'
    """
    if span.low in (0.0, -math.inf) and span.high == math.inf:
        return f"about {number(span.estimate)}{sign}"
    if span.low == span.high == span.estimate:
        return f"{number(span.estimate)}{sign}"
    place = place_for(np.array([span.low]), np.array([span.high]))
    return f"{number(span.estimate, place)}{sign} {between(span.low, span.high, place)}"


def effect_in_words(arm: str, baseline: str, effect: Effect) -> str:
    """Return by how much, or how many times, an arm differs from the baseline in a metric."""
    arm, baseline, metric = visible(arm), visible(baseline), visible(effect.metric.name)
    said = span_in_words(effect.told)
    if effect.told is effect.ratio:
        return Statement.TIMES(arm=arm, baseline=baseline, ratio=said, metric=metric)
    return Statement.MORE_BY(arm=arm, baseline=baseline, difference=said, metric=metric)


def within(metric: Objective) -> str:
    """A metric's tolerance, as an amount in full ("by more than" a rounded one could be false); "" for none.

    >>> within(Objective("seconds", "minimize", "2%")), within(Objective("bytes", "minimize", 1024.0))
    ('2%', '1024')
    """
    if metric.inner_tolerance == 0.0:
        return ""
    return str(metric.tolerance) if metric.relative else f"{float(metric.tolerance):.15g}"


def contrast_in_words(effect: Effect) -> str:
    """Return what is certain of an arm against the baseline in a metric; "open" where nothing is."""
    amount, contrast = within(effect.metric), effect.contrast
    by = f" by more than {amount}" if amount else ""
    if contrast == Contrast.BETTER:
        return Statement.BETTER_BY(by=by)
    if contrast == Contrast.WORSE:
        return Statement.WORSE_BY(by=by)
    if contrast == Contrast.ALIKE:
        return Statement.ALIKE(within=amount) if amount else Statement.EQUAL()
    if contrast == Contrast.NO_WORSE:
        return Statement.BETTER_SOMEHOW(within=amount) if effect.sign > 0 else Statement.NOT_WORSE_BY(by=by)
    if contrast == Contrast.NO_BETTER:
        return Statement.WORSE_SOMEHOW(within=amount) if effect.sign < 0 else Statement.NOT_BETTER_BY(by=by)
    return "open"


def comparison_in_words(comparison: Comparison) -> str:
    """An arm against the baseline, a line for each metric.

    >>> seconds = Objective("seconds", "minimize", tolerance="5%")
    >>> effect = Effect(seconds, Span(0.1, 0.04, 0.16), Span(1.05, 1.02, 1.08), Contrast.NO_BETTER)
    >>> print(comparison_in_words(Comparison("pr", "main", (effect,), 0.95)))
    pr / main = 1.050 [1.020, 1.080] seconds: certainly worse, perhaps by no more than 5%
    """
    return "\n".join(
        f"{effect_in_words(comparison.arm, comparison.baseline, effect)}: {contrast_in_words(effect)}"
        for effect in comparison.effects
    )


def effect_cell(effect: Effect) -> ArmCell:
    """The cell of an arm in one metric: how many times as much, or how much more where there is no ratio.

    >>> effect_cell(Effect(Objective("score", "maximize"), Span(0.3, -0.1, 0.8), None, Contrast.OPEN)).full
    '+0.3 [−0.1, 0.8]'
    """
    span = effect.told
    interval = "" if span.low == span.high == span.estimate else _minus(between(span.low, span.high))
    if math.isnan(span.estimate):
        return ArmCell("?", beside=interval)
    sign = "×" if span is effect.ratio else "+" if span.estimate > 0.0 else ""
    return ArmCell(f"{sign}{_minus(number(span.estimate))}", span.estimate, interval)


def _minus(text: str) -> str:
    """A number with a sign that is as wide as a plus."""
    return text if "e-" in text else text.replace("-", "−")


def rows_of(result: Answer, compared: Comparisons, most: int) -> Ints:
    """The rows of comparisons that a table of so many arms shows: the front first."""
    place = np.full(len(result.arms), -1)
    place[compared.numbers] = np.arange(len(compared))
    ordered = order(result) if len(result.arms) <= most else shown(result, most)
    rows = place[ordered]
    return np.asarray(rows[rows >= 0])


def on_terminal(compared: Comparisons, rows: Sequence[int] | Ints, width: int, elsewhere: str = "") -> Group:
    """The table of some arms against the baseline, in so many columns; what finds no room is left out and said."""
    chosen = [compared.of(int(row)) for row in rows]
    columns = [TextColumn.of("arm", [visible(each.arm) for each in chosen])]
    for d, metric in enumerate(compared.metrics):
        cells = [(effect_cell(each.effects[d]), each.effects[d].contrast) for each in chosen]
        columns.append(
            TextColumn.of(
                f"{visible(metric.name)}\n{'lower' if metric.minimized else 'higher'} is better",
                [f"{cell.text}  {contrast.word}\n{cell.beside}" for cell, contrast in cells],
                [COLOURS[contrast] for _, contrast in cells],
                number=True,
            )
        )
    return titled(f"Against {visible(compared.baseline)}", columns, width, elsewhere=elsewhere)


def beside_in_words(compared: Comparisons) -> str:
    """Return with which probability comparisons hold."""
    if compared.confidence is None:
        return ""
    return Statement.BESIDE(confidence=percent(compared.confidence, ROUND_FLOOR))


def left_in_words(compared: Comparisons, rows: Sequence[int] | Ints) -> str:
    """Return how many arms a table leaves out; "" if none."""
    left = len(compared) - len(rows)
    return f"… and {left:,} more." if left > 0 else ""


def pick_in_words(pick: Pick) -> str:
    """The choice in a sentence or two, and a line for each other arm on the list."""
    return "\n".join([choice_in_words(pick), *given_up(pick)])


def choice_in_words(pick: Pick) -> str:
    """The arm, and how sure that choice is."""
    limits = joined([visible(str(gate)) for gate in pick.wish.gates])
    asked = limits or "the limits"
    among = names_in_short([visible(arm) for arm in pick.among])
    if pick.arm is None:
        return Statement.NONE_KEEPS(limits=asked, among=among) if pick.among else Statement.NONE_CAN(limits=asked)
    said = {
        "arm": visible(pick.arm),
        "by": by_what(pick.wish),
        "scope": f" among the arms with {limits}" if limits else "",
    }
    if pick.confidence is None:
        return Statement.CHOSEN_UNPROMISED(**said)
    if pick.certain:
        return Statement.CHOSEN(**said)
    sentence = Statement.CHOSEN_AMONG(**said, among=among)
    behind = _behind(pick)
    return f"{sentence} {Statement.AT_MOST_BEHIND(behind=behind)}" if behind else sentence


def by_what(wish: Wish) -> str:
    """Return what makes an arm the best.

    >>> by_what(Wish((("seconds", 2.0), ("bytes", 1.0)))), by_what(Wish(None)), by_what(Wish((("seconds", 1.0),)))
    ('by weights (seconds 2, bytes 1)', 'as the knee', 'in seconds')
    """
    if wish.weights is None:
        return "as the knee"
    if len(wish.weights) == 1:
        return f"in {visible(wish.weights[0][0])}"
    return f"by weights ({', '.join(f'{visible(name)} {weight:g}' for name, weight in wish.weights)})"


def _behind(pick: Pick) -> str:
    """Return by how much the chosen one is behind at most; "" where that is not bounded, or says nothing."""
    if not 0.0 < pick.behind < math.inf:
        return ""
    if pick.wish.weights is None:
        return f"{percent(pick.behind, ROUND_CEILING)} of a metric's range over the list" if pick.behind < 1.0 else ""
    if len(pick.wish.weights) == 1 and pick.others is not None:
        name, weight = pick.wish.weights[0]
        metric = next(metric for metric in pick.others.metrics if metric.name == name)
        return _one(metric, pick.behind / weight)
    return f"{at_most(pick.behind)} of the weighted sum"


def _one(metric: Objective, amount: float) -> str:
    """An amount of one metric, in its units or, where its tolerance is a percentage, in per cent of the better one."""
    if not metric.relative:
        return at_most(amount)
    share = math.expm1(min(amount / PER_CENT, 700.0))
    return percent(share, ROUND_CEILING) if share < 10.0 else ""


def given_up(pick: Pick) -> list[str]:
    """Return what is given up, and what is had: how each other arm on the list compares with the chosen one."""
    lines = []
    for each in pick.others or ():
        said = (f"{effect_in_words(each.arm, each.baseline, one)} ({contrast_in_words(one)})" for one in each.effects)
        lines.append("; ".join(said))
    return lines


_FAST, _SMALL, _CHEAP = ("fast", "as fast", "slower"), ("small", "smaller", "larger"), ("cheap", "cheaper", "dearer")
_SPOKEN = {
    **dict.fromkeys(("seconds", "time", "duration", "runtime", "latency", "cpu_seconds", "milliseconds", "ms"), _FAST),
    **dict.fromkeys(("bytes", "size", "kilobytes", "megabytes", "kb", "mb"), _SMALL),
    **dict.fromkeys(("price", "cost", "costs", "usd", "dollars", "euros"), _CHEAP),
}
"""How metrics of which less is better are spoken of: as fast; 2.1 times as fast; 2% slower."""


_BEST = {_FAST: "fastest", _SMALL: "smallest", _CHEAP: "cheapest"}


def best_in(metric: Objective) -> str:
    """Return what the best arm of a metric is called.

    >>> best_in(Objective("seconds", "minimize")), best_in(Objective("solved", "maximize"))
    ('fastest', 'best in solved')
    """
    spoken = _SPOKEN.get(metric.name.lower()) if metric.minimized else None
    return f"best in {metric.name}" if spoken is None else _BEST[spoken]


def take_instead(result: Answer, arm: int) -> str | None:
    """Return which listed arm to take in the place of one that is not, and what is certain of the two, if any."""
    found = result.replacement(arm)
    return None if found is None or not result.metrics else _instead(found, result.metrics)


def _instead(found: Replacement, metrics: tuple[Objective, ...]) -> str:
    return Statement.INSTEAD(arm=found.by, compared=compared(found, metrics))


def compared(found: Replacement, metrics: tuple[Objective, ...]) -> str:
    """Return what is certain of an arm in the place of another one, objective by objective.

    >>> metrics = [*(Objective(name, tolerance="5%") for name in ("bytes", "seconds")), Objective("score", "maximize")]
    >>> costs, gains = {"bytes": 0.0, "seconds": 0.0, "score": 0.31}, {"bytes": 0.0, "seconds": 1.1, "score": 0.0}
    >>> compared(Replacement("gzip", costs, gains), metrics)
    'as small, at least 2.1 times as fast, at most 0.31 less score'
    """
    return ", ".join(_of_one(metric, found.costs[metric.name], found.gains[metric.name]) for metric in metrics)


def _of_one(metric: Objective, cost: float, gain: float) -> str:
    name, times = metric.name, at_least(1.0 + gain)
    more, less = ("more", "less") if metric.minimized else ("less", "more")
    plain = f"good in {name}", f"better in {name}", f"worse in {name}"
    alike, better, worse = _SPOKEN.get(name.lower(), plain) if metric.minimized else plain
    if cost > 0.0:
        amount = f"{percentage(rounded_up(cost, 3))} {worse}" if metric.relative else f"{at_most(cost)} {more} {name}"
        return Statement.AT_MOST(amount=amount)
    if gain > 0.0 and not metric.relative:
        return Statement.AT_LEAST(amount=f"{at_least(gain)} {less} {name}")
    if metric.relative and times != "1":
        return Statement.AT_LEAST(amount=f"{times} times {better}")
    return Statement.AS_GOOD(what=alike)
