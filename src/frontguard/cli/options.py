"""Options that several commands have, declared once, and what their texts say, as keywords of `Question.of`.

A command names its shared options in `@shared(...)` and takes them as `**given`; it declares its own as parameters.
Options without a panel are those of everyday use, and come first in `--help`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast, get_args

import typer

from frontguard.errors import BadArgument, BadInput

if TYPE_CHECKING:
    from frontguard.limits import Limit
    from frontguard.question import Asked

T = TypeVar("T")
Command = TypeVar("Command", bound=Callable[..., None])

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


def shared(*names: str) -> Callable[[Command], Command]:
    """Give a command these options of `SHARED` in place of its `**given`.

    In `--help` the command's own options of everyday use come first, and its others last. Typer reads parameters from
    the function's signature.
    """

    def given(command: Command) -> Command:
        signature = inspect.signature(command, eval_str=True)
        own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
        more = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=_default(kind))
            for name, kind in ((name, SHARED[name]) for name in names)
        ]
        panels = [getattr(get_args(each.annotation)[1], "rich_help_panel", None) for each in own]
        first = [each for each, panel in zip(own, panels, strict=True) if panel is None]
        last = [each for each, panel in zip(own, panels, strict=True) if panel is not None]
        parameters = [each.replace(kind=each.KEYWORD_ONLY) for each in (*first, *more, *last)]
        command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return command

    return given


def _default(kind: Any) -> bool | None:
    return False if get_args(kind)[0] is bool else None


def _text(metavar: str, help: str, panel: str | None = None, default: str | bool = True) -> Any:
    return Annotated[str | None, takes(metavar, help, panel, default=default)]


def _texts(metavar: str, help: str, panel: str | None = None, default: str | bool = True) -> Any:
    return Annotated[list[str] | None, takes(metavar, help, panel, default=default)]


def _whole(least: int, help: str, panel: str | None = None, default: str | bool = True) -> Any:
    return Annotated[int | None, whole_from(least, help, panel, default)]


def _yes(name: str, help: str, panel: str | None = None) -> Any:
    return Annotated[bool, flag(name, help, panel)]


SHARED: dict[str, Any] = {
    "arm": _texts("COLUMN", "Column that names the arm of a row; repeat to join.", default="arm"),
    "minimize": _texts("METRIC", "Metric to be minimised; repeat for several."),
    "maximize": _texts("METRIC", "Metric to be maximised; repeat for several."),
    "tolerance": _texts("AMOUNT", "Difference that does not matter: 0.5 or 2%, or METRIC=2%, repeated."),
    "limit": _texts("LIMIT", "What arms must keep to, 'p95(latency)<=300'; repeat for several."),
    "contamination": _text(
        "SHARE", "Up to this share of the measurements may be wrong: 0.1 or 10%.", default="the study's, or 0.1"
    ),
    "confidence": _text("LEVEL", "Probability with which all of the answer must hold.", default="the study's, or 0.95"),
    "max_time": _text("TIME", 'Begin no pull after this, "30 min"; those under way are waited for.'),
    "max_pulls": _whole(1, "Stop after this many pulls of all arms."),
    "storage": _text("STORAGE", "Where the study is kept: a file or postgresql://…"),
    "report": Annotated[Path | None, takes("FILE", "Write a report to this file: .html, .md or .csv.")],
    "json": _yes("--json", "Print the answer as JSON on stdout."),
    "quantile": _texts(
        "LEVEL",
        "Quantile that counts: 0.95 for all metrics, or METRIC=0.95, repeated.",
        STATISTICS,
        default="the study's, or medians",
    ),
    "mean": _texts(
        "METRIC", "Metric whose mean counts: a rate between 0 and 1, or METRIC=LOW,HIGH, such as stars=1,5.", STATISTICS
    ),
    "exact": _texts(
        "METRIC", "Metric that is the same whenever it is measured: a size, a price; repeat for several.", STATISTICS
    ),
    "sigma": _texts(
        "METRIC=NUMBER",
        "Metric whose mean counts, and the deviation of its values (with contamination 0 only).",
        STATISTICS,
    ),
    "threat": _text(
        "THREAT",
        "oblivious, prescient or malicious: each measurement is wrong with that probability; share: any such "
        "share of an arm's, whichever.",
        STATISTICS,
        default="the study's, or prescient",
    ),
    "goal": _text(
        "GOAL",
        "list: as few arms as are enough; front: all that none beats.",
        STATISTICS,
        default="the study's, or list",
    ),
    "paired": _yes(
        "--paired",
        "Pulls with the same {rep} share what they are measured on: means are compared by differences, too.",
        STATISTICS,
    ),
    "pair": _texts(
        "COLUMN",
        "Rows of different arms with the same value here (question, seed, day) are compared with each other; "
        "repeat to join.",
        STATISTICS,
    ),
    "absent": _text(
        "CHOICE",
        "With --pair, where an arm has no row of what others have: failed, or random if chance decided it.",
        STATISTICS,
        default="failed",
    ),
    "items": _whole(
        1, "Pulls measure this many items of a list, {item} from 1, each once, in random order.", STATISTICS
    ),
    "independent": _yes(
        "--independent",
        "No measurement of one arm depends on another arm's: arms are compared in pairs, too.",
        STATISTICS,
    ),
    "blocks": _yes(
        "--blocks", "Measure in randomised blocks, each arm once: for machines whose speed changes.", MEASURING
    ),
    "max_pulls_per_arm": _whole(1, "Pull no arm more often than this.", MEASURING),
    "cost": _text(
        "COST", "What a pull costs: a metric, such as seconds; or an amount, 0.02 or '0.02 dollars'.", MEASURING
    ),
    "max_cost": _text("AMOUNT", "Begin no pull that would pass this cost: 120 or '12 dollars'.", MEASURING),
    "polish": _yes(
        "--polish", "Go on after the certificate until estimates are steady, or a budget is over.", MEASURING
    ),
    "workers": _whole(1, "Pulls at a time; with 1, no two share a busy moment.", MEASURING, "the study's, or 1"),
    "timeout": _text("TIME", "Time after which a pull has failed.", MEASURING, default="the study's, or 600 seconds"),
    "seed": _whole(0, "Seed of the order in which arms are measured.", MEASURING),
    "where": _texts(
        "COLUMN=VALUE",
        "Only rows with this value count; repeat for more columns, or for several values of one.",
        READING,
    ),
    "cluster": _texts(
        "COLUMN",
        "Rows of an arm with the same value here (process, host, day) depend on each other, and count as one "
        "observation; repeat to join; none: every row counts.",
        READING,
        default="what a tool's results say",
    ),
    "layout": _text(
        "LAYOUT", "wide (a column for each metric) or long (a row for each value).", READING, default="guessed"
    ),
    "format": _text(
        "FORMAT", "csv, parquet, jsonl, hyperfine, pyperf, pytest-benchmark or study.", READING, default="guessed"
    ),
    "study": _text("NAME", "Name of the study in its storage.", OUTPUT),
    "baseline": _text(
        "ARM", "Compare all other arms with this one: differences and ratios, with intervals that hold at once.", OUTPUT
    ),
    "pick": _texts(
        "HOW",
        "Choose one arm: knee; METRIC=WEIGHT, what a unit (or a per cent, where the tolerance is one) is worth, "
        "repeated; or a limit, 'bytes<=1000', alone or beside these.",
        OUTPUT,
    ),
}
"""Options by the names of their parameters."""


# What their texts say -------------------------------------------------------------------------------------------------

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def asked(options: Mapping[str, Any]) -> Asked:
    """What the options of a command ask, by the names of their parameters; nothing where they say nothing.

    The names are those of `Asked`, but for --mean and --limit. --baseline and --coverage are the command's to read.

    >>> asked({"mean": ["solved", "stars=1,5"], "exact": ["bytes"], "paired": False, "items": 40, "top": 3})
    {'exact': ['bytes'], 'items': 40, 'statistic': {'solved': 'mean', 'stars': 'mean'}, 'bounds': {'solved': (0.0, 1.0),
    'stars': (1.0, 5.0)}}
    """
    from frontguard.question import Asked

    names = Asked.__annotations__.keys() - {"baseline", "coverage", "tolerance", "quantile", "sigma"}
    said = {name: value for name, value in options.items() if name in names and _said(name, value)}
    if options.get("limit"):
        said["limits"] = read_limits(options["limit"])
    for name, read in (("tolerance", read_tolerance), ("quantile", read_number)):
        if options.get(name):
            said[name] = by_metric(name, options[name], read)
    means, sigmas = _means(options.get("mean") or ()), _sigmas(options.get("sigma") or ())
    if means or sigmas:
        said["statistic"] = dict.fromkeys([*means, *sigmas], "mean")
    if means:
        said["bounds"] = means
    if sigmas:
        said["sigma"] = sigmas
    return cast(Asked, said)


def _said(name: str, value: object) -> bool:
    """Whether an option says something: flags that are not given are false, and only --one-look means it."""
    return value is not None and value != [] and (value is not False or name == "anytime")


def _means(texts: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Metrics whose mean counts, with their bounds: those of a rate unless they are given."""
    found: dict[str, tuple[float, float]] = {}
    for text in texts:
        name, equals, bounds = text.rpartition("=")
        try:
            low, high = (float(end) for end in bounds.split(",")) if equals else (0.0, 1.0)
        except ValueError:
            raise BadInput(
                "--mean: wanted METRIC, or METRIC=LOW,HIGH with the least and the largest that a value can be, such "
                f"as stars=1,5; got {text!r}"
            ) from None
        if (name if equals else text) in found:
            raise BadInput(f"--mean: wanted once for each metric; got {name or text!r} again")
        found[name if equals else text] = (low, high)
    return found


