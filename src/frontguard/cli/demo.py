"""`frontguard demo`: the main job on bundled data, in under a minute."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from frontguard.cli.report import origin
from frontguard.cli.values import console, say
from frontguard.errors import BadInput

if TYPE_CHECKING:  # what computes is imported when it is needed: `frontguard --help` stays fast
    from rich.table import Table

    from frontguard.demo.reviews import Reviews
    from frontguard.demo.treatments import Demo
    from frontguard.logs.analysis import Analysis
    from frontguard.reports.model import Report


def demo(
    contamination: Annotated[
        float, typer.Option(help="Share of the best treatments' records that the saboteur replaces.")
    ] = 0.2,
    seed: Annotated[int, typer.Option(help="The same seed gives the same records.")] = 0,
    output: Annotated[Path, typer.Option(help="Where the picture and the report go.")] = Path("frontguard-demo"),
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON on stdout.")] = False,
) -> None:
    """Find the best of 36 sabotaged treatments, and see what a mean-based method makes of the same records.

    Then read a bundled review log with a bombing campaign, as `frontguard analyze` reads yours.
    """
    if seed < 0:
        raise BadInput(f"--seed: wanted a number from 0, got {seed}")
    say("frontguard demo: compiling kernels (on first use, about 20 seconds) and measuring …")
    from frontguard.demo.treatments import run_demo
    from frontguard.documents.demo import DemoDocument
    from frontguard.reports.demo import demo_report
    from frontguard.reports.write import save

    found = run_demo(contamination, seed)
    try:
        output.mkdir(parents=True, exist_ok=True)
        made = origin(sys.argv[1:], seed=seed)
        document = DemoDocument.of(found, made)
        (output / "demo.json").write_text(document.text(indent=1) + "\n", encoding="utf-8")
        pictures = _pictures(found, output)
        report = demo_report(found, made)
        written = save(report, output / "report.html")
    except OSError as error:
        raise BadInput(f"--output {output}: cannot be written: {error.strerror or error}") from None
    if json:
        print(document.text())
    else:
        _print(found, report)
        _print_reviews(found.reviews)
        _print_flags(found.flags, report)
    say(f"{pictures}; numbers: {output / 'demo.json'}; report: {written}")


def _pictures(found: Demo, folder: Path) -> str:
    from frontguard.demo.pictures import demo_picture, reviews_picture

    first, second = folder / "demo.png", folder / "demo-reviews.png"
    try:
        demo_picture(found).save(first)
        reviews_picture(found.reviews).save(second)
    except BadInput as error:
        return f"no pictures: {error}"
    return f"pictures: {first}, {second}"


def _print(found: Demo, report: Report) -> None:
    from rich.text import Text

    screen, robust, by_means = console(), found.robust, found.by_means
    screen.print(Text(f"\n{report.answer}\n", style="bold"))
    screen.print(_table(found))
    screen.print(Text(f"How sure is that? {' '.join(report.certificate)}\n"))
    screen.print(
        f"{robust.policy}: {robust.pulls:,} pulls; returned, besides the front, are the treatments that none beats in "
        f"both objectives by more than that: {len(robust.pareto_set)} of {len(robust.arms)}. "
        f"{by_means.policy}: {by_means.pulls:,} pulls, {len(by_means.pareto_set)} returned. "
        f"{found.seconds:.1f} s in all."
    )


def _table(found: Demo) -> Table:
    """The treatments that matter: those on the true front, and those that one method returns and the other does not."""
    from rich.table import Table

    robust, by_means = found.robust, found.by_means
    table = Table(title="Treatments on the true front", title_justify="left")
    table.add_column("bolus, meal")
    for heading in ("true minutes\nabove, below", f"{robust.policy}\nmedian", f"{by_means.policy}\nmean"):
        table.add_column(heading, justify="right")
    table.add_column(f"{robust.policy} says")
    table.add_column(f"{by_means.policy} says")
    medians, means = found.minutes(robust.estimates), found.minutes(by_means.estimates)
    for name in found.truth:
        i = robust.arms.index(name)
        table.add_row(
            name,
            *(f"{row[0]:.0f}, {row[1]:.0f}" for row in (found.true_minutes[i], medians[i], means[i])),
            *(_coloured(result.verdicts[name]) for result in (robust, by_means)),
        )
    return table


def _coloured(verdict: str) -> str:
    colour = {"in": "green", "out": "red"}.get(verdict, "yellow")
    return f"[{colour}]{verdict}[/]"


# The second part ------------------------------------------------------------------------------------------------------


def _print_reviews(reviews: Reviews) -> None:
    from rich.text import Text

    from frontguard.demo.reviews import AGES, BOMBED, CONTAMINATION
    from frontguard.words.analysis import by_verdict, robustness
    from frontguard.words.certificate import guarantee

    screen = console()
    found = reviews.analysis
    verdict = {"in": "is certainly on the front", "out": "is off the front"}.get(
        found.verdicts[BOMBED], "cannot be put off the front"
    )
    screen.print(
        f"\n[bold]A log that is there already: by medians with a guarantee {BOMBED} {verdict}, by means "
        f"{' and '.join(reviews.by_means)} took its place[/bold], because a campaign gave it one star "
        f"{reviews.bombs} times within three days: {reviews.share:.0%} of its reviews. In the scores that the "
        f"{found.pulls * len(AGES):,} reviews were drawn from, no movie comes near it.\n",
    )
    screen.print(_review_table(reviews))
    screen.print(Text(f"What is certain, if up to {CONTAMINATION:.0%} of the reviews may be lies: {by_verdict(found)}"))
    screen.print(Text(guarantee(found, anytime=found.anytime)))
    robust = robustness(found)
    if robust is not None:
        screen.print(Text(robust))


def _print_flags(found: Analysis, report: Report) -> None:
    from rich.text import Text

    from frontguard.words.analysis import by_verdict, robustness

    screen = console()
    screen.print(Text(f"\nA real job: {report.more[-1].words[0]}", style="bold"))
    screen.print(Text(by_verdict(found)))
    screen.print(Text(robustness(found) or ""))
    screen.print(
        Text(
            "Its table: frontguard analyze compiler-flags --arm arm --minimize time --minimize bytes "
            "--tolerance time=5% --tolerance bytes=1%\n"
        )
    )


def _review_table(reviews: Reviews) -> Table:
    """The movies side by side: what means say of them, and what medians do."""
    from rich.markup import escape
    from rich.table import Table

    from frontguard.demo.reviews import AGES, BOMBED
    from frontguard.words.arm_table import estimate_cells, order

    found = reviews.analysis
    table = Table(title="Movies, stars from two age groups (✱ bombed)", title_justify="left")
    table.add_column("movie")
    for heading in (f"true means\n{AGES[0]}, {AGES[1]}", "means\nin the log"):
        table.add_column(heading, justify="right")
    table.add_column("by means")
    for age in AGES:
        table.add_column(f"{age}: median\n\\[low, high]", justify="right")
    table.add_column("by medians")
    rows = order(found, found.mean_front)
    intervals = [estimate_cells(found, d, rows) for d in range(len(AGES))]
    for place, i in enumerate(rows.tolist()):
        name, true, mean = found.arms[i], reviews.true_means[i], found.means[i]
        table.add_row(
            f"{name}{' ✱' if name == BOMBED else ''}",
            f"{true[0]:.2f}, {true[1]:.2f}",
            f"{mean[0]:.2f}, {mean[1]:.2f}",
            _coloured("in" if found.mean_front[i] else "out"),
            *(escape(column[place].full) for column in intervals),
            _coloured(found.verdicts[name]),
        )
    return table
