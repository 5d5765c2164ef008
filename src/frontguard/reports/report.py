"""A report as data: the answer, pictures, tables and sentences, in the order in which they are read; one on a result.

Texts are plain and hostile: whoever writes them down escapes them. Tables show up to a thousand arms, the front first;
the columns for machines have all.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import ROUND_FLOOR
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from frontguard import __version__, plot
from frontguard.comparisons.effects import Comparisons
from frontguard.comparisons.picks import Beside, BesideQuestion
from frontguard.errors import BadInput
from frontguard.objectives import Objective
from frontguard.phrases import duration, natural, number_of, percent, visible
from frontguard.plot.picture import Picture
from frontguard.results import Answer
from frontguard.studies.follow import Overview
from frontguard.verdicts import Verdict
from frontguard.words.answers import STATUSES, more_to_come, polish_in_words, too_short
from frontguard.words.arm_table import arm_table, counts, short_name, shown, shown_in_units, with_short_names
from frontguard.words.asked import all_limits, in_each
from frontguard.words.certificate import (
    FAILED_PULL,
    assumptions,
    certificate_against_goal,
    spent_in_words,
    tolerance_in_words,
)
from frontguard.words.comparisons import (
    beside_in_words,
    choice_in_words,
    contrast_in_words,
    effect_cell,
    left_in_words,
    rows_of,
)

Kind: TypeAlias = Literal["study", "run", "analysis", "result", "gate", "reproduce"]

Progress: TypeAlias = Callable[[str, int, int], None]
"""Told what is being done, how much of it, and of how much."""


@dataclass(frozen=True)
class Entry:
    """A cell of a table, sorted by its number, or by its text if there is none."""

    text: str
    order: float | None = None
    verdict: Verdict | None = None  # whose mark stands before it


@dataclass(frozen=True)
class Column:
    """A heading, and below it what the figures are; numbers are set to the right."""

    heading: str
    below: str = ""
    number: bool = False


@dataclass(frozen=True, eq=False)
class ReportTable:
    """Rows in a sensible order; `rest` says what is left out. The first column names the rows."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Entry, ...], ...]
    rest: str = ""


@dataclass(frozen=True, eq=False)
class Figure:
    """A picture with a heading; its caption says what to look at."""

    heading: str
    picture: Picture


@dataclass(frozen=True)
class Fact:
    """A short label and a value, or a text that is copied as it is (`verbatim`)."""

    label: str
    value: str
    verbatim: bool = False


@dataclass(frozen=True, eq=False)
class Section:
    """A part of a report with more in it: a heading, sentences, pictures and tables. Left out if it is empty."""

    heading: str
    words: tuple[str, ...] = ()
    listed: tuple[str, ...] = ()
    shown: tuple[Figure, ...] = ()
    tables: tuple[ReportTable, ...] = ()

    @property
    def blank(self) -> bool:
        """True if there is nothing in it."""
        return not (self.words or self.listed or self.shown or self.tables)


CERTAIN = "What is certain"
ASSUMED = "What that assumes"
ROBUST = "How robust it is"
OPEN = "What would settle the open arms"
FAILED = "Failures"
COURSE = "How it came about"
"""Headings of parts, in their order."""


@dataclass(frozen=True, eq=False)
class Report:
    """The content of a report, in the order in which it is read."""

    title: str
    kind: Kind
    answer: str
    status: str
    status_words: str
    facts: tuple[Fact, ...]
    pictures: tuple[Figure, ...]  # right below the answer
    table: ReportTable
    parts: tuple[Section, ...]  # below the table; those without anything in them are left out
    warnings: tuple[str, ...]
    reproduce: tuple[Fact, ...]  # what is needed to make it again
    columns: Mapping[str, Sequence[Any] | npt.NDArray[Any]]  # for machines: a row for every arm, or every result
    result: Answer | None = None  # what it is about, where that is arms
    made: str = field(
        default_factory=lambda: f"Made by frontguard {__version__} on {datetime.now(UTC):%Y-%m-%d %H:%M} UTC."
    )

    def part(self, heading: str) -> Section:
        """The part with this heading; a blank one if there is none."""
        return next((part for part in self.parts if part.heading == heading), Section(heading))


def certain(certificate: Sequence[str], assumptions: Sequence[str]) -> tuple[Section, Section]:
    """The parts that say what holds, in plain words, and what it rests on."""
    return Section(CERTAIN, tuple(certificate)), Section(ASSUMED, listed=tuple(assumptions))


IN_SENTENCES = 80
"""Characters of a name in sentences and pictures."""

