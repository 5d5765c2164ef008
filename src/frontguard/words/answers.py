"""The answer in words: what to keep, the table, how certain it is, what is missing, and what to do next."""

from __future__ import annotations

import io
import shlex
import textwrap
from collections import Counter
from collections.abc import Callable, Sequence
from decimal import ROUND_FLOOR
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from frontguard._common.typing import Bools
from frontguard.logs.robustness import FARTHEST
from frontguard.notices import (
    BudgetOver,
    ContaminationRefuted,
    DriftAlarm,
    Excluded,
    InClusters,
    InPairs,
    Notice,
    Polished,
    TooFewClusters,
    TooFewPulls,
    reasons_in_words,
    warnings_in_short,
)
from frontguard.phrases import (
    MOST_NAMES,
    are,
    cost_in_words,
    cost_range,
    duration,
    joined,
    number_of,
    one_line,
    percent,
    rounded,
    rounded_up,
    time_range,
)
from frontguard.results import LIMITS, Answer
from frontguard.statements import Statement
from frontguard.verdicts import OPEN, Verdict
from frontguard.words import gate
from frontguard.words.arm_table import (
    ArmTable,
    arm_table,
    counts,
    names_in_short,
    on_terminal,
    said_name,
    shown,
    shown_in_units,
)
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
    where_lies,
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
    runs,
    sensible,
    suggested_tolerances,
)
from frontguard.words.comparisons import best_in
from frontguard.words.terminal import COLUMNS, LINES, console

if TYPE_CHECKING:
    from rich.console import Console

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

MOST_FAILED = 3
"""Arms that an answer names one by one: those that could not be measured, and those to be measured more."""

_TO_SPARE = 1.5  # times what a forecast, or a floor, says


def answer(found: Answer, how: How = "done") -> str:
    """Return the answer in a sentence or two; of a study, by how it ended. Arms that failed come first."""
    if found.gate is not None:
        return gate.answer(found)
    failed = excluded_in_words(found)
    if nothing_to_compare(found):
        return f"{failed} Nothing to compare."
    said = front_in_words(found) if found.status == "certified" else _not_certified(found, how)
    return f"{failed} {said}" if failed else said


def nothing_to_compare(found: Answer) -> bool:
    """Return True if so many arms failed that fewer than two are left."""
    return bool(found.excluded) and len(found.arms) - len(found.excluded) < 2


def excluded_in_words(found: Answer) -> str:
    """Return which arms could not be measured, and why where they are few; "" if all could be."""
    excluded = found.excluded
    if len(excluded) > MOST_FAILED:
        return f"{len(excluded):,} of {number_of(len(found.arms))} could not be measured: {names_in_short(excluded)}."
    return " ".join(f"{said_name(arm)}: {_reason(found, arm)}." for arm in excluded)


def _reason(found: Answer, arm: str) -> str:
    """Return why an arm failed most often."""
    often = found.state.failures.get(arm, Counter()).most_common(1)
    return one_line(often[0][0], 60) if often else "could not be measured"


def _not_certified(found: Answer, how: How) -> str:
    """Return the best guess, how much is settled, and why not all is."""
    ended = found.status != "running" or how != "done"
    cleaner, kept, few = if_cleaner(found), found.pareto_set, too_few(found)
    head = cleaner or ""
    if not cleaner and kept:
        head = Statement.KEPT_SO_FAR(arms=names_of_kept(kept) or number_of(len(kept)))
    elif not cleaner and ended and found.best_guess:
        guess = names_of_kept(found.best_guess) or names_in_short(found.best_guess, MOST_FAILED)
        head = f"Probably {guess}{f', but {few}' if few else ''}."
        few = None
    why, settled = _why_not(found, how), None if few or "but" in head else _settled(found)
    rest = ": ".join(filter(None, (why, settled)))
    few = f"{few[0].upper()}{few[1:]}." if few and ended else None
    rest = f"{rest[0].upper()}{rest[1:]}." if rest else ""
    first = (rest, head) if found.noticed(ContaminationRefuted) is not None else (head, rest)  # a refuted assumption
    return " ".join(filter(None, (*first, few, none_within_yet(found))))


