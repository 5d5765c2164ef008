"""`frontguard analyze`: the robust front of what was already measured."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Annotated, Any

import typer

from frontguard._common.secrets import without_password
from frontguard._common.written import checked_confidence, checked_goal
from frontguard.cli.options.beside import Baseline, PickOne, beside_of, print_beside, read_asked
from frontguard.cli.options.counted import Exact, Mean, Sigma, check_named, counted, of_analyze
from frontguard.cli.options.values import THREATS, by_metric, read_limits, read_tolerance, size_of, whole_from
from frontguard.cli.report import checked_target, keep, origin
from frontguard.cli.screen import console, print_answer
from frontguard.errors import BadInput

if TYPE_CHECKING:  # what computes is imported when it is needed: `frontguard --help` stays fast
    from frontguard.comparisons.asked import Beside
    from frontguard.documents.origin import Origin
    from frontguard.logs.analysis import Analysis

OPEN = 3
"""Exit code with --strict when arms are open."""


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
    arm: Annotated[
        list[str] | None, typer.Option(help='Column that says which arm a row is of (without: "arm"); repeat to join.')
    ] = None,
    maximize: Annotated[list[str] | None, typer.Option(help="Metric to be maximised; repeat for several.")] = None,
    minimize: Annotated[list[str] | None, typer.Option(help="Metric to be minimised; repeat for several.")] = None,
    tolerance: Annotated[
        list[str] | None,
        typer.Option(help="Difference that does not matter, 0.5 or 2%; or METRIC=2% (without: the study's, or none)."),
    ] = None,
    quantile: Annotated[
        list[str] | None,
        typer.Option(help="What counts of a metric, METRIC=0.95 or 0.95 for all (without: as study, or medians)."),
    ] = None,
    limit: Annotated[
        list[str] | None,
        typer.Option(help="What arms must keep to, 'p95(latency)<=300'; repeat for several (without: the study's)."),
    ] = None,
    mean: Mean = None,
    exact: Exact = None,
    sigma: Sigma = None,
    contamination: Annotated[
        str | None,
        typer.Option(help="Probability with which each measurement may be anything (ε; without: the study's, or 0.1)."),
    ] = None,
    threat: Annotated[str | None, typer.Option(help=f"{THREATS} (Without: the study's, or prescient.)")] = None,
    confidence: Annotated[
        str | None, typer.Option(help="Probability with which the answer must hold (without: the study's, or 0.95).")
    ] = None,
    goal: Annotated[
        str | None,
        typer.Option(
            help="list: as few arms as are enough; front: all that none beats (without: the study's, or list)."
        ),
    ] = None,
    anytime: Annotated[
        bool | None,
        typer.Option(
            "--anytime/--one-look",
            help="Whether the log was looked at while it grew, which bounds must allow for (without: studies only).",
        ),
    ] = None,
    profile: Annotated[
        bool | None,
        typer.Option(help="Find up to which contamination verdicts stand (without: up to 20,000 arms)."),
    ] = None,
    layout: Annotated[
        str | None, typer.Option(help="wide (a column a metric) or long (a row a value); guessed unless given.")
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(help="csv, parquet, jsonl, hyperfine, pyperf, pytest-benchmark, study; guessed unless given."),
    ] = None,
    metric_column: Annotated[str, typer.Option(help="Long layout: column with the metric's name.")] = "metric",
    value_column: Annotated[str, typer.Option(help="Long layout: column with the value.")] = "value",
    decimal: Annotated[str, typer.Option(help="Decimal point of CSV: . or ,")] = ".",
    missing_arms: Annotated[str, typer.Option(help="refuse or drop rows without an arm.")] = "refuse",
    study: Annotated[str | None, typer.Option(help="Name of the study, where a storage has several.")] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=VALUE",
            help="Only rows with this value count; repeat for more columns, or for several values of one, any of which "
            "will do.",
        ),
    ] = None,
    cluster: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Rows of an arm with the same value here (process, host, day) depend on each other, and count as one "
            "observation; repeat to join; none: every row counts (without: what a tool's results say).",
        ),
    ] = None,
    pair: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Rows of different arms with the same value here (question, seed, day) are compared with each other; "
            "repeat to join.",
        ),
    ] = None,
    items: Annotated[
        int | None, whole_from(1, "With --pair: how many there are in all; what counts are means over these.")
    ] = None,
    independent: Annotated[
        bool | None,
        typer.Option(
            "--independent",
            help="No measurement of one arm depends on another arm's: arms are compared in pairs, too (without: the "
            "study's).",
        ),
    ] = None,
    memory: Annotated[
        str | None, typer.Option(help="For rows, such as 4G; beyond, temporary files (without: half of what is free).")
    ] = None,
    folder: Annotated[Path | None, typer.Option(help="Where temporary files go (without: the system's place).")] = None,
    append: Annotated[
        Path | None, typer.Option(help="State file to which this log is added; the answer is about all it has.")
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Count files again that the state has counted already.")
    ] = False,
    sketch: Annotated[
        int | None, typer.Option(help="Keep sketches of this size for each arm: bounded memory, wider intervals.")
    ] = None,
    executor: Annotated[
        str | None, typer.Option(help="dask://HOST:PORT: files that its workers see are read and sorted there.")
    ] = None,
    baseline: Baseline = None,
    pick: PickOne = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit code 3 if any arm is open.")] = False,
    top: Annotated[int, whole_from(1, "Arms to show; the rest is counted.")] = 30,
    csv: Annotated[Path | None, typer.Option(help="Write a row for every arm to this file.")] = None,
    report: Annotated[Path | None, typer.Option(help="Write a report to this file: .html, .md or .csv.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the answer as JSON on stdout.")] = False,
) -> None:
    """Say which few arms of a log are enough, which are certainly beaten, and what is open.

    Exit code 0; 2 if the log cannot be read; 3 with --strict if arms are open.
    """
    if report is not None:
        checked_target(report)
    wanted = read_asked(baseline, pick)
    given: dict[str, Any] = {
        "tolerance": by_metric("tolerance", tolerance, read_tolerance),
        "limits": read_limits(limit) if limit else None,
        "confidence": None if confidence is None else checked_confidence(confidence, "--confidence"),
        "goal": None if goal is None else checked_goal(goal, "--goal"),
        "memory": None if memory is None else size_of(memory),
    }
    said = counted(mean, exact, sigma, quantile)
    if maximize or minimize:
        check_named(said, [*(maximize or ()), *(minimize or ())], declared=True)
    reading: dict[str, Any] = {
        "layout": layout, "format": format, "metric_column": metric_column, "value_column": value_column,
        "decimal": decimal, "missing_arms": missing_arms, "study": study,
    }  # fmt: skip
    from frontguard.logs.analyze import analyze as analysis_of
    from frontguard.theory.threats import threat_of
    from frontguard.words.progress import ProgressDisplay

    if json:  # what it takes to print it is imported while the log is read
        Thread(target=_import_printing, name="frontguard-import").start()
    threat_of(threat, contamination, prefix="--")  # what it refuses is an option here; which is meant, the log decides
    with ProgressDisplay() as display:
        found = analysis_of(
            log[0] if len(log) == 1 else list(log),
            arm=arm,
            maximize=maximize or (),
            minimize=minimize or (),
            threat=threat,
            contamination=contamination,
            anytime=anytime,
            profile=profile,
            folder=folder,
            append=append,
            again=again,
            sketch=sketch,
            executor=executor,
            where=by_column(where),
            cluster=cluster,
            pair=pair,
            items=items,
            independent=independent,
            progress=display.reading,
            **given,
            **of_analyze(said),
            **reading,
        )
    beside = beside_of(found, wanted)
    if csv is not None:
        write_csv(found, csv, beside)
    if json:
        _print_json(found, log, beside)
    else:
        _print(found, top, append, beside)
    if report is not None:
        from frontguard.reports.analysis import analysis_report
        from frontguard.reports.beside import with_beside

        keep(with_beside(analysis_report(found, _origin(log)), found, beside), report)
    opened = found.status != "certified"
    raise typer.Exit(OPEN if strict and opened else 0)


def by_column(texts: Sequence[str] | None) -> dict[str, list[str]] | None:
    """COLUMN=VALUE several times, as values by column."""
    if not texts:
        return None
    found: dict[str, list[str]] = {}
    for text in texts:
        column, equals, value = text.partition("=")
        if not equals or not column:
            raise BadInput(f"--where: wanted COLUMN=VALUE, such as host=a; got {text!r}")
        found.setdefault(column, []).append(value)
    return found


# Output ---------------------------------------------------------------------------------------------------------------


def _origin(log: Sequence[str]) -> Origin:
    return origin([without_password(each) for each in log])


def _import_printing() -> None:
    for name in ("pydantic_core", "frontguard.documents.pieces", "frontguard.words.analysis"):
        import_module(name)


def _print_json(found: Analysis, log: Sequence[str], beside: Beside | None = None) -> None:
    from frontguard.documents.pieces import analyze_pieces
    from frontguard.words.analysis import answer

    sys.stdout.writelines(analyze_pieces(found, answer(found), _origin(log), beside))
    sys.stdout.write("\n")


def write_csv(found: Analysis, path: Path, beside: Beside | None = None) -> None:
    """A row for every arm, as a report's CSV has it."""
    from frontguard.reports.csv import lines
    from frontguard.reports.write import replace_file

    try:
        more = {} if beside is None else beside.columns(len(found.arms))
        replace_file(path, lines(found.columns() | more))
    except OSError as error:
        raise BadInput(f"--csv {path}: cannot be written: {error.strerror or error}") from None


def _print(found: Analysis, top: int, append: Path | None, beside: Beside) -> None:
    from frontguard.notices import warnings_in_short
    from frontguard.words import analysis as summary
    from frontguard.words.certificate import guarantee
    from frontguard.words.counted import rates

    screen = console()
    print_answer(screen, summary.answer(found), found, summary.table(found, top), "--csv FILE")
    print_beside(screen, found, beside, top, "--csv FILE")
    screen.print(guarantee(found, anytime=found.anytime))
    for line in summary.best_guess(found):
        screen.print(line)
    for said in (
        rates(found.notices),
        summary.clusters(found),
        summary.boxes_only(found),
        summary.robustness(found),
        summary.by_means(found),
        summary.failures(found),
    ):
        if said is not None:
            screen.print(said)
    for warning in warnings_in_short(found.notices):
        screen.print(f"Warning: {warning}", style="yellow")
    settle = summary.to_settle(found)
    if settle:
        screen.print()
        screen.print("To settle what is open:")
        for line in settle:
            screen.print(f"  {line}")
    screen.print()
    screen.print(f"{found.pulls:,} pulls of {len(found.arms):,} arms.")
    screen.print(f"Next: {summary.next_step(found, sys.argv[1:], append)}")
