"""What an identification would cost: simulated, on random instances or on the arms of a pilot log.

What can be had at all, whatever it costs, is the matter of `planning.reach`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from scipy.special import ndtri

from frontguard._common.checks import checked_count, checked_delta
from frontguard._common.entries import plain
from frontguard._common.typing import Bools, Floats
from frontguard.errors import BadInput
from frontguard.evidence.boxes import box_rule, checked_statistics, first_bounded
from frontguard.evidence.statistics import BOUNDED_MEAN, EXACT, Statistic, statistics_of
from frontguard.limits import Columns, Limit, columns_for
from frontguard.objectives import Objective, differences_in_units, tolerances
from frontguard.pareto.feasible import LimitRule
from frontguard.pareto.points import pareto_mask
from frontguard.pareto.standing import checked_tolerance
from frontguard.planning.reach import (
    T_BAR,
    LimitFloor,
    Pilot,
    affordable_width,
    bias_floor,
    can_certify,
    check_drawable,
    drawn_around,
    first_pulls,
    keeping_at_all,
    largest_contamination,
    lasting_length,
    limit_floors,
    mean_floor,
    pilot_limits,
    truly_within,
)
from frontguard.policies import RPSI, Certified, Policy
from frontguard.question import Question
from frontguard.simulation import Adversary, RewardSource, Streams, simulate_one
from frontguard.simulation.adversaries import strongest
from frontguard.simulation.engine import drive_by_turns
from frontguard.simulation.environments import Quantiled, bootstrap, gaussian
from frontguard.theory.bounds import theorem1_gap_dependent, theorem1_worst_case
from frontguard.theory.schedule import Schedule
from frontguard.theory.spread import CustomSpread, Gaussian, SpreadBound, Subgaussian
from frontguard.theory.threats import Threat
from frontguard.verdicts import BEYOND, OPEN, WITHIN

WORK = 3 * 10**6
"""Pulls after which no more runs of a policy under an attack are begun: it keeps a plan within some twenty seconds."""

MOST_PULLS = 10**6
"""Pulls after which one run is cut off ..."""

WORST_OF_RPSI, MOST_PULLS_OF_RPSI = 10**7, 10**5
"""... and one of R-PSI: it knows no budget, so if it might exceed the first, it is driven from outside, slowly, and cut
off after the second."""

MOST_ARMS = 200
"""Arms that are simulated. Of more, so many are, each with the same share of δ, and pulls are multiplied."""

MOST_PILOT_ARMS = 1000
"""Arms of a pilot, which cannot be thinned out, beyond which a plan is refused: its cost grows with their square."""

AT_A_TIME = 4
"""Runs that are begun together. A fixed number, so that a plan does not depend on how many cores there are."""

ROWS = 512
"""Values of an arm that pulls are drawn from where something else than medians counts: so fine are its shares."""

MOST_PHASES = 10**6
"""Phases beyond which R-PSI is not simulated: its tables alone would take longer than the rest of the plan."""


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be identified. Tolerances are inner ones (see `frontguard.objectives`), one for each objective.

    Arms come from a pilot log, or are normal with deviation `sigma` and medians drawn uniformly from a box with sides
    `span`, a new one for every run. `spread` is the R that the policies are given. What counts of the `metrics` may be
    something else than a median: then rates are drawn uniformly between 0 and 1, with values that are 0 or 1, which
    spread most, and exact values from [0, `span`]. With `limits`, arms are drawn around them (`planning.reach`), and
    rows of the pilot have a value for each of `columns.boxed`.
    """

    threat: Threat
    arms: int
    objectives: int
    delta: float
    accuracy: Floats
    coverage: Floats
    sigma: float | None = None
    spread: SpreadBound | None = None
    span: float | None = None
    pilot: Pilot | None = None
    metrics: tuple[Objective, ...] = ()
    goal: str = "front"  # or "list": what the certified policy is to return
    limits: tuple[Limit, ...] = ()

    @classmethod
    def of(
        cls,
        question: Question,
        arms: int,
        *,
        spread: Gaussian | Subgaussian | None = None,
        span: float | None = None,
        pilot: Pilot | None = None,
    ) -> Task:
        """What a question asks of so many arms, which come from a pilot, or spread so much."""
        accuracy = tolerances(question.objectives)
        return cls(
            question.threat,
            arms,
            len(question.objectives),
            question.delta,
            accuracy,
            accuracy if question.coverage is None else np.array(question.coverage),
            sigma=None if spread is None else spread.sigma,
            spread=spread if any(each.has_quantile for each in question.objectives) else None,  # R is of objectives
            span=span,
            pilot=pilot,
            metrics=question.objectives,
            goal=question.goal,
            limits=question.limits,
        )

    def __post_init__(self) -> None:
        checked_count(self.arms, "arms (K)")
        checked_count(self.objectives, "objectives (M)")
        checked_delta(self.delta)
        if self.arms < 2:
            raise BadInput(f"arms (K) must be at least 2: there is nothing to compare otherwise; got {self.arms}")
        if self.pilot is not None and self.arms > MOST_PILOT_ARMS:
            raise BadInput(f"a pilot may have {MOST_PILOT_ARMS:,} arms at most for a plan; got {self.arms:,}")
        for name in ("accuracy", "coverage"):
            object.__setattr__(self, name, checked_tolerance(getattr(self, name), self.objectives, name))
        if not self.metrics:
            named = tuple(Objective(f"objective {d + 1}") for d in range(self.objectives))
            object.__setattr__(self, "metrics", named)
        self._check_noise()
        checked_statistics(self.statistics, 0.5, self.width, self.threat)
        if self.pilot is None and self.span is None:
            widest = max([self.sigma or 0.0, *(each.sigma or 0.0 for each in self.metrics)])
            object.__setattr__(self, "span", max(10.0 * float(self.accuracy.max()), 5.0 * widest) or 1.0)

    def _check_noise(self) -> None:
        """Refuse arms of which it is not known, or known twice, how their values spread."""
        quantiles = [each for each in self.columns.metrics if each.has_quantile]
        unknown = self.pilot is None and self.sigma is None and quantiles
        if unknown or (self.pilot is not None and self.sigma is not None):
            raise BadInput("a plan needs either the deviation of the rewards (sigma) or a pilot log, and not both")
        if self.pilot is not None:
            return
        for each in self.metrics:
            if each.has_quantile and each.level != 0.5:
                raise BadInput(f"a plan without a pilot log is for medians and means; got the {each.statistic_word}")
        check_drawable(self.columns)

    @property
    def columns(self) -> Columns:
        """What a pull measures, and what has a box: the objectives, and behind these what is only limited."""
        return columns_for(self.metrics, self.limits)

    @property
    def width(self) -> int:
        """How many boxes an arm has."""
        return len(self.columns.boxed)

    @property
    def statistics(self) -> tuple[Statistic, ...]:
        """What counts of each objective, and of what is limited, of which R says nothing."""
        counted = statistics_of(self.columns.boxed)
        return tuple(each._replace(spread=each.spread and d < self.objectives) for d, each in enumerate(counted))

    @property
    def limit_rule(self) -> LimitRule | None:
        """The limits as the policy reads them; None without."""
        return LimitRule.of(self.columns.gates) if self.limits else None

    @property
    def medians_only(self) -> bool:
        """Whether it is medians that count, and nothing else: what R, and the paper, speak of."""
        return not self.limits and all(each.statistic_word == "median" for each in self.metrics)

    @property
    def unit(self) -> Floats:
        """(M,), in which R-PSI, that knows one α for all, is run on a pilot: the accuracy of each; 1 where it is 0."""
        return np.ones(self.objectives) if self.pilot is None else np.where(self.accuracy > 0, self.accuracy, 1.0)

    def environment(self, seed: int, run: int) -> Quantiled:
        """The arms of a run."""
        if self.pilot is not None:
            return bootstrap(self.pilot.complete_points, self.pilot.complete_arms)
        assert self.span is not None
        rng = np.random.default_rng([seed, run])
        if self.limits:
            drawn = drawn_around(self.columns, self.arms, ROWS, self.sigma, self.span, rng)
            return bootstrap(drawn, np.repeat(np.arange(self.arms), ROWS))
        centres = rng.uniform(0.0, self.span, (self.arms, self.objectives))
        if self.medians_only:
            return gaussian(centres, self.sigma or 0.0)
        points = np.stack([self._values(d, centres[:, d], rng) for d in range(self.objectives)], axis=2)
        return bootstrap(points.reshape(-1, self.objectives), np.repeat(np.arange(self.arms), ROWS))

    def _values(self, d: int, centres: Floats, rng: np.random.Generator) -> Floats:
        """Values (K, ROWS) that simulated pulls of an objective are drawn from, as samples hold them."""
        metric, kind = self.metrics[d], self.statistics[d].kind
        places = (rng.permuted(np.tile(np.arange(ROWS), (self.arms, 1)), axis=1) + 0.5) / ROWS
        if kind == EXACT:
            return np.repeat(centres[:, None], ROWS, axis=1)
        if kind == BOUNDED_MEAN:
            rates = centres / float(self.span or 1.0)
            return (places < rates[:, None]).astype(np.float64)
        return centres[:, None] + float(metric.sigma or self.sigma or 0.0) * ndtri(places)

    def attack(self, environment: Quantiled) -> Adversary | None:
        """The worst attacker on these arms: with limits, what is limited is pushed to the wrong side of them."""
        if not self.limits:
            return worst_attack(environment, self.threat, self.statistics)
        true, down = truly_within(environment, self.columns)
        keeps = down.all(axis=1)
        front = np.zeros(self.arms, np.bool_)
        if keeps.any():
            front[keeps] = pareto_mask(true[keeps, : self.objectives])
        down[:, : self.objectives] = front[:, None]
        return worst_attack(environment, self.threat, self.statistics, down)

    def scaled(self) -> Task:
        """The same on a pilot in units of the accuracy: every objective has accuracy 1 (or 0)."""
        if self.pilot is None:
            return self
        unit = self.unit
        pilot = replace(self.pilot, values=self.pilot.values / unit)
        return replace(self, accuracy=self.accuracy / unit, coverage=self.coverage / unit, pilot=pilot, spread=None)


