"""The answer in words: what to keep, the table, how certain it is, what is missing, and what to do next."""

from __future__ import annotations

import io
import shlex
from collections import Counter
from collections.abc import Callable, Sequence
from decimal import ROUND_FLOOR
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np

from frontguard._common.typing import Bools
from frontguard.logs.robustness import FARTHEST
from frontguard.notices import (
    BudgetOver,
    ContaminationRefuted,
    DriftAlarm,
    InClusters,
    InPairs,
    Polished,
    TooFewClusters,
    TooFewPulls,
    least_pulls,
    reasons_in_words,
    warnings_in_short,
)
from frontguard.phrases import (
    are,
    cost_in_words,
    cost_range,
    duration,
    joined,
    listed,
    number_of,
    percent,
    rounded,
    rounded_up,
    time_range,
)
from frontguard.results import LIMITS, Answer
from frontguard.statements import Statement
from frontguard.verdicts import OPEN, Verdict
from frontguard.words import gate
from frontguard.words.arm_table import ArmTable, arm_table, counts, names_in_short, on_terminal, shown, shown_in_units
from frontguard.words.asked import (
    able,
    all_limits,
    among_those_within,
    differing,
    if_at_most,
    none_within,
    none_within_yet,
    open_by_limits,
    what_counts,
)
from frontguard.words.certificate import (
    FAILED_PULL,
    allowed,
    amount,
    amounts_in_words,
    assumptions,
    beside_goal,
    certainty,
    certificate_against_goal,
    effort,
    explanation,
    guarantee,
    least_found,
    margins,
    measured_in_words,
    sensible,
    suggested_tolerances,
)
from frontguard.words.terminal import console

How = Literal["done", "time", "cancelled"]
"""How a run ended: the study came to its end, the time was over, or it was told to stop."""

STATUSES = {
    "running": "running",
    "paused": "paused",
    "certified": "certified",
    "budget": "budget used up",
    "unreachable": "out of reach",
    "reading": "being read",
    "trouble": "cannot be read",
}
"""A study's status in a word or two; paused is one that could go on, and the last two are of logs."""

MOST_ROWS = 10
"""Arms of a table, unless somebody says otherwise: the answer then fits on a small terminal."""

_TO_SPARE = 1.5  # times what a forecast, or a floor, says


def answer(found: Answer, how: How = "done") -> str:
    """Return the answer in a sentence or two; of a study, by how it ended."""
    if found.gate is not None:
        return gate.answer(found)
    if len(found.excluded) == len(found.arms):
        every = "the only one was" if len(found.arms) == 1 else f"all {len(found.arms):,} were"
        return f"No arm could be measured: {every} excluded after {found.failed:,} failed pulls."
    if found.status == "certified":
        return front_in_words(found)
    ended, cleaner = found.status != "running" or how != "done", if_cleaner(found)
    return " ".join(filter(None, (cleaner, _why_not(found, how), so_far(found, guess=ended and not cleaner))))


def table(found: Answer, most: int = MOST_ROWS) -> ArmTable:
    """Return the table of arms: what to keep first, in the order of the first metric."""
    likely = None if found.log is None else found.log.mean_front
    chosen = shown(found, most, likely)
    kept = found.verdict_codes[chosen] == Verdict.KEEP
    in_order = chosen[kept][np.argsort(-found.inner.estimates[chosen[kept], 0], kind="stable")]
    return arm_table(found, np.concatenate([in_order, chosen[~kept]]))


def remarks(found: Answer, *, explain: bool = False, where: str = "") -> list[str]:
    """Return what is said below the table: how certain it is, and of what; with `explain` the whole certificate."""
    if found.gate is not None:
        return gate.remarks(found, explain=explain)
    known = certainty(found) if found.tally().keys() - {Verdict.UNDECIDED, Verdict.EXCLUDED} else None
    polished = polish_in_words(found)
    said = [
        " ".join(filter(None, (known, robustness(found), effort(found, where)))),
        f"{polished[0].upper()}{polished[1:]}." if polished else None,
        least_found(found) if found.status != "running" else None,
        *(explained(found) if explain else ()),
    ]
    return [each for each in said if each]


def explained(found: Answer) -> list[str]:
    """Return every clause of what is certain, and every assumption."""
    means = by_means(found)
    return [guarantee(found), *([means] if means else []), *assumptions(found)]


