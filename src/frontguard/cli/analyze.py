"""`frontguard analyze`: the robust front of what was already measured."""

from __future__ import annotations

import gc
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from frontguard._common.secrets import without_password
from frontguard.cli import OPEN, PASSED, options
from frontguard.cli.screen import (
    check_asked,
    checked_target,
    console,
    keep,
    origin,
    print_beside,
    print_json,
)
from frontguard.errors import BadInput, Unnamed

if TYPE_CHECKING:  # what computes is imported when it is needed: `frontguard --help` stays fast
    from frontguard.comparisons.picks import Beside
    from frontguard.results import Answer, Origin

LARGE = "Logs that are large, or grow"

_PASSED_ON = (
    *("arm", "threat", "layout", "format", "study", "metric_column", "value_column", "decimal", "missing_arms"),
    *("profile", "folder", "again", "sketch", "executor"),
)


@contextmanager
def uncollected() -> Iterator[None]:
    """Without Python's search for cycles, which looks again and again at all that imports and kernels made: 0.15 s."""
    searching = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if searching:
            gc.enable()


@options.command(
    *("arm", "maximize", "minimize", "tolerance", "limit", "contamination", "confidence", "report", "json"),
    *("quantile", "mean", "exact", "sigma", "threat", "goal", "pair", "absent", "independent"),
    *("where", "cluster", "layout", "format", "explain", "all", "study", "baseline", "pick"),
    anytime=options.option(
        bool | None,
        "",
        "Whether the log was looked at while it grew, which bounds must allow for.",
        options.STATISTICS,
        name="--anytime/--one-look",
        shown="studies and states only",
    ),
    profile=options.option(
        bool | None,
        "",
        "Find up to which contamination verdicts stand.",
        options.STATISTICS,
        shown="up to 20,000 arms",
    ),
    items=options.whole(
        1, "With --pair: how many there are in all; what counts are means over these.", options.STATISTICS
    ),
    metric_column=options.text(
        "COLUMN", "Long layout: column with the metric's name.", options.READING, value="metric"
    ),
    value_column=options.text("COLUMN", "Long layout: column with the value.", options.READING, value="value"),
    decimal=options.text("POINT", "Decimal point of CSV: . or ,", options.READING, value="."),
    missing_arms=options.text("CHOICE", "refuse or drop rows without an arm.", options.READING, value="refuse"),
    append=options.path("STATE", "State file to which this log is added; the answer is about all it has.", LARGE),
    again=options.flag("--again", "Count files again that the state has counted already.", LARGE),
    sketch=options.option(
        int | None, "SIZE", "Keep sketches of this size for each arm: bounded memory, wider intervals.", LARGE
    ),
    memory=options.text("SIZE", "For rows, such as 4G; beyond, temporary files.", LARGE, shown="half of what is free"),
    folder=options.path("FOLDER", "Where temporary files go.", LARGE, shown="the system's place"),
    executor=options.text("ADDRESS", "dask://HOST:PORT: files that its workers see are read and sorted there.", LARGE),
    strict=options.flag("--strict", "Exit code 3 if any arm is open.", options.OUTPUT),
    csv=options.path("FILE", "Write a row for every arm to this file.", options.OUTPUT),
)
@uncollected()
def analyze(
    log: Annotated[
        list[str],
        typer.Argument(
            metavar="LOG",
            help="Files, directories or globs (CSV, Parquet, JSON lines), - for standard input, results of hyperfine, "
            "pyperf or pytest-benchmark, a study, or state files, which are merged.",
            show_default=False,
        ),
    ],
    append: Path | None,
    memory: str | None,
    csv: Path | None,
    strict: bool,
    **given: Any,
) -> None:
    """Say which few arms of a log are enough, and which are beaten.

    Exit code 0; 2 if the log cannot be read; 3 with --strict if arms are open.
    """
    report: Path | None = given["report"]
    if report is not None:
        checked_target(report)
    room = None if memory is None else options.size_of(memory)
    from frontguard.comparisons.picks import asked as asked_beside
    from frontguard.logs.analyze import analyze as analysis_of
    from frontguard.words.terminal import ProgressDisplay

    wanted = asked_beside(given["baseline"], given["pick"])
    with ProgressDisplay() as display, _proposing(log, given):
        found = analysis_of(
            log[0] if len(log) == 1 else list(log),
            memory=room,
            append=append,
            where=options.by_column(given["where"]),
            progress=display.reading,
            **{name: given[name] for name in _PASSED_ON},
            **options.asked(given),
        )
    check_asked(wanted, found.arms if wanted.baseline in found.arms else found.arms[:20_000], found.metrics)
    beside = found.beside(wanted)
    if csv is not None:
        write_csv(found, csv, beside)
    if given["json"]:
        from frontguard.words.answers import answer

        told = {"answer": answer(found), **beside.entries(), **vars(_origin(log))}
        print_json(found.entries(), told.items())
    else:
        _print(found, append, beside, explain=given["explain"], every=given["all"])
    if report is not None:
        from frontguard.reports.of_results import analysis_report
        from frontguard.reports.report import with_beside

        keep(with_beside(analysis_report(found, _origin(log)), found, beside), report)
    raise typer.Exit(OPEN if strict and found.status != "certified" else PASSED)


# Output ---------------------------------------------------------------------------------------------------------------


@contextmanager
def _proposing(log: Sequence[str], given: Mapping[str, Any]) -> Iterator[None]:
    """Where nobody said which columns are arms and metrics, propose a command by what is in them."""
    try:
        yield
    except Unnamed as error:
        from frontguard.logs.sources.propose import propose

        options = propose(log, given["arm"] or (), given["minimize"] or (), given["maximize"] or ())
        if options is None:
            raise
        command = shlex.join(["frontguard", "analyze", *log, *options])
        raise BadInput(f"{error.why}. For example: {command}") from None


def _origin(log: Sequence[str]) -> Origin:
    return origin([without_password(each) for each in log])


def write_csv(found: Answer, path: Path, beside: Beside | None = None) -> None:
    """A row for every arm, as a report's CSV has it."""
    from frontguard.reports.plain import lines
    from frontguard.reports.write import replace_file

    try:
        more = {} if beside is None else beside.columns(len(found.arms))
        replace_file(path, lines(found.columns() | more))
    except OSError as error:
        raise BadInput(f"--csv {path}: cannot be written: {error.strerror or error}") from None


def _print(found: Answer, append: Path | None, beside: Beside, *, explain: bool, every: bool) -> None:
    from frontguard.words.answers import MOST_ROWS, Printing, next_line, printed

    screen, most = console(), len(found.arms) if every else MOST_ROWS
    page = Printing(next=next_line(found, append=append), explain=explain, every=every)
    printed(screen, found, page, lambda: print_beside(screen, found, beside, most, "--csv FILE"))