def _settled(found: Answer) -> str:
    """Return how many arms are settled, and which are not where these are few."""
    about, left = len(found.arms) - len(found.excluded), found.named(found.having(Verdict.UNDECIDED))
    names, settled = names_of_kept(left) if 0 < len(left) < about else "", about - len(left)
    said = f"{settled:,} of {number_of(about)} {are(settled)} settled" if settled else "none is settled"
    return f"{said}; {names} {are(len(left))} undecided" if names else said


def _why_not(found: Answer, how: How) -> str:
    """Return why there is no certificate, without a full stop."""
    pulls = runs(found, found.pulls)
    if found.status == "unreachable" and (refuted := found.noticed(ContaminationRefuted)) is not None:
        return f"Not certified: {refuted}. Other arms are compared without them"
    if found.study is None and found.log is not None:
        return ""
    if found.status == "unreachable":
        return Statement.UNREACHABLE(why=_why_unreachable(found)).rstrip(".")
    if how == "cancelled":
        return f"Interrupted after {pulls}"
    if how == "time" and found.status == "running":
        limit = f" of {duration(found.state.max_time)}" if found.state.max_time else ""
        return f"The time{limit} is over after {pulls}"
    if found.status == "running":
        return "Not certified yet"
    over = "All items that bear on it are measured" if list_is_over(found) else "The budget is used up"
    tied = _tied(found)
    return f"{over} after {pulls}{'; ' if tied else ''}{tied}"


def table(found: Answer, most: int = MOST_ROWS) -> ArmTable:
    """Return the table of arms: what to keep first, in the order of the first metric."""
    likely = None if found.log is None else found.log.mean_front
    chosen = shown(found, most, likely)
    if len(chosen) < len(found.arms) and found.pareto_set:  # of many, those that are dropped are counted
        dropped = np.isin(found.verdict_codes[chosen], (Verdict.BEATEN, Verdict.MATCHED))
        chosen = chosen[~dropped]
    kept = found.verdict_codes[chosen] == Verdict.KEEP
    in_order = chosen[kept][np.argsort(-found.inner.estimates[chosen[kept], 0], kind="stable")]
    return arm_table(found, np.concatenate([in_order, chosen[~kept]]))


def remarks(found: Answer, *, explain: bool = False, where: str = "") -> list[str]:
    """Return what is said below the table: how certain it is, and of what; with `explain` the whole certificate."""
    if found.gate is not None:
        return gate.remarks(found, explain=explain)
    known = certainty(found) if found.tally().keys() - {Verdict.UNDECIDED, Verdict.EXCLUDED} else None
    held = robustness(found) if found.certificate.contamination else None
    surely = "" if nothing_to_compare(found) else "; ".join(filter(None, (known, held)))
    polished = polish_in_words(found)
    said = [
        f"{surely}. {effort(found, where)}" if surely else effort(found, where),
        f"{polished[0].upper()}{polished[1:]}." if polished else None,
        least_found(found) if found.status != "running" else None,
        *(explained(found) if explain else blocked(found, 3)),
    ]
    return [each for each in said if each]


def explained(found: Answer) -> list[str]:
    """Return every clause of what is certain, every assumption, and what would settle what is open."""
    means = by_means(found)
    return [guarantee(found), *([means] if means else []), *assumptions(found), *blocked(found)]


class Printing(NamedTuple):
    """What a command prints with an answer, and how much of it."""

    how: How = "done"
    said: str = ""  # the answer, if it is not made here
    where: str = ""  # where a study is stored
    next: str = ""  # what to do now
    every: bool = False  # all arms, however many
    explain: bool = False  # all clauses, and all warnings
    elsewhere: str = "--all"  # the option that shows all arms


def printed(screen: Console, found: Answer, page: Printing, beside: Callable[[], None] | None = None) -> None:
    """Print an answer, its table, how certain it is, warnings, and what to do; `beside` prints what else is asked."""
    found, of_gate = shown_in_units(found), found.gate
    width, title = screen.width, page.said or answer(found, page.how)
    lines = 2 + _height(title, width)
    screen.print(title, style="bold" if of_gate is None else f"bold {gate.STYLES[of_gate.outcome]}")
    screen.print()
    if nothing_to_compare(found):
        page = page._replace(explain=False)
    elif of_gate is None or len(of_gate.checks) > 1:
        most = len(found.arms) if page.every else MOST_ROWS
        body = (
            gate.table(found, width, every=page.every)
            if of_gate is not None
            else on_terminal(table(found, most), width, page.elsewhere, every=page.every)
        )
        lines += 1 + len(body.renderables)
        screen.print(body)
        screen.print()
    if beside is not None:
        beside()
    below = remarks(found, explain=page.explain, where=page.where)
    lines += sum(_height(line, width) for line in (*below, page.next) if line)
    for line in below:
        screen.print(line)
    for warning in _warnings(found, width, len(found.notices) if page.explain else LINES - lines):
        screen.print(warning, style="yellow")
    if page.next:
        screen.print(page.next)


