"""What the certified policy's own choices cost: each varied alone, over a fixed subset of the experiments' cells.

`python -m benchmarks choices` prints the table; `python -m benchmarks.choices docs/choices.md` also writes it into the
page, between its markers. Choices that are arguments or are read when a policy is built are varied in this process.
Those that are compiled into kernels are varied each in a process of its own, with a cache of its own, before anything
is compiled. Runs are others than those of the tables of `benchmarks.certified`, by which defaults may have been chosen.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numba
import numpy as np
from tools.document import with_tables

from benchmarks.certified import geometric, measure, settings, table
from benchmarks.tables import Row, heading
from frontguard.evidence import intervals, quantiles
from frontguard.evidence.confidence_sequences import rank_table
from frontguard.experiments.setup import AS_THEORY, CONTESTANTS, Setting
from frontguard.pareto import rule as certified_rule
from frontguard.pareto import sampling

RUNS = 30
FIRST_RUN = 1000

WITH_R = "certified"
WITHOUT_R = "certified-no-r"


@dataclass(frozen=True)
class Figures:
    """One cell: pulls with their standard error, and how good the returned sets were."""

    policy: str
    pulls: float
    error: float
    rsr: float
    ro: float
    off_front: float
    uncertified: int


@dataclass(frozen=True)
class Choice:
    """One alternative: which choice, what it is set to, and how; `compiled` ones need a process of their own."""

    what: str
    value: str
    apply: Callable[[], None] = lambda: None
    arguments: Callable[[dict[str, Any]], dict[str, Any]] = lambda known: {}
    compiled: bool = False

    @property
    def name(self) -> str:
        return f"{self.what}: {self.value}"


def subset() -> list[tuple[Setting, str]]:
    """The cells: easy and hard ε on every data set with R, and ε = 0.1 without."""
    wanted = {"movielens": (0.0, 0.1, 0.3), "sw-llvm": (0.0, 0.2), AS_THEORY: (0.1, 0.3), "diabetes": (0.0, 0.1, 0.3)}
    cells = []
    for setting in settings():
        experiment = setting.experiment
        key = AS_THEORY if experiment.variant == AS_THEORY else experiment.dataset
        if setting.eps in wanted[key]:
            cells.append((setting, WITH_R))
        if setting.eps == 0.1:
            cells.append((setting, WITHOUT_R))
    return cells


def figures(choice: Choice) -> list[Figures]:
    """Every cell of the subset with a choice made."""
    choice.apply()
    found = []
    for setting, policy in subset():
        contestant = CONTESTANTS[policy]
        changed = choice.arguments(contestant.arguments(setting))
        measured = measure(setting, contestant, RUNS, first_run=FIRST_RUN, **changed)
        s = measured.score
        early = RUNS - measured.stops["certified"]
        found.append(Figures(policy, s["sc"], s["sc_se"], s["rsr"], s["ro"], s["returned_off_front"], early))
    return found


def _setting(module: Any, name: str, value: Any) -> Callable[[], None]:
    return lambda: setattr(module, name, value)


def _want_both() -> None:
    """Sample the arm that stands in the way and its rival always, not the one by which more can be gained."""
    original = sampling.want

    def both(standing: Any, tolerance: Any, i: int, j: int, every: bool) -> bool:
        if not original(standing, tolerance, i, j, every):
            return False
        arms = standing.arms
        for one, other in ((i, j), (j, i)):
            if arms[one].wanted == 0:
                arms[one].wanted, arms[one].urgency = 1, arms[other].urgency
        return True

    _setting(certified_rule, "want", numba.njit(nogil=True)(both))()


def _strength(value: float) -> Callable[[], None]:
    """Another prior of the mixture, before anything is compiled."""

    def change() -> None:
        setattr(quantiles, "STRENGTH", value)  # noqa: B010
        setattr(intervals, "rank_table", functools.partial(rank_table, strength=value))  # noqa: B010

    return change


def _margin(share: float) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda known: {"margin": share * (known["accuracy"] - known["coverage"])}


def _growth(value: float) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda known: {"growth": value}


DEFAULT = Choice("default", "as shipped")

SHIFT_GRIDS: tuple[tuple[float, ...], ...] = (
    (0.0,),
    (0.7,),
    (0.35, 0.7, 0.97),
    (0.2, 0.35, 0.5, 0.7, 0.85, 0.97),
)

CHOICES: tuple[Choice, ...] = (
    *(Choice("strength of the mixture (2)", f"{v:g}", _strength(v), compiled=True) for v in (1.0, 8.0)),
    *(Choice("shifts (0.35, 0.5, 0.65, 0.8, 0.9, 0.97)", ", ".join(f"{f:g}" for f in v),
             _setting(quantiles, "SHIFTS", v)) for v in SHIFT_GRIDS),
    *(Choice("weight without a shift (4)", f"{v:g}", _setting(quantiles, "UNSHIFTED_SHARE", v))
      for v in (1.0, 2.0, 8.0)),
    *(Choice("growth of batches (0.01)", f"{v:g}", arguments=_growth(v)) for v in (0.005, 0.02, 0.1)),
    *(Choice("margin / (γ − c) (0.5)", f"{v:g}", arguments=_margin(v)) for v in (0.0, 0.25, 1.0)),
    Choice("sampling (the more gain per pull)", "both", _want_both, compiled=True),
    Choice("sampled (the most urgent)", "all wanted", _setting(sampling, "AT_A_TIME", 1.0), compiled=True),
    *(Choice("doubt (0.5)", f"{v:g}", _setting(quantiles, "DOUBT", v), compiled=True) for v in (0.0, 1.0)),
)  # fmt: skip


def measured(choice: Choice) -> list[Figures]:
    """The figures of a choice, which is undone afterwards."""
    if choice.compiled:
        with tempfile.TemporaryDirectory() as cache:
            command = [sys.executable, "-m", "benchmarks.choices", "--alone", choice.name]
            environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
            done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True, text=True)
        return [Figures(**fields) for fields in json.loads(done.stdout)]
    before = quantiles.SHIFTS, quantiles.UNSHIFTED_SHARE
    try:
        return figures(choice)
    finally:
        quantiles.SHIFTS, quantiles.UNSHIFTED_SHARE = before


def ratio(found: Sequence[Figures], default: Sequence[Figures], policy: str) -> tuple[float, float]:
    """Geometric mean of pulls / pulls of the default, and its standard error as if the runs were independent.

    They are not: rewards are the same, so that the error is rather smaller.
    """
    pairs = [(a, b) for a, b in zip(found, default, strict=True) if a.policy == policy]
    mean = geometric([a.pulls / b.pulls for a, b in pairs])
    parts = [(x.error / x.pulls) ** 2 for pair in pairs for x in pair]
    return mean, mean * float(np.sqrt(sum(parts))) / len(pairs)


def line(choice: Choice, found: Sequence[Figures], default: Sequence[Figures]) -> list[str]:
    ours = [cell for cell in found if cell.policy == WITH_R]
    return [
        choice.what,
        choice.value,
        *(f"{mean:.3f} ± {error:.3f}" for mean, error in (ratio(found, default, p) for p in (WITH_R, WITHOUT_R))),
        f"{np.mean([cell.ro for cell in ours]):.3f}",
        f"{min(cell.ro for cell in ours):.3f}",
        f"{np.mean([cell.off_front for cell in ours]):.2f}",
        f"{min(cell.rsr for cell in found):.2f}",
        str(sum(cell.uncertified for cell in found)),
    ]


HEADINGS = (
    "choice (as shipped)", "set to", "pulls / as shipped, with R", "without R", "mean RO", "least RO", "mean off front",
    "least RSR", "runs without certificate",
)  # fmt: skip


def sections() -> tuple[list[Row], str]:
    heading("choices of the certified policy: pulls / pulls as shipped")
    default = measured(DEFAULT)
    lines = [line(DEFAULT, default, default)]
    rows = []
    for choice in CHOICES:
        found = measured(choice)
        lines.append(line(choice, found, default))
        rows.append(Row(choice.name, ratio(found, default, WITH_R)[0]))
    return rows, table(HEADINGS, lines)


def main() -> list[Row]:
    rows, text = sections()
    print(f"\n{text}", flush=True)
    return rows


def alone(name: str) -> None:
    """One compiled choice, in this process: its figures as JSON on stdout."""
    choice = next(choice for choice in CHOICES if choice.name == name)
    print(json.dumps([vars(cell) for cell in figures(choice)]))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--alone"]:
        alone(sys.argv[2])
    else:
        written = sections()[1]
        print(f"\n{written}", flush=True)
        for page in map(Path, sys.argv[1:]):
            page.write_text(with_tables(page.read_text(encoding="utf-8"), written, where=str(page)), encoding="utf-8")