def worst_attack(
    environment: Quantiled,
    threat: Threat,
    statistics: Sequence[Statistic] | None = None,
    down: Bools | None = None,
) -> Adversary | None:
    """The worst attacker that we have for the threat model: it pushes the front down, all others up. None at ε = 0.

    What is exact it leaves alone, and where values have bounds it keeps within them. `down` (K, C) says otherwise what
    is pushed down.
    """
    if threat.eps == 0.0:
        return None
    counted = [Statistic()] * environment.objectives if statistics is None else statistics
    kinds = np.array([each.kind for each in counted])
    bounded = kinds == BOUNDED_MEAN
    within = np.where(bounded, 0.0, -np.inf), np.where(bounded, 1.0, np.inf)
    if down is None:
        means = environment.medians if environment.means is None else environment.means
        down = pareto_mask(np.where(bounded, means, environment.medians))[:, None]
    direction = np.where(kinds == EXACT, 0, np.where(down, -1, 1))
    spread = (environment.law.quantile(0.99) - environment.law.quantile(0.01)).max()
    far = 10.0 * float(np.ptp(environment.medians)) + 10.0 * float(spread)
    return strongest(environment, threat, direction, distance=far or 1.0, within=within)


@dataclass(frozen=True)
class SimulatedCost:
    """What simulated runs of a policy took: pulls of all arms together."""

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
    note: str

    def to_dict(self, metrics: Sequence[Objective]) -> dict[str, Any]:
        """Plain values that JSON can hold; what was promised is in the units of the metrics."""
        known = {name: plain(value) for name, value in vars(self).items() if name not in ("capped", "note")}
        for name, inner in (("accuracy", self.accuracy), ("coverage", self.coverage)):
            known[name] = None if inner is None else plain(differences_in_units(metrics, inner))
        if not self.runs:
            known |= {"least": None, "most": None}
        return known | {"more_than": self.capped > 0, "cut_off": self.capped}


