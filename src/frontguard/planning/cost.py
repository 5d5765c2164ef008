"""The cost of an identification, simulated on random instances or a pilot; for what can be had see `planning.reach`."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import Any, Protocol, Unpack

import numpy as np

from frontguard._common.checks import checked_count
from frontguard._common.entries import plain
from frontguard._common.typing import Floats, Ints
from frontguard.comparisons.effects import Intervals
from frontguard.comparisons.outcomes import Outcome, outcomes_between
from frontguard.errors import BadArgument, BadInput
from frontguard.evidence.intervals import first_bounded, interval_rule
from frontguard.evidence.statistics import EXACT, statistic_of
from frontguard.objectives import Objective, differences_in_units
from frontguard.phrases import did_you_mean, shown
from frontguard.planning.reach import (
    T_BAR,
    LimitFloor,
    affordable_width,
    bias_floor,
    can_certify,
    keeping_at_all,
    largest_contamination,
    lasting_length,
    limit_floors,
    mean_floor,
    pilot_limits,
)
from frontguard.planning.task import PairedStreams, Pilot, Task, read_pilot
from frontguard.policies import RPSI, Certified, Policy
from frontguard.question import Asked, Entry, Question
from frontguard.simulation import RewardSource, Streams, simulate_one
from frontguard.simulation.engine import drive_by_turns
from frontguard.theory.bounds import theorem1_gap_dependent, theorem1_worst_case
from frontguard.theory.schedule import Schedule
from frontguard.theory.spread import CustomSpread, SpreadBound
from frontguard.theory.threats import Threat
from frontguard.verdicts import FEASIBLE, INFEASIBLE, OPEN

WORK = 3 * 10**6
"""Pulls after which no more runs of a policy under an attack are begun: a plan takes some twenty seconds."""

MOST_PULLS = 10**6
"""Pulls after which one run is cut off ..."""

WORST_OF_RPSI, MOST_PULLS_OF_RPSI = 10**7, 10**5
"""... and one of R-PSI: it knows no budget. If it might exceed the first, it is driven slowly, and cut off after the
second."""

MOST_ARMS = 200
"""Arms that are simulated at most, each with the same share of δ; pulls are multiplied for more."""

AT_A_TIME = 4
"""Runs that are begun together. A fixed number, so that a plan does not depend on how many cores there are."""

MOST_PHASES = 10**6
"""Phases beyond which R-PSI is not simulated: its tables alone would take longer than the rest of the plan."""


@dataclass(frozen=True)
class SimulatedCost:
    """Pulls of all arms together that simulated runs of a policy took."""

    policy: str
    attack: str
    accuracy: tuple[float, ...] | None  # what it promises; inner
    coverage: tuple[float, ...] | None
    runs: int
    mean: float
    least: int
    most: int
    certified: int  # runs that ended with the promise
    unreachable: int  # runs that saw that it cannot be had
    capped: int  # runs that were cut off: the mean is more than this
    cost: float | None  # of these pulls on average, where it is known what a pull of each arm costs
    note: str

    def to_dict(self, metrics: Sequence[Objective]) -> dict[str, Any]:
        """Return plain values that JSON can hold; what was promised is in the units of the metrics."""
        known = {name: plain(value) for name, value in vars(self).items() if name not in ("capped", "note")}
        for name, inner in (("accuracy", self.accuracy), ("coverage", self.coverage)):
            known[name] = None if inner is None else plain(differences_in_units(metrics, inner))
        if not self.runs:
            known |= {"least": None, "most": None}
        return known | {"more_than": self.capped > 0, "cut_off": self.capped}


class RunWatcher(Protocol):
    """The receiver of progress: `show(what, finished, all, seconds left)`."""

    def show(self, cell: str, done: int, total: int, left: float | None) -> None:
        """Say where the work is."""


@dataclass(frozen=True, eq=False)
class SimulatedPolicy:
    """A policy to be simulated, with the task it is simulated on, and what it promises in inner units."""

    name: str
    task: Task
    policy: Policy | None
    accuracy: Floats
    coverage: Floats
    note: str = ""
    unit: Floats | float = 1.0  # in which the policy is told what a pilot's arms give


def simulated_policies(task: Task) -> list[SimulatedPolicy]:
    """Return the certified policy, with R and without, and R-PSI for the goal or the nearest that it can promise."""
    listed = []
    spreads = [("certified", task.spread), ("certified without R", None)]
    for name, spread in spreads if task.spread is not None else [("certified", None)]:
        policy, note = None, ""
        try:
            asked = replace(task.question, spread=spread)
            policy = Certified.for_question(asked, task.names, max_pulls=MOST_PULLS, costs=task.costs)
        except BadInput as error:
            if spread is None:
                raise
            note = str(error)  # h beyond t̄: nothing can be done with R
        listed.append(SimulatedPolicy(name, task, policy, task.accuracy, task.coverage, note))
    return [*listed, _rpsi(task)] if task.for_rpsi else listed


def rpsi_schedule(task: Task) -> tuple[Schedule, float] | None:
    """Return R-PSI's schedule and α (γ − 2D if that promises the goal, else γ), in units of the accuracy on a pilot."""
    if not task.for_rpsi:
        return None
    spread = task.spread if task.pilot is None else pilot_spread(task.pilot, task.unit)
    possible = task.threat.has_lemmas and task.threat.eps < task.threat.largest_eps(T_BAR)
    if spread is None or not task.accuracy.min() > 0.0 or not possible:
        return None
    schedule = Schedule(task.threat, spread, task.arms, task.objectives, task.question.delta, T_BAR)
    goal, floor = float((task.accuracy / task.unit).min()), 2.0 * schedule.bias
    alpha = goal - floor if floor < goal and floor <= float((task.coverage / task.unit).min()) else goal
    return schedule, alpha


