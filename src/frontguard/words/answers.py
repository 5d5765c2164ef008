"""The answer in words: a sentence or two, the table, what holds, how robust it is, what is missing, what to do next."""

from __future__ import annotations

import io
import shlex
from collections import Counter
from collections.abc import Callable
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
    reasons_in_words,
    warnings_in_short,
)
from frontguard.phrases import (
    are,
    cost_in_words,
    cost_range,
    duration,
    joined,
    number_of,
    percent,
    rounded,
    rounded_up,
    time_range,
)
from frontguard.results import LIMITS, Answer, CostSoFar
from frontguard.statements import Statement
from frontguard.verdicts import OPEN, Verdict
from frontguard.words import gate
from frontguard.words.arm_table import ArmTable, arm_table, counts, names_in_short, on_terminal, shown, shown_in_units
from frontguard.words.asked import (
    able,
    all_limits,
    beaten_and_beyond,
    beyond,
    none_within_yet,
    open_by_limits,
    rates,
    what_counts,
    what_eps_is,
)
from frontguard.words.certificate import (
    FAILED_PULL,
    allowed,
    amounts_in_words,
    beside_goal,
    certificate_against_goal,
    explanation,
    guarantee,
    sensible,
    suggested_tolerances,
)
from frontguard.words.front import best_guess, front_in_words, measured, names_of_listed, place, too_few, what_if
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
"""What is said of a study in a word or two, where many are listed; the last two are of logs, not of studies.

One that is paused could go on, and nobody is at work.
"""

MOST_ROWS = 30
"""Arms of a table, unless somebody says otherwise."""

_TO_SPARE = 1.5  # times what a forecast, or a floor, says


# The answer -----------------------------------------------------------------------------------------------------------


def answer(found: Answer, how: How = "done") -> str:
    """Return the answer in a sentence or two; of a study, by how it ended."""
    if found.gate is not None:
        return gate.answer(found)
    if found.log is None or found.study is not None:
        return _of_study(found, how)
    return front_in_words(found) if found.status == "certified" else by_verdict(found)


def table(found: Answer, most: int = MOST_ROWS) -> ArmTable:
    """Return the table of arms, the front first; that of a log says who decides."""
    likely = None if found.log is None else found.log.mean_front
    return arm_table(found, shown(found, most, likely), deciders=found.study is None)


def remarks(found: Answer) -> list[str]:
    """Return what is said below the table: what holds, what rests on what, and how robust it is."""
    if found.gate is not None:
        return gate.remarks(found)
    said = [guarantee(found)] if len(found.excluded) < len(found.arms) else []
    if found.study is None and (guess := best_guess(found)) is not None:
        said.append(guess)
    said += what_if(found)
    polished = polish_in_words(found)
    more = (
        rates(found.notices),
        *what_counts_as_one(found),
        f"{polished[0].upper()}{polished[1:]}." if polished else None,
        robustness(found),
        by_means(found),
        failures(found),
    )
    return said + [each for each in more if each is not None]


def whole(found: Answer, width: int = 120) -> str:
    """Return the answer as commands print it: a sentence or two, the table, what holds, and warnings."""
    found, text = shown_in_units(found), io.StringIO()
    screen = console(file=text, width=width, color_system=None)
    screen.print(answer(found))
    screen.print()
    if found.gate is not None:
        screen.print(gate.table(found, width))
    else:
        arms = table(found)
        printed = on_terminal(arms, width, "to_frame()")
        screen.print(printed.table)
        for said in filter(None, (arms.rest, printed.left_out)):
            screen.print(said)
    screen.print()
    for said in (*remarks(found), *(f"Warning: {each}" for each in warnings_in_short(found.notices))):
        screen.print(said)
    return text.getvalue().rstrip()


