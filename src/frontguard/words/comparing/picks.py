"""Which one to choose, in words: the arm, how sure that is, what it gives up; and what a front is worth."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING

from frontguard.comparisons.hypervolume import Hypervolume
from frontguard.comparisons.picks import PER_CENT, Pick, Wish
from frontguard.objectives import Objective
from frontguard.phrases import at_least, at_most, joined, number, percent, visible
from frontguard.statements import Statement
from frontguard.words.comparing.comparisons import contrast_in_words, effect_in_words
from frontguard.words.tables.arm_table import names_in_short


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
    """What makes an arm the best.

    >>> by_what(Wish((("seconds", 2.0), ("bytes", 1.0)))), by_what(Wish(None)), by_what(Wish((("seconds", 1.0),)))
    ('by weights (seconds 2, bytes 1)', 'as the knee', 'in seconds')
    """
    if wish.weights is None:
        return "as the knee"
    if len(wish.weights) == 1:
        return f"in {visible(wish.weights[0][0])}"
    return f"by weights ({', '.join(f'{visible(name)} {weight:g}' for name, weight in wish.weights)})"


def _behind(pick: Pick) -> str:
    """By how much the chosen one is behind at most; "" where that is not bounded, or says nothing."""
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
    """What is given up, and what is had, against each other arm on the list: how that one compares with the chosen."""
    lines = []
    for each in pick.others or ():
        said = (f"{effect_in_words(each.arm, each.baseline, one)} ({contrast_in_words(one)})" for one in each.effects)
        lines.append("; ".join(said))
    return lines


def volume_in_words(volume: Hypervolume) -> str:
    """What the front is worth: the volume that it dominates; "" where nothing is known or promised."""
    if volume.confidence is None or volume.certain is None:
        return ""
    reference = ", ".join(f"{visible(name)} {number(value)}" for name, value in volume.reference)
    certain, most = at_least(volume.certain), volume.possible
    if most is None or not math.isfinite(most):
        return Statement.DOMINATED_LEAST(reference=reference, certain=certain)
    return Statement.DOMINATED(reference=reference, certain=certain, possible=at_most(most))
