"""Planning: what an identification would cost, and what it can promise at all, before the first real pull.

Two kinds of answer. What *can be had* follows from quantiles alone: however many pulls are spent, an attacker leaves
every median somewhere in an interval. If none is longer than ℓ, a set of accuracy γ and coverage c exists whenever

    ℓ ≤ γ   and   2ℓ ≤ γ + c.                                                                        (P)

Let i not be in: some j has H_j − L_i > γ in every objective. Then H_i − L_j ≤ (L_i + ℓ) − (H_j − ℓ) < 2ℓ − γ ≤ c: j
covers i. And L_j ≥ H_j − ℓ > L_i, so that whoever keeps j from being in also keeps i from it, and lies higher still;
the highest of them is in. Conversely, where medians may truly be anywhere in their intervals and ℓ violates (P), there
are two arms for which no set is right in all cases. Normal rewards leave ℓ = 2D to any method (Lemma 3), so (P) with 2D
is what *any* method needs; (P) with the longest box that an attack can leave is enough for the boxes of our policy.

What it *costs* is simulated, on random instances or on the arms of a pilot log.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from frontguard.boundaries import first_useful_pulls
from frontguard.bounds import theorem1_gap_dependent, theorem1_worst_case
from frontguard.boxes import SHIFTS, STRENGTH, UNSHIFTED_SHARE
from frontguard.errors import BadInput
from frontguard.objectives import Objective
from frontguard.policies import RPSI, Certified, Policy
from frontguard.schedule import Schedule, checked_count, checked_delta
from frontguard.simulation import Adversary, Source, Streams, simulate_one
from frontguard.simulation.adversaries import constant_attack, worst_case, worst_case_prescient
from frontguard.simulation.environments import Quantiled, bootstrap, gaussian
from frontguard.spread import CustomSpread, Gaussian, SpreadBound
from frontguard.threats import Malicious, Prescient, Threat

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

T_BAR = 0.49
"""t̄, up to where R is used; the policies' own default."""

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

MOST_PHASES = 10**6
"""Phases beyond which R-PSI is not simulated: its tables alone would take longer than the rest of the plan."""


FEWEST_ROWS = 5
"""Measurements of an arm without which a pilot says nothing about its quantiles."""

# The pilot.


@dataclass(frozen=True, eq=False)
class Pilot:
    """Measurements made beforehand, taken as clean: inner values (n, M), NaN where one failed, and the arm of each row.

    >>> pilot = Pilot(("a", "b"), np.arange(12.0).reshape(12, 1), np.repeat([0, 1], 6))
    >>> pilot.quantiles(0.5).ravel().tolist()
    [2.5, 8.5]
    """

    names: tuple[str, ...]
    values: Floats
    arm_of_row: npt.NDArray[np.int64]

    def __post_init__(self) -> None:
        for i, name in enumerate(self.names):
            usable = int((self.complete_arms == i).sum())
            if usable < FEWEST_ROWS:
                raise BadInput(
                    f"a pilot needs at least {FEWEST_ROWS} rows of every arm in which no objective failed; "
                    f"got {usable} of arm {name!r}"
                )

    @property
    def arms(self) -> int:
        """K."""
        return len(self.names)

    @property
    def objectives(self) -> int:
        """M."""
        return int(self.values.shape[1])

    @property
    def failed(self) -> int:
        """Measurements that failed, over all objectives."""
        return int(np.isnan(self.values).sum())

    @property
    def complete_points(self) -> Floats:
        """The rows (n', M) in which nothing failed."""
        return self.values[~np.isnan(self.values).any(axis=1)]

    @property
    def complete_arms(self) -> npt.NDArray[np.int64]:
        """Their arms (n',)."""
        return self.arm_of_row[~np.isnan(self.values).any(axis=1)]

    def divided_by(self, unit: Floats) -> Pilot:
        """The same in other units, one for each objective."""
        return replace(self, values=self.values / unit)

    def quantiles(self, level: float, *, failed_below: bool | None = None) -> Floats:
        """Quantiles (K, M), interpolated; failed measurements count at −∞ or +∞, or not at all (None)."""
        found = np.empty((self.arms, self.objectives))
        for i in range(self.arms):
            rows = self.values[self.arm_of_row == i]
            for d in range(self.objectives):
                good = rows[~np.isnan(rows[:, d]), d]
                lost = 0 if failed_below is None else len(rows) - len(good)
                count = level * (len(good) + lost) - (lost if failed_below else 0)
                at = count / len(good)
                found[i, d] = np.quantile(good, at) if 0.0 < at < 1.0 else math.copysign(math.inf, at - 0.5)
        return found


