"""`frontguard reproduce`: the paper's experiments, beside the published numbers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from frontguard._common.checks import checked_share
from frontguard.cli import INTERRUPTED
from frontguard.cli.options import command, flag, path, text, texts, whole
from frontguard.cli.screen import checked_target, console, keep, origin, say
from frontguard.errors import BadInput

if TYPE_CHECKING:  # what computes is imported when it is needed: `frontguard --help` stays fast
    from collections.abc import Sequence

    from frontguard.experiments.results import Row


WHAT_THERE_IS = "movielens, sw-llvm (needs --data), diabetes, compiler-flags (our own), synthetic, or all (of Table 2)"


@command(
    *("report", "json"),
    runs=whole(1, "Runs for every policy and contamination", value=100),
    contamination=texts("SHARE", "ε, such as 10%; repeat", shown="the paper's six"),
    policy=texts("POLICY", "rpsi, certified, auer-a1, …, or FILE.py:FUNCTION"),
    attack=text("FUNCTION", "FILE.py:FUNCTION in the paper's place"),
    data=path("PATH", "SW-LLVM: sw_llvm.csv or its directory"),
    selection=text("CHOICE", "MovieLens: margin or tradeoff", value="margin"),
    seed=whole(0, "Run r of a seed is always the same run", value=0),
    workers=whole(1, "Threads; one for every core unless given"),
    output=path("FOLDER", "Where results go", value=Path("frontguard-results")),
    fresh=flag("--fresh", "Ignore stored runs and compute all again"),
)
def reproduce(
    dataset: Annotated[
        str | None,
        typer.Argument(metavar="DATASET", help=WHAT_THERE_IS),
    ] = None,
    *,
    runs: int,
    contamination: list[str] | None,
    policy: list[str] | None,
    attack: str | None,
    data: Path | None,
    selection: str,
    seed: int,
    workers: int | None,
    output: Path,
    report: Path | None,
    json: bool,
    fresh: bool,
) -> None:
    """Repeat the paper's experiments beside the published numbers.

    Finished runs are kept in the output directory as they come: after an interruption the same command goes
    on.
    """
    if dataset is None:
        raise BadInput(f"which data set? {WHAT_THERE_IS}. For example: frontguard reproduce movielens")
    if report is not None:
        checked_target(report)
    from frontguard.experiments.runner import Campaign, RunStore
    from frontguard.experiments.setup import attacked_by, choose, contestants_named, settings_of
    from frontguard.words.terminal import ProgressDisplay

    levels = [checked_share(text, "--contamination") for text in contamination or ()]
    contestants = contestants_named(policy or [])
    chosen = choose(dataset, data, selection)
    settings = settings_of(attacked_by(chosen.experiments, attack) if attack else chosen.experiments, levels)
    for note in chosen.left_out:
        say(note)
    plan = Campaign(settings, contestants, runs=runs, seed=seed, store=RunStore(output, fresh=fresh))
    if plan.done:
        say(f"{plan.done} of {plan.total} runs are stored in {output} already (--fresh computes them again)")
    try:
        with ProgressDisplay() as progress:
            results = plan.execute(workers=workers, progress=progress)
    except KeyboardInterrupt:
        say(f"interrupted: {plan.done} of {plan.total} runs are kept in {output}; the same command goes on")
        raise typer.Exit(INTERRUPTED) from None
    _print(results, json=json)
    say(_written(results, output))
    if report is not None:
        from frontguard.reports.of_experiments import experiments_report

        keep(experiments_report(results, origin(seed=seed)), report)


def _print(results: Sequence[Row], *, json: bool) -> None:
    from frontguard.experiments.tables import as_json, terminal_tables

    if json:
        print(as_json(results))
        return
    screen = console(160)  # of a pipe: never cut a number off
    for table in terminal_tables(results, width=screen.width):
        screen.print(table)
    screen.print(
        "RSR: successful runs, 95 % exact interval. SC: samples ± standard error. RO: Pareto arms returned. "
        "|P|: arms returned; off front: of them not Pareto optimal. Success: accuracy 2D + α, coverage 2D.",
        style="dim",
    )


def _written(results: Sequence[Row], output: Path) -> str:
    """Write tables and figures into `output`; a sentence on what is where."""
    from frontguard.experiments.tables import as_csv, as_json, as_markdown, write_figures

    files = {
        "table.csv": as_csv(results),
        "table.json": as_json(results) + "\n",
        "tables.md": as_markdown(results),
    }
    try:
        for name, text in files.items():
            (output / name).write_text(text, encoding="utf-8")
        # Only now: where matplotlib is missing, the tables are there already.
        figures = write_figures(results, output)
    except OSError as error:
        raise BadInput(f"--output {output}: cannot be written: {error.strerror or error}") from None
    except BadInput as error:  # the numbers are there; only the pictures need an extra
        return f"wrote {', '.join(files)} to {output}; no figures: {error}"
    return f"wrote {', '.join(files)} and {', '.join(path.name for path in figures)} to {output}"
