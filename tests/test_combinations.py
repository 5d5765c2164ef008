"""Every combination of what may be asked works, or is refused in one sentence: docs/combinations.md."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import Objective, Prescient, Question, Study, analyze, gate, plan, simulate
from frontguard.errors import BadInput
from frontguard.simulation.environments import gaussian
from tests.support.snapshots import said

ARMS = ["old", "new"]
CLEAN = Prescient(0.0)

STATISTICS: dict[str, dict[str, Any]] = {
    "quantile": {},
    "mean": {"statistic": "mean", "bounds": (0, 1)},
    "sigma": {"statistic": "mean", "sigma": 0.05},
    "exact": {"exact": True},
}
DESIGNS: dict[str, dict[str, Any]] = {
    "rows": {},
    "clusters": {"cluster": "day"},
    "pairs": {"paired": True, "pair": "item"},
    "finite list": {"items": 40, "pair": "item"},
    "independent arms": {"independent": True},
}
GOALS: dict[str, dict[str, Any]] = {"list": {"goal": "list"}, "front": {"goal": "front"}, "gate": {"baseline": "old"}}
EXTRAS: dict[str, dict[str, Any]] = {
    "plain": {},
    "constraints": {"limits": ["score>=0.1"]},
    "costs": {"cost": {"old": 1, "new": 3}, "max_cost": 90},
    "polish": {"polish": True},
}
SOURCES = ("live", "log", "simulated", "planned")


def objective(statistic: str, tolerance: float = 0.1) -> Objective:
    return Objective("score", "maximize", tolerance=tolerance, **STATISTICS[statistic])


def measured(statistic: str, arms: np.ndarray, items: np.ndarray) -> np.ndarray:
    """Scores of arms on items, of which the new one is as good as the old."""
    if statistic == "exact":
        return np.where(arms == 0, 0.5, 0.55)
    return np.clip(0.5 + 0.2 * np.sin(items) + 0.01 * np.cos(7 * items + arms), 0.0, 1.0)


def live(statistic: str, asked: dict[str, Any]) -> None:
    asked = {name: value for name, value in asked.items() if name not in ("pair", "cluster")}
    study = Study(ARMS, [objective(statistic)], CLEAN, max_pulls=48, **asked)
    while pulls := study.ask(16):
        arms, items = np.array([pull.index for pull in pulls]), np.array([float(pull.rep) for pull in pulls])
        study.tell_many(list(zip(pulls, measured(statistic, arms, items).tolist(), strict=True)))
    study.result()


def log(statistic: str, asked: dict[str, Any]) -> None:
    items = np.tile(np.arange(40.0), 2)
    frame = {
        "arm": np.repeat(ARMS, 40), "item": items, "day": items // 4,
        "score": measured(statistic, np.repeat([0, 1], 40), items),
    }  # fmt: skip
    asked = {name: value for name, value in asked.items() if name != "paired"}
    how: dict[str, Any] = {"arm": "arm", "objectives": [objective(statistic)], "threat": CLEAN, "profile": False}
    gate(frame, **how, **asked) if "baseline" in asked else analyze(frame, **how, **asked)


def simulated(statistic: str, asked: dict[str, Any]) -> None:
    asked = {name: value for name, value in asked.items() if name not in ("pair", "cluster", "max_cost")}
    question = Question.of([objective(statistic)], CLEAN, max_pulls_per_arm=16, **asked)
    sigma = 1e-9 if statistic == "exact" else 0.05
    simulate(question=question, environment=gaussian([[0.5]] * 2, sigma=sigma), arms=ARMS, runs=1)


def planned(statistic: str, asked: dict[str, Any]) -> None:
    items = np.tile(np.arange(40.0), 2)
    pilot = {
        "arm": np.repeat(ARMS, 40), "item": items, "day": items // 4,
        "score": measured(statistic, np.repeat([0, 1], 40), items),
    }  # fmt: skip
    asked = {name: value for name, value in asked.items() if name != "max_cost"}
    plan(objectives=[objective(statistic, 0.4)], threat=CLEAN, pilot=pilot, arm="arm", runs=1, **asked)


def outcome(cell: tuple[str, ...]) -> str:
    """Works, or why not."""
    statistic, design, goal, extra, source = cell
    try:
        globals()[source](statistic, DESIGNS[design] | GOALS[goal] | EXTRAS[extra])
    except BadInput as error:
        return str(error)
    return "works"


def in_short(cells: list[tuple[str, str, str]]) -> list[str]:
    """Cells of design, goal and extra, with those together that are refused for every goal and extra, or design."""
    whole = [each for each in DESIGNS if all((each, *rest) in cells for rest in product(GOALS, EXTRAS))]
    left = [cell for cell in cells if cell[0] not in whole]
    always = [each for each in EXTRAS if all((*rest, each) in cells for rest in product(DESIGNS, GOALS))]
    return whole + always + [" × ".join(cell) for cell in left if cell[2] not in always]


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("statistic", STATISTICS)
def test_every_combination_works_or_says_why_not(statistic: str, source: str, snapshot: SnapshotAssertion) -> None:
    cells = list(product(DESIGNS, GOALS, EXTRAS))
    found: dict[str, list[tuple[str, str, str]]] = {}
    for cell in cells:
        found.setdefault(outcome((statistic, *cell, source)), []).append(cell)
    assert len(found.pop("works")) >= len(cells) // 5
    lines = [line for why, some in sorted(found.items()) for line in (why, *(f"    {each}" for each in in_short(some)))]
    assert said("\n".join(lines)) == snapshot
