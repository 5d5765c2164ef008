"""Options that several commands have, declared once: their names in `--help`, what they take, and where they stand.

Options without a panel are those of everyday use, and come first.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

STATISTICS = "What counts, and how surely"
MEASURING = "How it is measured"
READING = "How the log is read"
OUTPUT = "Further output"
"""Panels of `--help`."""


def flag(name: str, help: str, panel: str | None = None) -> Any:
    """An option that takes no value."""
    return typer.Option(name, help=help, metavar="", rich_help_panel=panel)


def whole_from(least: int, help: str, panel: str | None = None, default: str | bool = True) -> Any:
    """An option that takes whole numbers from `least` on."""
    return typer.Option(help=help, min=least, metavar="N", rich_help_panel=panel, show_default=default)


def _unless_said(usual: str) -> str:
    return f"the study's, or {usual}"


Minimize = Annotated[
    list[str] | None, typer.Option(metavar="METRIC", help="Metric to be minimised; repeat for several.")
]
Maximize = Annotated[
    list[str] | None, typer.Option(metavar="METRIC", help="Metric to be maximised; repeat for several.")
]
Tolerance = Annotated[
    list[str] | None,
    typer.Option(metavar="AMOUNT", help="Difference that does not matter: 0.5 or 2%, or METRIC=2%, repeated."),
]


def _limit(panel: str | None) -> Any:
    help = "What arms must keep to, 'p95(latency)<=300'; repeat for several."
    return typer.Option("--limit", metavar="LIMIT", help=help, rich_help_panel=panel)


LimitOption = Annotated[list[str] | None, _limit(None)]
FurtherLimit = Annotated[list[str] | None, _limit(STATISTICS)]
Contamination = Annotated[
    str | None,
    typer.Option(
        metavar="SHARE",
        help="Up to this share of the measurements may be wrong: 0.1 or 10%.",
        show_default=_unless_said("0.1"),
    ),
]
Confidence = Annotated[
    str | None,
    typer.Option(
        metavar="LEVEL",
        help="Probability with which all of the answer must hold.",
        show_default=_unless_said("0.95"),
    ),
]
StorageOption = Annotated[
    str | None, typer.Option(metavar="STORAGE", help="Where the study is kept: a file or postgresql://…")
]
ReportFile = Annotated[
    Path | None, typer.Option("--report", metavar="FILE", help="Write a report to this file: .html, .md or .csv.")
]
Json = Annotated[bool, flag("--json", "Print the answer as JSON on stdout.")]

ThreatModel = Annotated[
    str | None,
    typer.Option(
        metavar="THREAT",
        help="oblivious, prescient or malicious: each measurement is wrong with that probability; share: any such "
        "share of an arm's, whichever.",
        rich_help_panel=STATISTICS,
        show_default=_unless_said("prescient"),
    ),
]
Goal = Annotated[
    str | None,
    typer.Option(
        metavar="GOAL",
        help="list: as few arms as are enough; front: all that none beats.",
        rich_help_panel=STATISTICS,
        show_default=_unless_said("list"),
    ),
]
Quantile = Annotated[
    list[str] | None,
    typer.Option(
        metavar="LEVEL",
        help="Quantile that counts: 0.95 for all metrics, or METRIC=0.95, repeated.",
        rich_help_panel=STATISTICS,
        show_default=_unless_said("medians"),
    ),
]
Mean = Annotated[
    list[str] | None,
    typer.Option(
        metavar="METRIC",
        help="Metric whose mean counts: a rate between 0 and 1, or METRIC=LOW,HIGH, such as stars=1,5.",
        rich_help_panel=STATISTICS,
    ),
]
Exact = Annotated[
    list[str] | None,
    typer.Option(
        metavar="METRIC",
        help="Metric that is the same whenever it is measured: a size, a price; repeat for several.",
        rich_help_panel=STATISTICS,
    ),
]
Sigma = Annotated[
    list[str] | None,
    typer.Option(
        metavar="METRIC=NUMBER",
        help="Metric whose mean counts, and the deviation of its values (with contamination 0 only).",
        rich_help_panel=STATISTICS,
    ),
]

Pair = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="Rows of different arms with the same value here (question, seed, day) are compared with each other; "
        "repeat to join.",
        rich_help_panel=STATISTICS,
    ),
]
Paired = Annotated[
    bool,
    flag(
        "--paired",
        "Pulls with the same {rep} share what they are measured on: means are compared by differences, too.",
        STATISTICS,
    ),
]
Items = Annotated[
    int | None,
    whole_from(
        1, "Pulls measure this many items of a list, {item} from 1, each once, in random order.", panel=STATISTICS
    ),
]
Independent = Annotated[
    bool,
    flag(
        "--independent",
        "No measurement of one arm depends on another arm's: arms are compared in pairs, too.",
        STATISTICS,
    ),
]
CostOption = Annotated[
    str | None,
    typer.Option(
        metavar="COST",
        help="What a pull costs: a metric, such as seconds; or an amount, 0.02 or '0.02 dollars'.",
        rich_help_panel=MEASURING,
    ),
]
MaxCost = Annotated[
    str | None,
    typer.Option(
        metavar="AMOUNT",
        help="Begin no pull that would pass this cost: 120 or '12 dollars'.",
        rich_help_panel=MEASURING,
    ),
]
Polish = Annotated[
    bool,
    flag("--polish", "Go on after the certificate until estimates are steady, or a budget is over.", MEASURING),
]
MaxTime = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help='Begin no pull after this, "30 min"; those under way are waited for.',
    ),
]
MaxPulls = Annotated[int | None, whole_from(1, "Stop after this many pulls of all arms.")]
MaxPullsPerArm = Annotated[int | None, whole_from(1, "Pull no arm more often than this.", panel=MEASURING)]
Workers = Annotated[
    int | None,
    whole_from(1, "Pulls at a time; with 1, no two share a busy moment.", panel=MEASURING, default=_unless_said("1")),
]
Timeout = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Time after which a pull has failed.",
        rich_help_panel=MEASURING,
        show_default=_unless_said("600 seconds"),
    ),
]
Seed = Annotated[int | None, whole_from(0, "Seed of the order in which arms are measured.", panel=MEASURING)]

StudyName = Annotated[
    str | None,
    typer.Option("--study", metavar="NAME", help="Name of the study in its storage.", rich_help_panel=OUTPUT),
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN=VALUE",
        help="Only rows with this value count; repeat for more columns, or for several values of one.",
        rich_help_panel=READING,
    ),
]
Cluster = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="Rows of an arm with the same value here (process, host, day) depend on each other, and count as one "
        "observation; repeat to join; none: every row counts.",
        rich_help_panel=READING,
        show_default="what a tool's results say",
    ),
]
Layout = Annotated[
    str | None,
    typer.Option(
        metavar="LAYOUT",
        help="wide (a column for each metric) or long (a row for each value).",
        rich_help_panel=READING,
        show_default="guessed",
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        metavar="FORMAT",
        help="csv, parquet, jsonl, hyperfine, pyperf, pytest-benchmark or study.",
        rich_help_panel=READING,
        show_default="guessed",
    ),
]
ArmColumn = Annotated[
    list[str] | None,
    typer.Option(
        "--arm", metavar="COLUMN", help="Column that names the arm of a row; repeat to join.", show_default="arm"
    ),
]
Baseline = Annotated[
    str | None,
    typer.Option(
        metavar="ARM",
        help="Compare all other arms with this one: differences and ratios, with intervals that hold at once.",
        rich_help_panel=OUTPUT,
    ),
]
PickOne = Annotated[
    list[str] | None,
    typer.Option(
        "--pick",
        metavar="HOW",
        help="Choose one arm: knee; METRIC=WEIGHT, what a unit (or a per cent, where the tolerance is one) is worth, "
        "repeated; or a limit, 'bytes<=1000', alone or beside these.",
        rich_help_panel=OUTPUT,
    ),
]
