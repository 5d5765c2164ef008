"""Values of options as they are written: METRIC=VALUE, numbers, sizes, limits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

from frontguard.errors import BadArgument, BadInput
from frontguard.phrases import did_you_mean

if TYPE_CHECKING:
    from frontguard.limits import Limit

T = TypeVar("T")

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


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


def known_metrics(option: str, named: Iterable[str], known: Sequence[str], how: str = "") -> None:
    """Refuse METRIC=VALUE of a metric that there is not; `how` says how there would be one."""
    for name in named:
        if name not in known:
            hint = did_you_mean(name, known)
            raise BadInput(f"{option}: no objective is called {name!r}{hint}; there is {', '.join(known)}{how}")


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


def size_of(text: str) -> int:
    """Bytes of a size as it is written.

    >>> size_of("4G"), size_of("1.5 MiB"), size_of("123456")
    (4294967296, 1572864, 123456)
    """
    match = re.fullmatch(r"\s*([0-9]+\.?[0-9]*)\s*([KMGT]?)(?:i?B)?\s*", text, re.I)
    if match is None:
        raise BadInput(f"--memory: wanted a size such as 4G or 500M; got {text!r}")
    return int(float(match[1]) * _UNITS[match[2].upper()])