# What no number of pulls can change.


def bias_floor(sigma: float, threat: Threat) -> float:
    """2D = 2σ Φ⁻¹(1/2 + h): normal arms that are closer than this no method can tell apart (Lemma 3).

    >>> from frontguard import Malicious
    >>> round(bias_floor(1.0, Malicious(0.2)), 4)
    1.0488
    """
    return 2.0 * Gaussian(sigma)(threat.shift)


def affordable_width(accuracy: npt.ArrayLike, coverage: npt.ArrayLike) -> Floats:
    """min(γ, (γ + c)/2): the longest ℓ with which accuracy γ and coverage c can be had, condition (P) above."""
    gamma, c = np.asarray(accuracy, np.float64), np.asarray(coverage, np.float64)
    return np.minimum(gamma, 0.5 * (gamma + c))


def attacked_levels(threat: Threat, t: float, below: float) -> tuple[float, float]:
    """Clean levels at which endless pulls bound the quantiles of level 1/2 ± t, from below and from above.

    The attacker puts the share `below` of all measurements far below and the rest of ε far above. A malicious one takes
    them from between the two bounds. Levels outside (0, 1) mean that nothing bounds that side.
    """
    kept = threat.keep(0.5 + t)
    if isinstance(threat, Malicious):
        return kept - below, 1.0 - kept + threat.eps - below
    return (kept - below) / (1.0 - threat.eps), (1.0 - kept - below) / (1.0 - threat.eps)


def lasting_length(sigma: float, threat: Threat, spread: SpreadBound | None = None) -> float:
    """ℓ: the longest box that an attack on normal rewards can leave the certified policy, for ever; ∞ if unbounded.

    Over all ways to split the replacements between far below and far above, each with the best of the policy's shifts.

    >>> from frontguard import Prescient
    >>> round(lasting_length(1.0, Prescient(0.1)), 4), round(bias_floor(1.0, Prescient(0.1)), 4)
    (0.2822, 0.2794)
    """
    longest = 0.0
    for below in np.linspace(0.0, threat.eps, 65):
        low, high = -math.inf, math.inf
        for t, cost, _ in _shifts(threat, spread):
            from_below, from_above = attacked_levels(threat, t, float(below))
            if from_below > 0.0:
                low = max(low, sigma * float(ndtri(min(from_below, 1.0))) - cost)
            if from_above < 1.0:
                high = min(high, sigma * float(ndtri(max(from_above, 0.0))) + cost)
        longest = max(longest, high - low)
    return longest


def _shifts(threat: Threat, spread: SpreadBound | None) -> list[tuple[float, float, float]]:
    """The certified policy's shifts t, what each costs, R(t), and its share of δ; see `frontguard.boxes`."""
    if spread is None or not threat.eps < threat.largest_eps(T_BAR):
        return [(0.0, 0.0, 1.0)]
    total = UNSHIFTED_SHARE + len(SHIFTS)
    shifted = [threat.shift + f * (T_BAR - threat.shift) for f in SHIFTS]
    return [(0.0, 0.0, UNSHIFTED_SHARE / total), *((t, spread(t), 1.0 / total) for t in shifted)]


def first_pulls(threat: Threat, arms: int, objectives: int, delta: float, spread: SpreadBound | None = None) -> int:
    """Pulls of one arm before which its box is unbounded, whatever is measured.

    >>> from frontguard import Prescient
    >>> first_pulls(Prescient(0.1), 16, 2, 0.05) > first_pulls(Prescient(0.1), 16, 2, 0.05, Gaussian(0.2))
    True
    """
    share = checked_delta(delta) / (2.0 * arms * objectives)
    return min(
        first_useful_pulls(threat.keep(0.5 + t), share * part, strength=STRENGTH)
        for t, _, part in _shifts(threat, spread)
    )


