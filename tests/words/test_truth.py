"""What answers say of simulated logs, against the truth: false no more often than was promised."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from frontguard import analyze
from frontguard._common.typing import Bools, Floats
from frontguard.pareto.dominance import pareto_mask
from frontguard.statements import Statement
from frontguard.verdicts import Verdict
from frontguard.words.answers import answer

LOGS, PULLS = 90, 60
CONFIDENCE = 0.9
MOST_FALSE = int(binom.ppf(0.999, LOGS, 1.0 - CONFIDENCE))

LEAST, NEAR = {Statement.AS_BEST}, {Statement.AS_NEAR_BEST}


def said_of(
    medians: Floats, tolerance: float, seed: int, monkeypatch: pytest.MonkeyPatch
) -> tuple[set[Statement], Bools]:
    """Which statements the answer on a log is made of, and which arms are in. Rewards are normal around `medians`."""
    rng = np.random.default_rng(seed)
    arm = np.repeat(np.arange(len(medians)), PULLS)
    values = medians[arm] + 0.1 * rng.normal(size=(len(arm), medians.shape[1]))
    columns = {f"m{d}": values[:, d] for d in range(medians.shape[1])}
    names = list(columns)
    found = analyze(
        {"arm": arm.astype(str), **columns},
        minimize=names,
        tolerance=tolerance,
        contamination=0.0,
        confidence=CONFIDENCE,
        profile=False,
    )
    said: set[Statement] = set()

    def recorded(self: Statement, **fields: object) -> str:
        said.add(self)
        return self.text.format(**fields)

    with monkeypatch.context() as patch:
        patch.setattr(Statement, "__call__", recorded)
        answer(found)
    order = [found.arms.index(str(i)) for i in range(len(medians))]
    return said, np.isin(order, np.flatnonzero(found.verdict_codes == Verdict.KEEP))


def test_the_least_is_the_least_or_near_it(monkeypatch: pytest.MonkeyPatch) -> None:
    medians, tolerance = np.array([[1.0], [0.99], [1.3]]), 0.1
    wrong, certified = 0, 0
    for seed in range(LOGS):
        said, inside = said_of(medians, tolerance, seed, monkeypatch)
        slack = tolerance if said & NEAR else 0.0
        if said & (LEAST | NEAR):
            certified += 1
            wrong += bool((medians[inside, 0] > medians.min() + slack).any())
    assert certified > LOGS // 4
    assert wrong <= MOST_FALSE


def test_the_front_is_the_front_or_near_it(monkeypatch: pytest.MonkeyPatch) -> None:
    medians, tolerance = np.array([[1.0, 2.0], [2.0, 1.0], [1.03, 2.03], [2.5, 2.5]]), 0.1
    true = pareto_mask(-medians)
    wrong, told = 0, 0
    for seed in range(LOGS):
        said, inside = said_of(medians, tolerance, seed, monkeypatch)
        told += bool(inside.any())
        if Statement.ON_FRONT in said:
            wrong += bool((inside & ~true).any())
        elif Statement.NEAR_FRONT in said:
            lead = (
                (medians[None, :, :] - medians[:, None, :]).min(axis=2).max(axis=0)
            )  # by how much it is beaten at once
            wrong += bool((lead[inside] > tolerance).any())
    assert told > LOGS // 4
    assert wrong <= MOST_FALSE
