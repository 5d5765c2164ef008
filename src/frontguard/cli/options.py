"""Options of commands: the shared ones, declared once, and what their texts say, as keywords of `Question.of`.

A command names shared options in `@command(...)`, and adds its own by name. Those without a panel are of everyday use,
and come first in `--help`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar, cast, get_args

import typer
from typer.core import TyperCommand

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


class Option(NamedTuple):
    """An option: its type with what `--help` says of it, and its value where it is not given."""

    kind: Any
    value: Any


def option(
    kind: Any,
    metavar: str,
    help: str,
    panel: str | None = None,
    *,
    value: Any = None,
    shown: str | None = None,
    name: str | None = None,
    least: int | None = None,
) -> Option:
    """An option of a kind; `shown` is what `--help` says it is by default."""
    names = [] if name is None else [name]
    said = typer.Option(
        *names, metavar=metavar, help=help, rich_help_panel=panel, show_default=shown or True, min=least
    )
    return Option(Annotated[kind, said], value)


text = partial(option, str | None)
texts = partial(option, list[str] | None)
path = partial(option, Path | None)
number = partial(option, float | None)


def whole(least: int, help: str, panel: str | None = None, **more: Any) -> Option:
    """An option that takes whole numbers from `least` on."""
    return option(int | None, "N", help, panel, least=least, **more)


def flag(name: str, help: str, panel: str | None = None) -> Option:
    """An option that takes no value."""
    return option(bool, "", help, panel, value=False, name=name)


class PlainCommand(TyperCommand):
    """A command that takes text, and what was not given, as it is; to check these, typer imports pydantic: 0.1 s."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments into the context."""
        params: list[Any] = self.params
        for param in params:
            param.get_runtime_param = partial(_Plain, param.get_runtime_param)
        return super().parse_args(ctx, args)


class _Plain(NamedTuple):
    """What typer asks for the value of an option."""

    checked: Callable[[], Any]  # what it would have asked

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        kind, several = param.type_descriptor.annotation, param.multiple or param.nargs == -1
        if value is None:
            return () if several else None
        if kind == list[str] and not isinstance(value, str):
            return list(value)
        if isinstance(kind, type) and isinstance(value, kind):
            return value
        return self.checked().coerce(value, param=param, ctx=ctx)


def command(*names: str, **own: Option) -> Callable[[Command], Command]:
    """Give a command these options of `SHARED` and its own, as parameters or as its `**given`.

    In `--help` its own options of everyday use come first, and its others last. Typer reads parameters from the
    function's signature.
    """
    everyday = {name: each for name, each in own.items() if get_args(each.kind)[1].rich_help_panel is None}
    options = {**everyday, **{name: SHARED[name] for name in names}, **own}

    def given(function: Command) -> Command:
        signature = inspect.signature(function, eval_str=True)
        arguments = [each for name, each in signature.parameters.items() if name not in (*options, "given")]
        parameters = [each.replace(kind=each.KEYWORD_ONLY) for each in arguments]
        for name, each in options.items():
            kind = inspect.Parameter.KEYWORD_ONLY
            parameters.append(inspect.Parameter(name, kind, annotation=each.kind, default=each.value))
        function.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return function

    return given