def pilot_limits(pilot: Pilot, threat: Threat, *, attacked: bool = False) -> tuple[Floats, Floats]:
    """[L, H], both (K, M): what endless pulls leave of the boxes if they go on like the pilot, without any R.

    Without an attack that is [Q(keep(1/2)), Q(1 − keep(1/2))] of the pilot. Attacked: the lowest L and the highest H
    that any attack can bring about.
    """
    levels = threat.keep(0.5), 1.0 - threat.keep(0.5)
    if attacked:
        levels = attacked_levels(threat, 0.0, threat.eps)[0], attacked_levels(threat, 0.0, 0.0)[1]
    return pilot.quantiles(levels[0], failed_below=True), pilot.quantiles(levels[1], failed_below=False)


def can_certify(low: Floats, high: Floats, accuracy: Floats, coverage: Floats) -> bool:
    """Whether boxes (K, M) allow a set: each arm is out, or in, or covered by one that is in."""
    arms = np.arange(len(low))
    lead = low[None, :, :] - high[:, None, :]  # by how much j is certainly better than i
    dominates: Bools = np.all(lead >= 0, axis=2)
    dominates &= np.any(lead > 0, axis=2)
    out: Bools = np.any(dominates, axis=1)
    alive = np.flatnonzero(~out)
    beaten: Bools = np.all(high[None, :, :] - low[:, None, :] > accuracy, axis=2)  # j might beat i by more than γ
    covers: Bools = np.all(high[:, None, :] - low[None, :, :] <= coverage, axis=2)  # j covers i
    beaten[arms, arms] = False
    inside = [i for i in alive if not beaten[i, alive].any()]
    return len(inside) > 0 and all(i in inside or bool(covers[i, inside].any()) for i in alive)


def largest_contamination(possible: Callable[[float], bool]) -> float | None:
    """The supremum of the ε in [0, 1/2) up to which something is possible; None if it is not even at 0."""
    if not possible(0.0):
        return None
    good, bad = 0.0, 0.5
    for _ in range(50):
        middle = 0.5 * (good + bad)
        if possible(middle):
            good = middle
        else:
            bad = middle
    return good


# What it costs.


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be identified. Tolerances are inner ones (see `frontguard.objectives`), one for each objective.

    Arms come from a pilot log, or are normal with deviation `sigma` and medians drawn uniformly from a box with sides
    `span`, a new one for every run. `spread` is the R that the policies are given.
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

    def __post_init__(self) -> None:
        checked_count(self.arms, "arms (K)")
        checked_count(self.objectives, "objectives (M)")
        checked_delta(self.delta)
        if self.arms < 2:
            raise BadInput(f"arms (K) must be at least 2: there is nothing to compare otherwise; got {self.arms}")
        if self.pilot is not None and self.arms > MOST_PILOT_ARMS:
            raise BadInput(f"a pilot may have {MOST_PILOT_ARMS:,} arms at most for a plan; got {self.arms:,}")
        if (self.sigma is None) == (self.pilot is None):
            raise BadInput("a plan needs either the deviation of the rewards (sigma) or a pilot log, and not both")
        for name in ("accuracy", "coverage"):
            array = np.broadcast_to(np.asarray(getattr(self, name), np.float64), (self.objectives,)).copy()
            if not (np.isfinite(array) & (array >= 0)).all():
                raise BadInput(f"{name} must be finite and not negative; got {array.tolist()!r}")
            object.__setattr__(self, name, array)
        if not self.metrics:
            named = tuple(Objective(f"objective {d + 1}") for d in range(self.objectives))
            object.__setattr__(self, "metrics", named)
        if self.sigma is not None and self.span is None:
            object.__setattr__(self, "span", max(10.0 * float(self.accuracy.max()), 5.0 * self.sigma))

    @property
    def unit(self) -> Floats:
        """Of every objective (M,): its accuracy, in which R-PSI, that knows one α for all, is run; 1 where it is 0."""
        return np.where(self.accuracy > 0, self.accuracy, 1.0)

    def environment(self, seed: int, run: int) -> Quantiled:
        """The arms of a run."""
        if self.pilot is not None:
            return bootstrap(self.pilot.complete_points, self.pilot.complete_arms)
        assert self.sigma is not None
        assert self.span is not None
        medians = np.random.default_rng([seed, run]).uniform(0.0, self.span, (self.arms, self.objectives))
        return gaussian(medians, self.sigma)

    def scaled(self) -> Task:
        """The same in units of the accuracy: every objective has accuracy 1 (or 0)."""
        unit = self.unit
        if self.pilot is None:
            return self
        return replace(
            self,
            accuracy=self.accuracy / unit,
            coverage=self.coverage / unit,
            pilot=self.pilot.divided_by(unit),
            spread=None,
        )