def _of_study(found: Answer, how: How) -> str:
    status, arms = found.status, found.arms
    if len(found.excluded) == len(arms):
        every = "the only one was" if len(arms) == 1 else f"all {len(arms):,} were"
        return f"No arm could be measured: {every} excluded after {found.failed:,} failed pulls."
    if status == "certified":
        return front_in_words(found)
    if status == "unreachable" and (refuted := found.noticed(ContaminationRefuted)) is not None:
        return f"Not certified: {refuted}. {_in_the_end(found)}"
    if status == "unreachable":
        return f"{Statement.UNREACHABLE(why=_why_unreachable(found))} {_in_the_end(found)}"
    if how == "cancelled":
        return f"Interrupted after {found.pulls:,} pulls. {_in_the_end(found)}"
    if how == "time" and status == "running":
        allowed = f" of {duration(found.state.max_time)}" if found.state.max_time else ""
        return f"Not certified: the time{allowed} is over. {_in_the_end(found)}"
    if status == "running":
        return f"Not certified yet. {_so_far(found)}"
    over = "all items that bear on it are measured" if list_is_over(found) else "the budget is used up"
    return f"Not certified: {over} after {found.pulls:,} pulls. {_in_the_end(found)}"


def list_is_over(found: Answer) -> bool:
    """Whether a study stopped because no item of its list is left, and not for a budget."""
    pairs, spent = found.noticed(InPairs), found.noticed(BudgetOver)
    return found.status == "budget" and pairs is not None and pairs.items > 0 and spent is None


def _so_far(found: Answer) -> str:
    inside = found.pareto_set
    named = f" (keep: {names_of_listed(inside)})" if inside else ""
    return f"So far: {counts(found)}{named}."


def _in_the_end(found: Answer) -> str:
    """How far it came; where no arm is in, with a best guess, and what it lacks."""
    said = _so_far(found), none_within_yet(found), best_guess(found), too_few(found)
    return " ".join(filter(None, said))


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
    failed = f", {found.failed:,} failed" if found.failed else ""
    now = certificate_against_goal(found.nearest, found.metrics)
    cost = "" if found.cost is None else f" for {spent_in_words(found.cost)}"
    so_far = f"{found.pulls:,} pulls{failed}{cost} in {duration(found.state.seconds)}: {counts(found)}"
    short = too_short(found)
    return f"{so_far}; {now}; {left_to_do(found)}{f'; {short}' if short else ''}"


def why(found: Answer, arm: int) -> str:
    """Why an arm has its verdict; of one that was excluded, how often it failed and of what."""
    name = found.arms[arm]
    if name not in found.excluded:
        return explanation(found, arm)
    reasons = found.state.failures.get(name, Counter())
    failed = f"{sum(reasons.values()):,} of {number_of(int(found.pulls_per_arm[arm]), 'pull')} failed"
    return f"excluded: {failed} ({reasons_in_words(tuple(reasons.most_common()))}); the answer is about the other arms"


def spent_in_words(cost: CostSoFar, most: float | None = None) -> str:
    """What pulls have cost so far, of what they may cost."""
    of = "" if most is None else f" of {cost_in_words(most, cost.unit)} allowed"
    return f"{cost_in_words(cost.spent, cost.unit)}{of}"


def failures_in_words(found: Answer) -> str:
    """How many pulls failed, and what that means."""
    return f"{number_of(found.failed, 'pull')} of {found.pulls:,} failed. {FAILED_PULL}"


def log_being_read(told: int, total: int) -> str:
    """How much of a study's log has been read.

    >>> log_being_read(0, 0), log_being_read(1200, 4800)
    ('The log is being read.', 'The log is being read: 1,200 of 4,800 pulls.')
    """
    return f"The log is being read: {told:,} of {number_of(total, 'pull')}." if total else "The log is being read."


# What is still to come ------------------------------------------------------------------------------------------------


def too_short(found: Answer) -> str:
    """Which budget will end before the certificate is there, by the forecast; "" if none will."""
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
    """Tolerances, as --tolerance takes them, that could be reached; None if none could.

    Half as much again as the least that could: that itself would take for ever. None either where that would be so much
    that any arm would do.
    """
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


def left_to_do(found: Answer) -> str:
    """How much is left by the forecast, briefly."""
    pulls, seconds = found.state.pulls_left_range, found.state.seconds_left_range
    if (polished := polish_in_words(found)) is not None:
        return polished
    if pulls is None:
        return "how long it will take is not known yet"
    time_left = f", {time_range(*seconds)}," if seconds is not None else ""
    return f"about {_range(pulls)} pulls{_costing(found)}{time_left} left"


