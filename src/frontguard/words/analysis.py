"""An analysis in words: the answer in a sentence, a table, what it guarantees, how robust it is, what to measure next.

Everything stays short with a million arms: names are listed up to a dozen, and the rest is counted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from frontguard._typing import Ints
from frontguard.logs.analysis import WORDS, Analysis
from frontguard.logs.more_pulls import LIMITS
from frontguard.objectives import Objective
from frontguard.phrases import article, listed, number, number_of, percent, rounded
from frontguard.verdicts import VERDICT_ORDER, Verdict
from frontguard.words.certificate import amount

if TYPE_CHECKING:
    from rich.table import Table


MOST_ROWS = 30
_COLOURS = {"in": "bold green", "undecided": "yellow", "covered": "cyan", "out": "dim"}


def answer(found: Analysis) -> str:
    """The answer in a sentence or two."""
    if found.status == "certified":
        return _front(found, found.pareto_set)
    return by_verdict(found)


def by_verdict(found: Analysis) -> str:
    """Which arms are in and which open, and how many have the other verdicts."""
    counts = found.counts
    front, opened = found.pareto_set, found.named(found.having(Verdict.UNDECIDED))
    said = [f"{counts['in']:,} of {number_of(len(found.arms))} {_are(counts['in'])} certainly {_on(found)}"]
    if front:
        said[0] += f" ({listed(front)})"
    if counts["out"]:
        said.append(f"{counts['out']:,} {_are(counts['out'])} certainly not")
    if counts["covered"]:
        said.append(
            f"{counts['covered']:,} {_are(counts['covered'])} covered by {'it' if len(front) == 1 else 'these'}"
        )
    if opened:
        said.append(f"{len(opened):,} {_are(len(opened))} open ({listed(opened)})")
    return "; ".join(said) + "."


def _front(found: Analysis, front: Sequence[str]) -> str:
    metrics, total = found.metrics, number_of(len(found.arms))
    if len(metrics) > 1:
        verb = "is" if len(front) == 1 else "are"
        return f"{len(front):,} of {total} {verb} {_on(found)}: {listed(front)}."
    best = f"the {'least' if metrics[0].minimized else 'most'} {metrics[0].name}"
    if len(front) == 1:
        return f"Of {total}, {front[0]} has {best}."
    within = _tolerances(found)
    close = f" or are within {within} of it" if within else ""
    return f"Of {total}, {len(front):,} have {best}{close}: {listed(front)}."


def _on(found: Analysis) -> str:
    names = [metric.name for metric in found.metrics]
    if len(names) == 1:
        return f"the best in {names[0]}"
    return f"on the trade-off front of {', '.join(names[:-1])} and {names[-1]}"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


# What it guarantees ---------------------------------------------------------------------------------------------------


def guarantee(found: Analysis) -> str:
    """What holds of these verdicts, in plain words."""
    certificate = found.certificate
    share = percent(certificate.contamination)
    lies = (
        f"whatever {article(certificate.threat)} attacker put into up to {share} of each arm's measurements"
        if certificate.contamination
        else "if no measurement lies"
    )
    median = "median" if all(each.quantile == 0.5 for each in found.metrics) else "quantile"
    said = [f"all intervals contain the true {median}s"]
    counts, within, one = found.counts, _tolerances(found), len(found.metrics) == 1
    if counts["out"]:
        said.append("each arm that is out is " + ("worse than another one" if one else "dominated by another one"))
    if counts["in"]:
        beaten = "is better than" if one else "beats"
        by = (
            f"by more than {within}{'' if one else ' at once'}"
            if within
            else ""
            if one
            else "in every objective at once"
        )
        said.append(f"no arm {beaten} one that is in {by}".rstrip())
    if counts["covered"]:
        as_good = f"at most {within} worse" if within else "as good" + ("" if one else " in every objective")
        said.append(f"for each covered arm one that is in is {as_good}")
    if counts["undecided"]:
        said.append("open arms may be on the front or not")
    looked = (
        " This holds however often the log was looked at while it grew."
        if found.anytime
        else " The number of measurements must not have been chosen by looking at them; if it was, use --anytime."
    )
    return f"With probability {percent(certificate.confidence)}, {lies}: {'; '.join(said)}.{looked}"


def _tolerances(found: Analysis) -> str:
    """The tolerance of each objective; empty if there is none anywhere."""
    parts = [
        f"{each.tolerance if each.relative else number(float(each.tolerance))} in {each.name}"
        for each in found.metrics
        if each.inner_tolerance > 0.0
    ]
    if not parts:
        return ""
    exact = [f"nothing in {each.name}" for each in found.metrics if each.inner_tolerance == 0.0]
    return " and ".join([*parts, *exact])


# How robust it is -----------------------------------------------------------------------------------------------------


def robustness(found: Analysis) -> str | None:
    """How dirty the data may be before the front changes, in a sentence or two; None without a profile."""
    profile = found.profile
    if profile is None:
        return None
    now = found.certificate.contamination
    decided = np.flatnonzero(~np.isnan(profile.per_arm))
    if not len(decided):
        return "Robustness: nothing is certain even now, so there is nothing to lose."
    said = []
    last = max(now, round(profile.front - profile.resolution, 12))
    if not found.having(Verdict.IN).any():
        said.append("No arm is certainly on the front yet.")
    elif profile.front >= 0.5:
        said.append("The front stays as it is for any share of replaced measurements below one half.")
    else:
        said.append(
            f"The front changes once more than {percent(last)} of the measurements are replaced "
            f"({percent(now)} were allowed for)."
        )
    first = int(decided[np.argmin(profile.per_arm[decided])])
    stands = float(profile.per_arm[first])
    if stands < last or not found.having(Verdict.IN).any():
        word = WORDS[found.verdict_codes[first]]
        said.append(f"The first verdict to fall is that {found.arms[first]} is {word}, beyond {percent(stands)}.")
    return " ".join(said)


def by_means(found: Analysis) -> str | None:
    """What whoever compares means would have said, where it differs; None where it does not."""
    on, inside = found.mean_front, found.having(Verdict.IN)
    if np.array_equal(on, inside):
        return None
    exact = not _tolerances(found)
    wrong = [
        (on & found.having(Verdict.OUT), "call", "certainly not on it"),
        (~on & inside, "miss", "certainly on it" if exact else "in"),
    ]
    said = [f"{verb} {listed(found.named(which))} ({why})" for which, verb, why in wrong if which.any()]
    start = f"Means alone would call the front {listed(found.mean_set)}"
    softer = [
        (on & found.having(Verdict.COVERED), "covered"),
        (on & found.having(Verdict.UNDECIDED), "open"),
    ]
    rest = [
        f"{'all' if np.array_equal(which, on) else listed(found.named(which))} {_are(int(which.sum()))} {word}"
        for which, word in softer
        if which.any()
    ]
    if said:
        start += f": they would {' and '.join(said)}"
    return start + (f"; here, {', and '.join(rest)}." if rest else ".")


def failures(found: Analysis) -> str | None:
    """How many values are missing or failed, and what that means; None if none are."""
    each = found.failed.sum(axis=0)
    if not each.any():
        return None
    parts = ", ".join(f"{name} {count:,}" for name, count in zip(found.objectives, each.tolist(), strict=True) if count)
    values = found.pulls * len(found.objectives)
    return (
        f"{int(each.sum()):,} of {values:,} values are missing, not finite or cannot be used ({parts}); each counts as "
        "one that could have been anything."
    )


# What is open ---------------------------------------------------------------------------------------------------------

_WHY = {
    "far": "{are} more than {far:g} times as many pulls away as they have",
    "contamination": "cannot be settled by more pulls: an attacker with {eps} of the measurements could make them look "
    "either way",
    "failures": "cannot be settled by more pulls while so many of them, or of their rivals', fail",
    "tolerance": "cannot be settled by more pulls: they are too close to others for this tolerance",
}


def to_settle(found: Analysis, most: int = 5) -> list[str]:
    """For the open arms how many more pulls settle them, or what stands in the way."""
    from frontguard.logs.more_pulls import FARTHEST

    needed = found.needed
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
            lines.append(f"{found.arms[int(needed.arms[j])]}: about {rounded(int(needed.pulls[j]))} more pulls{also}.")
        rest = order[most:]
        if len(rest):
            least, farthest = int(needed.pulls[rest].min()), int(needed.pulls[rest].max())
            span = rounded(least) if least == farthest else f"{rounded(least)} to {rounded(farthest)}"
            lines.append(f"{len(rest):,} more: about {span} more pulls{' each' if len(rest) > 1 else ''}.")
        lines.append(f"Together that is about {rounded(total)} more pulls, if the samples go on as they began.")
    for code, word in enumerate(LIMITS):
        arms = needed.arms[needed.limit == code]
        if code == 0 or not len(arms):
            continue
        names = listed([found.arms[i] for i in arms.tolist()], most)
        why = _WHY[word].format(are=_are(len(arms)), far=FARTHEST, eps=percent(found.certificate.contamination))
        lines.append(f"{names}: {why}.")
    return lines


def settling_tolerance(found: Analysis) -> list[tuple[Objective, str]] | None:
    """Tolerances, as they are written, with which nothing would be open now; None if there are none.

    The certificate that holds now, rounded up.
    """
    suggested = []
    for value, objective in zip(found.certificate.amounts(found.metrics), found.metrics, strict=True):
        if not math.isfinite(value):
            return None
        text = f"{_up(100.0 * value):g}%" if objective.relative else f"{_up(value):g}"
        suggested.append((objective, text))
    return suggested


def _up(value: float) -> float:
    """The next number with three digits that count.

    >>> _up(0.012341), _up(5.0), _up(0.0)
    (0.0124, 5.0, 0.0)
    """
    if value <= 0.0:
        return 0.0
    step = 10.0 ** (math.floor(math.log10(value)) - 2)
    return float(f"{math.ceil(value / step - 1e-6) * step:.12g}")


def holds_now(found: Analysis) -> str | None:
    """What holds of the arms that are in or may be, although some are open; None if nothing is bounded."""
    if settling_tolerance(found) is None:
        return None
    within = " and ".join(
        f"{amount(value, each)} in {each.name}"
        for value, each in zip(found.certificate.amounts(found.metrics), found.metrics, strict=True)
    )
    return f"Within {within} everything is settled now."


# The table ------------------------------------------------------------------------------------------------------------


def chosen_rows(found: Analysis, most: int = MOST_ROWS) -> Ints:
    """The arms to show: the front, then open arms, then covered ones, then those that are out.

    Where the front alone would fill the table, open arms get up to half of it.
    """
    opened = int(found.having(Verdict.UNDECIDED).sum())
    kept = max(most - opened, most - most // 2)
    return table_order(found, kept)[:most]


def table_order(found: Analysis, most_in: int | None = None) -> Ints:
    """All arms in the order of the table; of those that are in, so many at most."""
    groups = [np.flatnonzero(found.having(verdict)) for verdict in VERDICT_ORDER]
    groups[1] = groups[1][np.argsort(~found.mean_front[groups[1]], kind="stable")]  # of the open ones the likely first
    return np.concatenate([groups[0][:most_in], *groups[1:]])


def table(found: Analysis, most: int = MOST_ROWS) -> Table:
    """The arms with verdict, estimates and intervals in the user's units, pulls, failures, who decides, how robust."""
    from rich.table import Table as RichTable
    from rich.text import Text

    made = RichTable(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    made.add_column("arm", overflow="fold")
    made.add_column("verdict", no_wrap=True)
    for objective in found.metrics:
        made.add_column(
            Text(f"{objective.name}\n{objective.quantile_word} [low, high]"),
            justify="right",
            no_wrap=len(found.metrics) < 3,
        )
    made.add_column("pulls", justify="right", no_wrap=True)
    any_failed, profile = bool(found.failed.any()), found.profile
    if any_failed:
        made.add_column("failed", justify="right", no_wrap=True)
    made.add_column("decided by", overflow="fold")
    if profile is not None:
        made.add_column("stands\nup to", justify="right", no_wrap=True)
    rows = chosen_rows(found, most)
    part = shown_intervals(found, rows)
    for arm, intervals in zip(rows.tolist(), part, strict=True):
        word = str(WORDS[found.verdict_codes[arm]])
        cells = [Text(found.arms[arm]), Text(word), *map(Text, intervals), Text(f"{found.pulls_per_arm[arm]:,}")]
        if any_failed:
            failed = int(found.failed[arm].sum())
            cells.append(Text(f"{failed:,}" if failed else ""))
        rival = int(found.decided_by[arm])
        cells.append(Text(found.arms[rival] if rival >= 0 else ""))
        if profile is not None:
            stands = float(profile.per_arm[arm])
            cells.append(Text("" if math.isnan(stands) else _stands(stands, profile.resolution)))
        made.add_row(*cells, style=_COLOURS[word])
    return made


def _stands(level: float, resolution: float) -> str:
    return "< 50%" if level + resolution >= 0.5 - 1e-9 else percent(level)


def not_shown(found: Analysis, most: int = MOST_ROWS) -> str | None:
    """How many arms the table leaves out; None if it shows all."""
    rest = np.bincount(np.delete(found.verdict_codes, chosen_rows(found, most)), minlength=len(WORDS))
    if not rest.any():
        return None
    parts = ", ".join(f"{rest[verdict]:,} {verdict.word}" for verdict in VERDICT_ORDER if rest[verdict])
    return f"… and {int(rest.sum()):,} more: {parts}"


def shown_intervals(found: Analysis, rows: Ints) -> list[list[str]]:
    """Estimates and intervals of some arms, in the metrics' units."""
    columns = []
    for d, metric in enumerate(found.metrics):
        centre = metric.outward(found.estimates[rows, d]).tolist()
        low, high = (ends.tolist() for ends in metric.outward_interval(found.lower[rows, d], found.upper[rows, d]))
        columns.append([_interval(*each) for each in zip(centre, low, high, strict=True)])
    return [list(cells) for cells in zip(*columns, strict=True)]


def _interval(centre: float, low: float, high: float) -> str:
    if not math.isfinite(centre):
        return "nothing measured"
    return f"{number(centre)} [{number(low)}, {number(high)}]"
