"""The task of a plan: a question about arms that nobody has measured, and what is assumed of them.

Arms come from a pilot log, or are drawn anew for every run. Without a pilot nobody knows how far arms are from their
limits. What is limited of a metric is drawn uniformly to either side of its (first) limit, over the span of the arms; a
rate is uniform between 0 and 1, wherever its limit is. Where nobody said how values spread, their deviation is taken to
be the tolerance of their metric.

Pairs and clusters are drawn from a pilot that names them. Without one, arms are drawn independently, which is the least
that pairs can gain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from frontguard._common.typing import Bools, Floats, Ints
from frontguard.errors import BadInput
from frontguard.evidence.intervals import checked_statistics
from frontguard.evidence.kinds import Statistic, inner_of_mean
from frontguard.evidence.statistics import BOUNDED_MEAN, EXACT, NORMAL_MEAN, QUANTILE, statistic_of, statistics_of
from frontguard.limits import Columns
from frontguard.notices import RowsWithoutArm
from frontguard.objectives import Objective, tolerances
from frontguard.pareto.dominance import pareto_mask
from frontguard.pareto.relations import LimitRule
from frontguard.question import Question
from frontguard.simulation import Adversary
from frontguard.simulation.adversaries import strongest
from frontguard.simulation.environments import Quantiled, bootstrap, gaussian
from frontguard.theory.spread import Gaussian, SpreadBound, Subgaussian
from frontguard.theory.threats import Oblivious, Prescient, Threat

ROWS = 512
"""Values of an arm that pulls are drawn from where something else than medians counts: so fine are its shares."""

PLANNED = (QUANTILE, BOUNDED_MEAN, NORMAL_MEAN, EXACT)
"""The kinds of statistics of which it is known what endless pulls leave (`planning.reach`)."""

FEWEST_ROWS = 5
"""Measurements of an arm without which a pilot says nothing about its quantiles."""

MOST_PILOT_ARMS = 1000
"""Arms of a pilot, which cannot be thinned out, beyond which a plan is refused: its cost grows with their square."""


@dataclass(frozen=True, eq=False)
class Pilot:
    """Clean measurements (n, M), NaN where one failed, the arm of each row, and its item or cluster (`block_of_row`).

    >>> pilot = Pilot(("a", "b"), np.arange(12.0).reshape(12, 1), np.repeat([0, 1], 6))
    >>> pilot.quantiles(0.5).ravel().tolist()
    [2.5, 8.5]
    """

    names: tuple[str, ...]
    values: Floats
    arm_of_row: Ints
    block_of_row: Ints | None = None

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
    def complete(self) -> Bools:
        """The rows (n,) in which nothing failed, as a mask."""
        return np.asarray(~np.isnan(self.values).any(axis=1))

    @property
    def complete_points(self) -> Floats:
        """Their values (n', M)."""
        return self.values[self.complete]

    @property
    def complete_arms(self) -> Ints:
        """Their arms (n',)."""
        return self.arm_of_row[self.complete]

    def by_block(self) -> Floats:
        """Return means (K, B, M) of each arm's rows on the blocks that all arms have."""
        assert self.block_of_row is not None
        arms, blocks = self.complete_arms, self.block_of_row[self.complete]
        size = int(blocks.max(initial=-1)) + 1
        counts, sums = np.zeros((self.arms, size)), np.zeros((self.arms, size, self.objectives))
        np.add.at(counts, (arms, blocks), 1.0)
        np.add.at(sums, (arms, blocks), self.complete_points)
        shared = counts.all(axis=0)
        if shared.sum() < FEWEST_ROWS:
            raise BadInput(
                f"a pilot with pairs needs at least {FEWEST_ROWS} that every arm has, without failures; "
                f"got {int(shared.sum())}"
            )
        return sums[:, shared] / counts[:, shared, None]

    def one_for_each_block(self, count: int) -> Pilot:
        """Return a pilot of `count` rows an arm, each one of a cluster of it: every cluster as often."""
        assert self.block_of_row is not None
        rng, rows = np.random.default_rng(0), []
        usable = np.flatnonzero(self.complete)
        for arm in range(self.arms):
            own = usable[self.arm_of_row[usable] == arm]
            clusters = [own[self.block_of_row[own] == block] for block in np.unique(self.block_of_row[own])]
            order = np.resize(rng.permutation(len(clusters)), count)
            rows += [int(rng.choice(clusters[place])) for place in order.tolist()]
        chosen = np.array(rows, np.int64)
        return Pilot(self.names, self.values[chosen], self.arm_of_row[chosen])

    def quantiles(self, level: float) -> Floats:
        """Return quantiles (K, M), interpolated; failed measurements do not count."""
        found = np.empty((self.arms, self.objectives))
        for i in range(self.arms):
            rows = self.values[self.arm_of_row == i]
            for d in range(self.objectives):
                found[i, d] = np.quantile(rows[~np.isnan(rows[:, d]), d], level)
        return found


def read_pilot(where: Any, arm: str, question: Question) -> tuple[Pilot, Question]:
    """Return the measurements of a log, blanks and NaN failed, and the question with rates of true and false values."""
    from frontguard.logs.sources import open_log

    metrics, name = question.columns.metrics, where if isinstance(where, (str, Path)) else "the frame"
    together = question.pair or tuple(column for column in question.cluster if column != "none")
    log = open_log(
        where, arm=arm, metrics=[metric.name for metric in metrics], missing_arms="drop", cluster=together or None
    )
    index: dict[str, int] = {}
    blocks: dict[Any, int] = {}
    owners: list[int] = []
    block_of: list[int] = []
    batches = []
    for batch in log.batches():
        owners += [index.setdefault(each, len(index)) for each in batch.arms.to_list()]
        if batch.clusters is not None and together:
            block_of += [blocks.setdefault(each, len(blocks)) for each in batch.clusters.to_list()]
        batches.append(np.column_stack(batch.values))
    for note in log.notes:
        if isinstance(note, RowsWithoutArm):
            raise BadInput(f"--pilot {name}: {replace(note, dropped=False)}")
    names, values, truths = tuple(index), np.concatenate(batches), log.kinds.truths
    for metric, column in zip(metrics, values.T, strict=True):
        wrong = np.flatnonzero(np.isfinite(column) & ~metric.usable(column))
        if len(wrong) and metric.name not in truths:
            example, owner = float(column[wrong[0]]), names[owners[wrong[0]]]
            raise BadInput(f"--pilot {name}: {metric.unusable(len(wrong), len(column), example, owner)}")
        if metric.name in truths and not (metric.by_default or metric.takes_booleans):
            raise BadInput(f"--pilot {name}: {metric.name!r} is true or false: {metric.no_booleans}")
    if len(names) < 2:
        raise BadInput(f"--pilot {name}: wanted at least two arms in column {arm!r}, got {len(names)}")
    counted = question.with_rates(truths)
    observed = counted.columns.observed(values)
    return Pilot(
        names, observed, np.array(owners, np.int64), np.array(block_of, np.int64) if together else None
    ), counted


@dataclass(frozen=True, eq=False)
class Task:
    """A question about arms of these names, and what is assumed of them.

    Arms come from a pilot log, whose rows have a value for each of `columns.boxed`. Or they are normal with the
    deviation of the question's `spread`, or as `noise` has it, and medians drawn uniformly from an interval with sides
    `span`, new ones for every run. Rates are drawn uniformly between 0 and 1, with values that are 0 or 1, which spread
    most, and exact values from [0, `span`].
    """

    question: Question
    names: tuple[str, ...]
    span: float | None = None
    pilot: Pilot | None = None

    def __post_init__(self) -> None:
        if self.arms < 2:
            raise BadInput(f"arms (K) must be at least 2: there is nothing to compare otherwise; got {self.arms}")
        if self.pilot is not None and self.arms > MOST_PILOT_ARMS:
            raise BadInput(f"a pilot may have {MOST_PILOT_ARMS:,} arms at most for a plan; got {self.arms:,}")
        self._check_noise()
        for metric, counted in zip(self.columns.boxed, self.statistics, strict=True):
            if counted.kind not in PLANNED:
                raise BadInput(f"no plan is made of the {metric.statistic_word}, which counts of {metric.name!r}")
        checked_statistics(self.statistics, 0.5, self.width, self.threat)
        if self.pilot is None and self.span is None and not self.assumed:
            widest = max([self.sigma or 0.0, *(each.sigma or 0.0 for each in self.metrics)])
            object.__setattr__(self, "span", max(10.0 * float(self.accuracy.max()), 5.0 * widest) or 1.0)

    def _check_noise(self) -> None:
        """Refuse arms whose deviation is known twice, or in a way that cannot be drawn."""
        if self.question.spread is None:
            return
        if self.sigma is None:
            raise BadInput(
                "a plan draws values from a normal law: give spread=Gaussian(σ) or Subgaussian(σ), or a pilot"
            )
        if self.pilot is not None:
            raise BadInput("a plan takes the deviation of the rewards (spread=Gaussian(σ)) or a pilot log, not both")

    @property
    def arms(self) -> int:
        """K."""
        return len(self.names)

    @property
    def threat(self) -> Threat:
        """The threat model."""
        return self.question.threat

    @property
    def metrics(self) -> tuple[Objective, ...]:
        """The objectives."""
        return self.question.objectives

    @property
    def columns(self) -> Columns:
        """The columns of a pull: the objectives, and behind these what is only limited."""
        return self.question.columns

    @property
    def objectives(self) -> int:
        """M."""
        return len(self.metrics)

    @property
    def width(self) -> int:
        """The intervals of an arm."""
        return len(self.columns.boxed)

    @property
    def accuracy(self) -> Floats:
        """γ (M,), in inner values."""
        return tolerances(self.metrics)

    @property
    def coverage(self) -> Floats:
        """c (M,), in inner values."""
        return self.accuracy if self.question.coverage is None else np.array(self.question.coverage)

    @property
    def sigma(self) -> float | None:
        """The deviation of normal values; None of a pilot."""
        spread = self.question.spread
        return spread.sigma if isinstance(spread, (Gaussian, Subgaussian)) else None

    @property
    def assumed(self) -> bool:
        """True if nobody said how values spread whose quantile counts."""
        quantiles = any(each.has_quantile for each in self.columns.boxed)
        return self.pilot is None and self.question.spread is None and quantiles

    def noise(self, metric: Objective) -> float:
        """The deviation of normal values of a metric: known, or as large as its tolerance (1 where that is 0)."""
        return metric.sigma or (metric.inner_tolerance or 1.0 if self.sigma is None else self.sigma)

    @property
    def spread(self) -> SpreadBound | None:
        """R, which is of medians; None where no median of objectives counts, or another quantile does."""
        levels = {each.level for each in self.metrics if each.has_quantile}
        return self.question.spread if levels == {0.5} else None

    @property
    def statistics(self) -> tuple[Statistic, ...]:
        """The statistic of each column; R says nothing of those that are only limited."""
        counted = statistics_of(self.columns.boxed)
        return tuple(each._replace(spread=each.spread and d < self.objectives) for d, each in enumerate(counted))

    @property
    def bounded(self) -> Bools:
        """The columns (C,) of means of values with bounds, which samples hold between 0 and 1."""
        return np.asarray([each.kind == BOUNDED_MEAN for each in self.statistics])

    @property
    def limit_rule(self) -> LimitRule | None:
        """The limits as the policy reads them; None without."""
        return LimitRule.of(self.columns.gates) if self.question.limits else None

    @property
    def medians_only(self) -> bool:
        """True if medians count, and nothing else: what R, and the paper, speak of."""
        return not self.question.limits and all(each.statistic_word == "median" for each in self.metrics)

    @property
    def for_rpsi(self) -> bool:
        """True if R-PSI answers it: the front of independent medians, and no gate."""
        asked = self.question
        return self.medians_only and asked.baseline is None and not (asked.paired or asked.cluster)

    @property
    def unit(self) -> Floats:
        """The unit (M,) in which R-PSI, with one α, is run on a pilot: the accuracy of each; 1 where it is 0."""
        return np.ones(self.objectives) if self.pilot is None else np.where(self.accuracy > 0, self.accuracy, 1.0)

    @property
    def costs(self) -> Floats | None:
        """The cost of a pull of each arm (K,), as far as that is known before the first one."""
        cost = self.question.cost
        if cost is None:
            return None
        if cost.metric is None:
            return np.array(cost.amounts(self.names), np.float64)
        named = [each.name for each in self.metrics]
        if self.pilot is None or cost.metric not in named:
            return None
        metric = self.metrics[named.index(cost.metric)]
        if metric.bounds is not None:
            return None
        return np.maximum(metric.outward(self.pilot.quantiles(0.5)[:, named.index(cost.metric)]), 0.0)

    @cached_property
    def blocks(self) -> Floats | None:
        """Values (K, B, C) of the pilot's arms on the items that all of them have; None where there are no pairs."""
        if self.pilot is None or not self.question.paired or self.pilot.block_of_row is None:
            return None
        return self.pilot.by_block()

    @cached_property
    def _by_cluster(self) -> Pilot | None:
        """The pilot with each cluster as one observation; None where rows count."""
        if self.pilot is None or self.pilot.block_of_row is None or not self.question.cluster:
            return None
        return self.pilot.one_for_each_block(ROWS)

    def environment(self, seed: int, run: int, unit: Floats | float = 1.0) -> Quantiled:
        """Return the arms of a run; those of a pilot in these units."""
        if self.blocks is not None:
            K, B, C = self.blocks.shape
            return bootstrap(self.blocks.reshape(-1, C), np.repeat(np.arange(K), B))
        if self.pilot is not None:
            pilot = self.pilot if self._by_cluster is None else self._by_cluster
            return bootstrap(pilot.complete_points / unit, pilot.complete_arms)
        rng = np.random.default_rng([seed, run])
        noise = [self.noise(each) for each in self.columns.metrics]
        if self.medians_only:
            spans = [_span(self.span, each) for each in noise]
            return gaussian(rng.uniform(0.0, spans, (self.arms, self.objectives)), noise)
        drawn = drawn_around(self.columns, self.arms, ROWS, noise, self.span, rng)
        return bootstrap(drawn, np.repeat(np.arange(self.arms), ROWS))

    def _pushed_down(self, environment: Quantiled) -> Bools:
        """Tell which arms and columns (K, C) the worst attacker pushes down: front, candidates, or the feasible."""
        true, keeps = truly_within(environment, self.columns)
        allowed = keeps.all(axis=1)
        good = np.zeros(self.arms, np.bool_)
        if self.question.baseline is not None:
            good = np.array([name != self.question.baseline for name in self.names])
        elif allowed.any():
            good[allowed] = pareto_mask(true[allowed, : self.objectives])
        keeps[:, : self.objectives] = good[:, None]
        return keeps

    def attack(self, environment: Quantiled) -> Adversary | None:
        """Return the worst attacker of the threat model, which leaves exact values and keeps bounds; None at ε = 0."""
        if self.threat.eps == 0.0:
            return None
        direction, far = self.pushes(environment)
        some = [eps for eps in self.threat.by_column if eps] or [self.threat.eps]
        one = type(self.threat)(min(some))  # a simulated attacker has one ε
        if isinstance(one, Oblivious) and self.threat.by_column:
            one = Prescient(one.eps)  # which does no more, and can leave a metric alone
        within = np.where(self.bounded, 0.0, -np.inf), np.where(self.bounded, 1.0, np.inf)
        return strongest(environment, one, direction, distance=far, within=within)

    def pushes(self, environment: Quantiled) -> tuple[Ints, float]:
        """Return where an attacker pushes arms and columns (K, C), down (−1), up (1) or not at all; and how far."""
        each = enumerate(self.statistics)
        spared = np.array([counted.kind == EXACT or not self.threat.of(d).eps for d, counted in each])
        spread = (environment.law.quantile(0.99) - environment.law.quantile(0.01)).max()
        far = 10.0 * float(np.ptp(environment.medians)) + 10.0 * float(spread)
        return np.where(spared, 0, np.where(self._pushed_down(environment), -1, 1)), far or 1.0

    def thinned(self, arms: int) -> Task:
        """Return the same task of fewer arms, each with the same share of δ."""
        delta = self.question.delta * arms / self.arms
        return replace(self, question=replace(self.question, confidence=1.0 - delta), names=self.names[:arms])


class PairedStreams:
    """Pulls of arms on the same items, drawn from blocks (K, B, C), of which an attacker replaces some."""

    def __init__(self, task: Task, seed: int, run: int, *, attacked: bool) -> None:
        assert task.blocks is not None
        self._blocks, self._rng = task.blocks, np.random.default_rng([seed, run])
        self._items = np.empty(0, np.int64)  # the item of each repeat, as far as one was asked for
        self._pulls = np.zeros(task.arms, np.int64)
        self._eps = task.threat.eps if attacked else 0.0
        self._pushed = self._blocks.mean(axis=1)  # what an attacker puts in the place of a value
        self._open = np.zeros(self._pushed.shape, np.bool_)  # which values it replaces
        if attacked:
            direction, far = task.pushes(task.environment(seed, run))
            self._pushed = np.where(task.bounded, direction > 0, self._pushed + far * direction)
            self._open = direction != 0

    def take_batch(self, arms: npt.ArrayLike) -> Floats:
        """Return the next reward (C,) of each of these arms: the r-th of all arms is of the same item."""
        wanted = np.asarray(arms, np.int64)
        reps = np.empty(len(wanted), np.int64)
        for n, arm in enumerate(wanted.tolist()):
            reps[n] = self._pulls[arm]
            self._pulls[arm] += 1
        more = max(0, int(self._pulls.max()) - len(self._items))
        self._items = np.concatenate([self._items, self._rng.integers(self._blocks.shape[1], size=more)])
        values = self._blocks[wanted, self._items[reps]]
        hit = (self._rng.random(len(wanted)) < self._eps)[:, None] & self._open[wanted]
        return np.where(hit, self._pushed[wanted], values)


def truly_within(environment: Quantiled, columns: Columns) -> tuple[Floats, Bools]:
    """Return the true inner values of each arm and column (K, C), and which (K, C) of them keep to every limit."""
    true = np.empty((environment.arms, len(columns.boxed)))
    keeps = np.ones(true.shape, np.bool_)
    for d, metric in enumerate(columns.boxed):
        counted = statistic_of(metric)
        if counted.kind == QUANTILE:
            true[:, d] = environment.law.quantile(counted.level)[:, d]
        elif counted.kind == EXACT:
            true[:, d] = environment.medians[:, d]
        else:
            means = environment.medians if environment.means is None else environment.means
            true[:, d] = [inner_of_mean(float(mean), np.array(counted.scale)) for mean in means[:, d]]
    for gate in columns.gates:
        keeps[:, gate.column] &= true[:, gate.column] >= gate.beyond
    return true, keeps


def _span(given: float | None, noise: float) -> float:
    """Between the best and the worst arm in a metric: ten tolerances, where its noise is taken to be one."""
    return 10.0 * noise if given is None else given


def drawn_around(
    columns: Columns, arms: int, rows: int, noise: Sequence[float], span: float | None, rng: np.random.Generator
) -> Floats:
    """Return values (K · rows, C) of random arms, as samples hold them, from which pulls are drawn."""
    centres = rng.uniform(0.0, 1.0, (arms, len(columns.metrics)))
    raw = [
        _values(columns, place, centres[:, place], rows, noise[place], _span(span, noise[place]), rng)
        for place in range(len(columns.metrics))
    ]
    return columns.observed(np.stack(raw, axis=2).reshape(-1, len(raw)))


def _values(
    columns: Columns,
    place: int,
    places: Floats,
    rows: int,
    noise: float,
    span: float,
    rng: np.random.Generator,
) -> Floats:
    """Return values (K, rows) in a metric's units, of arms at these places (K,) between 0 and 1."""
    metric = columns.metrics[place]
    gate = next((gate for gate in columns.gates if gate.limit.metric == metric.name), None)
    counted = [each for each, source in zip(columns.boxed, columns.sources, strict=True) if source == place]
    levels = (rng.permuted(np.tile(np.arange(rows), (len(places), 1)), axis=1) + 0.5) / rows
    bounds = next((each.bounds for each in counted if each.bounds is not None), None)
    if bounds is not None:
        return np.where(levels < places[:, None], bounds[1], bounds[0])
    noise = 0.0 if metric.exact else noise
    inner = span * places
    if gate is not None:
        # What is limited of normal values lies so far above their middle, in inner values.
        level = 1.0 - gate.metric.level if metric.minimized else gate.metric.level
        ahead = noise * float(ndtri(level)) if gate.metric.has_quantile else 0.0
        inner = float(metric.inward(gate.limit.value)) + span * (places - 0.5) - ahead
    return metric.outward(inner[:, None] + noise * ndtri(levels))