def _sigmas(texts: Sequence[str]) -> dict[str, float]:
    for text in texts:
        if "=" not in text:
            raise BadInput(f"--sigma: wanted METRIC=NUMBER, such as volts=0.2; got {text!r}")
    found = by_metric("sigma", texts, read_number)
    return found if isinstance(found, dict) else {}


def by_metric(option: str, texts: Sequence[str] | None, read: Callable[[str, str], T]) -> T | dict[str, T] | None:
    """One value for all metrics, or a value for each that is named; None if nothing is said.

    >>> by_metric("quantile", ["a=0.5", "b=0.9"], read_number), by_metric("tolerance", ["2 %"], read_tolerance)
    ({'a': 0.5, 'b': 0.9}, '2 %')
    """
    if not texts:
        return None
    named: dict[str, T] = {}
    for text in texts:
        name, equals, value = text.rpartition("=")
        if not equals:
            if len(texts) > 1:
                raise BadInput(f"--{option}: wanted one for all, or METRIC=VALUE several times; got {text!r} as well")
            return read(option, text)
        if name in named:
            raise BadInput(f"--{option}: wanted once for each metric; got {name!r} again")
        named[name] = read(option, value)
    return named


def read_number(option: str, text: str) -> float:
    """A number, or METRIC=NUMBER without its name."""
    try:
        return float(text)
    except ValueError:
        raise BadInput(f"--{option}: wanted a number, or METRIC=NUMBER; got {text!r}") from None


def read_tolerance(option: str, text: str) -> float | str:
    """A number, or a percentage as it is written."""
    from frontguard.objectives import parse_tolerance

    amount, relative = parse_tolerance(text, f"--{option}")
    return text.strip() if relative else amount


def read_limits(texts: Sequence[str] | None) -> tuple[Limit, ...]:
    """Limits as they are written: p95(latency)<=300."""
    from frontguard.limits import Limit

    found = []
    for text in texts or ():
        try:
            found.append(Limit.read(text))
        except BadInput as error:
            if isinstance(error, BadArgument) and error.argument == "limit":
                raise BadInput(error.named("--limit")) from None
            raise BadInput(f"--limit: {error}") from None
    return tuple(found)


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


def size_of(text: str) -> int:
    """Bytes of a size as it is written.

    >>> size_of("4G"), size_of("1.5 MiB"), size_of("123456")
    (4294967296, 1572864, 123456)
    """
    match = re.fullmatch(r"\s*([0-9]+\.?[0-9]*)\s*([KMGT]?)(?:i?B)?\s*", text, re.I)
    if match is None:
        raise BadInput(f"--memory: wanted a size such as 4G or 500M; got {text!r}")
    return int(float(match[1]) * _UNITS[match[2].upper()])
