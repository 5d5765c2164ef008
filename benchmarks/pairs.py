"""Pulls to the certificate where arms answer the same questions, beside questions that each draws for itself.

400 questions that differ much more than the models do: a model gives an answer a score between 0 and 1 that is what the
question is like, better or worse by how good the model is, and a little chance. *Paired*: the r-th pulls of all models
are of the same question, drawn at random; *a list*: of the 400, each once; *unpaired*: each pull draws its own.
Everything else is the same. False statements are those of the audit (`audit.truth`).

*At one look*: two models on n questions, 6 % of which the better one loses and 6 % + d it wins; the least d that is
found with 80 % power by a gate of a log, by a certificate of two arms, by McNemar's exact test and its mid-p, by a
paired t interval and by evalstats (if it is installed), and how often models that are alike are told apart. All of them
are two-sided at 5 %, and these are exact sums over the outcomes: nothing is drawn.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.stats import binom, t

from audit.truth import Truth
from benchmarks.tables import Row, peer
from frontguard._common.typing import Floats, Ints
from frontguard.evidence.differences.discordant import highest_difference
from frontguard.evidence.differences.pairs import ONE_LOOK_SHARE
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


# At one look ----------------------------------------------------------------------------------------------------------

SIZES = (100, 200, 300, 500, 1000)
LOST, POWER = 0.06, 0.8
Refutes = Callable[[int, int, int], bool]
"""Whether so many wins and losses, of n questions, show that the arm is worse."""


def by_gate(wins: int, losses: int, n: int, eps: float = 0.0, share: float = 0.5) -> bool:
    """Ours: half of δ for this direction; of a certificate of two arms, that of what differences have."""
    seen = highest_difference(wins, losses, n, share * DELTA)
    return (seen + eps) / (1.0 - eps) < 0.0  # hits that do not depend on values


def by_mcnemar(wins: int, losses: int, n: int, mid: float = 0.0) -> bool:
    """McNemar's exact test, or with `mid` = 1/2 its mid-p."""
    p = binom.cdf(wins, wins + losses, 0.5) - mid * binom.pmf(wins, wins + losses, 0.5)
    return bool(p <= DELTA / 2)


def by_t(wins: int, losses: int, n: int) -> bool:
    """A paired t interval."""
    mean, squares = (wins - losses) / n, (wins + losses) / n
    error = math.sqrt(max(0.0, squares - mean**2) / (n - 1))
    return mean + float(t.isf(DELTA / 2, n - 1)) * error < 0.0


def by_evalstats(wins: int, losses: int, n: int) -> bool:
    """The interval that evalstats has for paired 0/1: that of Bonett and Price."""
    from evalstats.core.paired import canonical_pairwise_ci_func

    differences = np.repeat([1.0, -1.0, 0.0], [wins, losses, n - wins - losses])
    return bool(canonical_pairwise_ci_func("binary", None)(differences, DELTA)[1] < 0.0)


WAYS_TO_COMPARE: dict[str, Refutes] = {
    "a gate": by_gate,
    "analyze of two arms": partial(by_gate, share=0.5 * ONE_LOOK_SHARE),
    "a gate, ε = 2%": partial(by_gate, eps=0.02),
    "McNemar exact": by_mcnemar,
    "McNemar mid-p": partial(by_mcnemar, mid=0.5),
    "paired t": by_t,
}
if find_spec("evalstats"):
    WAYS_TO_COMPARE["evalstats"] = by_evalstats


def most_wins(refutes: Refutes, n: int) -> Ints:
    """The most wins (n + 1,) at which so many losses still show it; −1 for none."""
    found = np.full(n + 1, -1)
    likely = min(n, math.ceil(n * 0.3 + 20))
    for losses in range(1, likely + 1):
        wins = int(found[losses - 1])
        while wins + 1 < losses and wins + 1 + losses <= n and refutes(wins + 1, losses, n):
            wins += 1
        found[losses] = wins
    found[likely + 1 :] = found[likely]
    return found


def power(wins: Ints, n: int, difference: float) -> float:
    """How often it is shown of an arm that is worse by so much."""
    losses, rate = np.arange(n + 1), LOST + difference
    return float(binom.pmf(losses, n, rate) @ binom.cdf(wins, n - losses, LOST / (1.0 - rate)))


def least_difference(wins: Ints, n: int) -> float:
    low, high = 0.0, 0.5
    while high - low > 1e-5:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if power(wins, n, middle) >= POWER else (middle, high)
    return high


def one_look() -> Iterator[Row]:
    for n in SIZES:
        for name, refutes in WAYS_TO_COMPARE.items():
            wins = most_wins(refutes, n)
            alike = 2.0 * power(wins, n, 0.0)
            ours = name in ("a gate", "analyze of two arms")
            yield Row(
                f"least difference at {POWER:.0%} power, {n:,} questions, {name}",
                100.0 * least_difference(wins, n),
                at_most=7.5 if ours and n == 300 else None,
                unit="points",
                details=f"models that are alike told apart: {alike:.2%}",
                beside=peer("evalstats") if name == "evalstats" else "",
            )


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
    yield from one_look()
