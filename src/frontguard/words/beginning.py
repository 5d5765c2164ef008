"""What a run is about to do, before its first pull: what is compared and how surely, and when it stops."""

from __future__ import annotations

from decimal import ROUND_FLOOR

from frontguard.phrases import cost_in_words, duration, number, number_of, percent, visible
from frontguard.planning.reach import means_below_floor
from frontguard.question import Question
from frontguard.studies.settings import Settings
from frontguard.words.certificate import tolerance_in_words
from frontguard.words.limits import limit_in_words, never_within
from frontguard.words.plan import below_floor
from frontguard.words.threats import against


def beginning(settings: Settings, *, max_time: float | None = None, workers: int = 1) -> list[str]:
    """What is compared and how surely, by which metrics and tolerances, when it stops, and how many pulls at a time.

    And which tolerances are smaller than what an attacker can hide for ever.

    >>> from frontguard import Objective, Prescient, Question
    >>> objectives = Objective("seconds", "minimize", "2%"), Objective("size", "minimize", 100)
    >>> question = Question(objectives, Prescient(0.1), max_pulls=500, max_pulls_per_arm=100)
    >>> told = Settings(("-O1", "-O2", "-O3"), question)
    >>> print(*beginning(told, max_time=1800.0, workers=2), sep="\\n")
    comparing 3 arms at a confidence of 95%, even if each measurement of an arm is replaced with probability up to 10%
    by a prescient attacker
      by median of seconds, lower is better, differences up to 2% do not matter
      by median of size, lower is better, differences up to 100 do not matter
    until that is certified, or 500 pulls, 100 pulls of one arm or 30 min are over; 2 pulls at a time
    """
    asked = settings.question
    low = means_below_floor(asked.objectives, asked.threat)
    sure, lies = percent(asked.confidence, ROUND_FLOOR), against(asked.threat.name, asked.threat.eps)
    what = number_of(len(settings.arms))
    if asked.baseline is not None:
        what = f"{number_of(len(settings.arms) - 1, 'candidate')} with {visible(asked.baseline)}"
    return [
        f"comparing {what} at a confidence of {sure}, {lies}",
        *(f"  by {tolerance_in_words(objective)}" for objective in asked.objectives),
        *(f"  among those with {limit_in_words(gate)}" for gate in asked.columns.gates),
        *_weighed(settings),
        *(f"  {never_within(gate, asked.threat.eps)}" for gate in settings.never_within()),
        f"{_end(asked, max_time)}; {number_of(workers, 'pull')} at a time",
        *(f"warning: {said}" for said in below_floor(low, asked.threat.name, asked.threat.eps)),
    ]


def _weighed(settings: Settings) -> list[str]:
    """By what pulls are weighed, where they have costs."""
    cost = settings.question.cost
    if cost is None:
        return []
    if cost.metric is not None:
        return [f"  pulling where more is gained for the cost, which is what pulls say of {visible(cost.metric)}"]
    amounts = cost.amounts(settings.arms)
    least, most = min(amounts), max(amounts)
    each = cost_in_words(most, cost.unit) if least == most else f"{number(least)} to {cost_in_words(most, cost.unit)}"
    return [f"  pulling where more is gained for the cost, {each} a pull"]


def _end(asked: Question, max_time: float | None) -> str:
    """When it stops."""
    limits = []
    if asked.max_pulls is not None:
        limits.append(number_of(asked.max_pulls, "pull"))
    if asked.max_pulls_per_arm is not None:
        limits.append(f"{number_of(asked.max_pulls_per_arm, 'pull')} of one arm")
    if max_time is not None:
        limits.append(duration(max_time))
    if asked.max_cost is not None and asked.cost is not None:
        limits.append(f"{cost_in_words(asked.max_cost, asked.cost.unit)} of cost")
    if not limits:
        return "until that is certified or out of reach, without a budget (--max-pulls, --max-time)"
    return f"until that is certified, or {' or '.join(filter(None, [', '.join(limits[:-1]), limits[-1]]))} are over"
