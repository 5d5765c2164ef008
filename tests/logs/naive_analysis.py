"""The naive twin of a whole analysis: dictionaries of lists, `sorted`, the binomial law of scipy, loops over pairs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.stats import binom

from frontguard.evidence.kinds import DOUBT
from frontguard.objectives import Objective
from frontguard.theory.threats import Threat


@dataclass
class Naive:
    """The whole answer, by dictionaries of lists, `sorted`, the binomial law of scipy, and loops over pairs."""

    rows: dict[str, list[list[float | None]]]
    objectives: list[Objective]
    threat: Threat
    confidence: float
    goal: str = "front"
    low: dict[str, list[float]] = field(default_factory=dict)
    high: dict[str, list[float]] = field(default_factory=dict)
    best: dict[str, list[float]] = field(default_factory=dict)  # upper ends that hold of the best arm
    estimate: dict[str, list[float]] = field(default_factory=dict)
    doubt: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    failed: dict[str, list[int]] = field(default_factory=dict)
    failed_pulls: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.gamma = [objective.inner_tolerance for objective in self.objectives]
        self.arms = sorted(self.rows)
        for arm in self.arms:
            columns = list(zip(*self.rows[arm], strict=True))
            sides = [
                self._of_metric(objective, column) for objective, column in zip(self.objectives, columns, strict=True)
            ]
            self.low[arm], self.high[arm] = [each[0] for each in sides], [each[1] for each in sides]
            self.best[arm] = [max(each[0], each[5]) for each in sides]
            self.estimate[arm], self.doubt[arm] = [each[2] for each in sides], [each[3] for each in sides]
            self.failed[arm] = [each[4] for each in sides]
            self.failed_pulls[arm] = sum(
                any(not self._usable(objective, v) for objective, v in zip(self.objectives, row, strict=True))
                for row in self.rows[arm]
            )
        self._judge()

    def _rank(self, n: int, kept: float, of_best: bool = False) -> int:
        delta, one = round(1.0 - self.confidence, 12), len(self.objectives) == 1 and len(self.rows) >= 5
        share = (delta / 2 if one else delta) / (2 * len(self.objectives) * len(self.rows))
        share = delta / 2 if one and of_best else share
        fits = binom.cdf(np.arange(n), n, max(kept, 0.0)) <= share * (1.0 - 1e-9)  # P(Bin < k) for k = 1, …, n
        return int(fits.sum()) if kept > 0 else 0

    @staticmethod
    def _usable(objective: Objective, v: float | None) -> bool:
        return v is not None and math.isfinite(v) and not (objective.relative and v <= 0)

    def _of_metric(self, objective: Objective, column: Any) -> tuple[Any, ...]:
        good = [v for v in column if self._usable(objective, v)]
        inner = sorted(objective.inward(good).tolist())
        n, failed, level = len(column), len(column) - len(good), objective.inner_quantile
        taken = math.floor(Fraction(str(self.threat.taken)) * n)
        below = self._rank(n, self.threat.keep(level)) - taken - failed
        above = self._rank(n, self.threat.keep(1.0 - level)) - taken - failed
        low = inner[below - 1] if below >= 1 else -math.inf
        high = inner[-above] if above >= 1 else math.inf
        closer = self._rank(n, self.threat.keep(1.0 - level), of_best=True) - taken - failed
        best = inner[-closer] if closer >= 1 else math.inf
        if not inner:
            return low, high, -math.inf, (-math.inf, -math.inf), failed, best
        middle = level * (len(inner) - 1)
        reach = DOUBT * math.sqrt(len(inner) * level * (1.0 - level))
        estimate = 0.5 * inner[math.floor(middle)] + 0.5 * inner[math.ceil(middle)]
        around = inner[max(0, math.floor(middle - reach))], inner[min(len(inner) - 1, math.ceil(middle + reach))]
        return low, high, estimate, around, failed, best

    def _judge(self) -> None:
        M = range(len(self.objectives))

        def certainly_worse(i: str, j: str) -> bool:
            pairs = [(self.high[i][d], self.low[j][d]) for d in M]
            return all(h <= low for h, low in pairs) and any(h < low for h, low in pairs)

        def beaten_beyond_doubt(i: str, j: str) -> bool:
            return all(self.doubt[j][d][0] > -math.inf for d in M) and all(
                self.doubt[j][d][0] > self.doubt[i][d][1] for d in M
            )

        def could_beat_by(i: str, j: str) -> float:
            return min(self.best[j][d] - self.low[i][d] - self.gamma[d] for d in M)

        def cannot_beat(i: str, j: str) -> bool:
            ahead = [self.best[j][d] - self.low[i][d] for d in M]
            within = any(lead <= self.gamma[d] if self.gamma[d] > 0 else lead < 0 for d, lead in enumerate(ahead))
            return within or all(lead <= 0 for lead in ahead)

        def misses_by(i: str, k: str) -> float:
            return max(self.best[i][d] - self.low[k][d] - self.gamma[d] for d in M)

        out = [i for i in self.arms if any(certainly_worse(i, j) for j in self.arms if j != i)]
        alive = [i for i in self.arms if i not in out]
        candidates = [i for i in alive if not any(beaten_beyond_doubt(i, j) for j in alive if j != i)]
        worst = {i: max((could_beat_by(i, j) for j in alive if j != i), default=-math.inf) for i in candidates}
        inside = [i for i in candidates if all(cannot_beat(i, j) for j in alive if j != i)]
        if self.goal == "list":
            worst = {i: max((could_beat_by(i, j) for j in alive if j != i), default=-math.inf) for i in alive}
            could = [i for i in alive if all(cannot_beat(i, j) for j in alive if j != i)]
            inside = self._short(alive, could, misses_by)
        left = [i for i in alive if i not in inside]
        covered = [i for i in left if any(misses_by(i, k) <= 0 for k in inside)]
        self.verdicts = {
            i: "beaten" if i in out else "keep" if i in inside else "matched" if i in covered else "undecided"
            for i in self.arms
        }
        slack = max((worst[i] for i in inside), default=0.0)
        uncovered = max((min((misses_by(i, k) for k in inside), default=math.inf) for i in left), default=-math.inf)
        self.accuracy = [max(g + slack, 0.0) for g in self.gamma]
        self.coverage = [max(g + uncovered, 0.0) for g in self.gamma]

    def _short(self, alive: list[str], could: list[str], misses_by: Callable[[str, str], float]) -> list[str]:
        """Of the arms that could be in, those on the short list."""
        M = range(len(self.objectives))
        strict = [d for d in M if self.gamma[d] == 0]
        loose = [d for d in M if self.gamma[d] > 0]

        def key(i: str) -> tuple[Any, ...]:
            x = self.estimate[i]
            total = sum(max(x[d] / self.gamma[d], -1e300) for d in loose)
            return (*(-x[d] for d in strict), -total, *(-x[d] for d in loose), i)

        def near(i: str, k: str) -> bool:
            for d in M:
                x, y = self.estimate[k][d], self.estimate[i][d]
                if x == -math.inf:
                    return False
                high = x + 2 * (self.doubt[k][d][1] - x)
                low = y - 2 * (y - self.doubt[i][d][0]) if y > -math.inf else y
                if high - low + self.gamma[d] / 2 < 0:
                    return False
            return True

        order = sorted(alive, key=key)
        chosen: list[str] = []
        for i in order:
            if not any(near(i, k) or misses_by(i, k) <= 0 for k in chosen):
                chosen.append(i)
        listed = [i for i in chosen if i in could]
        for i in order:
            if i in could and i not in listed and not any(misses_by(i, k) <= 0 for k in listed):
                listed.append(i)
        for i in order:
            if i not in could and not any(misses_by(i, k) <= 0 for k in listed):
                listed += [k for k in order if k in could and misses_by(i, k) <= 0][:1]
        return listed

    def mean_set(self) -> list[str]:
        means: dict[str, list[float]] = {}
        for arm in self.arms:
            columns = []
            for objective, column in zip(self.objectives, zip(*self.rows[arm], strict=True), strict=True):
                good = [v for v in column if v is not None and math.isfinite(v) and not (objective.relative and v <= 0)]
                columns.append((-1 if objective.minimized else 1) * sum(good) / len(good) if good else math.nan)
            if not any(map(math.isnan, columns)):
                means[arm] = columns

        def worse(i: str, j: str) -> bool:
            return means[i] != means[j] and all(a <= b for a, b in zip(means[i], means[j], strict=True))

        return [i for i in means if not any(worse(i, j) for j in means)]
