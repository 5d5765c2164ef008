"""What a certified policy may have been given, and may have become: held against a state that comes from a file.

Kernels look nothing up (see `policies.saved`), so that every number that is used as an index, a rank or a length must
be one before they see it.
"""

from __future__ import annotations

import numpy as np

from frontguard._common.typing import Ints
from frontguard._common.written import GOALS
from frontguard.errors import BadArgument, BadInput
from frontguard.evidence.boundaries import STEPS
from frontguard.evidence.boxes import LARGEST, BoxRule
from frontguard.evidence.samples import Table
from frontguard.evidence.statistics import EXACT, QUANTILE, Statistic
from frontguard.pareto.limits import LimitRule
from frontguard.pareto.standing import RUNNING, STOPS, Goal, Standing
from frontguard.policies.saved import MOST, check_arms, check_finite, check_listed, check_range, check_shape
from frontguard.policies.urgent import CHEAPEST
from frontguard.verdicts import Verdict


def check_rule(rule: BoxRule) -> None:
    """Refuse a rule for boxes whose tables and shares are none."""
    M = int(rule.kinds.shape[0])
    if rule.low_ranks.ndim != 3 or 0 in rule.low_ranks.shape:
        raise BadInput(f"rule.low_ranks must be tables of M objectives; got the shape {rule.low_ranks.shape}")
    shifts, entries = rule.low_ranks.shape[1:]
    for name, table in (("rule.low_ranks", rule.low_ranks), ("rule.high_ranks", rule.high_ranks)):
        check_shape(name, table, np.int64, (M, shifts, entries))
        # A rank is never above the number of pulls that it is read at.
        if (table < 0).any() or (table > _fewest_pulls(entries)).any():
            raise BadInput(f"{name} must be ranks among the pulls that they are read at; got others")
    for name, each in (("costs", rule.costs), ("low_keep", rule.low_keep), ("high_keep", rule.high_keep)):
        check_shape(f"rule.{name}", each, np.float64, (M, shifts))
        check_range(f"rule.{name}", each, 0.0, np.finfo(np.float64).max if name == "costs" else 1.0)
    for name, each in (("rule.quantiles", rule.quantiles), ("rule.taken", rule.taken)):
        check_shape(name, each, np.float64, (M,))
        check_range(name, each, 0.0, 1.0)
    check_shape("rule.kinds", rule.kinds, np.int64, (M,))
    check_range("rule.kinds", rule.kinds, QUANTILE, EXACT)
    for name, each, shape in (
        ("rule.scales", rule.scales, (M, len(Statistic().scale))),
        ("rule.thresholds", rule.thresholds, (M,)),
        ("rule.surviving", rule.surviving, (2,)),
        ("rule.log_priors", rule.log_priors, (M, shifts)),
    ):
        check_shape(name, each, np.float64, shape)
        if not np.isfinite(each).all():
            raise BadInput(f"{name} must be finite; got others")
    check_range("rule.surviving", rule.surviving, 0.0, 1.0)
    check_shape("rule.log_weights", rule.log_weights, np.float64, (M, shifts))
    check_range("rule.log_weights", rule.log_weights, -np.inf, 0.0)


def _fewest_pulls(entries: int) -> Ints:
    """The fewest pulls at which each entry of a table of ranks is read."""
    return np.asarray(np.ceil((np.arange(entries) / STEPS) ** 2), np.int64)


def check_goal(goal: Goal, objectives: int) -> None:
    """Refuse tolerances and kinds of goals that are none."""
    for name in ("accuracy", "coverage", "margin"):
        check_shape(f"goal.{name}", getattr(goal, name), np.float64, (objectives,))
        check_finite(f"goal.{name}", getattr(goal, name), 0.0)
    check_shape("goal.kind", goal.kind, np.int64, (1,))
    check_range("goal.kind", goal.kind, 0, len(GOALS) - 1)


def check_limits(limits: LimitRule, width: int) -> None:
    """Refuse limits of columns that there are not."""
    for name, each in limits._asdict().items():
        kind = np.int64 if name == "columns" else np.float64
        check_shape(f"limits.{name}", each, kind, limits.columns.shape[:1])
    check_range("limits.columns", limits.columns, 0, width - 1)


def check_control(control: Table, arms: int) -> None:
    """Refuse budgets and counts that are none."""
    most = np.iinfo(np.int64).max
    for name, low, high in (
        ("alive", 0, arms),
        ("stop", RUNNING, len(STOPS) - 1),
        ("pulls", 0, MOST),
        ("decisions", 0, most),
        ("max_pulls", 1, most),
        ("max_per_arm", 1, LARGEST),
        ("first", 1, LARGEST),
        ("growth", 0.0, 1.0),
        ("revive", 0, 1),
    ):
        check_range(name, control[name], low, high)


def check_standing(standing: Standing, arms: int) -> None:
    """Refuse where K arms cannot stand."""
    records, control = standing.arms, standing.control
    check_control(control, arms)
    check_arms(
        records, arms, pulls=(0, MOST), candidate=(0, 2), wanted=(0, 1), keeping=(0, 2),
        rival=(-1, arms - 1), inside=(0, 1),
    )  # fmt: skip
    check_range("cost of the arms", records["cost"], CHEAPEST, 1.0)
    if records["pulls"].sum() != control["pulls"][0]:
        must, got = f"have {control['pulls'][0]} pulls together", f"{records['pulls'].sum()}"
        raise BadArgument("arms", must=must, got=got)
    gone = (records["status"] == Verdict.OUT) | (records["status"] == Verdict.SET_ASIDE)
    check_listed("alive", standing.alive, int(control["alive"][0]), np.flatnonzero(~gone).tolist())
    check_range("front", standing.front, 0, arms - 1)
    check_finite("scales", standing.scales, float(np.finfo(np.float64).smallest_subnormal))
