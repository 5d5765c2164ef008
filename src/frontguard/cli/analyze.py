"""`frontguard analyze`: the robust front of what was already measured."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from frontguard._common.secrets import without_password
from frontguard.cli import options
from frontguard.cli.screen import (
    beside_of,
    checked_target,
    console,
    keep,
    origin,
    print_answer,
    print_beside,
    print_json,
    read_asked,
)
from frontguard.errors import BadInput

if TYPE_CHECKING:  # what computes is imported when it is needed: `frontguard --help` stays fast
    from frontguard.comparisons.picks import Beside
    from frontguard.results import Answer, Origin

LARGE = "Logs that are large, or grow"

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


@options.shared(
    *("arm", "maximize", "minimize", "tolerance", "limit", "contamination", "confidence", "report", "json"),
    *("quantile", "mean", "exact", "sigma", "threat", "goal", "pair", "absent", "independent"),
    *("where", "cluster", "layout", "format", "study", "baseline", "pick"),
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
    anytime: Annotated[
        bool | None,
        options.takes(
            "",
            "Whether the log was looked at while it grew, which bounds must allow for.",
            options.STATISTICS,
            name="--anytime/--one-look",
            default="studies and states only",
        ),
    ] = None,
    profile: Annotated[
        bool | None,
        options.takes(
            "", "Find up to which contamination verdicts stand.", options.STATISTICS, default="up to 20,000 arms"
        ),
    ] = None,
    items: Annotated[
        int | None,
        options.whole_from(
            1, "With --pair: how many there are in all; what counts are means over these.", panel=options.STATISTICS
        ),
    ] = None,
    metric_column: Annotated[
        str,
        options.takes("COLUMN", "Long layout: column with the metric's name.", options.READING),
    ] = "metric",
    value_column: Annotated[
        str, options.takes("COLUMN", "Long layout: column with the value.", options.READING)
    ] = "value",
    decimal: Annotated[str, options.takes("POINT", "Decimal point of CSV: . or ,", options.READING)] = ".",
    missing_arms: Annotated[
        str, options.takes("CHOICE", "refuse or drop rows without an arm.", options.READING)
    ] = "refuse",
    append: Annotated[
        Path | None,
        options.takes("STATE", "State file to which this log is added; the answer is about all it has.", LARGE),
    ] = None,
    again: Annotated[
        bool, options.flag("--again", "Count files again that the state has counted already.", LARGE)
    ] = False,
    sketch: Annotated[
        int | None,
        options.takes("SIZE", "Keep sketches of this size for each arm: bounded memory, wider intervals.", LARGE),
    ] = None,
    memory: Annotated[
        str | None,
        options.takes("SIZE", "For rows, such as 4G; beyond, temporary files.", LARGE, default="half of what is free"),
    ] = None,
    folder: Annotated[
        Path | None,
        options.takes("FOLDER", "Where temporary files go.", LARGE, default="the system's place"),
    ] = None,
    executor: Annotated[
        str | None,
        options.takes("ADDRESS", "dask://HOST:PORT: files that its workers see are read and sorted there.", LARGE),
    ] = None,
    strict: Annotated[bool, options.flag("--strict", "Exit code 3 if any arm is open.", options.OUTPUT)] = False,
    top: Annotated[int, options.whole_from(1, "Arms to show; the rest is counted.", options.OUTPUT)] = 30,
    csv: Annotated[
        Path | None, options.takes("FILE", "Write a row for every arm to this file.", options.OUTPUT)
    ] = None,
    **given: Any,
) -> None:
    """Say which few arms of a log are enough, and which are beaten.

    Exit code 0; 2 if the log cannot be read; 3 with --strict if arms are open.
    """
    report: Path | None = given["report"]
    if report is not None:
        checked_target(report)
    wanted = read_asked(given["baseline"], given["pick"])
    room = None if memory is None else options.size_of(memory)
    from frontguard.logs.analyze import analyze as analysis_of
    from frontguard.words.progress import ProgressDisplay

    with ProgressDisplay() as display:
        found = analysis_of(
            log[0] if len(log) == 1 else list(log),
            memory=room,
            profile=profile,
            folder=folder,
            append=append,
            again=again,
            sketch=sketch,
            executor=executor,
            metric_column=metric_column,
            value_column=value_column,
            decimal=decimal,
            missing_arms=missing_arms,
            where=options.by_column(given["where"]),
            progress=display.reading,
            **{name: given[name] for name in ("arm", "threat", "layout", "format", "study")},
            **options.asked(given | {"items": items, "anytime": anytime}),
        )
    beside = beside_of(found, wanted)
    if csv is not None:
        write_csv(found, csv, beside)
    if given["json"]:
        from frontguard.words.answers import answer

        told = {"answer": answer(found), **beside.entries(), **vars(_origin(log))}
        print_json(found.entries(), told.items())
    else:
        _print(found, top, append, beside)
    if report is not None:
        from frontguard.reports.of_results import analysis_report
        from frontguard.reports.report import with_beside

        keep(with_beside(analysis_report(found, _origin(log)), found, beside), report)
    opened = found.status != "certified"
    raise typer.Exit(OPEN if strict and opened else 0)


# Output ---------------------------------------------------------------------------------------------------------------


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


def _print(found: Answer, top: int, append: Path | None, beside: Beside) -> None:
    from frontguard.notices import warnings_in_short
    from frontguard.words import answers as said

    screen = console()
    print_answer(screen, said.answer(found), said.table(found, top), "--csv FILE")
    print_beside(screen, found, beside, top, "--csv FILE")
    for line in said.remarks(found):
        screen.print(line)
    for warning in warnings_in_short(found.notices):
        screen.print(f"Warning: {warning}", style="yellow")
    settle = said.to_settle(found)
    if settle:
        screen.print()
        screen.print("To settle what is open:")
        for line in settle:
            screen.print(f"  {line}")
    screen.print()
    screen.print(f"{found.pulls:,} pulls of {len(found.arms):,} arms.")
    screen.print(f"Next: {said.next_after_log(found, append)}")
