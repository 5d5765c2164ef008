"""Arms from a grid of parameters: every combination, with names that are short and different."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from frontguard.errors import BadInput
from frontguard.studies.templates import as_text

Scalar = str | int | float | bool

MOST_ARMS = 100_000
"""Combinations beyond which a grid is taken for a mistake."""

_LONGEST_VALUE = 32


def grid_arms(grid: Mapping[str, Sequence[Scalar]]) -> Iterator[tuple[str, dict[str, Scalar]]]:
    """Names and parameters of all combinations; the last parameter changes fastest.

    >>> [name for name, _ in grid_arms({"opt": ["-O1", "-O2"], "unroll": ["", "-funroll-loops"]})]
    ['opt=-O1 unroll=none', 'opt=-O1 unroll=-funroll-loops', 'opt=-O2 unroll=none', 'opt=-O2 unroll=-funroll-loops']
    """
    size = math.prod(len(values) for values in grid.values())
    if size > MOST_ARMS:
        raise BadInput(f"the grid has {size} combinations; wanted at most {MOST_ARMS}")
    labels = [_labels(values) for values in grid.values()]
    for chosen in itertools.product(*(range(len(values)) for values in grid.values())):
        picked = [
            (key, values[i], label[i]) for (key, values), label, i in zip(grid.items(), labels, chosen, strict=True)
        ]
        name = " ".join(f"{key}={label}" for key, _, label in picked)
        yield name, {key: value for key, value, _ in picked}


def _labels(values: Sequence[Scalar]) -> list[str]:
    """A label for each value: itself, shortened if long, numbered if that made two equal."""
    labels = [_label(as_text(value)) for value in values]
    often = Counter(labels)
    return [label if often[label] == 1 else f"{label}#{i + 1}" for i, label in enumerate(labels)]


def _label(text: str) -> str:
    if not text:
        return "none"
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"
