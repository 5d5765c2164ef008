"""Comparisons with a baseline in words: "pr / main = 1.05 [1.02, 1.08] seconds"."""

from __future__ import annotations

from frontguard.comparisons.effects import Comparison, Contrast, Effect, Span
from frontguard.objectives import Objective
from frontguard.phrases import between, number, visible
from frontguard.words.statements import Statement


def span_in_words(span: Span) -> str:
    """An estimate and its interval, whose ends are rounded outwards; one number where it is known to the last digit.

    >>> span_in_words(Span(1.0512, 1.0181, 1.0839)), span_in_words(Span(2.0, 2.0, 2.0))
    ('1.051 [1.018, 1.084]', '2')
    """
    if span.low == span.high == span.estimate:
        return number(span.estimate)
    return f"{number(span.estimate)} {between(span.low, span.high)}"


def effect_in_words(arm: str, baseline: str, effect: Effect) -> str:
    """By how much, or how many times, an arm differs from the baseline in a metric."""
    arm, baseline, metric = visible(arm), visible(baseline), visible(effect.metric.name)
    if effect.ratio is not None:
        return Statement.TIMES(arm=arm, baseline=baseline, ratio=span_in_words(effect.ratio), metric=metric)
    difference = span_in_words(effect.difference)
    return Statement.MORE_BY(arm=arm, baseline=baseline, difference=difference, metric=metric)


def within(metric: Objective) -> str:
    """A metric's tolerance, as an amount; "" where every difference matters."""
    if metric.inner_tolerance == 0.0:
        return ""
    return str(metric.tolerance) if metric.relative else number(float(metric.tolerance))


def contrast_in_words(effect: Effect) -> str:
    """What is certain of an arm against the baseline in a metric; "open" where nothing is."""
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
    pr / main = 1.05 [1.02, 1.08] seconds: certainly worse, perhaps by no more than 5%
    """
    return "\n".join(
        f"{effect_in_words(comparison.arm, comparison.baseline, effect)}: {contrast_in_words(effect)}"
        for effect in comparison.effects
    )