def polish_in_words(found: Answer) -> str | None:
    """How steady estimates are, where that is asked for and there is a certificate."""
    polished = found.noticed(Polished)
    return None if polished is None else str(polished)


def more_to_come(found: Answer) -> str:
    """How much is still to do by the forecast, in words."""
    pulls, seconds = found.state.pulls_left_range, found.state.seconds_left_range
    if pulls is None:
        return "how many more pulls it will take is not known yet"
    at_this_rate = f", {time_range(*seconds)} at the present rate" if seconds is not None else ""
    return f"about {_range(pulls)} more pulls{_costing(found)} by the forecast{at_this_rate}"


def _costing(found: Answer) -> str:
    """What pulls that are left cost, by the forecast; "" where they have no costs."""
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
    """What to do now, by how it ended: a command or an option, where one helps; None where there is nothing to do.

    `several` says that the storage `where` has more than this study.
    """
    if found.status == "certified":
        look = commands_to_look(where, found.state.name, several=several)
        return f"{look}." if look else None
    if how == "cancelled":
        return f"the same command goes on where it stopped; {more_to_come(found)}."
    if len(found.excluded) == len(found.arms):
        return "mend the command; then begin anew, with another --study or --storage."
    if found.status == "unreachable":
        return _within_reach(found)
    if (tied := _tied(found)) and how != "time":
        return f"a tolerance (--tolerance): {tied}."
    if list_is_over(found):
        return (
            "a looser tolerance (--tolerance), a smaller --contamination in a new study, if you can vouch for it, or a "
            "longer list of items."
        )
    if how == "time":
        return f"the same command goes on for as long again; {more_to_come(found)}."
    if any(isinstance(each, BudgetOver) and each.budget == "max_cost" for each in found.notices):
        return f"a larger budget, --max-cost {enough_cost(found)}; {more_to_come(found)}."
    if found.state.max_pulls is None:
        return f"a larger max_pulls_per_arm in the spec, then the same command; {more_to_come(found)}."
    enough = enough_pulls(found) or 2 * found.pulls
    return f"a larger budget, --max-pulls {enough}; {more_to_come(found)}."


def _within_reach(found: Answer) -> str:
    """What could be certified where what was asked for cannot."""
    if found.noticed(ContaminationRefuted) is not None:
        return f"begin anew (another --study) in blocks (--blocks){_of_the_processor(found)}."
    if found.noticed(DriftAlarm) is not None and (of_cpu := _of_the_processor(found)):
        return f"begin anew (another --study) on a machine whose speed does not change{of_cpu}."
    goals = looser(found)
    if open_by_limits(found) is not None:
        return (
            "set the limit farther from what is measured, or give it a tolerance (tolerance in [[limit]]); a study "
            "that is there goes on with it."
        )
    if goals is None and found.failed:
        return "see to it that fewer pulls fail, then begin anew with another --study or --storage."
    if goals is None:
        return (
            "no tolerance that would tell the arms apart can be reached; begin anew (another --study) with a "
            "smaller --contamination, if you can vouch for it, or with measurements that vary less."
        )
    fewer = ", or fewer failures in a new study (another --study)" if found.failed else ""
    options = shlex.join(part for goal in goals for part in ("--tolerance", goal))
    return f"a looser tolerance, which could be reached: {options}{fewer}."


def _tied(found: Answer) -> str:
    """Which metrics do not tell undecided arms apart, where only those without a tolerance are left to do so."""
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
    return (
        f"{names} are equal in {joined(tied)}, so that {joined([each.name for each in left])} must tell them apart, "
        "which without a tolerance may take any number of pulls"
    )


def _of_the_processor(found: Answer) -> str:
    """What else to measure where other programs change how long something takes; "" where nothing does."""
    wall = any(each.is_time and "cpu" not in each.name for each in found.metrics)
    return ", or measure cpu_seconds where the work is CPU-bound" if wall else ""


