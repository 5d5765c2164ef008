"""A gate in words: the answer in a sentence or two, its table, what is promised of it, and what is missing."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from decimal import ROUND_FLOOR
from typing import TYPE_CHECKING

from frontguard.comparisons.effects import Span
from frontguard.comparisons.outcomes import Check, GateDetails, GatePair, LimitCheck, Outcome
from frontguard.notices import ExactDiffers, InClusters, InPairs
from frontguard.objectives import Objective, differences_in_units
from frontguard.phrases import cells_of, duration, joined, listed, number_of, percent, quoted, visible
from frontguard.results import Answer
from frontguard.statements import Statement
from frontguard.words import comparisons
from frontguard.words.asked import able, against, declared, granted, if_at_most, in_each
from frontguard.words.certificate import amount as amount_in_words
from frontguard.words.certificate import certainty, effort, least_found, looks
from frontguard.words.terminal import TextColumn, drawn, fitted

if TYPE_CHECKING:
    from rich.console import Group

STYLES = {Outcome.NOT_WORSE: "green", Outcome.OPEN: "yellow", Outcome.WORSE: "red"}

WORDS = {Outcome.NOT_WORSE: "pass", Outcome.OPEN: "inconclusive", Outcome.WORSE: "fail"}
"""How outcomes are called where people read them."""

HEADINGS = ("candidate", "metric", "against the baseline", "verdict", "up to ε")
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
        rest = f"; and {len(checks) - _MOST_SAID} more" if len(checks) > _MOST_SAID else ""
        named = (f"{_if_cleaner(found, check)}{check_in_words(pair, check)}" for pair, check in checks[:_MOST_SAID])
        said = f"{'; '.join(named)}{rest}"
    why = f" {_why_open(found)}" if gate.outcome == Outcome.OPEN else ""
    return f"{WORDS[gate.outcome].upper()}: {said}.{why}"


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
        metrics=joined(
            [f"{comparisons.within(each) or 'nothing'} in {each.name}" if tolerated else each.name for each in metrics]
        ),
    )
    return said + (Statement.GATE_KEEPS(keep="keeps" if one else "keep", limits=joined(limits)) if limits else "")


def _subject(pair: GatePair) -> str:
    """Return what is compared, as a sentence names it."""
    named = visible(pair.candidate)
    return named if pair.name == pair.candidate else f"{visible(pair.name)} of {named}"


def named(check: Check | LimitCheck) -> str:
    """The metric or the limit that a check is of."""
    return str(check.limit) if isinstance(check, LimitCheck) else check.metric.name


def check_in_words(pair: GatePair, check: Check | LimitCheck) -> str:
    """One metric or limit of a candidate, in a sentence without its full stop."""
    if isinstance(check, LimitCheck):
        return _limit_in_words(pair, check)
    effect = f"{'' if pair.name == pair.candidate else f'{visible(pair.name)}: '}{effect_in_words(pair, check)}"
    allowed = comparisons.within(check.metric)
    if check.outcome == Outcome.OPEN:
        return f"{effect} ({allowed or 'nothing'} tolerated)"
    by = f" by more than {allowed}" if allowed else ""
    if check.outcome == Outcome.WORSE:
        return Statement.GATE_WORSE(effect=effect, by=by, where=", in some quantile" if check.in_some_quantile else "")
    return Statement.GATE_NOT_WORSE(effect=effect, by=by)


def _if_cleaner(found: Answer, check: Check | LimitCheck) -> str:
    """Return what is certain of an open check at a smaller ε than was declared, before it; "" where nothing is."""
    if check.if_cleaner is None:
        return ""
    (outcome, eps), allowed = check.if_cleaner, ""
    if isinstance(check, Check):
        allowed = comparisons.within(check.metric)
    by = f" by more than {allowed}" if allowed else ""
    return f"{Statement.GATE_IF_CLEANER(outcome=outcome.word, by=by, **if_at_most(found, eps))}: "


def _limit_in_words(pair: GatePair, check: LimitCheck) -> str:
    limit, between = visible(str(check.limit)), comparisons.span_in_words(check.span)
    if check.outcome == Outcome.OPEN:
        shown = "nothing is known yet" if math.isnan(check.span.estimate) else between
        return f"{_subject(pair)} in {limit} ({shown})"
    template = Statement.IS_BEYOND if check.outcome == Outcome.WORSE else Statement.IS_WITHIN
    return f"{_subject(pair)} is {template(limit=limit, between=between)}"


def effect_in_words(pair: GatePair, check: Check | LimitCheck) -> str:
    """The ratio, or where there is none the difference, with its interval."""
    if isinstance(check, LimitCheck):
        return _limit_in_words(pair, check)
    if math.isnan(check.effect.told.estimate):
        return f"nothing is known yet of {visible(check.metric.name)}"
    return comparisons.effect_in_words(pair.candidate, pair.baseline, check.effect)


def _why_open(found: Answer) -> str:
    """Return why it is not decided."""
    gate, certificate = of(found), found.certificate
    if gate.broken:
        names = list(dict.fromkeys(name for pair in gate.pairs for name in pair.excluded))
        return f"{joined([visible(name) for name in names])} could not be measured."
    if gate.status == "unreachable":
        lies = (
            f"where an attacker {able(certificate.threat, certificate.contamination)}"
            if certificate.contamination
            else "with these"
        )
        return f"{Statement.GATE_STUCK(lies=lies)}."
    if _open_because_not_exact(found):
        return "What was said to be exact was measured differently."
    return {
        "budget": f"The budget is used up after {number_of(found.pulls, 'pull')}.",
        "time": f"The time is over after {number_of(found.pulls, 'pull')}.",
        "cancelled": f"Interrupted after {number_of(found.pulls, 'pull')}.",
        "log": "More measurements would be needed.",
    }.get(gate.status, "Not decided yet.")


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
    last = of(found).holds_up_to
    return None if last is None else Statement.HOLDS(answer="outcome", eps=percent(last, ROUND_FLOOR))


def remarks(found: Answer, *, explain: bool = False) -> list[str]:
    """Return what is said below the table: how certain it is, what was left out, and with `explain` why."""
    gate, sessions = of(found), found.noticed(InClusters)
    said = [" ".join(filter(None, (certainty(found), robustness(found), effort(found))))]
    said += [foreseen] if (foreseen := least_found(found)) else []
    if sessions is not None and sessions.by_median:
        column = joined([visible(each) for each in sessions.columns])
        said.append(f"Each {column} counts once, by its median, and may be wrong as a whole.")
    if gate.every_row:
        said.append("--cluster none: rows of one process that depend on each other would make this too sure.")
    for names, what in ((gate.only_baseline, "the baseline"), (gate.only_candidate, "the candidate")):
        if names:
            said.append(f"Only {what} has {listed([visible(name) for name in names])}: not compared.")
    return [*said, promise(found), *granted(found.notices)] if explain else said


def next_step(found: Answer) -> str | None:
    """Return what to do where it is open; None where it is not."""
    gate, of_logs = of(found), found.study is None
    if gate.outcome != Outcome.OPEN or gate.broken:
        return None
    if _open_because_not_exact(found):
        return "omit --exact for its median, or use --quantile or --mean."
    if gate.status == "unreachable":
        return "a looser --tolerance, or a smaller --contamination if you can vouch for it."
    more = "several files for each side, quoted ('main-*.json')" if of_logs else "a longer --max-time or --max-pulls"
    enough = [each.enough for each in found.least_found]
    if None not in enough and (most := max((each for each in enough if each), default=0)):
        more = f"{more}, about {most:,} {'sessions' if found.noticed(InClusters) else 'measurements'} each"
    return f"{more}, or a looser --tolerance; --open pass lets what is open pass."


def in_a_line(found: Answer) -> str:
    """A gate in a line while it runs, for a log."""
    checks = [check for _, check in of(found).checks]
    counts = [
        f"{sum(check.outcome == outcome for check in checks)} {WORDS[outcome]}"
        for outcome in (Outcome.WORSE, Outcome.NOT_WORSE, Outcome.OPEN)
        if any(check.outcome == outcome for check in checks)
    ]
    pair, check = max(of(found).checks, key=lambda each: each[1].outcome == Outcome.OPEN)
    shown = effect_in_words(pair, check)
    return f"{found.pulls:,} pulls in {duration(found.state.seconds)}: {', '.join(counts)}; {shown}"


def rows(found: Answer) -> list[tuple[tuple[str, ...], Outcome]]:
    """A row for each candidate and metric: the cells below `HEADINGS`, and what is certain of it."""
    lines: list[tuple[tuple[str, ...], Outcome]] = []
    for pair, check in of(found).checks:
        span, times = _told(check)
        shown = "–" if math.isnan(span.estimate) else f"{times}{comparisons.span_in_words(span)}"
        last = "" if check.holds_up_to is None else percent(check.holds_up_to, ROUND_FLOOR)
        cells = visible(pair.name), visible(named(check)), shown
        lines.append(((*cells, WORDS[check.outcome], last), check.outcome))
    return lines


def _told(check: Check | LimitCheck) -> tuple[Span, str]:
    """The span that a check is told by, and the sign before it."""
    if isinstance(check, LimitCheck):
        return check.span, ""
    told = check.effect.told
    return told, "× " if told is check.effect.ratio else ""


def _shown(found: Answer) -> tuple[list[tuple[tuple[str, ...], Outcome]], str]:
    """The rows of a table on a terminal, and what is said of others: of many, suites and what fails."""
    lines = list(zip(rows(found), (pair.tests > 1 for pair, _ in of(found).checks), strict=True))
    lines.sort(key=lambda line: -line[0][1])
    if len(lines) > _MOST_ROWS:
        told = [line for line in lines if line[1] or line[0][1] == Outcome.WORSE][:_MOST_ROWS]
        left = Counter(outcome for (_, outcome), _ in lines) - Counter(outcome for (_, outcome), _ in told)
        counts = joined([f"{count:,} {WORDS[outcome]}" for outcome, count in sorted(left.items(), reverse=True)])
        return [row for row, _ in told], f"{'… and ' if told else ''}{counts} (--json or --summary FILE lists all)"
    return [row for row, _ in lines], ""


def plain_table(found: Answer) -> list[str]:
    """The table as lines of text."""
    chosen, rest = _shown(found)
    lines = [HEADINGS, *(cells for cells, _ in chosen)] if chosen else []
    widths = [max(map(cells_of, column)) for column in zip(*lines, strict=True)]
    return [
        *("  ".join(cell + " " * (w - cells_of(cell)) for cell, w in zip(line, widths, strict=True)).rstrip()
          for line in lines),
        *([rest] if rest else []),
    ]  # fmt: skip


def table(found: Answer, width: int) -> Group:
    """The table for a terminal of this width; what is not worse comes last."""
    from rich.console import Group as RichGroup

    lines, rest = _shown(found)
    columns = [
        TextColumn.of(heading, [cells[place] for cells, _ in lines], number=place == len(HEADINGS) - 1)
        for place, heading in enumerate(HEADINGS)
    ]
    kept, _ = fitted(columns, width, gives_way=(4,))
    shown = [drawn(kept, [STYLES[outcome] for _, outcome in lines])] if lines else []
    return RichGroup(*shown, *([rest] if rest else []))
