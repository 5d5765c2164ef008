"""What limits add to a plan: arms to either side of them, and how near to one an arm may stay open for ever.

Without a pilot nobody knows how far arms are from their limits. They are drawn around them: what is limited of a metric
lies to either side of its limit, uniformly over the span of the arms; a rate is uniform between 0 and 1, wherever its
limit is. Of a metric with several limits it is the first around which arms are drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from frontguard._common.typing import Bools, Floats, Ints
from frontguard.errors import BadInput
from frontguard.evidence.statistics import BOUNDED_MEAN, EXACT, QUANTILE, inner_of_mean, statistic_of
from frontguard.limits import Columns, Gate
from frontguard.objectives import Objective, differences_in_units
from frontguard.pareto.limits import LimitRule, keeping_of
from frontguard.planning.reach import Pilot, lasting_length, mean_floor, pilot_limits
from frontguard.simulation.environments import Quantiled
from frontguard.theory.threats import Threat
from frontguard.verdicts import OPEN


@dataclass(frozen=True)
class LimitFloor:
    """A limit, and what no number of pulls takes away from what it limits.

    An arm that is nearer to it than `width`, in the units of the metric, may be open for ever. `within` and `beyond`:
    whether any number of pulls can tell of an arm that it is. Of a pilot, `open_arms` are those that would stay open,
    if measurements went on like it.
    """

    gate: Gate
    width: float
    within: bool
    beyond: bool
    open_arms: tuple[str, ...] | None = None


def limit_floors(
    columns: Columns, threat: Threat, sigma: float | None, pilot: Pilot | None, bounded: Sequence[int | None]
) -> tuple[LimitFloor, ...]:
    """What is left open of each limit for ever, of normal values with this deviation, of means, or of a pilot.

    `bounded` are the pulls before which the ends of boxes are not, two for each column: see `boxes.first_bounded`.
    """
    within, beyond = ([end is not None for end in bounded[side::2]] for side in range(2))
    if pilot is None:
        widths = ((gate, _width(gate.metric, threat, sigma or 0.0)) for gate in columns.gates)
        return tuple(LimitFloor(gate, width, within[gate.column], beyond[gate.column]) for gate, width in widths)
    low, high = pilot_limits(pilot, threat, [statistic_of(each) for each in columns.boxed])
    low, high = np.minimum(low, high), np.maximum(low, high)  # of what is exact, rounding may part the ends
    keeping = keeping_of(low, high, LimitRule.of(columns.gates))
    floors = []
    for q, gate in enumerate(columns.gates):
        (width,) = differences_in_units([gate.metric], [float((high - low)[:, gate.column].max())])
        left = tuple(pilot.names[i] for i in np.flatnonzero(keeping[:, q] == OPEN))
        floors.append(LimitFloor(gate, width, within[gate.column], beyond[gate.column], left))
    return tuple(floors)


def _width(metric: Objective, threat: Threat, sigma: float) -> float:
    """The longest box that an attack leaves of what is limited, in the metric's units."""
    counted = statistic_of(metric)
    if counted.kind == BOUNDED_MEAN:
        return mean_floor(metric, threat)
    if counted.kind != QUANTILE:
        return 0.0
    (width,) = differences_in_units([metric], [lasting_length(sigma, threat, level=counted.level)])
    return width


def keeping_at_all(low: Floats, high: Floats, limits: LimitRule) -> Ints:
    """How arms (K,) with these boxes (K, C) stand to all limits together."""
    # Of what is known exactly, rounding may part the ends.
    return np.asarray(keeping_of(np.minimum(low, high), np.maximum(low, high), limits).max(axis=1))


def truly_within(environment: Quantiled, columns: Columns) -> tuple[Floats, Bools]:
    """What counts of each arm and column (K, C), as inner values, and which (K, C) of them keep to every limit."""
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


def check_drawable(columns: Columns) -> None:
    """Refuse metrics of which values cannot be drawn that suit both a mean with bounds and a quantile."""
    for place, metric in enumerate(columns.metrics):
        own = [each for each, source in zip(columns.boxed, columns.sources, strict=True) if source == place]
        if len({each.bounds for each in own}) > 1:
            raise BadInput(
                f"a plan without a pilot log draws values of {metric.name!r} for its mean between bounds, or for "
                "something else that counts of it, and not for both; give a pilot log (--pilot)"
            )


def drawn_around(
    columns: Columns, arms: int, rows: int, sigma: float | None, span: float, rng: np.random.Generator
) -> Floats:
    """Values (K · rows, C) of random arms, as samples hold them, from which pulls are drawn."""
    centres = rng.uniform(0.0, 1.0, (arms, len(columns.metrics)))
    raw = [
        _values(metric, _first_limit(columns.gates, metric), centres[:, place], rows, sigma or 0.0, span, rng)
        for place, metric in enumerate(columns.metrics)
    ]
    return columns.observed(np.stack(raw, axis=2).reshape(-1, len(raw)))


def _first_limit(gates: Sequence[Gate], metric: Objective) -> Gate | None:
    return next((gate for gate in gates if gate.limit.metric == metric.name), None)


def _values(
    metric: Objective,
    gate: Gate | None,
    places: Floats,
    rows: int,
    sigma: float,
    span: float,
    rng: np.random.Generator,
) -> Floats:
    """Values (K, rows) in the metric's units, of arms at these places (K,) between 0 and 1."""
    levels = (rng.permuted(np.tile(np.arange(rows), (len(places), 1)), axis=1) + 0.5) / rows
    if metric.bounds is not None:
        low, high = metric.bounds
        return np.where(levels < places[:, None], high, low)
    noise = 0.0 if metric.exact else float(metric.sigma or sigma)
    inner = span * places
    if gate is not None:
        # What is limited of normal values lies so far above their middle, in inner values.
        level = 1.0 - gate.metric.level if metric.minimized else gate.metric.level
        ahead = noise * float(ndtri(level)) if gate.metric.has_quantile else 0.0
        inner = float(metric.inward(gate.limit.value)) + span * (places - 0.5) - ahead
    return metric.outward(inner[:, None] + noise * ndtri(levels))