def commands_to_look(where: str, study: str, *, several: bool) -> str:
    """How to see a study: as a report, and as a live page; empty for one that is nowhere."""
    if where.startswith("memory:"):
        return ""
    named = ["--study", study] if several else []
    return (
        f"`{shlex.join(['frontguard', 'report', where, *named])}` writes a report to send, "
        f"`{shlex.join(['frontguard', 'serve', where])}` shows it in a browser"
    )


# Of a log -------------------------------------------------------------------------------------------------------------


def by_verdict(found: Answer) -> str:
    """Which arms are in and which open, and how many have the other verdicts."""
    front, opened, tally = found.pareto_set, found.named(found.having(Verdict.UNDECIDED)), found.tally()
    inside = Statement.CERTAINLY_KEPT(
        count=f"{len(front):,}",
        measured=measured(found),
        are=are(len(front)),
        place=place(found),
        arms=f" ({names_of_listed(front)})" if front else "",
    )
    beaten, too_far = beaten_and_beyond(found)
    others: list[tuple[int, Callable[..., str]]] = [
        (beaten, Statement.CERTAINLY_BEATEN),
        (too_far, Statement.CERTAINLY_INFEASIBLE),
        (
            tally.get(Verdict.MATCHED, 0),
            partial(Statement.CERTAINLY_MATCHED, these="it" if len(front) == 1 else "these"),
        ),
    ]
    said = [inside, *(say(count=f"{count:,}", are=are(count)) for count, say in others if count)]
    if opened:
        said.append(f"{len(opened):,} {are(len(opened))} open ({names_in_short(opened)})")
    return " ".join(filter(None, ["; ".join(said) + ".", none_within_yet(found)]))


def what_counts_as_one(found: Answer) -> list[str]:
    """Of clusters, what counts as one observation; of pairs, that they are too many to be looked at."""
    pairs = found.noticed(InPairs)
    said = [found.noticed(InClusters), None if pairs is None or pairs.looked else pairs]
    return [str(each) for each in said if each is not None]


# How robust it is -----------------------------------------------------------------------------------------------------


def robustness(found: Answer) -> str | None:
    """How dirty the data may be before the answer is no longer certain; None where no arm is in, or it is not known."""
    now, threat = found.certificate.contamination, found.certificate.threat
    profile = None if found.log is None else found.log.profile
    if profile is None or np.isnan(profile.front) or not found.having(Verdict.KEEP).any():
        return None
    if profile.front >= 0.5:
        return Statement.STANDS_BELOW_HALF(answer=found.goal, what=what_eps_is(threat))
    last = max(now, round(profile.front - profile.resolution, 12))
    if last == 0.0:
        return None
    return Statement.STANDS(answer=found.goal, more=beyond(threat, last), now=f"{percent(now)} was")


def by_means(found: Answer) -> str | None:
    """Where means would call an arm that is certainly beaten, or miss kept one; None where they would not."""
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


def failures(found: Answer) -> str | None:
    """How many pulls failed, or lack a value, and what that means; None if none do."""
    failed = 0 if found.log is None else int(found.log.failed_pulls.sum())
    if found.log is None or not failed:
        return None
    each = found.log.failed.sum(axis=0).tolist()
    parts = ", ".join(f"{name} {count:,}" for name, count in zip(found.objectives, each, strict=True) if count)
    in_what = f" ({parts})" if len(found.objectives) > 1 and any(count != failed for count in each) else ""
    lack = "lacks" if failed == 1 else "lack"
    return (
        f"{failed:,} of {found.pulls:,} pulls {lack} a value that can be used{in_what}: missing, not finite, or not in "
        "range. It counts as one that could have been anything."
    )


# What is open ---------------------------------------------------------------------------------------------------------

_FAR = "{are} more than {far:g} times as many pulls away as they have"
_WHY = {
    "contamination": "an attacker who {able} could make them look either way",
    "failures": "too many of them, or of their rivals', fail",
    "tolerance": "they are too close to others for this tolerance",
    "limit": "they are too near to a limit",
}