def _warnings(found: Answer, width: int, room: int) -> list[str]:
    """Return the warnings that fit into so many lines, the first in any case, and how many do not."""
    notices = [each for each in found.notices if not (_said_already(found, each))]
    every = [f"Warning: {each}" for each in warnings_in_short(notices)]
    kept = every[:1]
    for warning in every[1:]:
        if sum(_height(each, width) for each in (*kept, warning)) >= room:
            return [*kept, f"and {number_of(len(every) - len(kept), 'more warning')} (--explain shows all)"]
        kept.append(warning)
    return kept


def _said_already(found: Answer, notice: Notice) -> bool:
    """Return True of what the answer itself says."""
    if isinstance(notice, Excluded):
        return len(found.excluded) <= MOST_FAILED
    return isinstance(notice, TooFewPulls | TooFewClusters) and notice.arms == notice.of and found.gate is None


def _height(text: str, width: int) -> int:
    return len(textwrap.wrap(text, width)) or 1


def whole(found: Answer, width: int = COLUMNS) -> str:
    """Return the answer as commands print it."""
    text = io.StringIO()
    next = "" if found.gate is None and found.status == "certified" else next_line(found)
    printed(console(file=text, width=width, color_system=None), found, Printing(next=next, elsewhere="to_frame()"))
    return text.getvalue().rstrip()


def list_is_over(found: Answer) -> bool:
    """Return True if a study stopped because no item of its list is left, and not for a budget."""
    pairs, spent = found.noticed(InPairs), found.noticed(BudgetOver)
    return found.status == "budget" and pairs is not None and pairs.items > 0 and spent is None


def _why_unreachable(found: Answer) -> str:
    certificate, reach = found.certificate, found.state.reachable
    eps = certificate.contamination
    lies = where_lies(certificate.threat, eps).rstrip(",")
    failed = f" and {percent(found.failed / found.pulls)} of the runs failing" if found.failed else ""
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
    failed = f"{sum(reasons.values()):,} of {runs(found, int(found.pulls_per_arm[arm]))} failed"
    return f"excluded: {failed} ({reasons_in_words(tuple(reasons.most_common()))}); the answer is about the other arms"


def log_being_read(told: int, total: int) -> str:
    """Return how much of a study's log has been read.

    >>> log_being_read(0, 0), log_being_read(1200, 4800)
    ('The log is being read.', 'The log is being read: 1,200 of 4,800 runs.')
    """
    return f"The log is being read: {told:,} of {number_of(total, 'run')}." if total else "The log is being read."


def too_short(found: Answer) -> str:
    """Return which budget will end before the certificate is there, by the forecast; "" if none will."""
    state, cost = found.state, found.cost
    if state.pulls_left is None:
        return ""
    if state.max_pulls is not None and found.pulls + state.pulls_left > state.max_pulls:
        return f"the budget of {runs(found, state.max_pulls)} will end before"
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
        return "how many more runs it takes is not known yet"
    cost, left = found.cost, found.state.cost_left_range
    costing = "" if left is None or cost is None else f" that cost {cost_range(*left, cost.unit)}"
    least, most = map(rounded, pulls)
    more = most if least == most else f"{least} to {most}"
    return f"about {more} more runs{costing}{f' ({time_range(*seconds)})' if seconds is not None else ''}"


def enough_cost(found: Answer) -> str:
    """A budget of cost, as --max-cost takes it, with which the study should end certified."""
    cost, left = found.cost, found.state.cost_left
    spent = 0.0 if cost is None else cost.spent
    return f"{rounded_up(2.0 * spent if left is None else spent + _TO_SPARE * left, 2):.12g}"