class RunWatcher(Protocol):
    """Is told how far the runs are: `show(what, finished, all, seconds left)`."""

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


def simulated_policies(task: Task) -> list[SimulatedPolicy]:
    """The certified policy, with R and without, and R-PSI for the same goal (or the nearest that it can promise).

    R-PSI compares medians: where something else counts, it has nothing to promise.
    """
    listed = []
    spreads = [("certified", task.spread), ("certified without R", None)]
    for name, spread in spreads if task.spread is not None else [("certified", None)]:
        try:
            policy: Policy | None = Certified(
                task.arms, task.objectives, threat=task.threat, accuracy=task.accuracy, coverage=task.coverage,
                delta=task.delta, spread=spread, t_bar=T_BAR, statistics=task.statistics, max_pulls=MOST_PULLS,
                goal=task.goal, limits=task.limit_rule,
            )  # fmt: skip
            note = ""
        except BadInput as error:  # h beyond t̄: nothing can be done with R
            policy, note = None, str(error)
        listed.append(SimulatedPolicy(name, task, policy, task.accuracy, task.coverage, note))
    return [*listed, _rpsi(task)] if task.medians_only else listed


def rpsi_schedule(task: Task) -> tuple[Schedule, float] | None:
    """R-PSI's schedule and α for the goal; α = γ − 2D if it can promise the goal, else α = γ.

    None if it has no R, or no lemmas for the threat or for what counts. On a pilot it is run in units of the accuracy,
    with the spread that the pilot shows.
    """
    if not task.medians_only:
        return None
    scaled = task.scaled()
    spread = task.spread if scaled.pilot is None else pilot_spread(scaled.pilot)
    possible = task.threat.has_lemmas and task.threat.eps < task.threat.largest_eps(T_BAR)
    if spread is None or not scaled.accuracy.min() > 0.0 or not possible:
        return None
    schedule = Schedule(task.threat, spread, task.arms, task.objectives, task.delta, T_BAR)
    goal, floor = float(scaled.accuracy.min()), 2.0 * schedule.bias
    alpha = goal - floor if floor < goal and floor <= float(scaled.coverage.min()) else goal
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
            task.arms, task.objectives, threat=task.threat, spread=schedule.spread, accuracy=alpha, delta=task.delta,
            t_bar=T_BAR,
        )  # fmt: skip
    except BadInput:
        note = f"R-PSI is not simulated: it might take more than {MOST_PHASES:,} phases an arm"
    return SimulatedPolicy("R-PSI", task.scaled(), policy, accuracy, coverage, note)