def worst_attack(environment: Quantiled, threat: Threat) -> Adversary | None:
    """The worst attacker that we have for the threat model: it pushes the front down, all others up. None at ε = 0."""
    if threat.eps == 0.0:
        return None
    direction = np.where(environment.pareto_mask, -1, 1)
    far = 10.0 * float(np.ptp(environment.medians)) + 10.0 * float(
        (environment.quantile(0.99) - environment.quantile(0.01)).max()
    )
    far = far or 1.0
    if isinstance(threat, Malicious):
        return worst_case(environment, threat.eps, direction, distance=far)
    if isinstance(threat, Prescient):
        return worst_case_prescient(environment, threat.eps, direction, distance=far)
    return constant_attack(threat.eps, environment.medians + far * direction[:, None])


@dataclass(frozen=True)
class Forecast:
    """What simulated runs of a policy took: pulls of all arms together."""

    policy: str
    attack: str
    accuracy: tuple[float, ...] | None  # what it promises; inner
    coverage: tuple[float, ...] | None
    runs: int = 0
    mean: float = math.nan
    least: int = 0
    most: int = 0
    certified: int = 0  # runs that ended with the promise
    unreachable: int = 0  # runs that saw that it cannot be had
    capped: int = 0  # runs that were cut off: the mean is more than this
    note: str = ""


class Watcher(Protocol):
    """Is told how far the runs are: `show(what, finished, all, seconds left)`."""

    def show(self, cell: str, done: int, total: int, left: float | None) -> None:
        """Say where the work is."""


@dataclass(frozen=True, eq=False)
class Contestant:
    """A policy to be simulated, with the task it is simulated on, and what it promises in inner units."""

    name: str
    task: Task
    policy: Policy | None
    accuracy: Floats
    coverage: Floats
    note: str = ""


def contestants(task: Task) -> list[Contestant]:
    """The certified policy, with R and without, and R-PSI for the same goal (or the nearest that it can promise)."""
    listed = []
    spreads = [("certified", task.spread), ("certified without R", None)]
    for name, spread in spreads if task.spread is not None else [("certified", None)]:
        try:
            policy: Policy | None = Certified(
                task.arms, task.objectives, threat=task.threat, accuracy=task.accuracy, coverage=task.coverage,
                delta=task.delta, spread=spread, t_bar=T_BAR, most_pulls=MOST_PULLS,
            )  # fmt: skip
            note = ""
        except BadInput as error:  # h beyond t̄: nothing can be done with R
            policy, note = None, str(error)
        listed.append(Contestant(name, task, policy, task.accuracy, task.coverage, note))
    listed.append(_rpsi(task))
    return listed


def rpsi_schedule(task: Task) -> tuple[Schedule, float] | None:
    """R-PSI's schedule and α for the goal; α = γ − 2D if it can promise the goal, else α = γ. None if it has no R.

    On a pilot it is run in units of the accuracy, with the spread that the pilot shows.
    """
    scaled = task.scaled()
    spread = task.spread if scaled.pilot is None else pilot_spread(scaled.pilot)
    if spread is None or not scaled.accuracy.min() > 0.0 or not task.threat.eps < task.threat.largest_eps(T_BAR):
        return None
    schedule = Schedule(task.threat, spread, task.arms, task.objectives, task.delta, T_BAR)
    goal, floor = float(scaled.accuracy.min()), 2.0 * schedule.bias
    alpha = goal - floor if floor < goal and floor <= float(scaled.coverage.min()) else goal
    return schedule, alpha