def whole(found: Answer, width: int = 120) -> str:
    """Return the answer as commands print it: a sentence or two, the table, how certain it is, and warnings."""
    found, text = shown_in_units(found), io.StringIO()
    screen = console(file=text, width=width, color_system=None)
    screen.print(answer(found))
    screen.print()
    if found.gate is None:
        screen.print(on_terminal(table(found), width, "to_frame()"))
        screen.print()
    elif len(found.gate.checks) > 1:
        screen.print(gate.table(found, width))
        screen.print()
    for said in (*remarks(found), *(f"Warning: {each}" for each in warnings_in_short(found.notices))):
        screen.print(said)
    return text.getvalue().rstrip()


def _why_not(found: Answer, how: How) -> str:
    """Return why there is no certificate."""
    if found.status == "unreachable" and (refuted := found.noticed(ContaminationRefuted)) is not None:
        return f"Not certified: {refuted}. Other arms are compared without them."
    if found.log is not None and found.study is None:
        return ""
    if found.status == "unreachable":
        return Statement.UNREACHABLE(why=_why_unreachable(found))
    if how == "cancelled":
        return f"Interrupted after {found.pulls:,} pulls."
    if how == "time" and found.status == "running":
        limit = f" of {duration(found.state.max_time)}" if found.state.max_time else ""
        return f"Not certified: the time{limit} is over."
    if found.status == "running":
        return "Not certified yet."
    over = "all items that bear on it are measured" if list_is_over(found) else "the budget is used up"
    tied = _tied(found)
    return f"Not certified: {over} after {found.pulls:,} pulls{'; ' if tied else ''}{tied}."


def list_is_over(found: Answer) -> bool:
    """Return True if a study stopped because no item of its list is left, and not for a budget."""
    pairs, spent = found.noticed(InPairs), found.noticed(BudgetOver)
    return found.status == "budget" and pairs is not None and pairs.items > 0 and spent is None


def _why_unreachable(found: Answer) -> str:
    certificate, reach = found.certificate, found.state.reachable
    eps = certificate.contamination
    lies = f"where an attacker {able(certificate.threat, eps)}" if eps else "with these arms"
    failed = f" and {percent(found.failed / found.pulls)} of the pulls failing" if found.failed else ""
    if found.limits is not None and (named := open_by_limits(found)) is not None:
        one = int((found.having(Verdict.UNDECIDED) & (found.limits.of_arms == OPEN)).sum()) == 1
        keep, limits = "keeps" if one else "keep", all_limits(found.limits)
        return Statement.LIMIT_STAYS_OPEN(lies=lies + failed, arms=named, keep=keep, limits=limits)
    if reach is None or not np.isfinite(reach.amounts(found.metrics)).all():
        return Statement.STAYS_UNBOUNDED(lies=lies + failed, quantiles=what_counts(found.metrics))
    return Statement.STAYS_UNCERTAIN(lies=lies + failed, amounts=beside_goal(reach, found.metrics))


def in_a_line(found: Answer) -> str:
    """The study in a line while it runs, for a log."""
    if found.gate is not None:
        return gate.in_a_line(found)
    now, left = certificate_against_goal(found.nearest, found.metrics), polish_in_words(found) or more_to_come(found)
    short = too_short(found)
    return f"{measured_in_words(found)}: {counts(found)}; {now}; {left}{f'; {short}' if short else ''}"


def why(found: Answer, arm: int) -> str:
    """Return why an arm has its verdict; of one that was excluded, how often it failed and of what."""
    name = found.arms[arm]
    if name not in found.excluded:
        return explanation(found, arm)
    reasons = found.state.failures.get(name, Counter())
    failed = f"{sum(reasons.values()):,} of {number_of(int(found.pulls_per_arm[arm]), 'pull')} failed"
    return f"excluded: {failed} ({reasons_in_words(tuple(reasons.most_common()))}); the answer is about the other arms"


def log_being_read(told: int, total: int) -> str:
    """Return how much of a study's log has been read.

    >>> log_being_read(0, 0), log_being_read(1200, 4800)
    ('The log is being read.', 'The log is being read: 1,200 of 4,800 pulls.')
    """
    return f"The log is being read: {told:,} of {number_of(total, 'pull')}." if total else "The log is being read."