def _rpsi(task: Task) -> SimulatedPolicy:
    found = rpsi_schedule(task)
    nothing = np.full(task.objectives, math.inf)
    if found is None:
        why = "can do nothing at so large a contamination"
        if not task.threat.has_lemmas:
            why = f"promises nothing where any {task.threat.name} may be replaced"
        elif not task.accuracy.min() > 0:
            why = "needs a positive accuracy"
        return SimulatedPolicy("R-PSI", task, None, nothing, nothing, f"R-PSI {why}")
    schedule, alpha = found
    accuracy, coverage = task.unit * (2.0 * schedule.bias + alpha), task.unit * 2.0 * schedule.bias
    policy, note = None, ""
    try:
        if schedule.phases_until(alpha / 4.0) > MOST_PHASES:
            raise BadInput(f"more than {MOST_PHASES:,} phases")
        policy = RPSI(
            task.arms, task.objectives, threat=task.threat, spread=schedule.spread, accuracy=alpha,
            delta=task.question.delta, t_bar=T_BAR,
        )  # fmt: skip
    except BadInput:
        note = f"R-PSI is not simulated: it might take more than {MOST_PHASES:,} phases an arm"
    return SimulatedPolicy("R-PSI", task, policy, accuracy, coverage, note, task.unit)


def pilot_spread(pilot: Pilot, unit: Floats | float = 1.0) -> SpreadBound:
    """Return the least R that the pilot's quantiles allow, over all arms and objectives."""
    levels = np.linspace(0.0, T_BAR, 491)
    medians = pilot.quantiles(0.5)
    beyond = ((pilot.quantiles(0.5 + t) - medians, medians - pilot.quantiles(0.5 - t)) for t in levels)
    reach = [float((np.maximum(above, below) / unit).max()) for above, below in beyond]
    bounds = np.maximum.accumulate(reach)
    return CustomSpread(lambda t: np.interp(t, levels, bounds))