def _rpsi(task: Task) -> Contestant:
    found = rpsi_schedule(task)
    nothing = np.full(task.objectives, math.inf)
    if found is None:
        why = (
            "needs a positive accuracy" if not task.accuracy.min() > 0 else "can do nothing at so large a contamination"
        )
        return Contestant("R-PSI", task, None, nothing, nothing, f"R-PSI {why}")
    schedule, alpha = found
    scaled = task.scaled()
    unit = np.ones(task.objectives) if task.pilot is None else task.unit
    accuracy, coverage = unit * (2.0 * schedule.bias + alpha), unit * 2.0 * schedule.bias
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
    return Contestant("R-PSI", scaled, policy, accuracy, coverage, note)


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


def _one_run(contestant: Contestant, attacked: bool, seed: int, run: int) -> tuple[int, str]:
    """Pulls of one run, and how it ended: certified, unreachable, or budget."""
    policy = contestant.policy
    assert policy is not None
    environment = contestant.task.environment(seed, run)
    adversary = worst_attack(environment, contestant.task.threat) if attacked else None
    if isinstance(policy, RPSI) and policy.arms * float(policy.phase_pulls.sum()) > WORST_OF_RPSI:
        # R-PSI knows no budget of its own: ask and tell, phase by phase, until it is used up.
        live = policy.fresh()
        streams = Streams(Source(environment, adversary), seed, run)
        while not live.done and live.pulls_per_arm.sum() < MOST_PULLS_OF_RPSI:
            wanted = live.ask()
            live.tell(wanted, streams.take_batch(wanted))
        return int(live.pulls_per_arm.sum()), "certified" if live.done else "budget"
    ended = simulate_one(policy, environment, adversary, seed=seed, run=run)
    return int(ended.pulls_per_arm.sum()), ended.result().status


def forecast(task: Task, *, runs: int = 20, seed: int = 0, watcher: Watcher | None = None) -> list[Forecast]:
    """Simulate every policy, without an attack and under the worst one; run r of a seed has the same arms for all.

    Where runs are long there are fewer of them, four at least: see `WORK`.
    """
    checked_count(runs, "runs")
    if task.pilot is None and task.arms > MOST_ARMS:
        factor = task.arms / MOST_ARMS
        smaller = replace(task, arms=MOST_ARMS, delta=task.delta / factor)
        return [
            replace(row, mean=factor * row.mean, least=int(factor * row.least), most=int(factor * row.most))
            for row in forecast(smaller, runs=runs, seed=seed, watcher=watcher)
        ]
    jobs = [
        (contestant, attacked)
        for contestant in contestants(task)
        for attacked in ((False, True) if task.threat.eps > 0 else (False,))
    ]
    started = time.monotonic()
    forecasts: list[Forecast] = []
    with ThreadPoolExecutor() as threads:
        for number, (contestant, attacked) in enumerate(jobs):
            attack = "worst" if attacked else "none"
            row = Forecast(
                contestant.name, attack, _as_tuple(contestant.accuracy), _as_tuple(contestant.coverage),
                note=contestant.note,
            )  # fmt: skip
            ended: list[tuple[int, str]] = []
            while contestant.policy is not None and len(ended) < runs and sum(pulls for pulls, _ in ended) < WORK:
                batch = range(len(ended), min(len(ended) + AT_A_TIME, runs))
                futures = [threads.submit(_one_run, contestant, attacked, seed, run) for run in batch]
                busy = set(futures)
                while busy:
                    _, busy = wait(busy, timeout=0.2)
                    if watcher is not None:
                        done = number * runs + batch.stop - len(busy)
                        left = (time.monotonic() - started) * (len(jobs) * runs / done - 1.0) if done else None
                        watcher.show(f"{contestant.name}, attack: {attack}", done, len(jobs) * runs, left)
                ended += [future.result() for future in futures]
                if 2 * sum(stop == "budget" for _, stop in ended) >= len(ended):
                    break  # "more than" is all that further runs would say
            forecasts.append(_summed_up(row, ended))
    return forecasts