def next_line(
    found: Answer, how: How = "done", where: str = "", *, several: bool = False, append: Path | None = None
) -> str:
    """Return what to do now, in a line: where to look, or what would settle the rest; "" where nothing is to do.

    `several` says that the storage `where` has more than this study; `append` is the state file of the command.
    """
    if found.gate is not None:
        step = gate.next_step(found)
    elif found.study is None or (found.log is not None and found.policy != "analysis" and not where):
        step = next_after_log(found, append)
    else:
        step = next_step(found, how, where, several=several)
    certain = found.status == "certified" or (found.gate is not None and found.gate.broken)
    return f"{'Next' if certain else 'To decide'}: {step}" if step else ""


def next_step(found: Answer, how: How, where: str, *, several: bool = False) -> str | None:
    """Return what to do with a study, by how it ended: a command or an option; None where nothing is to do."""
    if nothing_to_compare(found):
        return "mend the command, then begin anew with another --study or --storage."
    if found.status == "certified":
        return commands_to_look(where, found.state.name, several=several) or None
    if how in ("cancelled", "time"):
        return f"{more_to_come(found)}: the same command goes on."
    if found.status == "unreachable":
        return _within_reach(found)
    if _tied(found):
        return "a tolerance (--tolerance) for the metric that has none."
    if list_is_over(found):
        return "a looser --tolerance, a longer list of items, or a smaller --contamination in a new study."
    if any(isinstance(each, BudgetOver) and each.budget == "max_cost" for each in found.notices):
        return f"{more_to_come(found)}: a larger budget, --max-cost {enough_cost(found)}."
    if found.state.max_pulls is None:
        return f"{more_to_come(found)}: a larger max_pulls_per_arm in the spec, then the same command."
    return f"{more_to_come(found)}: a larger budget, --max-pulls {enough_pulls(found) or 2 * found.pulls}."


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
        return "see to it that fewer runs fail, then begin anew with another --study or --storage."
    if goals is None:
        return "begin anew (another --study) with a smaller --contamination, or with measurements that vary less."
    return f"a looser tolerance that can be reached: {_as_options(goals)}."


def _as_options(tolerances: Sequence[str]) -> str:
    return shlex.join(part for text in tolerances for part in ("--tolerance", text))


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
    names = names_in_short(found.named(still))
    return f"{names} are tied in {joined(tied)}, and {joined([each.name for each in left])} has no tolerance"


def commands_to_look(where: str, study: str, *, several: bool) -> str:
    """Return how to see a study: as a report, and as a live page; "" for one that is nowhere."""
    if not where or where.startswith("memory:"):
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
    """Return how many runs failed, and what that means; "" if none did."""
    return f"{runs(found, found.failed)} of {found.pulls:,} failed. {FAILED_PULL}" if found.failed else ""


_FAR = "{are} more than {far:g} times as many measurements away as they have"
_WHY = {
    "contamination": "an attacker who {able} could make them look either way",
    "failures": "too many of them, or of their rivals', fail",
    "tolerance": "they are too close to others for this tolerance",
    "limit": "they are too near to a limit",
}

_FUTILE = frozenset(LIMITS.index(word) for word in _WHY)


def _forecast(found: Answer) -> str:
    """Return how many more measurements settle what they can."""
    needed, clusters = None if found.log is None else found.log.needed, found.noticed(InClusters)
    assert needed is not None
    total = int(needed.extra(len(found.arms)).sum())
    afresh = "" if clusters is None else f" in {rounded(-(-total * clusters.clusters // clusters.rows))} new clusters"
    return f"about {rounded(total)} more measurements{afresh}"


def blocked(found: Answer, most: int = MOST_NAMES) -> list[str]:
    """Return which open arms no foreseeable number of measurements settles, and why."""
    needed, lines = None if found.log is None else found.log.needed, []
    for code, word in enumerate(LIMITS):
        arms = [] if needed is None else needed.arms[needed.limit == code].tolist()
        if code == 0 or not arms:
            continue
        if word == "far":
            said = _FAR.format(are=are(len(arms)), far=FARTHEST)
        else:
            does = able(found.certificate.threat, found.certificate.contamination)
            said = Statement.NOT_BY_PULLS(why=_WHY[word].format(able=does))
        lines.append(f"{names_in_short([found.arms[arm] for arm in arms], most)}: {said}.")
    return lines