def too_short(found: Answer) -> str:
    """Return which budget will end before the certificate is there, by the forecast; "" if none will."""
    state, cost = found.state, found.cost
    if state.pulls_left is None:
        return ""
    if state.max_pulls is not None and found.pulls + state.pulls_left > state.max_pulls:
        return f"the budget of {state.max_pulls:,} pulls will end before"
    if state.cost_left is not None and cost is not None and state.max_cost is not None:
        if cost.spent + state.cost_left > state.max_cost:
            return f"the budget of {cost_in_words(state.max_cost, cost.unit)} will end before"
    if state.pulls_a_second and state.max_time is not None:
        if state.seconds + state.pulls_left / state.pulls_a_second > state.max_time:
            return f"the time of {duration(state.max_time)} will end before"
    return ""


def looser(found: Answer) -> list[str] | None:
    """Tolerances for --tolerance, half as much again as the least within reach; None where any arm would do."""
    if found.state.reachable is None:
        return None
    wanted = [_TO_SPARE * amount for amount in found.state.reachable.amounts(found.metrics)]
    if not sensible(found, wanted):
        return None
    return suggested_tolerances(found.state.reachable, found.metrics, times=_TO_SPARE, digits=2)


def enough_pulls(found: Answer) -> int | None:
    """A budget with which the study should end certified, by the forecast and with something to spare."""
    if found.state.pulls_left is None:
        return None
    return int(rounded_up(found.pulls + _TO_SPARE * found.state.pulls_left, 2))


def polish_in_words(found: Answer) -> str | None:
    """Return how steady estimates are, where that is asked for and there is a certificate."""
    polished = found.noticed(Polished)
    return None if polished is None else str(polished)


def more_to_come(found: Answer) -> str:
    """Return how much is still to do by the forecast."""
    pulls, seconds = found.state.pulls_left_range, found.state.seconds_left_range
    if pulls is None:
        return "how many more pulls it will take is not known yet"
    time_left = f" ({time_range(*seconds)})" if seconds is not None else ""
    return f"about {_range(pulls)} more pulls{_costing(found)}{time_left} by the forecast"


def _costing(found: Answer) -> str:
    """Return the cost of the pulls that are left, by the forecast; "" where they have no costs."""
    left, cost = found.state.cost_left_range, found.cost
    return "" if left is None or cost is None else f" that cost {cost_range(*left, cost.unit)}"


def enough_cost(found: Answer) -> str:
    """A budget of cost, as --max-cost takes it, with which the study should end certified."""
    cost, left = found.cost, found.state.cost_left
    spent = 0.0 if cost is None else cost.spent
    return f"{rounded_up(2.0 * spent if left is None else spent + _TO_SPARE * left, 2):.12g}"


def _range(pulls: tuple[int, int]) -> str:
    least, most = map(rounded, pulls)
    return most if least == most else f"{least} to {most}"


def next_step(found: Answer, how: How, where: str, *, several: bool = False) -> str | None:
    """Return what to do now, by how it ended: a command or an option, where one helps; None where nothing is to do."""
    if found.status == "certified":
        return commands_to_look(where, found.state.name, several=several) or None
    if how in ("cancelled", "time"):
        return f"the same command goes on; {more_to_come(found)}."
    if len(found.excluded) == len(found.arms):
        return "mend the command, then begin anew with another --study or --storage."
    if found.status == "unreachable":
        return _within_reach(found)
    if tied := _tied(found):
        return f"a tolerance (--tolerance): {tied}."
    if list_is_over(found):
        return "a looser --tolerance, a longer list of items, or a smaller --contamination in a new study."
    if any(isinstance(each, BudgetOver) and each.budget == "max_cost" for each in found.notices):
        return f"a larger budget, --max-cost {enough_cost(found)}; {more_to_come(found)}."
    if found.state.max_pulls is None:
        return f"a larger max_pulls_per_arm in the spec, then the same command; {more_to_come(found)}."
    enough = enough_pulls(found) or 2 * found.pulls
    return f"a larger budget, --max-pulls {enough}; {more_to_come(found)}."


def _within_reach(found: Answer) -> str:
    """Return what could be certified where what was asked for cannot."""
    wall = any(each.is_time and "cpu" not in each.name for each in found.metrics)
    cpu = ", or measure cpu_seconds where the work is CPU-bound" if wall else ""
    in_blocks = found.question is not None and found.question.in_blocks
    if found.noticed(ContaminationRefuted) is not None and not in_blocks:
        return f"begin anew (another --study) in blocks (--blocks){cpu}."
    if found.noticed(ContaminationRefuted) is not None:
        return "see that each arm does the same work in every run (caches, data that grow), and begin anew (--study)."
    if found.noticed(DriftAlarm) is not None and wall:
        return f"begin anew (another --study) on a machine whose speed does not change{cpu}."
    if open_by_limits(found) is not None:
        return "move the limit away from what is measured, or give it a tolerance (tolerance in [[limit]])."
    goals = looser(found)
    if goals is None and found.failed:
        return "see to it that fewer pulls fail, then begin anew with another --study or --storage."
    if goals is None:
        return "begin anew (another --study) with a smaller --contamination, or with measurements that vary less."
    options = shlex.join(part for goal in goals for part in ("--tolerance", goal))
    return f"a looser tolerance, which could be reached: {options}."