SHARED: dict[str, Option] = {
    "arm": texts("COLUMN", "Column that names the arm", shown="arm"),
    "minimize": texts("METRIC", "Metric of which less is better; repeat for several"),
    "maximize": texts("METRIC", "Metric of which more is better; repeat for several"),
    "tolerance": texts("AMOUNT", "Difference that does not matter: 2%, or METRIC=2%"),
    "limit": texts("LIMIT", "What arms must keep to: 'p95(latency)<=300'; repeat"),
    "contamination": texts(
        "SHARE",
        "Share that may be wrong",
        shown="10%; of rates 0",
    ),
    "confidence": text("LEVEL", "Probability that all of it holds", shown="0.95"),
    "max_time": text("TIME", 'Begin no run after this: "30 min"'),
    "max_pulls": whole(1, "Stop after this many runs of all arms"),
    "storage": text("STORAGE", "Where the study is kept: a file or postgresql://…"),
    "report": path("FILE", "Write a report: .html, .md or .csv"),
    "json": flag("--json", "Print the answer as JSON"),
    "all": flag("--all", "Print all arms.", OUTPUT),
    "explain": flag("--explain", "Print exactly what is proved, and what that assumes.", OUTPUT),
    "quantile": texts(
        "LEVEL",
        "Quantile that counts: 0.95 for all metrics, or METRIC=0.95, repeated.",
        STATISTICS,
        shown="medians",
    ),
    "mean": texts(
        "METRIC", "Metric whose mean counts: a rate between 0 and 1, or METRIC=LOW,HIGH, such as stars=1,5.", STATISTICS
    ),
    "exact": texts(
        "METRIC", "Metric that is the same whenever it is measured: a size, a price; repeat for several.", STATISTICS
    ),
    "sigma": texts(
        "METRIC=NUMBER",
        "Metric whose mean counts, and the deviation of its values; none of them may be wrong.",
        STATISTICS,
    ),
    "threat": text(
        "THREAT",
        "oblivious, prescient or malicious: each measurement is wrong with that probability; share: any such "
        "share of an arm's, whichever; even-handed: what disturbs them does not know whose they are.",
        STATISTICS,
        shown="prescient",
    ),
    "goal": text(
        "GOAL",
        "list: as few arms as are enough; front: all that none beats.",
        STATISTICS,
        shown="list",
    ),
    "paired": flag(
        "--paired",
        "Pulls with the same {rep} share what they are measured on: means are compared by differences, too.",
        STATISTICS,
    ),
    "pair": texts(
        "COLUMN",
        "Rows of different arms with the same value here (question, seed, day) are compared with each other; "
        "repeat to join.",
        STATISTICS,
    ),
    "absent": text(
        "CHOICE",
        "With --pair, where an arm has no row of what others have: failed, or random if chance decided it.",
        STATISTICS,
        shown="failed",
    ),
    "items": whole(
        1, "Pulls measure this many items of a list, {item} from 1, each once, in random order.", STATISTICS
    ),
    "independent": flag(
        "--independent",
        "No measurement of one arm depends on another arm's: arms are compared in pairs, too.",
        STATISTICS,
    ),
    "blocks": option(
        bool | None, "", "Measure in randomised blocks.", MEASURING, name="--blocks/--no-blocks", shown="yes for times"
    ),
    "max_pulls_per_arm": whole(1, "Pull no arm more often than this.", MEASURING),
    "cost": text(
        "COST", "What a pull costs: a metric, such as seconds; or an amount, 0.02 or '0.02 dollars'.", MEASURING
    ),
    "max_cost": text("AMOUNT", "Begin no pull that would pass this cost: 120 or '12 dollars'.", MEASURING),
    "polish": flag(
        "--polish", "Go on after the certificate until estimates are steady, or a budget is over.", MEASURING
    ),
    "workers": whole(1, "Pulls at a time; with 1, no two share a busy moment.", MEASURING, shown="1"),
    "timeout": text("TIME", "Time after which a pull has failed.", MEASURING, shown="600 seconds"),
    "seed": whole(0, "Seed of the order in which arms are measured.", MEASURING),
    "where": texts(
        "COLUMN=VALUE",
        "Only rows with this value count; repeat for more columns, or for several values of one.",
        READING,
    ),
    "cluster": texts(
        "COLUMN",
        "Rows of an arm with the same value here (process, host, day) depend on each other, and count as one "
        "observation; repeat to join; none: every row counts.",
        READING,
        shown="what a tool's results say",
    ),
    "layout": text(
        "LAYOUT", "wide (a column for each metric) or long (a row for each value).", READING, shown="guessed"
    ),
    "format": text(
        "FORMAT", "csv, parquet, jsonl, hyperfine, pyperf, pytest-benchmark or study.", READING, shown="guessed"
    ),
    "study": text("NAME", "Name of the study in its storage.", OUTPUT),
    "baseline": text(
        "ARM", "Compare all other arms with this one: differences and ratios, with intervals that hold at once.", OUTPUT
    ),
    "pick": texts(
        "HOW",
        "Choose one arm: knee; METRIC=WEIGHT, what a unit (or a per cent, where the tolerance is one) is worth, "
        "repeated; or a limit, 'bytes<=1000', alone or beside these.",
        OUTPUT,
    ),
}
"""Options by the names of their parameters."""


