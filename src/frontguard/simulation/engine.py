"""The compiled engine: many simulated runs, side by side on all cores.

A run is one compiled function that draws rewards in blocks and calls the very decision functions that the ask/tell
classes call, on the very arrays of a policy. Threads share the runs between them. Every run has its own random streams,
so run r of a seed is the same run whatever the number of workers, and whichever runs are asked for beside it.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from frontguard._common.compiled import KernelEntry, KernelValue, entry, kernel
from frontguard._common.machine import usable_cores
from frontguard._common.typing import Floats, Ints
from frontguard.errors import BadArgument
from frontguard.evidence.differences import Differences
from frontguard.evidence.differences.apart import Apart, ApartRule, refresh_apart
from frontguard.evidence.intervals import refresh
from frontguard.evidence.kinds import IntervalRule
from frontguard.evidence.samples import Samples, Table, empty_pool, empty_table, median, push, push_one, reserve, take
from frontguard.evidence.statistics import QUANTILE
from frontguard.pareto import rule as _rule
from frontguard.pareto.relations import Goal, LimitRule, Standing, veil_arm
from frontguard.pareto.sampling import next_batch
from frontguard.phrases import did_you_mean, percent, shown
from frontguard.policies import RPSI, AuerA1, AuerA1M, Certified, Policy
from frontguard.policies import auer as _auer
from frontguard.policies import rpsi as _rpsi
from frontguard.policies.auer import Rounds
from frontguard.policies.rpsi import Ring
from frontguard.question import Question
from frontguard.simulation.adversaries import Adversary
from frontguard.simulation.draws import BLOCK, Words
from frontguard.simulation.environments import Environment
from frontguard.simulation.functions import FunctionPolicy, Play
from frontguard.simulation.judging import Judgement, clopper_pearson, judge
from frontguard.simulation.streams import CompiledSource, RewardSource, RunStreams, Streams, fill_block, run_streams
from frontguard.verdicts import Verdict


@entry
def _run_rpsi(
    source: CompiledSource, rewards: Words, attacks: Words, ring: Ring, phase_pulls: Ints, pool: Floats, columns: Table
) -> Floats:
    """One run of R-PSI. Returns the pool of the samples, for the next run to use again."""
    arms, control = ring.arms, ring.control
    count, objectives = ring.medians.shape
    blocks = np.empty((count, objectives, BLOCK))
    used = np.full(count, BLOCK)
    streams = run_streams(rewards, attacks, objectives)
    fresh = np.empty(objectives)
    first = 0
    while control[0].done == 0:
        i = first if control[0].phase == 0 else control[0].next
        wanted = phase_pulls[arms[i].phases + 1]
        rewards_of_phase = _take(source, streams, i, blocks[i], used, wanted)
        for d in range(objectives):
            pool = reserve(pool, columns, i * objectives + d, wanted, True)
            push(pool, columns, i * objectives + d, rewards_of_phase[d])
            fresh[d] = median(pool, columns, i * objectives + d)
        if control[0].phase > 0:
            _rpsi.decide(ring, i, fresh)
        else:
            ring.medians[i, :] = fresh
            first += 1
            if first == count:
                _rpsi.decide_first(ring)
    return pool


@entry
def _run_auer(
    source: CompiledSource, rewards: Words, attacks: Words, rounds: Rounds, sums: Floats, pool: Floats, columns: Table
) -> Floats:
    """One run of Auer-A1, or of Auer-A1-M where there are columns of samples. Returns the pool of these."""
    active, estimates, control = rounds.active, rounds.estimates, rounds.control
    count, objectives = estimates.shape
    by_medians = columns.shape[0] > 1
    blocks = np.empty((count, objectives, BLOCK))
    streams = run_streams(rewards, attacks, objectives)
    while control[0].active > 0:
        pulls = control[0].rounds + 1
        place = control[0].rounds % BLOCK
        for a in range(control[0].active):
            i = active[a]
            if place == 0:
                fill_block(source, streams, i, blocks[i])
            for d in range(objectives):
                if by_medians:
                    at = i * objectives + d
                    if place == 0:
                        pool = reserve(pool, columns, at, BLOCK, True)
                    push_one(pool, columns, at, blocks[i, d, place])
                    estimates[i, d] = median(pool, columns, at)
                else:
                    sums[i, d] += blocks[i, d, place]
                    estimates[i, d] = sums[i, d] / pulls
        _auer.decide(rounds)
    return pool


@entry
def _run_certified(
    source: CompiledSource, rewards: Words, attacks: Words, standing: Standing, goal: Goal, rule: IntervalRule,
    limits: LimitRule, pool: Floats, columns: Table,
) -> Floats:  # fmt: skip
    """One run of the certified policy. Returns the pool of the samples."""
    arms, intervals, control = standing.arms, standing.intervals, standing.control
    count, _, objectives = intervals.shape  # behind the objectives come the intervals of what is only limited
    limited, read = limits.columns.shape[0] > 0, intervals
    if limited:
        read = np.empty((count, intervals.shape[1], goal.accuracy.shape[0]))
        for i in range(count):
            veil_arm(intervals, i, limits, arms, read)
    by_rule = Standing(arms, read, standing.alive, control, standing.front, standing.scales)
    blocks = np.empty((count, objectives, BLOCK))
    used = np.full(count, BLOCK)
    streams = run_streams(rewards, attacks, objectives)
    while control[0].stop == 0:
        order, counts = next_batch(standing)
        pool = _take_batch(source, streams, standing, rule, pool, columns, blocks, used, order, counts)
        if limited:
            for n in range(order.size):
                veil_arm(intervals, order[n], limits, arms, read)
        _rule.decide(by_rule, goal)
    return pool


@entry
def _run_independent(
    source: CompiledSource, rewards: Words, attacks: Words, standing: Standing, goal: Goal, rule: IntervalRule,
    apart: ApartRule, levels: Floats, pool: Floats, columns: Table,
) -> Floats:  # fmt: skip
    """One run of the certified policy for independent arms. Returns the pool of the samples."""
    arms, intervals, control = standing.arms, standing.intervals, standing.control
    count, _, objectives = intervals.shape
    blocks = np.empty((count, objectives, BLOCK))
    used = np.full(count, BLOCK)
    pulls = np.zeros(count, np.int64)
    streams = run_streams(rewards, attacks, objectives)
    while control[0].stop == 0:
        order, counts = next_batch(standing)
        pool = _take_batch(source, streams, standing, rule, pool, columns, blocks, used, order, counts)
        for i in range(count):
            pulls[i] = arms[i].pulls
        alive = np.sort(standing.alive[: control[0].alive])
        refresh_apart(intervals, levels, Samples(pool, pool, columns), pulls, alive, order, rule, apart)
        _rule.decide(standing, goal)
    return pool


@kernel
def _take_batch(
    source: CompiledSource, streams: RunStreams, standing: Standing, rule: IntervalRule, pool: Floats, columns: Table,
    blocks: Floats, used: Ints, order: Ints, counts: Ints,
) -> Floats:  # fmt: skip
    """Take so many pulls of these arms, as the budget allows, and their intervals. Returns the pool of the samples."""
    arms, intervals, control = standing.arms, standing.intervals, standing.control
    objectives = intervals.shape[2]
    left = control[0].max_pulls - control[0].pulls
    for n in range(order.size):
        i = order[n]
        wanted = min(counts[n], left)
        if wanted == 0:
            continue
        left -= wanted
        arms[i].pulls += wanted
        control[0].pulls += wanted
        fresh = _take(source, streams, i, blocks[i], used, wanted)
        for d in range(objectives):  # the whole batch at once: merging costs as much as the sample is long
            pool = take(pool, columns, i * objectives + d, fresh[d])
        if refresh(intervals, i, Samples(pool, pool, columns), arms[i].pulls, rule):
            control[0].revive = 1
    return pool


@kernel
def _take(source: CompiledSource, streams: RunStreams, arm: int, block: Floats, used: Ints, wanted: int) -> Floats:
    """The next rewards (M, wanted) of an arm, of whose block so many were `used`."""
    objectives = block.shape[0]
    fresh = np.empty((objectives, wanted))
    taken = 0
    while taken < wanted:
        if used[arm] == BLOCK:
            fill_block(source, streams, arm, block)
            used[arm] = 0
        now = min(wanted - taken, BLOCK - used[arm])
        for d in range(objectives):
            for k in range(now):
                fresh[d, taken + k] = block[d, used[arm] + k]
        used[arm] += now
        taken += now
    return fresh


@dataclass(frozen=True, eq=False)
class Runs:
    """Results of R simulated runs."""

    verdicts: npt.NDArray[np.int8]  # (R, K)
    pulls_per_arm: Ints  # (R, K)
    estimates: Floats  # (R, K, M)
    seconds: float  # of computing, all workers together
    judged: Judgement | None = None  # by the truth; None where the policy looks at more than medians

    @property
    def pulls(self) -> Ints:
        """Total pulls of every run (R,)."""
        total: Ints = self.pulls_per_arm.sum(axis=1)
        return total

    @property
    def returned(self) -> npt.NDArray[np.bool_]:
        """The arms that every run returned, as a mask (R, K)."""
        returned: npt.NDArray[np.bool_] = self.verdicts == int(Verdict.KEEP)
        return returned

    def __len__(self) -> int:
        return len(self.verdicts)

    def __repr__(self) -> str:
        _, arms, objectives = self.estimates.shape
        text = f"{len(self):,} simulated runs of {arms:,} arms with {objectives} objectives"
        if len(self) and self.judged is not None:
            successes = int(self.judged.success.sum())
            low, high = clopper_pearson(successes, len(self))
            text += f": {percent(successes / len(self))} succeeded ({percent(low)} to {percent(high)})"
        if len(self):
            text += f", {self.pulls.mean():,.0f} pulls on average"
        return f"<{text}>"


_TRIAL = 1 / 3
"""Share of the time that compiling the engine takes for which a single run is tried without."""

_workspace = threading.local()
_NO_COLUMNS = empty_table(0)


def _pool(columns: int) -> Floats:
    """Return a pool of samples for a run in this thread: the largest that an earlier run of the thread has left."""
    kept: Floats | None = getattr(_workspace, "pool", None)
    if kept is None or len(kept) < 64 * columns:
        kept = empty_pool(columns)
    return kept


_COMPILED: dict[type, tuple[KernelEntry, Callable[[Any], tuple[Any, ...]]]] = {
    RPSI: (_run_rpsi, lambda policy: (policy.standing, policy.phase_pulls)),
    AuerA1: (_run_auer, lambda policy: (policy.standing, policy.sums)),
    AuerA1M: (_run_auer, lambda policy: (policy.standing, policy.sums)),
    Certified: (_run_certified, lambda policy: (policy.standing, policy.goal, policy.rule, policy.limits)),
    Apart: (
        _run_independent,
        lambda policy: (policy.standing, policy.goal, policy.rule, policy.differences.rule, policy.differences.levels),
    ),
}
"""The compiled run of a policy, or of its evidence, and what it is given between the streams and the samples."""


def _compiled_run(policy: AnyPolicy) -> tuple[KernelEntry, Callable[[Any], tuple[Any, ...]]] | None:
    """Return the compiled run of all that the policy looks at, if there is one."""
    if not isinstance(policy, Certified):
        return _COMPILED.get(type(policy))
    differences = type(policy.differences)
    limited = differences is Apart and len(policy.limits.columns) > 0
    if policy.polish > 0.0 or policy.against is not None or policy.blocks or limited:
        return None
    return _COMPILED.get(Certified if differences is Differences else differences)


AnyPolicy = Policy | FunctionPolicy


class Batches(Protocol):
    """A source of rewards, batch by batch."""

    def take_batch(self, arms: npt.ArrayLike) -> Floats:
        """The next reward (M,) of each of these arms."""


class _Watched:
    """A kernel as a value, for an entry that is interpreted: it raises `_TakesLong` after so much processor time."""

    def __init__(self, value: KernelValue, seconds: float) -> None:
        self._draw, self._until = value.kernel_itself, time.thread_time() + seconds

    def kernel_itself(self, *args: Any) -> None:
        if time.thread_time() > self._until:
            raise _TakesLong
        self._draw(*args)


class _TakesLong(Exception):
    """A run takes longer than compiling it is worth."""


def _drive(policy: AnyPolicy, source: RewardSource, seed: int, run: int, trial: bool = False) -> None:
    """Drive a fresh policy through its run, compiled if there is such a run of it."""
    found = _compiled_run(policy)
    if found is None or (source.adversary is not None and source.adversary.plain):
        drive_by_turns(policy, Streams(source, seed, run))
        return
    compiled, given = found
    columns = getattr(policy, "columns", _NO_COLUMNS)  # one that goes by means keeps no samples
    pool = _pool(len(columns))
    sources: CompiledSource = source.compiled
    call: Callable[..., Floats] = compiled
    left = _TRIAL * compiled.price - compiled.tried if trial else 0.0
    began = time.thread_time()
    if left > 0.0 and not compiled.is_ready:
        sources, call = sources._replace(draw=_Watched(sources.draw, left)), compiled.interpreted
    try:
        pool = call(sources, *source.states(seed, run), *given(policy), pool, columns)
    finally:
        if call is not compiled:  # however many runs are tried, together they take no longer than one may
            compiled.tried += time.thread_time() - began
    _workspace.pool = pool
    if isinstance(policy, Policy) and columns is not _NO_COLUMNS:
        policy.pool = pool


def drive_by_turns(policy: AnyPolicy, streams: Batches, max_pulls: float = math.inf) -> None:
    """Drive a policy by ask and tell until it stops or has had its pulls: same rewards, same answer, slower."""
    while not policy.done and policy.pulls_per_arm.sum() < max_pulls:
        wanted = policy.ask()
        policy.tell(wanted, streams.take_batch(wanted))


def _checked_source(policy: AnyPolicy, environment: Environment, adversary: Adversary | None) -> RewardSource:
    measured = policy.width if isinstance(policy, Certified) else policy.objectives  # what is only limited, too
    if (policy.arms, measured) != environment.medians.shape:
        raise ValueError(
            f"the policy has (K, M) = {(policy.arms, measured)} arms and measured values, "
            f"the environment {environment.medians.shape}"
        )
    return RewardSource(environment, adversary)


def simulate_one(
    policy: Policy, environment: Environment, adversary: Adversary | None = None, *, seed: int = 0, run: int = 0
) -> Policy:
    """Return the policy at the end of one simulated run: a fresh copy of the one given, with all that it was told."""
    source = _checked_source(policy, environment, adversary)
    live = policy.fresh()
    try:
        _drive(live, source, seed, run, trial=True)
    except _TakesLong:
        live = policy.fresh()
        _drive(live, source, seed, run)
    _workspace.pool = None  # it belongs to the policy that is handed out
    return live


def _policy_for(question: Question, arms: Sequence[str] | None, count: int) -> Certified:
    names = [str(arm) for arm in range(count)] if arms is None else list(arms)
    if len(names) != count:
        raise BadArgument("arms", must=f"name the {count} arms of the environment", got=f"{len(names)} names")
    if question.baseline is not None and question.baseline not in names:
        near = did_you_mean(question.baseline, names)
        raise BadArgument("baseline", f"{shown(question.baseline)} is no arm{near}")
    if question.max_cost is not None:
        raise BadArgument("max_cost", "simulated pulls are counted and not paid for; give max_pulls")
    costs = None
    if question.cost is not None and question.cost.metric is None:
        costs = question.cost.amounts(names)
    return Certified.for_question(question, names, costs=costs, max_pulls=question.max_pulls)


def simulate(
    policy: AnyPolicy | Play | None = None,
    environment: Environment | None = None,
    adversary: Adversary | None = None,
    *,
    question: Question | None = None,
    arms: Sequence[str] | None = None,
    accuracy: float = 0.0,
    coverage: float = 0.0,
    runs: int = 100,
    seed: int = 0,
    first_run: int = 0,
    workers: int | None = None,
    on_run: Callable[[int], None] | None = None,
) -> Runs:
    """Run a policy, or the one that answers a question, on simulated rewards, `runs` times.

    Parameters
    ----------
    policy, question
        One of them. The policy stays as it is; a plain function may be one (`simulation.functions`). A question is
        answered as a study would.
    environment
        Draws inner values, of which larger are better (`Objective.inward`), and behind those of the objectives what
        is only limited. Every pull is independent of all others.
    adversary
        Replaces some of them; nobody unless given.
    arms
        The names that a question speaks of: their numbers from 0 unless given.
    accuracy, coverage
        Within which the runs of a function are judged; those of a policy are by what it promises.
    runs, seed, first_run
        Run r of a seed is always the same: `first_run=100` goes on where `runs=100` ended.
    workers
        Threads that share the runs: all cores unless given.
    on_run
        Called with the number of finished runs now and then, in the calling thread.

    Returns
    -------
    Runs
        Verdicts, pulls and estimates of each run, judged by true medians.

    Raises
    ------
    BadInput
        There is no environment, or policy, environment and adversary do not fit.

    >>> from frontguard.simulation.environments import gaussian
    >>> question = Question.of(maximize=["speed", "accuracy"], tolerance=0.2, contamination="2%", max_pulls=20_000)
    >>> simulate(question=question, environment=gaussian([[1, 0], [0, 1], [-1, -1]], 0.1), runs=5).returned.all(axis=0)
    array([ True,  True, False])
    """
    if environment is None:
        raise BadArgument(
            "environment", "give what rewards are drawn from; frontguard.simulation.environments has some"
        )
    if (policy is None) == (question is None):
        raise BadArgument("question", "give either a policy or a question")
    if policy is None:
        policy = _policy_for(cast(Question, question), arms, environment.arms)
    if not isinstance(policy, Policy | FunctionPolicy):
        policy = FunctionPolicy(policy, environment.arms, environment.objectives)
    source = _checked_source(policy, environment, adversary)
    shape = runs, policy.arms
    verdicts = np.empty(shape, np.int8)
    pulls = np.empty(shape, np.int64)
    estimates = np.empty((*shape, policy.objectives))
    spent = np.zeros(runs)

    waiting = iter(range(runs))  # shared: a worker takes the next run when it is through with one
    stopped = threading.Event()

    def work() -> None:
        for index in waiting:
            started = time.perf_counter()
            live = policy.fresh()
            _drive(live, source, seed, first_run + index)
            verdicts[index], pulls[index], estimates[index] = live.verdict_codes, live.pulls_per_arm, live.estimates
            spent[index] = time.perf_counter() - started
            if stopped.is_set():
                return

    crew = max(1, min(workers or usable_cores(), runs))
    with ThreadPoolExecutor(crew) as threads:
        busy = {threads.submit(work) for _ in range(crew)}
        try:
            while busy:
                finished, busy = wait(busy, timeout=0.1)
                for future in finished:
                    future.result()
                if on_run is not None:
                    on_run(int(np.count_nonzero(spent)))
        finally:
            stopped.set()
    goal = _goal_of(policy) if isinstance(policy, Policy) else {"accuracy": accuracy, "coverage": coverage}
    judged = None if goal is None else judge(verdicts == int(Verdict.KEEP), environment.medians, **goal)
    return Runs(verdicts, pulls, estimates, float(spent.sum()), judged)


def _goal_of(policy: Policy) -> dict[str, Any] | None:
    """Return the accuracy and coverage that a policy promises; None where more than medians of the front decides."""
    if isinstance(policy, Certified):
        medians = ((policy.kinds == QUANTILE) & (policy.rule.quantiles[: len(policy.kinds)] == 0.5)).all()
        front = policy.against is None and not len(policy.limits.columns)
        return {"accuracy": policy.goal.accuracy, "coverage": policy.goal.coverage} if medians and front else None
    bias = policy.bias if isinstance(policy, RPSI) else 0.0
    return {"accuracy": 2.0 * bias + getattr(policy, "accuracy", 0.0), "coverage": 2.0 * bias}
