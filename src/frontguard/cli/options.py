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


def takes(metavar: str, help: str, panel: str | None = None, *, name: str = "", default: str | bool = True) -> Any:
    """An option that takes a value, named by its parameter unless a name is given."""
    names = [name] if name else []
    return typer.Option(*names, metavar=metavar, help=help, rich_help_panel=panel, show_default=default)


def flag(name: str, help: str, panel: str | None = None) -> Any:
    """An option that takes no value."""
    return takes("", help, panel, name=name)


def whole_from(least: int, help: str, panel: str | None = None, default: str | bool = True) -> Any:
    """An option that takes whole numbers from `least` on."""
    return typer.Option(help=help, min=least, metavar="N", rich_help_panel=panel, show_default=default)


def _unless_said(usual: str) -> str:
    return f"the study's, or {usual}"


_LIMIT = "LIMIT", "What arms must keep to, 'p95(latency)<=300'; repeat for several."
_NO_DEPENDENCE = "No measurement of one arm depends on another arm's: arms are compared in pairs, too."

Texts = list[str] | None
"""An option that may be repeated."""

Minimize = Annotated[Texts, takes("METRIC", "Metric to be minimised; repeat for several.")]
Maximize = Annotated[Texts, takes("METRIC", "Metric to be maximised; repeat for several.")]
Tolerance = Annotated[Texts, takes("AMOUNT", "Difference that does not matter: 0.5 or 2%, or METRIC=2%, repeated.")]
LimitOption = Annotated[Texts, takes(*_LIMIT, name="--limit")]
FurtherLimit = Annotated[Texts, takes(*_LIMIT, STATISTICS, name="--limit")]
Contamination = Annotated[
    str | None,
    takes("SHARE", "Up to this share of the measurements may be wrong: 0.1 or 10%.", default=_unless_said("0.1")),
]
Confidence = Annotated[
    str | None, takes("LEVEL", "Probability with which all of the answer must hold.", default=_unless_said("0.95"))
]
StorageOption = Annotated[str | None, takes("STORAGE", "Where the study is kept: a file or postgresql://…")]
ReportFile = Annotated[Path | None, takes("FILE", "Write a report to this file: .html, .md or .csv.", name="--report")]
Json = Annotated[bool, flag("--json", "Print the answer as JSON on stdout.")]

ThreatModel = Annotated[
    str | None,
    takes(
        "THREAT",
        "oblivious, prescient or malicious: each measurement is wrong with that probability; share: any such "
        "share of an arm's, whichever.",
        STATISTICS,
        default=_unless_said("prescient"),
    ),
]
Goal = Annotated[
    str | None,
    takes(
        "GOAL", "list: as few arms as are enough; front: all that none beats.", STATISTICS, default=_unless_said("list")
    ),
]
Quantile = Annotated[
    Texts,
    takes(
        "LEVEL",
        "Quantile that counts: 0.95 for all metrics, or METRIC=0.95, repeated.",
        STATISTICS,
        default=_unless_said("medians"),
    ),
]
Mean = Annotated[
    Texts,
    takes(
        "METRIC", "Metric whose mean counts: a rate between 0 and 1, or METRIC=LOW,HIGH, such as stars=1,5.", STATISTICS
    ),
]
Exact = Annotated[
    Texts,
    takes(
        "METRIC", "Metric that is the same whenever it is measured: a size, a price; repeat for several.", STATISTICS
    ),
]
Sigma = Annotated[
    Texts,
    takes(
        "METRIC=NUMBER",
        "Metric whose mean counts, and the deviation of its values (with contamination 0 only).",
        STATISTICS,
    ),
]

Pair = Annotated[
    Texts,
    takes(
        "COLUMN",
        "Rows of different arms with the same value here (question, seed, day) are compared with each other; "
        "repeat to join.",
        STATISTICS,
    ),
]
Absent = Annotated[
    str | None,
    takes(
        "CHOICE",
        "With --pair, where an arm has no row of what others have: failed, or random if chance decided it.",
        STATISTICS,
        default="failed",
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
    whole_from(1, "Pulls measure this many items of a list, {item} from 1, each once, in random order.", STATISTICS),
]
Blocks = Annotated[
    bool,
    flag("--blocks", "Measure in randomised blocks, each arm once: for machines whose speed changes.", MEASURING),
]
Independent = Annotated[bool, flag("--independent", _NO_DEPENDENCE, STATISTICS)]
IndependentRows = Annotated[bool | None, flag("--independent", _NO_DEPENDENCE, STATISTICS)]
CostOption = Annotated[
    str | None,
    takes("COST", "What a pull costs: a metric, such as seconds; or an amount, 0.02 or '0.02 dollars'.", MEASURING),
]
MaxCost = Annotated[
    str | None, takes("AMOUNT", "Begin no pull that would pass this cost: 120 or '12 dollars'.", MEASURING)
]
Polish = Annotated[
    bool,
    flag("--polish", "Go on after the certificate until estimates are steady, or a budget is over.", MEASURING),
]
MaxTime = Annotated[str | None, takes("TIME", 'Begin no pull after this, "30 min"; those under way are waited for.')]
MaxPulls = Annotated[int | None, whole_from(1, "Stop after this many pulls of all arms.")]
MaxPullsPerArm = Annotated[int | None, whole_from(1, "Pull no arm more often than this.", MEASURING)]
Workers = Annotated[
    int | None, whole_from(1, "Pulls at a time; with 1, no two share a busy moment.", MEASURING, _unless_said("1"))
]
Timeout = Annotated[
    str | None, takes("TIME", "Time after which a pull has failed.", MEASURING, default=_unless_said("600 seconds"))
]
Seed = Annotated[int | None, whole_from(0, "Seed of the order in which arms are measured.", MEASURING)]

StudyName = Annotated[str | None, takes("NAME", "Name of the study in its storage.", OUTPUT, name="--study")]
Where = Annotated[
    Texts,
    takes(
        "COLUMN=VALUE",
        "Only rows with this value count; repeat for more columns, or for several values of one.",
        READING,
    ),
]
Cluster = Annotated[
    Texts,
    takes(
        "COLUMN",
        "Rows of an arm with the same value here (process, host, day) depend on each other, and count as one "
        "observation; repeat to join; none: every row counts.",
        READING,
        default="what a tool's results say",
    ),
]
Layout = Annotated[
    str | None,
    takes("LAYOUT", "wide (a column for each metric) or long (a row for each value).", READING, default="guessed"),
]
Format = Annotated[
    str | None,
    takes("FORMAT", "csv, parquet, jsonl, hyperfine, pyperf, pytest-benchmark or study.", READING, default="guessed"),
]
_ARM = "COLUMN", "Column that names the arm of a row; repeat to join."
ArmColumn = Annotated[Texts, takes(*_ARM, name="--arm", default="arm")]
FurtherArmColumn = Annotated[Texts, takes(*_ARM, READING, name="--arm", default="arm")]
Baseline = Annotated[
    str | None,
    takes(
        "ARM",
        "Compare all other arms with this one: differences and ratios, with intervals that hold at once.",
        OUTPUT,
    ),
]
PickOne = Annotated[
    Texts,
    takes(
        "HOW",
        "Choose one arm: knee; METRIC=WEIGHT, what a unit (or a per cent, where the tolerance is one) is worth, "
        "repeated; or a limit, 'bytes<=1000', alone or beside these.",
        OUTPUT,
        name="--pick",
    ),
]