def pilot_spread(pilot: Pilot) -> SpreadBound:
    """The least R that the pilot's quantiles allow, over all arms and objectives; larger is safe, smaller is not."""
    levels = np.linspace(0.0, T_BAR, 491)
    medians = pilot.quantiles(0.5)
    reach = [
        float(max((pilot.quantiles(0.5 + t) - medians).max(), (medians - pilot.quantiles(0.5 - t)).max()))
        for t in levels
    ]
    bounds = np.maximum.accumulate(reach)
    return CustomSpread(lambda t: np.interp(t, levels, bounds))


def _one_run(simulated: SimulatedPolicy, attacked: bool, seed: int, run: int) -> tuple[int, str]:
    """Pulls of one run, and how it ended: certified, unreachable, or budget."""
    policy = simulated.policy
    assert policy is not None
    environment = simulated.task.environment(seed, run)
    adversary = simulated.task.attack(environment) if attacked else None
    if isinstance(policy, RPSI) and policy.arms * float(policy.phase_pulls.sum()) > WORST_OF_RPSI:
        # R-PSI knows no budget of its own: ask and tell, phase by phase, until it is used up.
        live = policy.fresh()
        drive_by_turns(live, Streams(RewardSource(environment, adversary), seed, run), MOST_PULLS_OF_RPSI)
        return int(live.pulls_per_arm.sum()), "certified" if live.done else "budget"
    ended = simulate_one(policy, environment, adversary, seed=seed, run=run)
    return int(ended.pulls_per_arm.sum()), ended.result().status


def simulate_cost(
    task: Task, *, runs: int = 20, seed: int = 0, watcher: RunWatcher | None = None
) -> list[SimulatedCost]:
    """Simulate every policy, without an attack and under the worst one; run r of a seed has the same arms for all.

    Where runs are long there are fewer of them, four at least: see `WORK`.
    """
    checked_count(runs, "runs")
    if task.pilot is None and task.arms > MOST_ARMS:
        factor = task.arms / MOST_ARMS
        smaller = replace(task, arms=MOST_ARMS, delta=task.delta / factor)
        return [
            replace(row, mean=factor * row.mean, least=int(factor * row.least), most=int(factor * row.most))
            for row in simulate_cost(smaller, runs=runs, seed=seed, watcher=watcher)
        ]
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
            ended: list[tuple[int, str]] = []
            while simulated.policy is not None and len(ended) < runs and sum(pulls for pulls, _ in ended) < WORK:
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
            costs.append(_summed_up(simulated, attack, ended))
    return costs


