"""What counts of each metric, as options say it: --mean, --exact, --sigma and --quantile, the same in all commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from frontguard.cli.options.values import by_metric, known_metrics, read_number
from frontguard.errors import BadInput

if TYPE_CHECKING:
    from frontguard.objectives import Objective

ALL = ""
"""The name under which a quantile stands that was given for all metrics."""


def counted(
    mean: Sequence[str] | None, exact: Sequence[str] | None, sigma: Sequence[str] | None, quantile: Sequence[str] | None
) -> dict[str, dict[str, Any]]:
    """What is said of each metric, as arguments of `Objective`; a metric of which two things are said is refused.

    >>> counted(["solved", "stars=1,5"], ["bytes"], None, ["seconds=0.95"])["stars"]
    {'statistic': 'mean', 'bounds': (1.0, 5.0)}
    """
    said: dict[str, dict[str, Any]] = {}
    by: dict[str, str] = {}

    def say(option: str, name: str, **what: Any) -> None:
        if name in said:
            again = "again" if by[name] == option else f"with {by[name]} as well"
            raise BadInput(f"{option}: what counts of {name!r} is said once; got it {again}")
        _check(option, name, what)
        said[name], by[name] = what, option

    for text in mean or ():
        name, bounds = _mean(text)
        say("--mean", name, statistic="mean", bounds=bounds)
    for name in exact or ():
        say("--exact", name, exact=True)
    for name, value in _by_name("sigma", sigma).items():
        say("--sigma", name, statistic="mean", sigma=value)
    levels = by_metric("quantile", quantile, read_number)
    for name, level in (levels if isinstance(levels, dict) else {} if levels is None else {ALL: levels}).items():
        say("--quantile", name, quantile=level)
    return said


def _check(option: str, name: str, what: Mapping[str, Any]) -> None:
    """Refuse bounds, deviations and levels that are none, by the option that gave them."""
    from frontguard.objectives import Objective, checked_statistic

    try:
        if name == ALL:
            checked_statistic("all objectives", **what)
        else:
            Objective(name, **what)
    except BadInput as error:
        raise BadInput(f"{option}: {error}") from None


def _by_name(option: str, texts: Sequence[str] | None) -> dict[str, float]:
    for text in texts or ():
        if "=" not in text:
            raise BadInput(f"--{option}: wanted METRIC=NUMBER, such as volts=0.2; got {text!r}")
    found = by_metric(option, texts, read_number)
    return found if isinstance(found, dict) else {}


def _mean(text: str) -> tuple[str, tuple[float, float]]:
    """The metric and its bounds: those of a rate unless they are given."""
    name, equals, bounds = text.rpartition("=")
    if not equals:
        return text, (0.0, 1.0)
    try:
        low, high = (float(end) for end in bounds.split(","))
    except ValueError:
        raise BadInput(
            f"--mean: wanted METRIC, or METRIC=LOW,HIGH with the least and the largest that a value can be, such as "
            f"stars=1,5; got {text!r}"
        ) from None
    return name, (low, high)


def check_named(said: Mapping[str, Mapping[str, Any]], names: Sequence[str], *, declared: bool = False) -> None:
    """Refuse what is said of a metric that there is not. `declared` are those that options name with a direction."""
    hint = "; others are named by --maximize or --minimize, which say the better direction" if declared else ""
    for name, what in said.items():
        if name != ALL:
            option = next(each for each in ("exact", "sigma", "quantile", "bounds") if each in what)
            known_metrics("--mean" if option == "bounds" else f"--{option}", [name], names, hint)


def counting(objectives: Sequence[Objective], said: Mapping[str, Mapping[str, Any]]) -> list[Objective]:
    """The objectives with what is said of them; those of which something is said have no tolerance any more."""
    nothing: dict[str, Any] = dict.fromkeys(("quantile", "statistic", "bounds", "sigma")) | {"exact": False}
    nothing["tolerance"] = 0.0  # a percentage goes with some bounds only: it is for the caller to say
    named = [{**said.get(ALL, {}), **said.get(each.name, {})} for each in objectives]
    return [replace(each, **nothing | more) if more else each for each, more in zip(objectives, named, strict=True)]


def of_analyze(said: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The same as arguments of `analyze`.

    >>> of_analyze(counted(["solved"], ["bytes"], None, None))
    {'statistic': {'solved': 'mean'}, 'bounds': {'solved': (0.0, 1.0)}, 'exact': ['bytes']}
    """
    found: dict[str, Any] = {}
    for name, what in said.items():
        for key, value in what.items():
            if key == "exact":
                found.setdefault(key, []).append(name)
            elif name == ALL:
                found[key] = value
            else:
                found.setdefault(key, {})[name] = value
    if ALL in said and len(said) > 1:
        raise BadInput("--quantile: wanted METRIC=LEVEL, as of other metrics something else counts")
    return found