IN_TABLES = 300
"""Characters of a name in a table: a thousand rows stay small enough to send."""


def short(name: str, most: int = IN_SENTENCES) -> str:
    """A name or a reason in so many columns at most."""
    return short_name(name, most)


def in_table(name: str) -> str:
    """A name as it is; a very long one is cut in the middle."""
    return name if len(name) <= IN_TABLES else short(name, IN_TABLES)


Failures: TypeAlias = Mapping[str, Mapping[str, int]]
"""How often pulls failed, by arm and reason."""

MOST_ROWS = 1000
"""Arms that a report shows; its CSV has all."""

MOST_REASONS = 3
"""Why the pulls of an arm failed: so many reasons are told, and the others are counted."""

LONGEST_REASON = 160
"""Columns of a reason; of a longer one its beginning and its end are told."""

_MOST_FAILING = 60  # arms

MOST_MARKS = 500
"""In a matrix of all pairs of objectives; beyond, the first pair is shown, so that a report stays small."""

MOST_OBJECTIVES = 12
"""Of which facts are listed."""


def report_of(
    result: Answer,
    kind: Kind,
    title: str,
    answer: str,
    *,
    certificate: Sequence[str],
    parts: Sequence[Section],
    steps: Sequence[Fact],
    facts: Sequence[Fact] = (),
    at_work: bool = True,
) -> Report:
    """Return the report on a result, with short names in sentences and pictures; `at_work` if somebody goes on."""
    table = arms_table(result)
    if table.rest:
        table = replace(table, rest=f"{table.rest} The CSV report has a row for every arm.")
    plain = with_short_names(result)
    every = *certain(certificate, assumptions(plain)), *parts
    columns = result.columns()
    for d, name in enumerate(result.objectives):
        columns[name] = np.where(np.isfinite(result.inner.estimates[:, d]), columns[name], np.nan)
    if result.study is not None:
        columns["failed"] = result.failed_per_arm
    return Report(
        title=title,
        kind=kind,
        answer=answer,
        status=result.status,
        status_words=STATUSES["paused" if result.status == "running" and not at_work else result.status],
        facts=(*facts_of(plain), *facts),
        pictures=_pictures(plain),
        table=table,
        parts=tuple(part for part in every if not part.blank),
        warnings=result.warnings,
        reproduce=tuple(steps),
        columns=columns,
        result=result,
    )


def facts_of(result: Answer) -> list[Fact]:
    """Return the facts about a result and its question."""
    certificate, eps = result.certificate, result.certificate.contamination
    failed = result.failed if result.study is not None else 0
    lies = f"up to {percent(eps)} ({certificate.threat}){in_each(result)}"
    sure = "none" if certificate.confidence is None else percent(certificate.confidence, ROUND_FLOOR)
    facts = [
        Fact("Arms", f"{len(result.arms):,}"),
        Fact("Pulls", f"{result.pulls:,}"),
        *((Fact("Failed", f"{failed:,} ({percent(failed / max(result.pulls, failed))})"),) if failed else ()),
        Fact("Confidence", sure),
        Fact("Measurements that may lie", lies if eps else "none"),
    ]
    facts += objective_facts(result.metrics)
    if result.limits is not None:
        facts.append(Fact("Limits", all_limits(result.limits)))
    return facts


def progress_facts(plain: Answer) -> list[Fact]:
    """Return how far a study with short names is: verdicts, certificate, forecast, costs and budgets."""
    facts, state = [Fact("Verdicts", counts(plain))], plain.state
    if plain.status != "certified":
        facts.append(Fact("Certificate", certificate_against_goal(plain.nearest, plain.metrics)))
        facts.append(Fact("Forecast", "; ".join(filter(None, [more_to_come(plain), too_short(plain)]))))
    if plain.cost is not None:
        facts.append(Fact("Cost", spent_in_words(plain.cost, state.max_cost)))
    if (polished := polish_in_words(plain)) is not None:
        facts.append(Fact("Estimates", polished))
    if state.max_pulls is not None:
        facts.append(Fact("Budget", f"{state.max_pulls:,} pulls"))
    return facts


def time_facts(overview: Overview) -> list[Fact]:
    """Return when a study was measured, and what is under way."""
    if overview.began is None or overview.last is None:
        return []
    ends = (datetime.fromtimestamp(at, UTC) for at in (overview.began, overview.last))
    first, last = (f"{end:%Y-%m-%d %H:%M} UTC" for end in ends)
    when = first if first == last else f"{first} to {last}"
    facts = [Fact("Measured", f"{when}, within {duration(max(overview.last - overview.began, 0.0))}")]
    if overview.out:
        facts.append(Fact("Under way", f"{overview.out:,} pulls"))
    return facts


