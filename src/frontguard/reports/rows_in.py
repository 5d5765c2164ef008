"""Rows of `frontguard reproduce` out of their JSON."""

from __future__ import annotations

import math

from frontguard.errors import BadInput
from frontguard.experiments.contestants import CONTESTANTS
from frontguard.experiments.metrics import Score, Spread
from frontguard.experiments.plan import DATASETS
from frontguard.experiments.published import Published
from frontguard.experiments.results import Row
from frontguard.reports.plain_values import Value

__all__ = ["rows_in"]

_MOST_ROWS = 2000
_PUBLISHED = ("published_rsr", "published_sc", "published_ro", "published_rf1")


def rows_in(value: Value) -> list[Row]:
    """The rows of a list, as `reproduce --json` prints it."""
    each = value.elements()
    if not each:
        raise BadInput(f"{value.where}: wanted rows of reproduce, one at least; got an empty list")
    if len(each) > _MOST_ROWS:
        raise BadInput(f"{value.where}: wanted up to {_MOST_ROWS:,} rows; got {len(each):,}")
    return [_row(row) for row in each]


def _row(row: Value) -> Row:
    dataset, policy = row["dataset"], row["policy"].text()
    if dataset.raw not in DATASETS:
        raise dataset.wrong(f"one of {', '.join(DATASETS)}")
    variant, threat = row.get("variant"), row.get("told_threat")
    printed = [row.get(key) for key in _PUBLISHED]
    rsr = row["rsr"].number(0.0, 1.0)
    return Row(
        dataset=dataset.text(),
        variant="" if variant is None else variant.text(),
        policy=policy,
        policy_title=CONTESTANTS[policy].title if policy in CONTESTANTS else policy,
        epsilon=row["epsilon"].number(0.0, 0.5),
        bias=_number(row, "bias", 0.0),
        accuracy=_number(row, "accuracy", math.nan),
        threat="" if threat is None else threat.text(),
        pareto_arms=int(_number(row, "pareto_arms", 0.0)),
        score=Score(
            runs=row["runs"].whole(1),
            rsr=rsr,
            rsr_low=_number(row, "rsr_low", rsr),
            rsr_high=_number(row, "rsr_high", rsr),
            sc=_spread(row, "sc"),
            ro=_spread(row, "ro"),
            rf1=_spread(row, "rf1"),
            size=_spread(row, "returned", optional=True),
            off_front=_spread(row, "returned_off_front", optional=True),
        ),
        seconds=_number(row, "seconds", 0.0),
        published=None
        if any(part is None for part in printed)
        else Published(*(part.number(0.0) for part in printed if part)),
    )


def _spread(row: Value, name: str, *, optional: bool = False) -> Spread:
    mean = _number(row, name, math.nan) if optional else row[name].number(0.0)
    return Spread(
        mean, *(_number(row, f"{name}_{part}", math.nan, signed=True) for part in ("std", "se", "low", "high"))
    )


def _number(row: Value, name: str, instead: float, *, signed: bool = False) -> float:
    found = row.get(name)
    if found is None:
        return instead
    return found.number() if signed else found.number(0.0)
