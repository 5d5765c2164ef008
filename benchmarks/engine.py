"""Simulated pulls against the bare cost of drawing the same contaminated rewards, in the same kind of kernel."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.tables import Row, heading
from frontguard import RPSI, AuerA1, AuerA1M, Oblivious, Subgaussian, simulate
from frontguard._common.compiled import entry
from frontguard.policies.base import Policy
from frontguard.simulation.draws import BLOCK
from frontguard.simulation.streams import RewardSource, fill_block, run_streams


@entry
def draw_only(source: Any, rewards: Any, attacks: Any, pulls: Any, objectives: int) -> float:
    """Draw `pulls` (K,) contaminated rewards of every arm, block by block, and do nothing with them."""
    block = np.empty((objectives, BLOCK))
    streams = run_streams(rewards, attacks, objectives)
    total = 0.0
    for i in range(pulls.shape[0]):
        for _ in range(0, pulls[i], BLOCK):
            fill_block(source, streams, i, block)
            total += block[0, 0]
    return total


def best_of(times: int, work: Callable[[], Any]) -> float:
    """The shortest of several wall times: the one least disturbed."""
    spent = []
    for _ in range(times):
        started = time.perf_counter()
        work()
        spent.append(time.perf_counter() - started)
    return min(spent)


def sw_llvm_like() -> tuple[RewardSource, npt.NDArray[np.float64]]:
    """SW-LLVM itself where its file is at hand, else a table of the same shape, at ε = 0.1."""
    from benchmarks.datasets import contaminated_table

    return contaminated_table(0.1)


def main() -> list[Row]:
    source, _ = sw_llvm_like()
    environment = source.environment
    K, M = environment.arms, environment.objectives
    policies: list[tuple[Policy, int, float]] = [
        (RPSI(K, M, threat=Oblivious(0.1), spread=Subgaussian(0.2), accuracy=0.1), 40, 8.0),
        (AuerA1(K, M, accuracy=0.1), 20, 15.0),
        (AuerA1M(K, M, accuracy=0.1), 40, 40.0),
    ]
    heading("simulated pulls / drawing the same rewards (one worker)")
    rows: list[Row] = []
    for policy, runs, wanted in policies:
        simulate(policy, environment, source.adversary, runs=1)
        outcome = simulate(policy, environment, source.adversary, runs=runs, workers=1)
        pulls = int(outcome.pulls.sum())
        whole = best_of(5, lambda: simulate(policy, environment, source.adversary, runs=runs, workers=1))  # noqa: B023

        def drawing() -> None:
            for run in range(runs):  # noqa: B023
                states = source.states(0, run)
                draw_only(source.compiled, *states, outcome.pulls_per_arm[run], M)  # noqa: B023

        drawing()
        bare = best_of(5, drawing)
        rows.append(
            Row(
                f"{policy.name}: a simulated pull / drawing the same rewards",
                whole / bare,
                at_most=wanted,
                details=f"{whole / pulls * 1e9:.1f} ns a pull, drawing {bare / pulls * 1e9:.1f} ns",
            )
        )
    heading("two workers / one worker")
    policy = policies[0][0]
    pulls_per_arm = np.full(K, 500_000)

    def bare_draws() -> None:
        draw_only(source.compiled, *source.states(0, 0), pulls_per_arm, M)

    def bare_draws_twice() -> None:
        threads = [threading.Thread(target=bare_draws) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    one, two, bare_one, bare_two = np.inf, np.inf, np.inf, np.inf
    for _ in range(8):  # in turn: a neighbour that slows the machine for a while slows both
        one = min(one, best_of(1, lambda: simulate(policy, environment, source.adversary, runs=300, workers=1)))
        two = min(two, best_of(1, lambda: simulate(policy, environment, source.adversary, runs=300, workers=2)))
        bare_one = min(bare_one, best_of(2, bare_draws))
        bare_two = min(bare_two, best_of(2, bare_draws_twice))
    rows.append(Row("speed-up of bare drawing on two threads: what this machine gives", 2 * bare_one / bare_two))
    rows.append(Row("speed-up of R-PSI on two workers", one / two, at_least=1.9, details=f"{one:.2f} s → {two:.2f} s"))
    return rows
