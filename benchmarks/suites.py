"""Gates of whole suites beside what people use: 50 benchmarks, noise 1 %, a tolerance of 5 %, some sessions a side.

Sessions shift all of their benchmarks alike by 0.5 %; benchmarks have noise of their own. Gates of equal size are told
apart side by side (`many`), by the tests and the split of the real one; `one_by_one` runs that, and the two must agree.
Beside it, on the same values:

- *Welch*: t tests of logarithms against the tolerance, with Bonferroni's correction; it passes nothing.
- *Mann–Whitney*: the same of ranks.
- *benchstat*: Mann and Whitney's test of each benchmark at 5 %, without a correction and without a tolerance.
- *a threshold*: `pytest-benchmark --benchmark-compare-fail=mean:5%`, of the last session of either side.

False alarms are those of the worst that a threat model allows: all benchmarks are slower by just the tolerance, and
sessions of the change are hit upwards, those of the baseline downwards; or one is, by a law whose median is as high as
it may be, and hits hide it. On machines that drift programs are equal, the tolerance is 0, and sessions of both sides
come in a random order. FRONTGUARD_GATES is how many gates there are of each. Real sessions: `benchmarks/sessions.py`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy import stats

from benchmarks.tables import Row, heading, peer
from frontguard import Malicious, Objective, Oblivious, Prescient, Share, gate
from frontguard._common.typing import Bools, Floats, Ints
from frontguard.comparisons.outcomes import Outcome
from frontguard.evidence.differences.two_sample import region, u_tail
from frontguard.theory.threats import Threat

DELTA, NOISE, SHIFT, TESTS, SLOW = 0.05, 0.01, 0.005, 50, 7
TOLERANCE = float(np.log(1.05))
PEERS = ("Welch", "Mann-Whitney", "benchstat", "a threshold")
GATES = int(os.environ.get("FRONTGUARD_GATES", "10000"))
PEERED, CHECKED, AT_ONCE = 500, 10, 500
FAR = 50.0  # where hits go, in logarithms

Rng = np.random.Generator
Sides = tuple[Floats, Floats]
"""Logarithms (gates, tests, sessions) of the baseline and of the change."""


# The gate -------------------------------------------------------------------------------------------------------------


class Found(NamedTuple):
    """What gates say."""

    at_worst: Floats  # (G,)
    worse: Bools  # (G,): whether any line is
    exits: Ints  # (G,)


def many(sides: Sides, threat: Threat, tolerance: float = TOLERANCE) -> Found:
    """The exit codes of gates with these sides, whose sessions are equally many."""
    base, change = (np.sort(side, axis=2) for side in sides)
    n, line = base.shape[2], 0.5 * DELTA / base.shape[1]

    def behind(delta: float) -> Floats:
        """How much slower the change is at most (G, T)."""
        largest = region(n, n, threat, 0.5, delta)
        if largest is None:
            return np.full(base.shape[:2], np.inf)
        counts = np.flatnonzero(largest[1:] < n)
        return np.asarray((change[:, :, n - 1 - largest[counts + 1]] - base[:, :, counts]).max(axis=2))

    together, alone = behind(0.5 * DELTA), behind(line)
    wins = sum((change - tolerance > base[:, :, [i]]).sum(axis=2) for i in range(n))
    worse = (u_tail(n, n, threat)[wins] <= line) & ~(alone <= tolerance)
    at_worst = together.max(axis=1)
    passes = at_worst <= tolerance
    some = worse.any(axis=1) & ~passes
    exits = np.where(passes | (~some & (alone <= tolerance).all(axis=1)), 0, np.where(some, 1, 3))
    return Found(at_worst, some, exits)


def one_by_one(sides: Sides, threat: Threat, tolerance: str = "5%") -> list[int]:
    """The same by `frontguard.gate`, without sessions."""
    objective = Objective("seconds", "minimize", tolerance=tolerance)
    codes = {Outcome.NOT_WORSE: 0, Outcome.WORSE: 1, Outcome.OPEN: 3}
    found = []
    for both in zip(*sides, strict=True):
        names = np.repeat([f"test {i}" for i in range(len(both[0]))], both[0].shape[1])
        logs = [{"arm": names, "seconds": np.exp(side).ravel()} for side in both]
        answer = gate(*logs, objectives=[objective], threat=threat, confidence=1.0 - DELTA, profile=False)
        assert answer.gate is not None
        found.append(codes[answer.gate.outcome])
    return found


def alarms(sides: Sides, threshold: float = TOLERANCE) -> Bools:
    """Whether (PEERS, G) others raise an alarm."""
    base, change = sides
    welch = stats.ttest_ind(change - TOLERANCE, base, axis=2, equal_var=False, alternative="greater").pvalue
    beyond = stats.mannwhitneyu(change - TOLERANCE, base, axis=2, alternative="greater").pvalue
    ranks = stats.mannwhitneyu(change, base, axis=2, alternative="two-sided").pvalue
    slower = (ranks < DELTA) & (np.median(change, axis=2) > np.median(base, axis=2))
    last = change[:, :, -1] - base[:, :, -1] > threshold
    tests = base.shape[1]
    return np.array([each.any(axis=1) for each in (welch <= DELTA / tests, beyond <= DELTA / tests, slower, last)])


# Worlds ---------------------------------------------------------------------------------------------------------------


def suites(rng: Rng, gates: int, sessions: int, slow: float = 0.0) -> Sides:
    """Suites of which one test is slower, by so much in logarithms."""
    sides = []
    for more in (0.0, slow):
        own = rng.normal(0.0, np.sqrt(NOISE**2 - SHIFT**2), (gates, TESTS, sessions))
        own[:, SLOW] += more
        sides.append(own + rng.normal(0.0, SHIFT, (gates, 1, sessions)))
    return sides[0], sides[1]


def hit(rng: Rng, levels: Floats, values: Floats, threat: Threat, *, up: bool, together: bool) -> Floats:
    """Values (G, T, n) of which as many as the threat allows go up, or down; `levels` rank them.

    Chance hits all tests of a session `together`, or each by itself; whoever chooses hits the values farthest away.
    """
    far = FAR if up else -FAR
    if isinstance(threat, Share):
        taken = int(threat.eps * values.shape[2] + 1e-9)
        place = np.argsort(np.argsort(levels, axis=2), axis=2)
        hits = place < taken if up else place >= values.shape[2] - taken
    elif isinstance(threat, Malicious):
        hits = levels < threat.eps if up else levels > 1.0 - threat.eps
    else:
        shape = (len(values), 1 if together else values.shape[1], values.shape[2])
        hits = np.broadcast_to(rng.random(shape) < threat.eps, values.shape)
    return np.where(hits, far, values)


def feigned(rng: Rng, gates: int, sessions: int, threat: Threat, *, together: bool) -> Sides:
    """All tests are slower by just the tolerance, and hits make them look slower."""
    sides = []
    for more, up in ((0.0, False), (TOLERANCE, True)):
        shared = rng.normal(0.0, 1.0, (gates, 1, sessions)) * (3.0 if together else 0.0)
        noise = rng.normal(0.0, 1.0, (gates, TESTS, sessions)) + shared
        levels = stats.norm.cdf(noise / np.sqrt(10.0 if together else 1.0))
        sides.append(hit(rng, levels, NOISE * noise + more, threat, up=up, together=together))
    return sides[0], sides[1]


def hidden(rng: Rng, gates: int, sessions: int, threat: Threat, *, together: bool) -> Sides:
    """One test is slower by more than the tolerance, in its median alone, and hits hide it; the others are quicker."""
    base, change = (rng.random((gates, TESTS, sessions)) for _ in range(2))
    # The median of the baseline begins at 0, that of the change ends above the tolerance; clusters of half the values.
    slow = np.where(change > 0.5, TOLERANCE * (1.0 + 1e-9), -FAR / 2.0)
    quick = np.where(base > 0.5, FAR / 2.0, 0.0)
    values = (
        hit(rng, base, quick, threat, up=True, together=together),
        hit(rng, change, slow, threat, up=False, together=together),
    )
    values[1][:, np.arange(TESTS) != SLOW] = -4.0 * FAR
    return values


def drifting(rng: Rng, gates: int, sessions: int, threat: Threat, drift: Callable[[Ints], Floats]) -> Sides:
    """Equal programs on a machine that drifts, their sessions in a random order; hits make the change look slower."""
    slots = rng.permuted(np.tile(np.arange(2 * sessions), (gates, 1)), axis=1)
    noise = rng.normal(0.0, NOISE, (gates, TESTS, 2 * sessions)) + drift(slots)[:, None, :]
    levels = rng.random(noise.shape)
    return (
        hit(rng, levels[:, :, :sessions], noise[:, :, :sessions], threat, up=False, together=True),
        hit(rng, levels[:, :, sessions:], noise[:, :, sessions:], threat, up=True, together=True),
    )


DRIFTS: dict[str, Callable[[Ints], Floats]] = {
    "grows 20 % slower": lambda slot: 0.2 * slot / slot.max(),
    "is 10 % slower now and then": lambda slot: np.where(slot % 6 < 2, 0.1, 0.0),
}
THREATS = (Oblivious(0.0), Oblivious(0.1), Prescient(0.1), Malicious(0.1), Share(0.15))


# Rows -----------------------------------------------------------------------------------------------------------------


def counted(gates: int, world: Callable[[int], Sides], said: Callable[[Sides], Bools]) -> int:
    """In how many gates something is said."""
    parts = [min(AT_ONCE, gates - start) for start in range(0, gates, AT_ONCE)]
    return sum(int(said(world(part)).sum()) for part in parts)


def false_alarms(rng: Rng, gates: int) -> Iterator[Row]:
    """Shares of gates that say something false: one half of δ at most for lines, and for all together."""
    most = 0.5 * DELTA + 3.0 * np.sqrt(0.5 * DELTA / gates)

    def row(what: str, false: int) -> Row:
        return Row(
            f"false: {what}", 100.0 * false / gates, at_most=100.0 * most, unit="%", details=f"of {gates:,} gates"
        )

    sessions = 12
    for threat in THREATS:
        for together in (False, True):
            how = f"{threat.name}, ε = {threat.eps:g}, {'sessions' if together else 'tests'} are hit"
            false = counted(
                gates,
                lambda some, t=threat, w=together: feigned(rng, some, sessions, t, together=w),  # type: ignore[misc]
                lambda sides, t=threat: many(sides, t).worse,  # type: ignore[misc]
            )
            yield row(f"a line that fails ({how})", false)
            false = counted(
                gates,
                lambda some, t=threat, w=together: hidden(rng, some, sessions, t, together=w),  # type: ignore[misc]
                lambda sides, t=threat: many(sides, t).at_worst <= TOLERANCE,  # type: ignore[misc]
            )
            yield row(f"what is said of all, and exit 0 ({how})", false)
    for name, drift in DRIFTS.items():
        for threat in (Oblivious(0.0), Prescient(0.1)):
            false = counted(
                gates,
                lambda some, t=threat, d=drift: drifting(rng, some, sessions, t, d),  # type: ignore[misc]
                lambda sides, t=threat: many(sides, t, 0.0).worse,  # type: ignore[misc]
            )
            yield row(f"a line of equal programs, tolerance 0 (the machine {name}, ε = {threat.eps:g})", false)


def main() -> Iterator[Row]:
    """Exit codes of gates with one slow test, and with none; then false alarms."""
    rng = np.random.default_rng(5)
    for sessions, eps, slow, wanted in (
        (7, 0.0, 1.10, 1),
        (8, 0.1, 1.10, 1),
        (7, 0.0, 1.0, 0),
        (9, 0.1, 1.0, 0),
        (12, 0.1, 1.0, 0),
    ):
        gates = min(GATES, PEERED)
        sides = suites(rng, gates, sessions, float(np.log(slow)))
        exits = many(sides, Prescient(eps)).exits
        some = sides[0][:CHECKED], sides[1][:CHECKED]
        if one_by_one(some, Prescient(eps)) != exits[:CHECKED].tolist():
            raise AssertionError("gates side by side are not those of frontguard.gate")
        shares = zip(PEERS, alarms(sides).mean(axis=1).tolist(), strict=True)
        peers = ", ".join(f"{name} {share:.0%}" for name, share in shares)
        what = f"one of {TESTS} tests 10 % slower" if slow > 1.0 else f"{TESTS} equal tests"
        yield Row(
            f"gates with exit {wanted}: {what}, {sessions} sessions a side, ε = {eps:.0%}",
            float(100.0 * (exits == wanted).mean()),
            at_least=88.0,
            unit="%",
            details=f"{gates:,} gates; alarms of {peers}",
            beside=peer("scipy"),
        )
    heading(f"false alarms under the worst attacks, of 12 sessions a side; {DELTA / 2:.1%} are allowed")
    yield from false_alarms(rng, GATES)