def _one_run(simulated: SimulatedPolicy, attacked: bool, seed: int, run: int) -> tuple[Ints, str]:
    """Return the pulls of each arm in one run, and how it ended: certified, unreachable, or budget."""
    policy, task = simulated.policy, simulated.task
    assert policy is not None
    if task.blocks is not None:
        live = policy.fresh()
        drive_by_turns(live, PairedStreams(task, seed, run, attacked=attacked))
        return live.pulls_per_arm, live.result().status
    environment = task.environment(seed, run, simulated.unit)
    adversary = task.attack(environment) if attacked else None
    if isinstance(policy, RPSI) and policy.arms * float(policy.phase_pulls.sum()) > WORST_OF_RPSI:
        # R-PSI knows no budget of its own: ask and tell, phase by phase, until it is used up.
        live = policy.fresh()
        drive_by_turns(live, Streams(RewardSource(environment, adversary), seed, run), MOST_PULLS_OF_RPSI)
        return live.pulls_per_arm, "certified" if live.done else "budget"
    ended = simulate_one(policy, environment, adversary, seed=seed, run=run)
    return ended.pulls_per_arm, ended.result().status


def simulate_cost(
    task: Task, *, runs: int = 20, seed: int = 0, watcher: RunWatcher | None = None
) -> list[SimulatedCost]:
    """Simulate every policy, without an attack and under the worst; run r of a seed has the same arms for all."""
    checked_count(runs, "runs")
    factor = 1.0
    if task.pilot is None and task.arms > MOST_ARMS:
        factor, task = task.arms / MOST_ARMS, task.thinned(MOST_ARMS)
    jobs = [
        (simulated, attacked)
        for simulated in simulated_policies(task)
        for attacked in ((False, True) if task.threat.eps > 0 else (False,))
    ]
    started = time.monotonic()
    costs: list[SimulatedCost] = []
    with ThreadPoolExecutor() as threads:
        for number, (simulated, attacked) in enumerate(jobs):
            attack = "worst" if attacked else "none"
            ended: list[tuple[Ints, str]] = []
            while simulated.policy is not None and len(ended) < runs and sum(n.sum() for n, _ in ended) < WORK:
                batch = range(len(ended), min(len(ended) + AT_A_TIME, runs))
                futures = [threads.submit(_one_run, simulated, attacked, seed, run) for run in batch]
                busy = set(futures)
                while busy:
                    _, busy = wait(busy, timeout=0.2)
                    if watcher is not None:
                        done = number * runs + batch.stop - len(busy)
                        left = (time.monotonic() - started) * (len(jobs) * runs / done - 1.0) if done else None
                        watcher.show(f"{simulated.name}, attack: {attack}", done, len(jobs) * runs, left)
                ended += [future.result() for future in futures]
                if 2 * sum(stop == "budget" for _, stop in ended) >= len(ended):
                    break  # "more than" is all that further runs would say
            costs.append(_summed_up(simulated, attack, ended, factor))
    return costs


def _summed_up(simulated: SimulatedPolicy, attack: str, ended: list[tuple[Ints, str]], factor: float) -> SimulatedCost:
    """Return what these runs took, with pulls multiplied by a factor."""
    pulls, stops = [int(each.sum()) for each, _ in ended], [stop for _, stop in ended]
    costs = simulated.task.costs
    spent = None
    if costs is not None and ended and np.isfinite(costs).all():
        spent = factor * (math.fsum(float(each @ costs) for each, _ in ended) / len(ended))
    return SimulatedCost(
        policy=simulated.name,
        attack=attack,
        accuracy=_as_tuple(simulated.accuracy),
        coverage=_as_tuple(simulated.coverage),
        runs=len(ended),
        mean=factor * (math.fsum(pulls) / len(ended)) if ended else math.nan,
        least=int(factor * min(pulls, default=0)),
        most=int(factor * max(pulls, default=0)),
        certified=stops.count("certified"),
        unreachable=stops.count("unreachable"),
        capped=stops.count("budget"),
        cost=spent,
        note=simulated.note,
    )


def _as_tuple(values: Floats) -> tuple[float, ...] | None:
    return tuple(float(value) for value in values) if np.isfinite(values).all() else None