def _settled_within(found: Answer) -> str | None:
    """Within what everything is settled now; None where that is so much that any arm would do."""
    amounts = found.nearest.amounts(found.metrics)
    return amounts_in_words(amounts, found.metrics) if sensible(found, amounts) else None


def _measure_more(found: Answer, append: Path | None) -> str:
    """Return what to measure, and how the new rows join these, so that answers allow for the look at these."""
    pairs, clusters = found.noticed(InPairs), found.noticed(InClusters)
    needed = None if found.log is None else found.log.needed
    reached = needed is not None and bool((needed.limit == 0).any())
    more = found.having(Verdict.UNDECIDED)
    if needed is not None and reached:
        more = np.asarray(needed.extra(len(found.arms)) > 0)
    few = more.sum() <= MOST_FAILED
    who = joined(list(map(said_name, found.named(more)))) if few else "the undecided arms and what decides them"
    if pairs is not None and pairs.items:
        return f"measure {who} on all items of the list"
    fresh = " in new clusters" if clusters is not None and not reached else ""
    many = _forecast(found) if reached else f"more measurements{fresh}"
    how = f"--append {append or 'STATE'} adds them" if pairs is None and clusters is None else "all rows, --anytime"
    return f"{many} of {who} ({how})"


def next_after_log(found: Answer, append: Path | None = None) -> str:
    """Return what to do now. `append` is the state file of the command."""
    if found.status == "certified":
        return "--report FILE.html writes a page; --explain says exactly what is proved."
    steps = []
    needed = None if found.log is None else found.log.needed
    futile = needed is not None and len(needed.arms) > 0 and _FUTILE.issuperset(needed.limit.tolist())
    if not futile and found.policy != "analysis" and found.status in ("running", "budget"):  # a study's own answer
        steps.append(f"take the study up again{' with a larger budget' if found.status == 'budget' else ''}")
    elif not futile and found.status == "budget":
        steps.append(_measure_more(found, append))
    suggested = suggested_tolerances(found.nearest, found.metrics)
    if suggested is not None and _settled_within(found) is not None:  # the certificate that holds now, rounded up
        steps.append(f"{_as_options(suggested)}, which is reached already")
    elif found.status == "unreachable":  # as these go on: but so few, or such wild ones, show little of that
        steps.append("more measurements of every arm: these leave it open by more than the arms differ")
    if futile or found.status == "unreachable":
        steps.append("a smaller --contamination, if you can vouch for it")
    return f"{'; or '.join(steps)}."


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


def measured(result: Answer) -> str:
    """The arms that an answer is about: all, or those that can be measured."""
    excluded = len(result.excluded)
    return f"{number_of(len(result.arms) - excluded)}{' that can be measured' if excluded else ''}"


def place(result: Answer) -> str:
    """Return the place of the kept arms: on the front, or not beaten by more than some amount."""
    within, names = margins(result), result.objectives
    best = best_in(result.metrics[0]) if result.metrics else f"best in {names[0]}"
    if len(names) > 1:
        said = Statement.NEAR_FRONT(within=within) if within else Statement.ON_FRONT(names=joined(names))
    elif within:
        near = amount(allowed(result)[0], result.metrics[0]) if result.metrics else within
        said = Statement.AS_NEAR_BEST(best=best, within=near)
    else:
        said = Statement.AS_BEST(best=best)
    return said + among_those_within(result)


def too_few(result: Answer) -> str | None:
    """Return that there are too few measurements for any arm to be certain, and how many are needed; None if enough."""
    few = result.noticed(TooFewPulls) or result.noticed(TooFewClusters)
    guess, pulls = result.guess, result.pulls_per_arm[result.verdict_codes != Verdict.EXCLUDED]
    if few is not None and few.arms == few.of and few.first is not None:
        most, first, whole = few.most, few.first, few.whole
    elif guess is not None and guess.first is not None and guess.whole and len(pulls) and pulls.max() < guess.first:
        most, first, whole = int(pulls.max()), guess.first, guess.whole
    else:
        return None
    each = f"{runs(result, most)} each"
    if isinstance(few, TooFewClusters):
        each = f"{most:,} different {joined(list(map(repr, few.columns)))} each"
    also = f" ({whole:,} before all intervals are bounded)" if whole is not None and whole > first else ""
    return Statement.TOO_FEW(each=each, are="is" if most == 1 else "are", first=f"{first:,}") + also