_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def asked(options: Mapping[str, Any], metrics: Sequence[str] = ()) -> Asked:
    """Return what the options of a command ask, by the names of `Asked`; --baseline and --coverage are left to it.

    `metrics` are those of a spec; else those that are named.

    >>> asked({"mean": ["solved", "stars=1,5"], "exact": ["bytes"], "paired": False, "items": 40, "top": 3})
    {'exact': ['bytes'], 'items': 40, 'statistic': {'solved': 'mean', 'stars': 'mean'}, 'bounds': {'solved': (0.0, 1.0),
    'stars': (1.0, 5.0)}}
    """
    from frontguard.question import Asked

    names = Asked.__annotations__.keys() - {"baseline", "coverage", "tolerance", "quantile", "sigma", "contamination"}
    said = {name: value for name, value in options.items() if name in names and _said(name, value)}
    if options.get("limit"):
        said["limits"] = read_limits(options["limit"])
    if options.get("tolerance"):
        named = metrics or [*(options.get("maximize") or ()), *(options.get("minimize") or ())]
        said["tolerance"] = by_metric("tolerance", options["tolerance"], lambda _, text: text, named)
    if options.get("contamination"):
        said["contamination"] = by_metric("contamination", options["contamination"], lambda _, text: text)
    if options.get("quantile"):
        said["quantile"] = by_metric("quantile", options["quantile"], read_number)
    means = by_metric("mean", [text if "=" in text else f"{text}=0,1" for text in options.get("mean") or ()], _bounds)
    sigmas = by_metric("sigma", options.get("sigma"), read_number)
    if isinstance(sigmas, float):
        raise BadInput(f"--sigma: wanted METRIC=NUMBER, such as volts={sigmas:g}; got {sigmas:g}")
    if means or sigmas:
        said["statistic"] = dict.fromkeys([*(means or ()), *(sigmas or ())], "mean")
    if means:
        said["bounds"] = means
    if sigmas:
        said["sigma"] = sigmas
    return cast(Asked, said)


def _said(name: str, value: object) -> bool:
    """True if an option was given: flags that were not are false, but for two that are None."""
    return value is not None and value != [] and (value is not False or name in ("anytime", "blocks"))


def _bounds(option: str, text: str) -> tuple[float, float]:
    """The bounds of a mean: LOW,HIGH."""
    try:
        low, high = (float(end) for end in text.split(","))
    except ValueError:
        raise BadInput(
            f"--{option}: wanted METRIC, or METRIC=LOW,HIGH with the least and the largest that a value can be, "
            f"such as stars=1,5; got {text!r}"
        ) from None
    return low, high


def by_metric(
    option: str, texts: Sequence[str] | None, read: Callable[[str, str], T], metrics: Sequence[str] = ()
) -> T | dict[str, T] | None:
    """Return one value for all metrics, or a value for each that is named; None if nothing is said.

    Of several values without a name there is one for each of the `metrics`, in their order.

    >>> by_metric("quantile", ["a=0.5", "b=0.9"], read_number), by_metric("sigma", ["2"], read_number)
    ({'a': 0.5, 'b': 0.9}, 2.0)
    """
    if not texts:
        return None
    if len(texts) == len(metrics) > 1 and not any("=" in text for text in texts):
        texts = [f"{name}={text}" for name, text in zip(metrics, texts, strict=True)]
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


def refuse(given: Mapping[str, Any], names: Iterable[str], why: str) -> None:
    """Refuse options, by the names of their parameters, that were given where they say nothing."""
    for name in names:
        if given.get(name) not in (None, [], False):
            raise BadInput(f"--{name.replace('_', '-')}: {why}")


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