@dataclass(frozen=True, eq=False)
class CostPlan:
    """The plan. Widths are in the units of the metrics, or shares of a relative one (M,)."""

    task: Task
    floor: tuple[float, ...]  # what stays open between two arms, however many pulls
    floor_arms: tuple[str, ...] | None  # the arms of the pilot that it is widest for
    rpsi_floor: tuple[float, ...] | None  # 2D with the R that R-PSI is given
    possible_up_to: float | None  # ε beyond which no method can promise the goal
    safe_up_to: float | None  # ε up to which, in the end, the certified policy's intervals allow it under every attack
    first_pulls: dict[str, int]  # of every arm, before which nothing can be said
    theorem1_worst_case: float | None
    theorem1_gaps: float | None  # mean over the instances
    costs: tuple[SimulatedCost, ...]
    limits: tuple[LimitFloor, ...] = ()

    @property
    def possible(self) -> bool:
        """True if any method could promise the goal."""
        return self.possible_up_to is not None and self.task.threat.eps <= self.possible_up_to

    @property
    def safe(self) -> bool:
        """True if the certified policy's intervals allow the goal in the end, whatever the attacker does."""
        return self.safe_up_to is not None and self.task.threat.eps <= self.safe_up_to

    def of(self, policy: str, attack: str = "none") -> SimulatedCost:
        """Return the forecast of a policy."""
        return next(row for row in self.costs if (row.policy, row.attack) == (policy, attack))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold; what is not bounded or not known becomes None."""
        task = self.task
        source = "pilot" if task.pilot is not None else "normal" if task.medians_only else "mixed"
        return {
            "arms": task.arms,
            "objectives": [_metric_entries(metric) for metric in task.metrics],
            "threat": task.threat.name,
            "contamination": task.threat.eps,
            "confidence": task.question.confidence,
            "tolerance": plain(differences_in_units(task.metrics, task.accuracy)),
            "coverage": plain(differences_in_units(task.metrics, task.coverage)),
            "possible": self.possible,
            "floor": plain(self.floor),
            "floor_arms": plain(self.floor_arms),
            "rpsi_floor": plain(self.rpsi_floor),
            "limits": [
                {"limit": vars(each.gate.limit), "floor": plain(each.width), "open_arms": plain(each.open_arms)}
                for each in self.limits
            ],
            "largest_contamination": {"any_method": self.possible_up_to, "whatever_the_attack": self.safe_up_to},
            "first_pulls_per_arm": self.first_pulls,
            "theorem1": {"worst_case": plain(self.theorem1_worst_case), "with_these_gaps": plain(self.theorem1_gaps)},
            "instances": {"source": source, "sigma": task.sigma, "span": task.span},
            "expected_pulls": [row.to_dict(task.metrics) for row in self.costs],
        }


def _metric_entries(metric: Objective) -> dict[str, Any]:
    names = ("name", "direction", "relative", "quantile", "statistic", "bounds", "sigma", "exact")
    return {name: plain(getattr(metric, name)) for name in names}


def plan(
    arms: int | Sequence[str] | None = None,
    objectives: Iterable[Entry] | None = None,
    threat: Threat | str | None = None,
    *,
    question: Question | None = None,
    pilot: Any = None,
    arm: str | None = None,
    span: float | None = None,
    runs: int = 20,
    seed: int = 0,
    watcher: RunWatcher | None = None,
    **asked: Unpack[Asked],
) -> CostPlan:
    """Return how many pulls a question would take, and what can be promised at all, before the first one.

    Parameters
    ----------
    arms
        How many candidates there are, or their names; those of the pilot unless given.
    objectives, threat, question, asked
        What is asked: see `Question.of`. With a `baseline` that is none of the names, it is one arm more. `spread` is
        the noise: `Gaussian(σ)` or `Subgaussian(σ)`. `pair` and `cluster` are columns of the pilot.
    pilot, arm
        Measurements made before, a log as of `analyze`, whose column `arm` names the arm of a row; or what
        `read_pilot` made of one. It is taken as clean.
    span
        Between the medians of the best and the worst arm, where there is no pilot.
    runs, seed, watcher
        Of the simulation, for every policy and attack; the watcher is told how far it is.

    Returns
    -------
    CostPlan
        What can be promised, and the pulls of each policy under each attack.

    Raises
    ------
    BadInput
        The question cannot be asked, or the pilot cannot be read.

    >>> from frontguard import Gaussian, plan
    >>> made = plan(2, ["ms"], tolerance=1.0, spread=Gaussian(0.5), baseline="main", runs=2)
    >>> made.task.names, made.of("certified").runs
    (('main', '1', '2'), 2)
    """
    wanted = Question.of(objectives, threat, question=question, **asked)
    measured = None
    if pilot is not None:
        measured, wanted = (pilot, wanted) if isinstance(pilot, Pilot) else read_pilot(pilot, arm or "arm", wanted)
        names = measured.names
    elif arms is None:
        raise BadArgument("arms", "give how many there are, or their names, or a pilot log")
    else:
        names = _names(arms, wanted.baseline)
    if wanted.baseline is not None and wanted.baseline not in names:
        near = did_you_mean(wanted.baseline, names)
        raise BadArgument("baseline", f"{shown(wanted.baseline)} is no arm{near}")
    return make_plan(Task(wanted, names, span, measured), runs=runs, seed=seed, watcher=watcher)


def _names(arms: int | Sequence[str], baseline: str | None) -> tuple[str, ...]:
    if not isinstance(arms, int):
        return tuple(arms)
    counted = tuple(str(n + 1) for n in range(checked_count(arms, "arms (K)")))
    return counted if baseline is None else (baseline, *counted)


def make_plan(task: Task, *, runs: int = 20, seed: int = 0, watcher: RunWatcher | None = None) -> CostPlan:
    """Return what the task costs and what can be had, from quantiles and simulated runs."""
    floor, floor_arms, possible, safe = _reach(task)
    first = {"certified": _first_pulls(task, task.spread)}
    if task.spread is not None:
        first["certified without R"] = _first_pulls(task, None)
    bounded = rpsi_schedule(task)
    rpsi_floor = worst = by_gaps = None
    if bounded is not None:
        schedule, alpha = bounded
        first["R-PSI"] = schedule.first_pulls
        rpsi_floor = differences_in_units(task.metrics, 2.0 * schedule.bias * task.unit)
        worst, by_gaps = _theorem1(task, schedule, alpha, runs, seed)
    return CostPlan(
        task, differences_in_units(task.metrics, floor), floor_arms, rpsi_floor, possible, safe, first, worst, by_gaps,
        tuple(simulate_cost(task, runs=runs, seed=seed, watcher=watcher)),
        limit_floors(task.columns, task.threat, task.noise, task.pilot, ends_of(task, None)),
    )  # fmt: skip


def _reach(task: Task) -> tuple[Floats, tuple[str, ...] | None, float | None, float | None]:
    """Return the floor (M,) with the arms it is widest for, and the ε up to which the goal can be had, and safely."""
    at, goal = task.threat.at, (task.accuracy, task.coverage)
    if task.pilot is not None:
        low, high = (ends[:, : task.objectives] for ends in pilot_limits(task.pilot, task.threat, task.statistics))
        widest = (high - low).argmax(axis=0)
        return (
            (high - low).max(axis=0),
            tuple(task.pilot.names[i] for i in widest),
            largest_contamination(lambda eps: _any_method_can(task, at(eps))),
            largest_contamination(lambda eps: _intervals_allow(task, at(eps))),
        )
    widths = affordable_width(*goal).tolist()

    def enough(width_of: Callable[[Task, Objective, Threat], float], threat: Threat) -> bool:
        each = (width_of(task, metric, threat.of(d)) for d, metric in enumerate(task.metrics))
        return all(found <= width for found, width in zip(each, widths, strict=True))

    return (
        np.array([_closest(task, metric, task.threat.of(d)) for d, metric in enumerate(task.metrics)]),
        None,
        largest_contamination(lambda eps: enough(_closest, at(eps))),
        largest_contamination(lambda eps: enough(_longest, at(eps))),
    )


def _any_method_can(task: Task, threat: Threat) -> bool:
    """Tell whether intervals that no method can shrink, of a pilot's arms, allow the goal.

    With limits there are two reasons why they do not. The arms that every method sees to be within may not allow it:
    the others may be beyond, and then the front is of these alone. Or an arm that may be within and may be beyond is
    such that, were it within, no other one might cover it.
    """
    assert task.pilot is not None
    low, high = pilot_limits(task.pilot, threat, task.statistics, any_method=True)
    rule, M = task.limit_rule, task.objectives
    if task.question.baseline is not None:
        return _gate_decides(task, low, high)
    if rule is None:
        return can_certify(low, high, task.accuracy, task.coverage)
    keeping = keeping_at_all(low, high, rule)
    low, high = low[:, :M], high[:, :M]
    for i in np.flatnonzero(keeping == OPEN).tolist():
        others = np.flatnonzero((keeping != INFEASIBLE) & (np.arange(task.arms) != i))
        if not (high[i] - low[others] <= task.coverage).all(axis=1).any():
            return False
    within = keeping == FEASIBLE
    return not within.any() or can_certify(low[within], high[within], task.accuracy, task.coverage)


def _intervals_allow(task: Task, threat: Threat) -> bool:
    """Tell whether the intervals that any attack can leave of a pilot's arms allow the goal."""
    assert task.pilot is not None
    low, high = pilot_limits(task.pilot, threat, task.statistics, attacked=True)
    if task.question.baseline is not None:
        return _gate_decides(task, low, high)
    return can_certify(low, high, task.accuracy, task.coverage, task.limit_rule)