def _tied(found: Answer) -> str:
    """Return which metrics do not tell undecided arms apart, where only those without a tolerance are left to do so."""
    still = found.having(Verdict.UNDECIDED)
    if int(still.sum()) < 2:
        return ""
    low, high = found.inner.lower[still], found.inner.upper[still]
    equal = (low == high).all(axis=0) & (low == low[0]).all(axis=0)
    tied = [each.name for each, same in zip(found.metrics, equal, strict=True) if same]
    left = [each for each, same in zip(found.metrics, equal, strict=True) if not same]
    if not tied or not left or any(each.inner_tolerance > 0.0 for each in left):
        return ""
    names = names_in_short([found.arms[arm] for arm in np.flatnonzero(still)])
    return f"{names} are tied in {joined(tied)}, and {joined([each.name for each in left])} has no tolerance"


def commands_to_look(where: str, study: str, *, several: bool) -> str:
    """Return how to see a study: as a report, and as a live page; "" for one that is nowhere."""
    if where.startswith("memory:"):
        return ""
    named = ["--study", study] if several else []
    report, serve = shlex.join(["frontguard", "report", where, *named]), shlex.join(["frontguard", "serve", where])
    return f"{report}, or {serve}"


def robustness(found: Answer) -> str | None:
    """Return how dirty the data may be while the answer is certain; None where no arm is kept, or nobody knows."""
    profile = None if found.log is None else found.log.profile
    if profile is None or np.isnan(profile.front) or not found.having(Verdict.KEEP).any():
        return None
    if profile.front >= 0.5:
        return Statement.HOLDS_BELOW_HALF(answer=found.goal)
    each = differing(found)
    least = min(each.values(), default=found.certificate.contamination)
    last = max(least, round(profile.front - profile.resolution, 12))
    raised = [name for name, eps in each.items() if eps < last]
    of = f" of {joined(raised)}" if raised and last < found.certificate.contamination else ""
    return Statement.HOLDS(answer=found.goal, eps=f"{percent(last, ROUND_FLOOR)}{of}") if last else None


def if_cleaner(found: Answer) -> str | None:
    """Up to which smaller ε than was declared more is certain, and what: all, or the first; None if nothing is."""
    given = () if found.log is None else found.log.if_cleaner
    if not given:
        return None
    chosen = given[-1] if (given[-1].codes != Verdict.UNDECIDED).all() else given[0]
    kept, beaten = (found.named(np.asarray(chosen.codes == each)) for each in (Verdict.KEEP, Verdict.BEATEN))
    left = int((chosen.codes == Verdict.UNDECIDED).sum())
    said = f"Keep {len(kept)} of {measured(found)}: {names_in_short(kept)}" if kept else ""
    said = said or f"{names_in_short(beaten)} {are(len(beaten))} beaten"
    never = Statement.NO_PULLS_THERE() if found.status == "unreachable" else ""
    rest = f" ({left:,} undecided)" if left else ""
    sure = percent(found.certificate.confidence or 0.0, ROUND_FLOOR)
    less = if_at_most(found, chosen.contamination)
    return Statement.IF_CLEANER(verdicts=f"{said}{rest}", confidence=sure, never=never, **less)


def by_means(found: Answer) -> str | None:
    """Return the beaten arms that means would call, and the kept ones that they would miss; None without any."""
    if found.log is None:
        return None
    on, inside = found.log.mean_front, found.having(Verdict.KEEP)
    wrong: list[tuple[Bools, Callable[..., str]]] = [
        (on & found.having(Verdict.BEATEN), Statement.MEANS_CALL),
        (~on & inside, partial(Statement.MEANS_MISS, place="in" if any(allowed(found)) else "on it")),
    ]
    said = [say(names=names_in_short(found.named(which))) for which, say in wrong if which.any()]
    if not said:
        return None
    return f"Means alone would call the front {names_in_short(found.mean_set)}: they would {' and '.join(said)}."


