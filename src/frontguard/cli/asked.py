"""What options ask, as keywords of `Question.of`; and values as options write them: METRIC=VALUE, sizes, limits."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

from frontguard.errors import BadArgument, BadInput

if TYPE_CHECKING:
    from frontguard.limits import Limit
    from frontguard.question import Asked

T = TypeVar("T")

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
