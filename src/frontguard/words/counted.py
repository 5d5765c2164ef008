"""What counts of metrics, in words: medians, other quantiles, means, or the values themselves."""

from __future__ import annotations

from collections.abc import Sequence

from frontguard.notices import ExactDiffers, Notice, TakenAsRate
from frontguard.objectives import Objective
from frontguard.phrases import are, joined, number, number_of


def what_counts(metrics: Sequence[Objective]) -> str:
    """What of the metrics lies in intervals, as a sentence names it; medians where nothing is known of them.

    >>> rate, size = Objective("solved", statistic="mean", bounds=(0, 1)), Objective("bytes", exact=True)
    >>> what_counts([Objective("seconds"), rate, size]), what_counts([Objective("seconds", quantile=0.9)])
    ('medians and means', 'quantiles')
    >>> what_counts([size])
    'values'
    """
    quantiles = [each for each in metrics if each.has_quantile]
    found = []
    if quantiles or not metrics:
        found.append("medians" if all(each.level == 0.5 for each in quantiles) else "quantiles")
    if any(each.statistic == "mean" for each in metrics):
        found.append("means")
    return joined(found) or "values"


def counted_in_words(objective: Objective) -> str:
    """What counts of one metric, with its name.

    >>> counted_in_words(Objective("stars", statistic="mean", bounds=(1, 5)))
    'mean of stars (between 1 and 5)'
    >>> counted_in_words(Objective("bytes", exact=True)), counted_in_words(Objective("seconds", quantile=0.95))
    ('exact value of bytes', 'p95 of seconds')
    """
    if objective.exact:
        return f"exact value of {objective.name}"
    return f"{objective.statistic_word} of {objective.name}{_known(objective)}"


def _known(objective: Objective) -> str:
    if objective.bounds is not None:
        low, high = objective.bounds
        return f" (between {number(low)} and {number(high)})"
    return f" (σ = {number(objective.sigma)})" if objective.sigma is not None else ""


def declared(metrics: Sequence[Objective]) -> list[str]:
    """What was declared of metrics whose values, or whose means, count, and has to be so: a sentence each."""
    said = []
    for each in metrics:
        if each.bounds is not None:
            low, high = each.bounds
            said.append(
                f"Every value of {each.name} lies between {number(low)} and {number(high)}, also one that replaces "
                "another. What does not counts as a failed pull."
            )
        if each.sigma is not None:
            said.append(
                f"The values of {each.name} lie around their mean no further than normal ones of deviation "
                f"{number(each.sigma)} do (they are subgaussian)."
            )
    exact = [each.name for each in metrics if each.exact]
    if exact:
        said.append(
            f"{joined(exact)} {are(len(exact))} exact, as declared: the same whenever measured, and never replaced. "
            "Where an arm was measured differently, nothing is said of it there."
        )
    return said


def taken_as_declared(metrics: Sequence[Objective], notices: Sequence[Notice] = ()) -> str:
    """The same in short, to stand behind what is promised; "" where nothing was declared.

    What was measured differently in some arms is said to be exact in the others alone.

    >>> rate, size = Objective("solved", statistic="mean", bounds=(0, 1)), Objective("bytes", exact=True)
    >>> taken_as_declared([rate, size, Objective("ms", statistic="mean", sigma=0.2)])
    ' As declared, solved lies between 0 and 1, bytes is exact and the deviation of ms is 0.2.'
    >>> taken_as_declared([size], [ExactDiffers("bytes", "a", 2, 20.0, 21.0)])
    ' As declared, bytes is exact, but for 2 arms that were measured differently.'
    """
    differ: dict[str, int] = {}
    for notice in notices:
        if isinstance(notice, ExactDiffers):  # one for each log that is compared
            differ[notice.objective] = differ.get(notice.objective, 0) + notice.arms
    said = []
    for each in metrics:
        if each.bounds is not None:
            said.append(f"{each.name} lies between {number(each.bounds[0])} and {number(each.bounds[1])}")
        elif each.sigma is not None:
            said.append(f"the deviation of {each.name} is {number(each.sigma)}")
        elif each.exact and each.name in differ:
            arms = differ[each.name]
            measured = "was" if arms == 1 else "were"
            said.append(f"{each.name} is exact, but for {number_of(arms)} that {measured} measured differently")
        elif each.exact:
            said.append(f"{each.name} is exact")
    return f" As declared, {joined(said)}." if said else ""


def rates(notices: Sequence[Notice]) -> str | None:
    """What was taken as a rate although nobody said so; None where nothing was.

    >>> rates([TakenAsRate("solved")])
    "'solved' is true or false: the rate is what counts."
    """
    names = [repr(each.objective) for each in notices if isinstance(each, TakenAsRate)]
    return f"{joined(names)} {are(len(names))} true or false: the rate is what counts." if names else None
