"""`frontguard demo`: the main job on bundled data, in under a minute."""

from __future__ import annotations

from dataclasses import replace
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING

from frontguard._common.checks import checked_share
from frontguard.cli.options import command, path, text, whole
from frontguard.cli.screen import console, origin, print_json, say
from frontguard.errors import BadInput

if TYPE_CHECKING:  # what computes is imported when it is needed: `frontguard --help` stays fast
    from frontguard.demo.cases import Demo, Reviews
    from frontguard.results import Answer


@command(
    "json",
    contamination=text("SHARE", "Share that the saboteur replaces", value="0.2"),
    seed=whole(0, "The same seed gives the same records.", value=0),
    output=path("FOLDER", "Where picture and report go", value=Path("frontguard-demo")),
)
def demo(contamination: str, seed: int, output: Path, json: bool) -> None:
    """Find the best of 36 treatments whose records are sabotaged.

    Beside it stands what a mean-based method makes of the same records. Then read a bundled review log with a
    bombing campaign, as `frontguard analyze` reads yours.
    """
    share = checked_share(contamination, "--contamination")
    say("frontguard demo: measuring (on first use some of it is compiled, which takes about ten seconds) …")
    from frontguard.demo.cases import run_demo
    from frontguard.demo.pictures import demo_picture
    from frontguard.reports.of_results import result_report
    from frontguard.reports.report import Figure
    from frontguard.reports.write import save

    found = run_demo(share, seed)
    try:
        output.mkdir(parents=True, exist_ok=True)
        made = origin(seed=seed)
        told = found.to_dict() | vars(made)
        (output / "demo.json").write_text(dumps(told, indent=1, allow_nan=False) + "\n", encoding="utf-8")
        pictures = _pictures(found, output)
        figure = Figure("What both methods make of the same records", demo_picture(found))
        report = replace(result_report(found.robust, made), answer=found.answer, pictures=(figure,))
        written = save(report, output / "report.html")
    except OSError as error:
        raise BadInput(f"--output {output}: cannot be written: {error.strerror or error}") from None
    if json:
        print_json(told.items())
    else:
        _print(found)
        _print_reviews(found.reviews)
        _print_flags(found.flags)
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


def _print(found: Demo) -> None:
    """The treatments on the true front: what either method makes of them, and what that promises."""
    from frontguard.words.terminal import TextColumn, titled

    screen, robust, by_means = console(), found.robust, found.by_means
    arms = [robust.arms.index(name) for name in found.truth]
    columns = [TextColumn.of("bolus, meal", found.truth)]
    for heading, minutes in (
        ("true minutes\nabove, below", found.true_minutes),
        (f"{robust.policy}\nmedian", robust.estimates),
        (f"{by_means.policy}\nmean", by_means.estimates),
    ):
        columns.append(TextColumn.of(heading, [f"{minutes[i][0]:.0f}, {minutes[i][1]:.0f}" for i in arms], number=True))
    colours = {"keep": "green", "beaten": "red"}
    for result in (robust, by_means):
        said = [result.verdicts[name] for name in found.truth]
        columns.append(TextColumn.of(f"{result.policy}\nsays", said, [colours.get(word, "yellow") for word in said]))
    screen.print(f"\n{found.answer}\n", style="bold")
    title = "Treatments on the true front"
    screen.print(titled(title, columns, screen.width, gives_way=[3, 2, 1], elsewhere="--json"))
    screen.print(f"How sure is that? {found.certain}\n")
    screen.print(
        f"{robust.policy}: {robust.pulls:,} pulls. {by_means.policy}: {by_means.pulls:,} pulls. "
        f"{found.seconds:.1f} s in all."
    )


def _print_reviews(reviews: Reviews) -> None:
    """Print what became of the bombed movie, and the log as `analyze` prints one."""
    from frontguard.demo.cases import BOMBED
    from frontguard.phrases import joined, percent
    from frontguard.words.answers import Printing, printed

    screen, found = console(), reviews.analysis
    became, by_means = bombed_in_words(found, BOMBED), joined(found.mean_set)
    screen.print(
        f"\nA log that is there already: by medians with a guarantee {BOMBED} {became}, by means "
        f"{by_means} took its place. A campaign gave it one star {reviews.bombs} times within three "
        f"days, in {percent(reviews.share)} of its reviews.\n",
        style="bold",
    )
    printed(screen, found, Printing(elsewhere="--json"))


def bombed_in_words(found: Answer, movie: str) -> str:
    """Say what has become of the bombed movie."""
    from frontguard.statements import Statement
    from frontguard.words.answers import place

    said = {"keep": Statement.IS_CERTAINLY(place=place(found)), "beaten": Statement.IS_OFF()}
    return said.get(found.verdicts[movie], "cannot be put off the front")


def _print_flags(found: Answer) -> None:
    from frontguard.words.answers import answer, robustness

    screen = console()
    screen.print(
        f"\nA real job: {len(found.arms)} sets of GCC flags for a small C program, its time (1 is plain -O2) and its "
        f"size, measured {found.pulls:,} times beside a noisy neighbour.",
        style="bold",
    )
    held = robustness(found) or ""
    screen.print(answer(found))
    screen.print(f"{held[:1].upper()}{held[1:]}.")
    screen.print(
        "Its table: frontguard analyze compiler-flags --where neighbour=1 --contamination 15% --minimize time "
        "--minimize bytes --tolerance time=5% --tolerance bytes=1%\n"
    )