def _summed_up(simulated: SimulatedPolicy, attack: str, ended: list[tuple[int, str]]) -> SimulatedCost:
    pulls, stops = [pulls for pulls, _ in ended], [stop for _, stop in ended]
    return SimulatedCost(
        policy=simulated.name,
        attack=attack,
        accuracy=_as_tuple(simulated.accuracy),
        coverage=_as_tuple(simulated.coverage),
        runs=len(ended),
        mean=math.fsum(pulls) / len(ended) if ended else math.nan,
        least=min(pulls, default=0),
        most=max(pulls, default=0),
        certified=stops.count("certified"),
        unreachable=stops.count("unreachable"),
        capped=stops.count("budget"),
        note=simulated.note,
    )


def _as_tuple(values: Floats) -> tuple[float, ...] | None:
    return tuple(float(value) for value in values) if np.isfinite(values).all() else None


# The plan.


@dataclass(frozen=True, eq=False)
class CostPlan:
    """All that can be said beforehand. Widths are in the units of the metrics, or shares of a relative one (M,)."""

    task: Task
    floor: tuple[float, ...]  # what stays open between two arms, however many pulls
    floor_arms: tuple[str, ...] | None  # the arms of the pilot that it is widest for
    rpsi_floor: tuple[float, ...] | None  # 2D with the R that R-PSI is given
    possible_up_to: float | None  # ε beyond which no method can promise the goal
    safe_up_to: float | None  # ε up to which, in the end, the certified policy's boxes allow it under every attack
    first_pulls: dict[str, int]  # of every arm, before which nothing can be said
    theorem1_worst_case: float | None
    theorem1_gaps: float | None  # mean over the instances
    costs: tuple[SimulatedCost, ...]
    limits: tuple[LimitFloor, ...] = ()

    @property
    def possible(self) -> bool:
        """Whether any method could promise the goal."""
        return self.possible_up_to is not None and self.task.threat.eps <= self.possible_up_to

    @property
    def safe(self) -> bool:
        """Whether in the end the certified policy's boxes allow the goal, whatever the attacker does."""
        return self.safe_up_to is not None and self.task.threat.eps <= self.safe_up_to

    def of(self, policy: str, attack: str = "none") -> SimulatedCost:
        """The forecast of a policy."""
        return next(row for row in self.costs if (row.policy, row.attack) == (policy, attack))

    def to_dict(self) -> dict[str, Any]:
        """Plain values that JSON can hold; what is not bounded or not known becomes None."""
        task = self.task
        source = "pilot" if task.pilot is not None else "normal" if task.medians_only else "mixed"
        return {
            "arms": task.arms,
            "objectives": [_metric_entries(metric) for metric in task.metrics],
            "threat": task.threat.name,
            "contamination": task.threat.eps,
            "confidence": round(1.0 - task.delta, 12),
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


def make_plan(task: Task, *, runs: int = 20, seed: int = 0, watcher: RunWatcher | None = None) -> CostPlan:
    """What the task costs and what can be had, from quantiles and simulated runs.

    >>> from frontguard import Gaussian, Prescient
    >>> task = Task(Prescient(0.1), 4, 2, 0.1, 0.2, 0.2, sigma=0.2, spread=Gaussian(0.2))
    >>> plan = make_plan(task, runs=2)
    >>> plan.possible, plan.of("certified").mean < plan.of("R-PSI").mean
    (True, True)
    """
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
        limit_floors(task.columns, task.threat, task.sigma, task.pilot, ends_of(task, None)) if task.limits else (),
    )  # fmt: skip


def _reach(task: Task) -> tuple[Floats, tuple[str, ...] | None, float | None, float | None]:
    """The floor (M,) with the arms it is widest for, and up to which ε the goal can be had, at all and safely."""
    model, goal = type(task.threat), (task.accuracy, task.coverage)
    if task.pilot is not None:
        low, high = (ends[:, : task.objectives] for ends in pilot_limits(task.pilot, task.threat, task.statistics))
        widest = (high - low).argmax(axis=0)
        return (
            (high - low).max(axis=0),
            tuple(task.pilot.names[i] for i in widest),
            largest_contamination(lambda eps: _any_method_can(task, model(eps))),
            largest_contamination(lambda eps: _boxes_allow(task, model(eps))),
        )
    pairs = list(zip(task.metrics, affordable_width(*goal).tolist(), strict=True))
    return (
        np.array([_closest(task, metric, task.threat) for metric in task.metrics]),
        None,
        largest_contamination(lambda eps: all(_closest(task, each, model(eps)) <= width for each, width in pairs)),
        largest_contamination(lambda eps: all(_longest(task, each, model(eps)) <= width for each, width in pairs)),
    )