def failures(found: Answer) -> str:
    """Return how many pulls failed, and what that means; "" if none did."""
    return f"{number_of(found.failed, 'pull')} of {found.pulls:,} failed. {FAILED_PULL}" if found.failed else ""


_FAR = "{are} more than {far:g} times as many pulls away as they have"
_WHY = {
    "contamination": "an attacker who {able} could make them look either way",
    "failures": "too many of them, or of their rivals', fail",
    "tolerance": "they are too close to others for this tolerance",
    "limit": "they are too near to a limit",
}

_FUTILE = frozenset(LIMITS.index(word) for word in _WHY)


def to_settle(found: Answer, most: int = 5) -> list[str]:
    """Return how many more pulls settle the open arms, or what stands in the way."""
    needed = None if found.log is None else found.log.needed
    if needed is None or not len(needed.arms):
        return []
    lines = []
    reached = np.flatnonzero(needed.limit == 0)
    if len(reached):
        order = reached[np.argsort(needed.pulls[reached], kind="stable")]
        named = [f"{found.arms[int(needed.arms[j])]} ({rounded(int(needed.pulls[j]))})" for j in order[:most].tolist()]
        rest = f" … and {len(order) - most:,} arms more" if len(order) > most else ""
        total = int(needed.extra(len(found.arms)).sum())
        clusters = found.noticed(InClusters)
        afresh = ""
        if clusters is not None:
            afresh = f", in about {rounded(-(-total * clusters.clusters // clusters.rows))} new clusters"
        lines.append(
            f"About {rounded(total)} more pulls{afresh} would settle {', '.join(named)}{rest}, those that decide them "
            "included, if the samples go on as they began."
        )
    for code, word in enumerate(LIMITS):
        arms = needed.arms[needed.limit == code]
        if code == 0 or not len(arms):
            continue
        names = names_in_short([found.arms[i] for i in arms.tolist()], most)
        if word == "far":
            said = _FAR.format(are=are(len(arms)), far=FARTHEST)
        else:
            does = able(found.certificate.threat, found.certificate.contamination)
            said = Statement.NOT_BY_PULLS(why=_WHY[word].format(able=does))
        lines.append(f"{names}: {said}.")
    return lines


def holds_now(found: Answer) -> str | None:
    """Return within what everything is settled now, although some arms are open; None if that says nothing."""
    within = _settled_within(found)
    return None if within is None else Statement.SETTLED(within=within)


def _settled_within(found: Answer) -> str | None:
    """Within what everything is settled now; None where that is so much that any arm would do."""
    amounts = found.nearest.amounts(found.metrics)
    return amounts_in_words(amounts, found.metrics) if sensible(found, amounts) else None


def _measure_more(found: Answer, append: Path | None) -> str:
    """Return what to measure, and how the new rows join these, so that answers allow for the look at these."""
    pairs, clusters = found.noticed(InPairs), found.noticed(InClusters)
    if pairs is not None and pairs.items:
        return "measure the open arms, and those that decide them, on all items of the list"
    if pairs is None and clusters is None:
        return f"measure the undecided arms and those that decide them, and add the rows (--append {append or 'STATE'})"
    fresh = "" if clusters is None else " in new clusters"
    return f"measure the undecided arms and those that decide them{fresh}, and give all rows together (--anytime)"


def next_after_log(found: Answer, append: Path | None = None) -> str:
    """Return what to do now. `append` is the state file of the command."""
    if found.status == "certified":
        return "--report FILE.html writes this as a page; --explain says exactly what is proved."
    steps = []
    needed = None if found.log is None else found.log.needed
    futile = needed is not None and len(needed.arms) > 0 and _FUTILE.issuperset(needed.limit.tolist())
    if futile:
        pass
    elif found.policy != "analysis" and found.status in ("running", "budget"):  # a study's own answer
        steps.append(f"take the study up again{' with a larger budget' if found.status == 'budget' else ''}")
    elif found.status == "budget":
        steps.append(_measure_more(found, append))
    suggested = suggested_tolerances(found.nearest, found.metrics)
    if suggested is not None and _settled_within(found) is not None:  # the certificate that holds now, rounded up
        options = shlex.join(part for text in suggested for part in ("--tolerance", text))
        steps.append(f"accept a looser tolerance, which is reached already: {options}")
    elif found.status == "unreachable":  # as these go on: but so few, or such wild ones, show little of that
        steps.append("measure every arm more often: these leave it open by more than the arms differ")
    if futile or found.status == "unreachable":
        steps.append("a smaller --contamination, if you can vouch for it")
    return "; or ".join(steps) + "."