def to_settle(found: Answer, most: int = 5) -> list[str]:
    """For the open arms how many more pulls settle them, or what stands in the way."""
    needed = None if found.log is None else found.log.needed
    if needed is None or not len(needed.arms):
        return []
    lines = []
    reached = np.flatnonzero(needed.limit == 0)
    if len(reached):
        total = int(needed.extra(len(found.arms)).sum())
        order = reached[np.argsort(needed.pulls[reached], kind="stable")]
        for j in order[:most].tolist():
            rival, more = int(needed.rivals[j]), int(needed.rival_pulls[j])
            also = f", and {rounded(more)} of {found.arms[rival]}, which decides it" if rival >= 0 and more > 0 else ""
            own = int(needed.pulls[j])
            pulls = "1 more pull" if own == 1 else f"{rounded(own)} more pulls"
            lines.append(f"{found.arms[int(needed.arms[j])]}: about {pulls}{also}.")
        rest = order[most:]
        if len(rest):
            least, farthest = int(needed.pulls[rest].min()), int(needed.pulls[rest].max())
            span = rounded(least) if least == farthest else f"{rounded(least)} to {rounded(farthest)}"
            lines.append(f"{len(rest):,} more: about {span} more pulls{' each' if len(rest) > 1 else ''}.")
        afresh = _afresh(found, total)
        lines.append(f"Together that is about {rounded(total)} more pulls{afresh}, if the samples go on as they began.")
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


def _afresh(found: Answer, pulls: int) -> str:
    """In how many new clusters so many pulls are, if they are like those that there are; nothing without clusters."""
    said = found.noticed(InClusters)
    return "" if said is None else f", in about {rounded(-(-pulls * said.clusters // said.rows))} new clusters"


def holds_now(found: Answer) -> str | None:
    """What holds of the kept arms or may be, although some are open; None if nothing sensible is."""
    within = _settled_within(found)
    return None if within is None else Statement.SETTLED(within=within)


def _settled_within(found: Answer) -> str | None:
    """Within what everything is settled now; None where that is so much that any arm would do."""
    amounts = found.nearest.amounts(found.metrics)
    return amounts_in_words(amounts, found.metrics) if sensible(found, amounts) else None


def _measure_more(found: Answer, append: Path | None) -> str:
    """What to measure, and how the new rows join these, so that answers allow for the look at these."""
    pairs, clusters = found.noticed(InPairs), found.noticed(InClusters)
    if pairs is not None and pairs.items:
        return "measure the open arms, and those that decide them, on all items of the list"
    where = f"add the new rows (--append {append or 'STATE for both'})"
    if pairs is not None or clusters is not None:
        fresh = "" if clusters is None else ", in new clusters,"
        where = f"give the new rows{fresh} together with these (--anytime)"
    once = "" if found.anytime else "; this answer allows for one look, the next one for many"
    return f"measure the open arms and those that decide them, and {where}{once}"


def next_after_log(found: Answer, append: Path | None = None) -> str:
    """What to do now. `append` is the state file of the command."""
    if found.status == "certified":
        more = (
            ""
            if found.log is not None and found.log.profile is not None
            else "; --profile says up to which contamination it stands"
        )
        return f"--report FILE.html writes a report to send{more}."
    steps = []
    if found.policy != "analysis" and found.status in ("running", "budget"):  # a study's own answer
        steps.append(f"take the study up again{' with a larger budget' if found.status == 'budget' else ''}")
    elif found.status == "budget":
        steps.append(_measure_more(found, append))
    suggested, within = suggested_tolerances(found.nearest, found.metrics), _settled_within(found)
    if suggested is not None and within is not None:  # the certificate that holds now, rounded up
        options = shlex.join(part for text in suggested for part in ("--tolerance", text))
        steps.append(f"settle for less: within {within} everything is settled now ({options})")
    elif found.status == "unreachable":  # as these go on: but so few, or such wild ones, show little of that
        steps.append("more repeats of every arm, for these leave it open by more than the arms differ")
    if found.status == "unreachable":
        steps.append("a smaller --contamination, if you can vouch for it")
    return "; or ".join(steps) + "."