def _gate_decides(task: Task, low: Floats, high: Floats) -> bool:
    """Tell whether intervals (K, C) of a pilot's arms settle of each candidate if it is worse than the baseline."""
    assert task.question.baseline is not None
    its, M = task.names.index(task.question.baseline), task.objectives
    mine = Intervals(low, low, high)
    baseline = mine.at(slice(its, its + 1))
    unknown = np.full((task.arms, M), np.inf)
    outcomes = outcomes_between(baseline, mine, (unknown, unknown), task.accuracy)
    outcomes[its] = Outcome.NOT_WORSE
    kept = task.limit_rule is None or (keeping_at_all(low, high, task.limit_rule) != OPEN).all()
    return bool((outcomes != Outcome.OPEN).all() and kept)


def _closest(task: Task, metric: Objective, threat: Threat) -> float:
    """Return how close normal arms, or rates, may be so that no method tells them apart; 0 where ε is 0."""
    if metric.has_quantile:
        return bias_floor(task.noise(metric), threat)
    if metric.sigma is not None and threat.eps > 0.0:
        return math.inf
    floor = mean_floor(metric, threat)
    return math.log1p(floor) if metric.relative else floor


def _longest(task: Task, metric: Objective, threat: Threat) -> float:
    """Return the longest interval that an attack can leave the certified policy for ever, of an objective."""
    if metric.has_quantile:
        return lasting_length(task.noise(metric), threat, task.spread, statistic_of(metric).level)
    return _closest(task, metric, threat)