MOST_LISTED = 10
"""Kept arms that an answer names, all of them, where their names are short: they are what was asked for."""

_SHORT = 60  # characters of all these names


def names_of_kept(front: Sequence[str]) -> str:
    """The kept arms by name; "" if they are many, or their names long: the table has them.

    >>> names_of_kept(["f", "b", "c", "d", "e", "a"]), names_of_kept([str(k) for k in range(11)])
    ('a, b, c, d, e, f', '')
    """
    every = names_in_short(front, MOST_LISTED)
    return every if len(front) <= MOST_LISTED and len(every) <= _SHORT else ""


def front_in_words(result: Answer) -> str:
    """Return which arms to keep, and what holds of them, in two sentences."""
    front = result.pareto_set
    if not front and result.limits is not None and result.certificate.confidence is not None:
        return none_within(result)
    names = names_of_kept(front)
    kept = {"count": f"{len(front):,}", "measured": measured(result), "arms": f": {names}" if names else ""}
    if result.certificate.confidence is None:
        return Statement.RETURNED(**kept)
    if result.goal == "list" and len(result.metrics) > 1:
        others = len(result.arms) - len(result.excluded) > len(front)
        return f"{Statement.KEPT(**kept)} {_does(result)}" if others else Statement.KEPT(**kept)
    holds = Statement.THEY_ARE if len(front) > 1 else Statement.IT_IS
    return f"{Statement.KEPT(**kept)} {holds(place=place(result))}"


def _does(result: Answer) -> str:
    """Return what a short list is good for."""
    coverage, scope = result.certificate.coverage, among_those_within(result)
    these = "it" if len(result.pareto_set) == 1 else "one of these"
    if not any(np.atleast_1d(coverage)):
        return Statement.DOES(scope=scope, these=these)
    return Statement.DOES_WITHIN(scope=scope, these=these, within=amounts_in_words(coverage, result.metrics))


def so_far(result: Answer, *, guess: bool = True) -> str:
    """Return how many arms have which verdict; where none is kept, with a best guess and what it lacks."""
    counted, tally = [], result.tally()
    for verdict, count in tally.items():
        some = len(tally) > 1 and verdict in (Verdict.KEEP, Verdict.UNDECIDED)
        names = names_of_kept(result.named(result.having(verdict))) if some else ""
        counted.append(f"{count:,} {verdict.word}{f' ({names})' if names else ''}")
    said = f"So far: {', '.join(counted)}."
    if not guess:
        return said
    return " ".join(filter(None, (best_guess(result), said, none_within_yet(result), too_few(result))))


def measured(result: Answer) -> str:
    """The arms that an answer is about: all, or those that can be measured."""
    excluded = len(result.excluded)
    return f"{number_of(len(result.arms) - excluded)}{' that can be measured' if excluded else ''}"


def place(result: Answer) -> str:
    """Return the place of the kept arms: on the front, or not beaten by more than some amount."""
    within, names = margins(result), result.objectives
    if len(names) > 1:
        said = Statement.NEAR_FRONT(within=within) if within else Statement.ON_FRONT(names=joined(names))
    elif within:
        near = amount(allowed(result)[0], result.metrics[0]) if result.metrics else within
        said = Statement.AS_NEAR_BEST(name=names[0], within=near)
    else:
        said = Statement.AS_BEST(name=names[0])
    return said + among_those_within(result)


def best_guess(result: Answer) -> str | None:
    """The front by the estimates alone, as a guess; None where an arm is kept, or nothing was measured."""
    names = result.best_guess
    return f"Best guess, without any promise: {listed(names)}." if names else None


def too_few(result: Answer) -> str | None:
    """Return how many pulls a result without a kept arm lacks; None where it lacks others, or a warning says so."""
    guess, certificate = result.guess, result.certificate
    if guess is None or guess.first is None or guess.whole is None or certificate.confidence is None:
        return None
    pulls = result.pulls_per_arm[result.verdict_codes != Verdict.EXCLUDED]
    if any(isinstance(each, TooFewPulls | TooFewClusters) for each in result.notices):
        return None
    if not len(pulls) or pulls.max() >= guess.whole:
        return None
    said = least_pulls(certificate.contamination, guess.first, guess.whole)
    return f"{said[0].upper()}{said[1:]}; these have {int(pulls.max()):,} at most."
