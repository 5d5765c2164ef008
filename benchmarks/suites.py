"""Gates of whole suites beside what people use: 50 benchmarks, noise 1 %, a tolerance of 5 %, some sessions a side.

Sessions shift all of their benchmarks alike by 0.5 %; benchmarks have noise of their own. Each gate is told apart as
`frontguard gate` does it for one look at a log (`evidence.two_sample`). Beside it, on the same values:

- *Welch*: t tests of logarithms against the tolerance, with Bonferroni's correction; it passes nothing.
- *Mann–Whitney*: what benchstat does, on every benchmark at 5 %, without a correction and without a tolerance.
- *threshold*: `pytest-benchmark --benchmark-compare-fail=mean:5%`, of the means of all sessions.

A row is wanted: of 200 gates, the share that comes to the right exit code. FRONTGUARD_GATES makes it more.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
from scipy import stats

from benchmarks.tables import Row, peer
from frontguard._common.typing import Bools, Floats
from frontguard.comparisons.outcomes import Outcome, outcomes_of_checks
from frontguard.evidence.measurements import Ordered
from frontguard.evidence.two_sample import check_bounds
from frontguard.objectives import Objective
from frontguard.theory.threats import Prescient

DELTA, NOISE, SHIFT, TESTS = 0.05, 0.01, 0.005, 50
TOLERANCE = np.log(1.05)
SECONDS = Objective("seconds", "minimize", tolerance="5%")
PEERS = ("Welch", "Mann-Whitney", "a threshold")
GATES = int(os.environ.get("FRONTGUARD_GATES", "200"))


def suite(rng: np.random.Generator, sessions: int, slow: float) -> tuple[Floats, Floats]:
    """Logarithms (tests, sessions) of the baseline and of a change that makes one test `slow`."""
    sides = []
    for factor in (1.0, slow):
        own = rng.normal(0.0, np.sqrt(NOISE**2 - SHIFT**2), (TESTS, sessions))
        own[7] += np.log(factor)
        sides.append(own + rng.normal(0.0, SHIFT, sessions))
    return sides[0], sides[1]


def exit_code(base: Floats, change: Floats, eps: float) -> int:
    """The exit code of our gate."""
    rows = np.sort(np.exp(np.concatenate([base, change])), axis=1)
    size = rows.shape[1]
    starts = np.arange(0, rows.size + 1, size)[None, :]
    log = Ordered([str(i) for i in range(len(rows))], ("seconds",), np.full(len(rows), size), starts, (rows.ravel(),))
    its, mine = np.arange(TESTS), np.arange(TESTS, 2 * TESTS)
    found = check_bounds(log, (SECONDS,), its, mine, Prescient(eps), DELTA)
    outcomes = outcomes_of_checks(found.behind, found.line, found.worse, np.array([SECONDS.inner_tolerance]))
    if (outcomes == Outcome.WORSE).any():
        return 1
    return 0 if (outcomes == Outcome.NOT_WORSE).all() else 3


def alarms(base: Floats, change: Floats) -> Bools:
    """Whether Welch, Mann and Whitney, and a threshold on means raise an alarm."""
    welch = stats.ttest_ind(change - TOLERANCE, base, axis=1, equal_var=False, alternative="greater").pvalue
    ranks = stats.mannwhitneyu(change, base, axis=1, alternative="two-sided").pvalue
    means = np.exp(change).mean(axis=1) / np.exp(base).mean(axis=1)
    slower = (ranks < DELTA) & (np.median(change, axis=1) > np.median(base, axis=1))
    return np.array([(welch <= DELTA / TESTS).any(), slower.any(), (means > 1.05).any()])


def main() -> Iterator[Row]:
    """Exit codes of gates with one slow test, and with none."""
    rng = np.random.default_rng(5)
    for sessions, eps, slow, wanted in (
        (7, 0.0, 1.10, 1),
        (8, 0.1, 1.10, 1),
        (7, 0.0, 1.0, 0),
        (9, 0.1, 1.0, 0),
        (12, 0.1, 1.0, 0),
    ):
        gates = [suite(rng, sessions, slow) for _ in range(GATES)]
        right = np.mean([exit_code(*each, eps) == wanted for each in gates])
        others = np.mean([alarms(*each) for each in gates], axis=0)
        peers = ", ".join(f"{name} {share:.0%}" for name, share in zip(PEERS, others, strict=True))
        what = f"one of {TESTS} tests 10 % slower" if slow > 1.0 else f"{TESTS} equal tests"
        yield Row(
            f"gates with exit {wanted}: {what}, {sessions} sessions a side, ε = {eps:.0%}",
            float(100.0 * right),
            at_least=88.0,
            unit="%",
            details=f"{GATES:,} gates; alarms of {peers}",
            beside=peer("scipy"),
        )