def course_of(overview: Overview, plain: Answer) -> dict[str, Figure]:
    """Return pictures of how a study came about, by name; those that would be empty are left out."""
    history = replace(overview.history, arms=plain.arms, objectives=plain.metrics)
    figures = {}
    if len(history.moments) > 1 and any(metric.inner_tolerance > 0.0 for metric in plain.metrics):
        left = plain.state.pulls_left if plain.status == "running" else None
        figures["certainty"] = Figure("What was certain, against the goal", plot.certainty(history, left))
    if plain.pulls:
        figures["pulls"] = Figure("Pulls of each arm", plot.pulls(plain))
    if overview.rate.told.sum():
        figures["rate"] = Figure("Pulls a minute", plot.rate(overview.rate))
    return figures


def objective_facts(metrics: Sequence[Objective]) -> list[Fact]:
    """The first objectives with their tolerances; the others are counted."""
    facts = [Fact(f"Objective {d}", tolerance_in_words(each)) for d, each in enumerate(metrics[:MOST_OBJECTIVES], 1)]
    more = len(metrics) - len(facts)
    return [*facts, Fact("Further objectives", f"{more:,}")] if more else facts


def _pictures(result: Answer) -> tuple[Figure, ...]:
    objectives = len(result.metrics)
    if not np.isfinite(result.estimates).any():
        return ()  # there would be nothing on them
    alive = min(int((result.verdict_codes != Verdict.BEATEN).sum()), 250)
    if objectives > 2 and alive * objectives * (objectives - 1) // 2 > MOST_MARKS:
        heading = f"The front, in {result.metrics[0].name} and {result.metrics[1].name}"
        front = Figure(heading, plot.front(result, 0, 1))
    else:
        front = Figure("The front", plot.front(result))
    if objectives > 2:
        return front, Figure("All objectives side by side", plot.parallel(result))
    return (front,)


def arms_table(result: Answer, most: int = MOST_ROWS) -> ReportTable:
    """Verdict, estimates, intervals, pulls, failures, who decides, how robust; of a list, what each is good for."""
    rows = shown(result, most)
    made = arm_table(result, rows, deciders=bool((result.decided_by[rows] >= 0).any()))
    names = [in_table(result.arms[arm]) for arm in rows.tolist()]
    kept = made.columns[2:]
    entries = tuple(
        (
            Entry(name),
            Entry(row.verdict.word, row.cells["verdict"].value, row.verdict),
            *(Entry(short(part)) for part in (() if result.parts is None else result.parts.row(row.arm))),
            *(Entry(short(row.cells[each.name].full), row.cells[each.name].value) for each in kept),
        )
        for name, row in zip(names, made.rows, strict=True)
    )
    parts = () if result.parts is None else tuple(Column(short(part)) for part in result.parts.names)
    rest = [Column(short(each.heading), each.below, each.number) for each in kept]
    caption = f"The arms ({short(made.key)})" if made.key else "The arms"
    return ReportTable(
        caption, (Column("arm"), Column("verdict"), *parts, *rest), entries, f"{made.rest}." if made.rest else ""
    )


def failures_part(
    failures: Failures, failed: int, pulls: int, said: Mapping[str, str] = MappingProxyType({})
) -> Section:
    """The part on failed pulls by arm and reason, the most first; `said` are the last words of each arm's."""
    words: tuple[str, ...] = ()
    if failed:
        words = (
            f"{failed:,} of {pulls:,} pulls failed ({percent(failed / max(pulls, 1))}). {FAILED_PULL} Leaving it out "
            "would favour arms that fail when they are slow.",
        )
    by_arm = {arm: sum(reasons.values()) for arm, reasons in failures.items() if reasons}
    if not by_arm:
        return Section(FAILED, words)
    worst = sorted(by_arm, key=lambda arm: (-by_arm[arm], natural(arm)))
    rows = tuple(row for arm in worst[:_MOST_FAILING] for row in _why(arm, failures[arm]))
    left = len(worst) - _MOST_FAILING
    rest = f"… and {number_of(left)} more with failures." if left > 0 else ""
    columns = (Column("arm"), Column("reason"), Column("pulls", number=True))
    tables = [ReportTable("Failed pulls by arm and reason", columns, rows, rest)]
    if said:
        last = tuple((Entry(short(arm)), Entry(short(text, 300))) for arm, text in list(said.items())[:_MOST_FAILING])
        tables.append(ReportTable("Last words of failed pulls", (Column("arm"), Column("the last one")), last))
    return Section(FAILED, words, tables=tuple(tables))