def _any_method_can(task: Task, threat: Threat) -> bool:
    """Whether intervals that no method can shrink, of a pilot's arms, allow the goal.

    With limits there are two reasons why they do not. The arms that every method sees to be within may not allow it:
    the others may be beyond, and then the front is of these alone. Or an arm that may be within and may be beyond is
    such that, were it within, no other one might cover it.
    """
    assert task.pilot is not None
    low, high = pilot_limits(task.pilot, threat, task.statistics, any_method=True)
    rule, M = task.limit_rule, task.objectives
    if rule is None:
        return can_certify(low, high, task.accuracy, task.coverage)
    keeping = keeping_at_all(low, high, rule)
    low, high = low[:, :M], high[:, :M]
    for i in np.flatnonzero(keeping == OPEN).tolist():
        others = np.flatnonzero((keeping != BEYOND) & (np.arange(task.arms) != i))
        if not (high[i] - low[others] <= task.coverage).all(axis=1).any():
            return False
    within = keeping == WITHIN
    return not within.any() or can_certify(low[within], high[within], task.accuracy, task.coverage)


def _boxes_allow(task: Task, threat: Threat) -> bool:
    """Whether the boxes that any attack can leave of a pilot's arms allow the goal."""
    assert task.pilot is not None
    low, high = pilot_limits(task.pilot, threat, task.statistics, attacked=True)
    return can_certify(low, high, task.accuracy, task.coverage, task.limit_rule)


def _closest(task: Task, metric: Objective, threat: Threat) -> float:
    """How close normal arms, or rates, may be so that no method tells them apart; 0 where nothing is replaced."""
    if metric.has_quantile:
        return bias_floor(task.sigma or 0.0, threat)
    if metric.sigma is not None and threat.eps > 0.0:
        return math.inf
    floor = mean_floor(metric, threat)
    return math.log1p(floor) if metric.relative else floor


def _longest(task: Task, metric: Objective, threat: Threat) -> float:
    """The longest box that an attack can leave the certified policy for ever, of an objective of such arms."""
    if metric.has_quantile:
        return lasting_length(task.sigma or 0.0, threat, task.spread)
    return _closest(task, metric, threat)


def _first_pulls(task: Task, spread: SpreadBound | None) -> int:
    """Pulls of an arm before which nothing that is noisy is bounded, whatever is measured."""
    if task.medians_only:
        return first_pulls(task.threat, task.arms, task.objectives, task.delta, spread)
    ends = zip(ends_of(task, spread), [each for each in task.statistics for _ in range(2)], strict=True)
    noisy = [end for end, each in ends if end is not None and each.kind != EXACT]
    return min(noisy, default=1)


def ends_of(task: Task, spread: SpreadBound | None) -> list[int | None]:
    """For both ends of each box of the certified policy the pulls before which it is not bounded."""
    rule = box_rule(
        task.threat, arms=task.arms, objectives=task.width, delta=task.delta, spread=spread, t_bar=T_BAR,
        statistics=task.statistics,
    )  # fmt: skip
    return first_bounded(rule)


def _theorem1(task: Task, schedule: Schedule, alpha: float, runs: int, seed: int) -> tuple[float | None, float | None]:
    """Both lines of Theorem 1, the first as the mean over the instances; None where τ_(α) is beyond all tables."""
    scaled = task.scaled()
    few = 1 if task.pilot is not None or task.arms > MOST_ARMS else runs  # many arms are their own average
    instances = [scaled.environment(seed, run) for run in range(few)]
    try:
        by_gaps = math.fsum(theorem1_gap_dependent(schedule, each.gaps, alpha) for each in instances)
        return theorem1_worst_case(schedule, alpha), by_gaps / len(instances)
    except BadInput:
        return None, None
