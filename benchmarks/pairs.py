"""Pulls to the certificate where arms answer the same questions, beside questions that each draws for itself.

400 questions that differ much more than the models do: a model gives an answer a score between 0 and 1 that is what the
question is like, better or worse by how good the model is, and a little chance. *Paired*: the r-th pulls of all models
are of the same question, drawn at random; *a list*: of the 400, each once; *unpaired*: each pull draws its own.
Everything else is the same. False statements are those of the audit (`audit.truth`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from audit.truth import Truth
from benchmarks.tables import Row
from frontguard._common.typing import Floats
from frontguard.objectives import Objective
from frontguard.studies.study import Study
from frontguard.theory.threats import Prescient

QUESTIONS = 400
MODELS = 6
RUNS = 6
DELTA = 0.05
SCORE = Objective("score", "maximize", tolerance=0.01, statistic="mean", bounds=(0, 1))
SOLVED = Objective("solved", "maximize", tolerance=0.02, statistic="mean", bounds=(0, 1))

WAYS: dict[str, dict[str, Any]] = {"unpaired": {}, "paired": {"paired": True}, "a list": {"items": QUESTIONS}}


def scores(rng: np.random.Generator) -> Floats:
    """Scores (models, questions): each model is better than the one before it by 0.03 on every question, about."""
    hard = 0.03 + 0.79 * rng.beta(0.3, 0.3, QUESTIONS)
    skill = 0.03 * np.arange(MODELS)
    return np.asarray(np.clip(hard + skill[:, None] + 0.04 * (rng.random((MODELS, QUESTIONS)) - 0.5), 0.0, 1.0))


def solved(rng: np.random.Generator) -> Floats:
    """0 or 1: a model solves what is easier than it is good, but for one answer in fifty."""
    hard, skill = rng.random(QUESTIONS), 0.4 + 0.05 * np.arange(MODELS)
    return np.asarray(((hard < skill[:, None]) ^ (rng.random((MODELS, QUESTIONS)) < 0.02)).astype(float))


def pulls_of(values: Floats, objective: Objective, way: dict[str, Any], seed: int) -> tuple[int, bool, bool]:
    """Pulls of one study, whether it was certified, and whether anything that it said is false."""
    rng = np.random.default_rng([seed, 1])
    shared = np.random.default_rng([seed, 2]).integers(QUESTIONS, size=200_000)
    study = Study(MODELS, [objective], Prescient(0.0), confidence=1 - DELTA, seed=seed, max_pulls=100_000, **way)
    while pulls := study.ask(1):
        told = []
        for pull in pulls:
            own = int(rng.integers(QUESTIONS))
            question = pull.item if "items" in way else int(shared[pull.rep]) if way else own
            told.append((pull, [float(values[pull.index, question])]))
        study.tell_many(told)
    result = study.result()
    false = Truth((objective,), values.mean(axis=1)[:, None]).false_statements(result)
    study.close()
    return result.pulls, result.status == "certified", bool(false)


def main() -> Iterator[Row]:
    """Medians of pulls, and how often something is false."""
    runs = max(2, round(RUNS * float(os.environ.get("FRONTGUARD_BENCH_SCALE", "1"))))
    for what, make, objective in (("scores", scores, SCORE), ("solved", solved, SOLVED)):
        found = {
            name: [pulls_of(make(np.random.default_rng(seed)), objective, way, seed) for seed in range(runs)]
            for name, way in WAYS.items()
        }
        medians = {name: float(np.median([pulls for pulls, _, _ in each])) for name, each in found.items()}
        certified = ", ".join(f"{name} {sum(done for _, done, _ in each)}" for name, each in found.items())
        for name in ("paired", "a list"):
            yield Row(
                f"{what} of {MODELS} models on {QUESTIONS} questions: pulls, {name} / unpaired",
                medians[name] / medians["unpaired"],
                at_most=0.2,
                details=f"{medians[name]:,.0f} and {medians['unpaired']:,.0f} pulls, medians of {runs}; "
                f"certified: {certified}",
            )
        wrong = sum(false for each in found.values() for _, _, false in each) / (runs * len(found))
        yield Row(f"{what}: share of studies with a false statement", wrong, at_most=DELTA, unit="")