def _why(arm: str, reasons: Mapping[str, int]) -> Iterator[tuple[Entry, ...]]:
    """A row for each of an arm's most frequent reasons, and one for the others."""
    often = sorted(reasons.items(), key=lambda each: -each[1])
    told = [(short(reason, LONGEST_REASON) or "no reason given", count) for reason, count in often[:MOST_REASONS]]
    if others := often[MOST_REASONS:]:
        told.append((f"{number_of(len(others), 'other reason')}", sum(count for _, count in others)))
    for reason, count in told:
        yield Entry(short(arm)), Entry(reason), Entry(f"{count:,}", float(count))


def asked_for(report: Report, asked: BesideQuestion) -> Report:
    """A report with what is asked for beside what it is about."""
    if asked == BesideQuestion():
        return report
    if report.result is None:
        raise BadInput(f"--baseline and --pick: wanted with a report on arms; got one on {report.kind}")
    result = shown_in_units(report.result)
    return with_beside(report, result, result.beside(asked))


def with_beside(report: Report, result: Answer, beside: Beside) -> Report:
    """A report on a result, with comparisons of it and the arm to choose."""
    parts = []
    if beside.pick is not None:
        others = beside.pick.others
        tables = () if others is None or not len(others) else (_of_all(result, others),)
        parts.append(Section("Which one to take", (choice_in_words(beside.pick),), tables=tables))
    if beside.compared is not None:
        compared = beside.compared
        heading = f"Compared with {short(visible(compared.baseline))}"
        said_too = tuple(each for each in (beside_in_words(compared),) if each)
        parts.append(Section(heading, said_too, shown=_forest(result, compared), tables=(_of_all(result, compared),)))
    columns = {**report.columns, **beside.columns(len(result.arms))}
    return replace(report, parts=(*parts, *report.parts), columns=columns)


def _forest(result: Answer, compared: Comparisons) -> tuple[Figure, ...]:
    if not len(compared):
        return ()
    plain = with_short_names(result)
    baseline = plain.arms[result.place(compared.baseline)]
    return (Figure("How much better or worse", plot.forest(plain, baseline)),)


def comparison_table(compared: Comparisons, rows: Sequence[int]) -> ReportTable:
    """These rows of the comparisons with a baseline, a column for each metric."""
    columns = [Column("arm")]
    for metric in compared.metrics:
        better = "lower" if metric.minimized else "higher"
        columns += [Column(short(metric.name), f"× or +, {better} is better", number=True), Column("", "certain")]
    entries = []
    for each in map(compared.of, rows):
        row = [Entry(in_table(visible(each.arm)))]
        for effect in each.effects:
            cell = effect_cell(effect)
            row += [Entry(cell.full, cell.value), Entry(contrast_in_words(effect), float(effect.contrast))]
        entries.append(tuple(row))
    caption = f"Against {short(visible(compared.baseline))}"
    return ReportTable(caption, tuple(columns), tuple(entries), left_in_words(compared, rows))


def _of_all(result: Answer, compared: Comparisons) -> ReportTable:
    return comparison_table(compared, rows_of(result, compared, MOST_ROWS).tolist())


def study_steps(overview: Overview, where: str = "") -> list[Fact]:
    """Return the steps that make a study again."""
    settings = overview.settings
    spec, identity = settings.about.get("spec"), settings.about.get("identity")
    steps = [
        Fact("Version", f"frontguard {__version__}"),
        Fact("Study", f"{overview.name} in {where}" if where else overview.name),
        Fact("Seed", f"{settings.seed}, of the order in which arms were measured"),
        Fact("Pulls", f"{overview.told:,} told" + (f", {overview.out:,} handed out" if overview.out else "")),
    ]
    if isinstance(spec, str) and spec.strip():
        steps.append(Fact("Command", "frontguard run SPEC.toml", verbatim=True))
        steps.append(Fact("Spec", spec, verbatim=True))
    elif identity:
        steps.append(Fact("Commands that were run", json.dumps(identity, indent=1, ensure_ascii=False), verbatim=True))
    else:
        steps.append(Fact("Settings", settings.to_json(), verbatim=True))
    if where:
        again = shlex.join(["frontguard", "report", where, "--study", overview.name])
        steps.append(Fact("This report", again, verbatim=True))
        every = f"frontguard.Study.open({where!r}, {overview.name!r}, read_only=True).to_frame()"
        steps.append(Fact("Every pull, in Python", every, verbatim=True))
    return steps