def _summed_up(row: Forecast, ended: list[tuple[int, str]]) -> Forecast:
    if not ended:
        return row
    pulls, stops = [pulls for pulls, _ in ended], [stop for _, stop in ended]
    return replace(
        row,
        runs=len(ended),
        mean=math.fsum(pulls) / len(ended),
        least=min(pulls),
        most=max(pulls),
        certified=stops.count("certified"),
        unreachable=stops.count("unreachable"),
        capped=stops.count("budget"),
    )


def _as_tuple(values: Floats) -> tuple[float, ...] | None:
    return tuple(float(value) for value in values) if np.isfinite(values).all() else None


# The plan.


@dataclass(frozen=True, eq=False)
class Plan:
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
    forecasts: tuple[Forecast, ...]

    @property
    def possible(self) -> bool:
        """Whether any method could promise the goal."""
        return self.possible_up_to is not None and self.task.threat.eps <= self.possible_up_to

    @property
    def safe(self) -> bool:
        """Whether in the end the certified policy's boxes allow the goal, whatever the attacker does."""
        return self.safe_up_to is not None and self.task.threat.eps <= self.safe_up_to

    def of(self, policy: str, attack: str = "none") -> Forecast:
        """The forecast of a policy."""
        return next(row for row in self.forecasts if (row.policy, row.attack) == (policy, attack))


def in_units(task: Task, widths: Sequence[float] | Floats) -> tuple[float, ...]:
    """Inner widths (M,) as a user knows them: themselves, or for a relative objective the share e^w − 1."""
    return tuple(
        float(np.expm1(width)) if metric.relative else float(width)
        for metric, width in zip(task.metrics, widths, strict=True)
    )


def make_plan(task: Task, *, runs: int = 20, seed: int = 0, watcher: Watcher | None = None) -> Plan:
    """What the task costs and what can be had, from quantiles and simulated runs.

    >>> from frontguard import Prescient
    >>> task = Task(Prescient(0.1), 4, 2, 0.1, 0.2, 0.2, sigma=0.2, spread=Gaussian(0.2))
    >>> plan = make_plan(task, runs=2)
    >>> plan.possible, plan.of("certified").mean < plan.of("R-PSI").mean
    (True, True)
    """
    model = type(task.threat)
    floor_arms = None
    if task.pilot is not None:
        pilot = task.pilot
        low, high = pilot_limits(pilot, task.threat)
        widest = (high - low).argmax(axis=0)
        floor = (high - low).max(axis=0)
        floor_arms = tuple(pilot.names[i] for i in widest)

        def reaches(eps: float, attacked: bool) -> bool:
            limits = pilot_limits(pilot, model(eps), attacked=attacked)
            return can_certify(*limits, task.accuracy, task.coverage)

        possible = largest_contamination(lambda eps: reaches(eps, False))
        safe = largest_contamination(lambda eps: reaches(eps, True))
    else:
        sigma = task.sigma
        assert sigma is not None
        width = float(affordable_width(task.accuracy, task.coverage).min())
        floor = np.full(task.objectives, bias_floor(sigma, task.threat))
        possible = largest_contamination(lambda eps: bias_floor(sigma, model(eps)) <= width)
        safe = largest_contamination(lambda eps: lasting_length(sigma, model(eps), task.spread) <= width)
    first = {"certified": first_pulls(task.threat, task.arms, task.objectives, task.delta, task.spread)}
    if task.spread is not None:
        first["certified without R"] = first_pulls(task.threat, task.arms, task.objectives, task.delta)
    bounded = rpsi_schedule(task)
    rpsi_floor = worst = by_gaps = None
    if bounded is not None:
        schedule, alpha = bounded
        first["R-PSI"] = schedule.first_pulls
        unit = np.ones(task.objectives) if task.pilot is None else task.unit
        rpsi_floor = in_units(task, 2.0 * schedule.bias * unit)
        worst, by_gaps = _theorem1(task, schedule, alpha, runs, seed)
    return Plan(
        task, in_units(task, floor), floor_arms, rpsi_floor, possible, safe, first, worst, by_gaps,
        tuple(forecast(task, runs=runs, seed=seed, watcher=watcher)),
    )  # fmt: skip


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
