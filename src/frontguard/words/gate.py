"""A gate in words: the answer in a sentence or two, its table, what is promised of it, and what is missing."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from decimal import ROUND_FLOOR
from typing import TYPE_CHECKING

import numpy as np

from frontguard.comparisons.outcomes import Check, GateDetails, GatePair, LimitCheck, Outcome
from frontguard.notices import ExactDiffers, InClusters, InPairs
from frontguard.objectives import Objective, differences_in_units, parse_tolerance
from frontguard.phrases import (
    at_least,
    at_most,
    joined,
    listed,
    number_of,
    one_line,
    percent,
    percentage,
    quoted,
    rounded_up,
    visible,
)
from frontguard.results import Answer
from frontguard.statements import Statement
from frontguard.words import comparisons
from frontguard.words.arm_table import direction, place_for
from frontguard.words.asked import against, declared, granted, in_each, where_lies
from frontguard.words.certificate import amount as amount_in_words
from frontguard.words.certificate import certainty, effort, least_found, looks, measured_in_words, runs, unit
from frontguard.words.terminal import TextColumn, drawn, fitted

if TYPE_CHECKING:
    from rich.console import Group

STYLES = {Outcome.NOT_WORSE: "green", Outcome.OPEN: "yellow", Outcome.WORSE: "red"}

WORDS = {Outcome.NOT_WORSE: "pass", Outcome.OPEN: "inconclusive", Outcome.WORSE: "fail"}
"""How outcomes are called where people read them."""

HEADINGS = ("candidate", "metric", "against the baseline", "verdict")
"""Of the table, wherever it stands."""

_MOST_SAID = 3  # checks that the answer names one by one
_MOST_ROWS = 10  # of a table on a terminal


def of(found: Answer) -> GateDetails:
    """Return what an answer has of a gate."""
    if found.gate is None:
        raise ValueError("this answer is of no gate")
    return found.gate


def answer(found: Answer) -> str:
    """The answer in a sentence or two."""
    gate = of(found)
    checks = [each for each in gate.checks if each[1].outcome == gate.outcome]
    if gate.outcome != Outcome.WORSE and (most := _at_worst(gate, found.metrics)) is not None:
        said = most
    elif gate.outcome == Outcome.NOT_WORSE and len(checks) > 1:
        said = _all_passed(gate, found.metrics)
    else:
        alone = len(gate.checks) == 1
        rest = f"; and {len(checks) - _MOST_SAID} more" if len(checks) > _MOST_SAID else ""
        said = "; ".join(check_in_words(pair, check, alone=alone) for pair, check in checks[:_MOST_SAID]) + rest
    each = {pair.pulls for pair, _ in checks}
    after = f" after {runs(found, max(each))} each" if gate.outcome == Outcome.OPEN and not gate.broken else ""
    why = f" {_why_open(found)}" if gate.outcome == Outcome.OPEN else ""
    return f"{WORDS[gate.outcome].upper()}: {said}{after}.{why}".rstrip()


def _at_worst(gate: GateDetails, metrics: Sequence[Objective]) -> str | None:
    """By how much any of several candidates is worse at most; None of one alone, and where nothing bounds it."""
    pairs = [pair for pair in gate.pairs if pair.tests == 1]
    if gate.at_worst is None or len(metrics) > 1 or len(pairs) < 2 or not math.isfinite(gate.at_worst[0]):
        return None
    amount = differences_in_units(metrics, [max(0.0, gate.at_worst[0])])[0]
    said = Statement.GATE_AT_WORST(
        candidates=f"{len(pairs):,}",
        baseline=joined(list(dict.fromkeys(visible(pair.baseline) for pair in pairs))),
        amount=amount_in_words(amount, metrics[0]),
        metric=visible(metrics[0].name),
    )
    return f"{said} ({comparisons.within(metrics[0]) or 'nothing'} tolerated)"


def _all_passed(gate: GateDetails, metrics: Sequence[Objective]) -> str:
    tolerated = any(comparisons.within(metric) for metric in metrics)
    one, limits = len(gate.pairs) == 1, [str(check.limit) for check in gate.pairs[0].limits]
    said = Statement.GATE_PASSED(
        candidates=f"{_subject(gate.pairs[0])} is" if one else f"{number_of(len(gate.pairs), 'candidate')} are",
        baseline=joined(list(dict.fromkeys(visible(pair.baseline) for pair in gate.pairs))),
        within=" by more than" if tolerated else " in",
        metrics=_in_metrics(metrics) if tolerated else joined([each.name for each in metrics]),
    )
    return said + (Statement.GATE_KEEPS(keep="keeps" if one else "keep", limits=joined(limits)) if limits else "")


def _in_metrics(metrics: Sequence[Objective]) -> str:
    """Return what is tolerated in each metric, said once where it is the same."""
    amounts = [comparisons.within(each) or "nothing" for each in metrics]
    if len(set(amounts)) == 1:
        return f"{amounts[0]} in {' or '.join(each.name for each in metrics)}"
    return joined([f"{amount} in {each.name}" for amount, each in zip(amounts, metrics, strict=True)])


def _subject(pair: GatePair) -> str:
    """Return what is compared, as a sentence names it."""
    named = visible(pair.candidate)
    return named if pair.name == pair.candidate else f"{visible(pair.name)} of {named}"


def named(check: Check | LimitCheck) -> str:
    """The metric or the limit that a check is of."""
    return str(check.limit) if isinstance(check, LimitCheck) else check.metric.name


def check_in_words(pair: GatePair, check: Check | LimitCheck, *, alone: bool = True) -> str:
    """One metric or limit of a candidate, without a full stop; if not the only one, its interval in brackets."""
    if isinstance(check, LimitCheck):
        return _limit_in_words(pair, check)
    allowed, told, bound = comparisons.within(check.metric), check.effect.told, _bound(check) if alone else None
    if math.isnan(told.estimate):
        return f"nothing is known yet of {visible(check.metric.name)} ({allowed or 'nothing'} tolerated)"
    if check.in_some_quantile:
        by = f"by more than {allowed} " if allowed else ""
        return Statement.GATE_SOMEWHERE(effect=effect_in_words(pair, check), by=by)
    effect = effect_in_words(pair, check, short=bound is not None)
    return Statement.GATE_BOUND(effect=effect, bound=f"{bound}; " if bound else "", allowed=allowed or "nothing")


def _bound(check: Check) -> str | None:
    """Return how far the candidate is at least, or at most, from its baseline; None where that says too little.

    As few digits as keep it on its side of the tolerance: "at most 1.02×" may not be said of 1.0148 if 1.5% is allowed.
    """
    told, metric, worse = check.effect.told, check.metric, check.outcome == Outcome.WORSE
    is_ratio, amount = told is check.effect.ratio, parse_tolerance(metric.tolerance).amount
    low = worse == metric.minimized  # which end of the interval speaks
    end = told.low if low else told.high
    if check.outcome == Outcome.OPEN or not math.isfinite(end) or end == 0.0 or (metric.relative and not is_ratio):
        return None
    limit = (1.0 + amount) ** (1 if metric.minimized else -1) if is_ratio else amount if metric.minimized else -amount
    if (end > limit) != low:
        return None
    for digits in range(3, 7):
        place = min(0, math.floor(math.log10(abs(end))) + 1 - digits)
        shown = at_least(end, place) if low else at_most(end, place)
        if (float(shown.replace(",", "")) > limit) == (end > limit):
            return f"at {'least' if low else 'most'} {shown}{'×' if is_ratio else ''}"
    return None


def _limit_in_words(pair: GatePair, check: LimitCheck) -> str:
    limit, between = visible(str(check.limit)), comparisons.span_in_words(check.span)
    if check.outcome == Outcome.OPEN:
        shown = "nothing is known yet" if math.isnan(check.span.estimate) else between
        return f"{_subject(pair)} in {limit} ({shown})"
    template = Statement.IS_BEYOND if check.outcome == Outcome.WORSE else Statement.IS_WITHIN
    return f"{_subject(pair)} is {template(limit=limit, between=between)}"


def effect_in_words(pair: GatePair, check: Check, *, short: bool = False) -> str:
    """How a candidate compares with its baseline: the ratio, or else the difference; `short`: without ends.

    Of what is open the interval alone, where there is one.
    """
    effect, name, who = check.effect, visible(check.metric.name), visible(pair.name)
    told, baseline = effect.told, visible(pair.baseline) if pair.name == pair.candidate else ""
    sign = "×" if told is effect.ratio else ""
    if short:
        amount = f"{told.estimate:{'' if sign else '+'},.3g}{sign}"
    elif check.outcome == Outcome.OPEN and math.isfinite(told.low) and math.isfinite(told.high) and told.low:
        place = place_for(np.array([told.low]), np.array([told.high]))
        amount = f"between {at_least(told.low, place)}{sign} and {at_most(told.high, place)}{sign}"
    else:
        amount = comparisons.span_in_words(told, sign)
    if not sign:
        return f"{who} differs{f' from {baseline}' if baseline else ''} by {amount} in {name}"
    if comparisons.best_in(check.metric) == "fastest" and "cpu" not in name:
        return f"{who} takes {amount} as long{f' as {baseline}' if baseline else ''}"
    return f"{who} has {amount} the {name}{f' of {baseline}' if baseline else ''}"


def _why_open(found: Answer) -> str:
    """Return why it is not decided, where the budget or the log is not the reason."""
    gate, eps = of(found), found.certificate.contamination
    if gate.broken:
        names = list(dict.fromkeys(name for pair in gate.pairs for name in pair.excluded))
        why = "".join([f": {one_line(each)}" for name in names for each in found.state.failures.get(name, {})][:1])
        return f"{joined(list(map(visible, names)))} could not be measured{why}."
    if gate.status == "unreachable":
        return f"{Statement.GATE_STUCK(lies=where_lies(found.certificate.threat, eps).rstrip(','))}."
    if _open_because_not_exact(found):
        return "What was said to be exact was measured differently."
    ends = {"time": "The time is over.", "budget": "The budget is used up.", "cancelled": "Interrupted."}
    return ends.get(gate.status, "")


def _open_because_not_exact(found: Answer) -> bool:
    """Return True if all that is open was said to be exact and is not."""
    differ = {each.objective for each in found.notices if isinstance(each, ExactDiffers)}
    checks = [check for _, check in of(found).checks if check.outcome == Outcome.OPEN]
    return all(isinstance(check, Check) and check.metric.name in differ for check in checks)


def promise(found: Answer) -> str:
    """Return what holds of the answer, with which probability, and against whom."""
    certificate, gate = found.certificate, of(found)
    said = Statement.PROMISE(
        confidence=percent(certificate.confidence or 0.0, ROUND_FLOOR),
        threat=against(certificate.threat, certificate.contamination, in_each(found)),
        scope="",
        said=_said_at_once(found),
    )
    after = declared(found.metrics)
    if any(pair.tests > 1 for pair in gate.pairs):
        after.append(Statement.GATE_OF_SUITES())
    if found.study is not None and of(found).at_worst is not None:
        after.append(Statement.GATE_IN_BLOCKS())
        if medians := [each.name for each in found.metrics if each.has_quantile and each.level == 0.5]:
            after.append(Statement.GATE_BLIND(metrics=joined(medians)))
    if found.study is None:
        after += looks(found)
        after.append("What changed between the logs, the machine included, counts as the candidate's doing.")
    return " ".join([said, *after])


def _said_at_once(found: Answer) -> str:
    """Return what is certain together."""
    if of(found).at_worst is None:
        return Statement.GATE_SAID()
    pairs = found.noticed(InPairs)
    return Statement.GATE_OF_SAMPLES() if pairs is None else Statement.GATE_OF_PAIRS(column=quoted(pairs.columns))


def robustness(found: Answer) -> str | None:
    """Return up to which ε the outcome stands; None where it is open or that is not known."""
    last, outcome = of(found).holds_up_to, WORDS[of(found).outcome].upper()
    return None if last is None else Statement.HOLDS(answer=outcome, eps=percent(last, ROUND_FLOOR))


def remarks(found: Answer, *, explain: bool = False) -> list[str]:
    """Return what is said below the table: how certain it is, what was left out, and with `explain` why."""
    gate, sessions = of(found), found.noticed(InClusters)
    held = robustness(found) if found.certificate.contamination else None
    said = [f"{'; '.join(filter(None, (certainty(found), held)))}. {effort(found)}"]
    said += [foreseen] if (foreseen := least_found(found)) else []
    if sessions is not None and sessions.by_median:
        column = joined([visible(each) for each in sessions.columns])
        said.append(f"Each {column} counts once, by its median, and may be wrong as a whole.")
    if found.study is None and found.noticed(InPairs) is None and not all(metric.exact for metric in found.metrics):
        said.append("Assumes both sides were measured in turns: a change of the machine counts too.")
    if gate.every_row:
        said.append("--cluster none: rows of one process that depend on each other would make this too sure.")
    for names, what in ((gate.only_baseline, "the baseline"), (gate.only_candidate, "the candidate")):
        if names:
            said.append(f"Only {what} has {listed([visible(name) for name in names])}: not compared.")
    return [*said, promise(found), *granted(found.notices)] if explain else said


def next_step(found: Answer) -> str | None:
    """Return what would decide an open gate; None where it is decided, or could not be measured."""
    gate = of(found)
    if gate.outcome != Outcome.OPEN or gate.broken:
        return None
    if _open_because_not_exact(found):
        return "omit --exact for its median, or use --quantile or --mean."
    steps = [] if gate.status == "unreachable" else [_more(found)]
    if (tolerance := _enough(found)) is not None:
        steps.append(f"--tolerance {tolerance} (would pass now)")
    elif gate.status == "unreachable":
        steps.append("a looser --tolerance")
    cleaner = [check.if_cleaner for _, check in gate.checks if check.outcome == Outcome.OPEN]
    if all(each is not None for each in cleaner):
        least = min(each[1] for each in cleaner if each is not None)
        outcome = max(each[0] for each in cleaner if each is not None)
        steps.append(Statement.GATE_IF_CLEANER(eps=percent(least, ROUND_FLOOR), outcome=WORDS[outcome]))
    elif gate.status == "unreachable":
        steps.append("a smaller --contamination if you can vouch for it")
    return f"{', or '.join(steps)}. --open pass lets it pass."


def _more(found: Answer) -> str:
    """Return what more to measure, and how much in all where that is foreseen."""
    more = (
        "several files for each side ('main-*.json')" if found.study is None else "a longer --max-time or --max-pulls"
    )
    enough = [each.enough for each in found.least_found]
    if None in enough or not (most := max((each for each in enough if each), default=0)):
        return more
    return f"{more}, about {most:,} {'session' if found.noticed(InClusters) else unit(found)}s each"


def _enough(found: Answer) -> str | None:
    """Return the tolerance with which the gate would pass now, as --tolerance takes it; None where none is of use."""
    gate, metrics = of(found), found.metrics
    if gate.at_worst is None or len(metrics) != 1 or any(pair.limits for pair in gate.pairs):
        return None
    (worst,) = differences_in_units(metrics, gate.at_worst)
    if not 0.0 < worst < (0.5 if metrics[0].relative else math.inf):
        return None
    return percentage(rounded_up(worst, 2)) if metrics[0].relative else f"{rounded_up(worst, 2):g}"


def in_a_line(found: Answer) -> str:
    """A gate in a line while it runs, for a log."""
    return f"{measured_in_words(found)}: {answer(found)}"


def rows(found: Answer) -> list[tuple[tuple[str, ...], Outcome]]:
    """A row for each candidate and metric: the cells below `HEADINGS`, and what is certain of it."""
    lines: list[tuple[tuple[str, ...], Outcome]] = []
    for pair, check in of(found).checks:
        if isinstance(check, LimitCheck):
            span, sign, what = check.span, "", named(check)
        else:
            span, sign = check.effect.told, "×" if check.effect.told is check.effect.ratio else ""
            what = f"{named(check)} {direction(check.metric)}"
        shown = "–" if math.isnan(span.estimate) else comparisons.span_in_words(span, sign)
        lines.append(((visible(pair.name), visible(what), shown, WORDS[check.outcome]), check.outcome))
    return lines


def table(found: Answer, width: int, *, every: bool = False) -> Group:
    """The table for a terminal of this width: what fails first; of many rows suites and what fails, or `every` one."""
    from rich.console import Group as RichGroup
    from rich.text import Text

    lines = list(zip(rows(found), (pair.tests > 1 for pair, _ in of(found).checks), strict=True))
    lines.sort(key=lambda line: -line[0][1])
    told, rest = lines, ""
    if len(lines) > _MOST_ROWS and not every:
        told = [line for line in lines if line[1] or line[0][1] == Outcome.WORSE][:_MOST_ROWS]
        left = Counter(outcome for (_, outcome), _ in lines) - Counter(outcome for (_, outcome), _ in told)
        counts = joined([f"{count:,} {WORDS[outcome]}" for outcome, count in sorted(left.items(), reverse=True)])
        rest = f"{'… and ' if told else ''}{counts} (--all shows all)"
    chosen = [row for row, _ in told]
    columns = [TextColumn.of(heading, [cells[n] for cells, _ in chosen]) for n, heading in enumerate(HEADINGS)]
    shown = drawn(fitted(columns, width)[0], [STYLES[outcome] for _, outcome in chosen]).renderables if chosen else []
    return RichGroup(*shown, *([Text(rest)] if rest else []))