def _first_pulls(task: Task, spread: SpreadBound | None) -> int:
    """Return the pulls of an arm before which nothing that is noisy is bounded."""
    ends = zip(ends_of(task, spread), [each for each in task.statistics for _ in range(2)], strict=True)
    noisy = [end for end, each in ends if end is not None and each.kind != EXACT]
    return min(noisy, default=1)


def ends_of(task: Task, spread: SpreadBound | None) -> list[int | None]:
    """Return for both ends of each interval of the certified policy the pulls before which it is not bounded."""
    rule = interval_rule(
        task.threat, arms=task.arms, objectives=task.width, delta=task.question.delta, spread=spread, t_bar=T_BAR,
        statistics=task.statistics, one_best=task.question.one_by_one,
    )  # fmt: skip
    return first_bounded(rule)


def _theorem1(task: Task, schedule: Schedule, alpha: float, runs: int, seed: int) -> tuple[float | None, float | None]:
    """Return both lines of Theorem 1, the first as the mean over the instances; None where τ_(α) is too large."""
    few = 1 if task.pilot is not None or task.arms > MOST_ARMS else runs  # many arms are their own average
    instances = [task.environment(seed, run, task.unit) for run in range(few)]
    try:
        by_gaps = math.fsum(theorem1_gap_dependent(schedule, each.gaps, alpha) for each in instances)
        return theorem1_worst_case(schedule, alpha), by_gaps / len(instances)
    except BadInput:
        return None, None
