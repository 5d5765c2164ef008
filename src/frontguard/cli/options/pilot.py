"""The pilot of a plan: a CSV file of measurements that were made before."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from frontguard.errors import BadInput
from frontguard.limits import Limit, columns_for
from frontguard.objectives import Objective
from frontguard.phrases import nearest

if TYPE_CHECKING:
    from frontguard.planning.reach import Pilot

TRUTHS = {"true": 1.0, "false": 0.0}
"""How true and false are written, in capitals or not."""


def read_pilot(
    path: Path, arm: str, objectives: Sequence[Objective], limits: Sequence[Limit] = ()
) -> tuple[Pilot, tuple[Objective, ...], tuple[Limit, ...]]:
    """The measurements of a CSV file with a header; arms are texts, an empty cell or NaN is a failed measurement.

    And the objectives and limits, of which those count their rate that are true or false and of which nobody said what
    counts.
    """
    import numpy as np

    from frontguard.planning.reach import Pilot

    metrics = columns_for(tuple(objectives), tuple(limits)).metrics

    index: dict[str, int] = {}
    owners: list[int] = []
    values: list[list[float]] = []
    kinds: list[set[bool]] = [set() for _ in metrics]  # of each metric: whether it has truths, and whether numbers
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            header = [name.strip() for name in next(reader, [])]
            at = _column(path, header, arm, "--arm")
            options = [*(f"--{each.direction}" for each in objectives), *["--limit"] * len(metrics)]
            columns = [_column(path, header, m.name, option) for m, option in zip(metrics, options, strict=False)]
            for row in reader:
                if not row:
                    continue
                if len(row) != len(header):
                    raise BadInput(
                        f"{path}, line {reader.line_num}: wanted {len(header)} cells as in the header, got {len(row)}"
                    )
                name = row[at].strip()
                if not name:
                    raise BadInput(f"{path}, line {reader.line_num}: the arm in column {arm!r} is empty")
                owners.append(index.setdefault(name, len(index)))
                cells = [row[c] for c in columns]
                values.append(
                    [_number(path, reader.line_num, m.name, cell) for m, cell in zip(metrics, cells, strict=True)]
                )
                for kind, cell, metric, value in zip(kinds, cells, metrics, values[-1], strict=True):
                    if math.isnan(value):
                        continue
                    is_truth = cell.strip().lower() in TRUTHS
                    kind.add(is_truth)
                    if len(kind) > 1:
                        raise BadInput(
                            f"{path}, line {reader.line_num}: {metric.name!r} has true or false and numbers as well; "
                            f"got {cell!r}"
                        )
                    if not is_truth and metric.fault(value):
                        must = "must be positive" if metric.bounds is None else "must be between its bounds"
                        raise BadInput(
                            f"{path}, line {reader.line_num}: {metric.name!r} {must}; got {value:g}: {metric.remedy}"
                        )
    except OSError as error:
        raise BadInput(f"--pilot {path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise BadInput(f"--pilot {path}: is not text in UTF-8") from None
    except csv.Error as error:
        raise BadInput(f"--pilot {path}: is not a CSV file: {error}") from None
    if len(index) < 2:
        raise BadInput(f"--pilot {path}: wanted at least two arms in column {arm!r}, got {len(index)}")
    truths = {each.name: True in kind for each, kind in zip(metrics, kinds, strict=True)}
    counted = tuple(_counting_rates(path, each) if truths[each.name] else each for each in objectives)
    counted_limits = tuple(
        replace(each, statistic="mean", bounds=(0.0, 1.0))
        if truths[each.metric] and each.statistic is None and each.metric not in {metric.name for metric in counted}
        else each
        for each in limits
    )
    whole = columns_for(counted, counted_limits)
    return Pilot(tuple(index), whole.observed(np.array(values)), np.array(owners, np.int64)), counted, counted_limits


def _counting_rates(path: Path, metric: Objective) -> Objective:
    """A metric whose values are true or false: its rate counts, unless something else was declared."""
    if metric.by_default:
        return replace(metric, statistic="mean", bounds=(0.0, 1.0))
    if not metric.takes_booleans:
        raise BadInput(f"--pilot {path}: {metric.name!r} is true or false: {metric.no_booleans}")
    return metric


def _column(path: Path, header: list[str], name: str, option: str) -> int:
    places = [place for place, heading in enumerate(header) if heading == name]
    if len(places) == 1:
        return places[0]
    if places:
        raise BadInput(f"{option} {name}: {path} has {len(places)} columns of that name")
    near = nearest(name, header, cutoff=0.5)
    hint = f"did you mean {near}?" if near else f"it has {', '.join(header) or 'no header'}"
    raise BadInput(f"{option} {name}: {path} has no such column; {hint}")


def _number(path: Path, line: int, column: str, text: str) -> float:
    """A cell as a number; NaN where the measurement failed."""
    if not text.strip():
        return math.nan
    if text.strip().lower() in TRUTHS:
        return TRUTHS[text.strip().lower()]
    try:
        value = float(text)
    except ValueError:
        raise BadInput(
            f"{path}, line {line}: {column!r} must be a number, or empty if it failed; got {text!r}"
        ) from None
    if math.isinf(value):
        raise BadInput(f"{path}, line {line}: {column!r} must be finite, or empty if it failed; got {text!r}")
    return value
