"""Kernels by the interpreter and as machine code: the same to the last bit, on all that the core does."""

from __future__ import annotations

import math
import pickle
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from syrupy.assertion import SnapshotAssertion

import frontguard as fg
from frontguard._common import compiled
from frontguard._common.compiled import AS_NEEDED, COMPILED, INTERPRETED, Kernel, inlined, kernel, kernels
from frontguard.evidence.confidence_sequences import read_rank
from frontguard.evidence.kinds import Statistic
from frontguard.evidence.samples import COLUMN, Samples
from frontguard.evidence.statistics import BOUNDED_MEAN, NORMAL_MEAN
from frontguard.pareto.judge import judge
from frontguard.policies.base import Policy
from frontguard.policies.forecast import forecast
from frontguard.simulation import simulate_one
from frontguard.simulation.adversaries import review_bomber, strongest
from frontguard.simulation.environments import gaussian
from tests.pareto.columns import ArmIntervals
from tests.policies.states import state_of
from tests.support.growing import GrowingSample
from tests.support.snapshots import refused
from tests.support.worlds import cauchy, skewed


def bits(value: Any) -> Any:
    """A value as something that is equal only if every bit is, and every type; NaN equals NaN."""
    if isinstance(value, np.ndarray):
        if value.dtype == np.float64:
            value = np.where(np.isnan(value), np.nan, value)  # what bits a NaN has means nothing
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, dict):
        return {key: bits(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [bits(each) for each in value]
    if isinstance(value, float):
        return float, "nan" if math.isnan(value) else value.hex()
    return type(value), value


def check(work: Callable[[], Any]) -> None:
    """The same either way, and without a warning."""
    found = []
    for mode in (INTERPRETED, COMPILED):
        with kernels(mode), warnings.catch_warnings():
            warnings.simplefilter("error")
            found.append(bits(work()))
    assert found[0] == found[1]


def used(policy: Policy) -> dict[str, Any]:
    """The state of a policy, and of the pool of its samples what they use."""
    state: dict[str, Any] = state_of(policy)
    pool, columns = state.pop("pool", None), state.get("columns")
    if pool is not None and columns is not None:
        held = Samples(pool, np.empty(0), columns)
        state["values"] = [held.pieces(column)[0] for column in range(len(columns) - 1)]
    return state


# What the core does ------------------------------------------------------------------------------------------------

MEANS = (Statistic(BOUNDED_MEAN, scale=(0.0, 1.0, 1.0, 1.0, 1.0)), Statistic(level=0.3))
POLICIES: dict[str, Callable[[], fg.Certified]] = {
    "medians": lambda: fg.Certified(5, 2, threat=fg.Prescient(0.05), accuracy=0.3, max_pulls_per_arm=40),
    "with R": lambda: fg.Certified(
        5, 2, threat=fg.Malicious(0.1), accuracy=0.2, spread=fg.Gaussian(0.1), max_pulls_per_arm=300
    ),
    "means": lambda: fg.Certified(5, 2, threat=fg.Share(0.05), accuracy=0.3, statistics=MEANS, max_pulls_per_arm=100),
    "rates": lambda: fg.Certified(5, 2, threat=fg.Share(0.05), accuracy=0.3, statistics=MEANS, max_pulls_per_arm=100),
    "normal means": lambda: fg.Certified(
        5, 2, threat=fg.Prescient(0.0), accuracy=0.1, statistics=[Statistic(NORMAL_MEAN)] * 2, max_pulls_per_arm=100
    ),
}


@pytest.mark.parametrize("name", POLICIES)
def test_decisions_and_forecasts(name: str) -> None:
    def work() -> Any:
        draw, policy, seen = np.random.default_rng(3), POLICIES[name](), []
        while not policy.done:
            arms = policy.ask()
            values = 1.0 / (1.0 + np.exp(-draw.normal(np.stack([arms, -arms], axis=1) / 2, 0.5)))
            if name == "rates":
                values[:, 0] = values[:, 0] > 0.6
            if not name.startswith("normal"):
                values[draw.random(len(arms)) < 0.03] = np.nan
            policy.tell(arms, values)
            if policy.done or len(seen) % 6 == 0:  # a forecast simulates what is to come, which takes long interpreted
                foreseen = forecast(policy)
                seen.append((foreseen.pulls_left, foreseen.outlook, foreseen.arms))
            else:
                seen.append(())
        return used(policy), seen

    check(work)


def test_a_study_with_limits_and_pulls_that_are_out() -> None:
    def work() -> Any:
        draw = np.random.default_rng(4)
        objectives = [
            fg.Objective("x", "maximize", tolerance=0.5),
            fg.Objective("rate", "maximize", statistic="mean", bounds=(0, 1), tolerance=0.3),
        ]
        study = fg.Study(["a", "b", "c"], objectives, fg.Prescient(0.05), limits=["x>=-9"])
        seen = []
        for _ in range(40):
            pulls = study.ask(6)
            if not pulls:
                break
            told = [(p, {"x": draw.normal(p.index), "rate": float(draw.random() < 0.5)}) for p in pulls[:5]]
            study.tell_many(told)
            found = study.result()
            seen.append((found.verdicts, found.lower, found.upper, found.estimates))
        return seen

    check(work)


@pytest.mark.parametrize("cluster", ["none", "host"])
def test_logs(cluster: str) -> None:
    def work() -> Any:
        draw = np.random.default_rng(0)
        arms = draw.integers(0, 4, 240)
        frame = pd.DataFrame(
            {
                "arm": [f"arm {'x' * arm}{arm}" for arm in arms],
                "x": draw.normal(arms),
                "share": draw.random(240).round(2),
                "host": draw.integers(0, 40, 240),
            }
        )
        share = fg.Objective("share", "maximize", statistic="mean", bounds=(0, 1), tolerance=0.1)
        found = fg.analyze(
            frame,
            objectives=[fg.Objective("x", "maximize", tolerance=0.5), share],
            threat=fg.Share(0.05),
            cluster=cluster,
            limits=["x>=-1"],
        )
        return found.verdicts, found.lower, found.upper, found.estimates, found.to_dict()

    check(work)


@pytest.mark.parametrize("objectives", [1, 2, 4])
def test_verdicts_at_scale(objectives: int) -> None:
    def work() -> Any:
        draw = np.random.default_rng(objectives)
        middle = draw.normal(size=(700, objectives)).round(1)
        low, high = middle - draw.random(middle.shape), middle + draw.random(middle.shape)
        found = judge(ArmIntervals(low, high, middle, middle - 0.1, middle + 0.1), *np.full((3, objectives), 0.2))
        return found.codes, found.decided_by, found.accuracy_slack, found.coverage_slack

    check(work)


@pytest.mark.parametrize("drifts", [False, True])
def test_growing_samples(drifts: bool) -> None:
    def work() -> Any:
        draw, sample, seen = np.random.default_rng(1), GrowingSample(), []
        for batch in range(14):
            sample.extend(draw.normal(50.0 * batch if drifts and batch % 2 else 0.0, size=100).round(2))
            seen.append(sample.median())
        return seen

    check(work)


ENVIRONMENT = gaussian([[1.0, 0.0], [0.0, 1.0], [0.5, 0.4]], sigma=0.2)
ATTACKS = {
    "clean": None,
    "prescient": review_bomber(ENVIRONMENT, 0.1, lowest=-3.0),
    "malicious": strongest(ENVIRONMENT, fg.Malicious(0.1), direction=[-1, -1, 1]),
    "share": strongest(ENVIRONMENT, fg.Share(0.1), direction=[-1, -1, 1]),
}


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("policy", ["rpsi", "certified", "auer", "auer-m"])
def test_simulated_runs(policy: str, attack: str) -> None:
    threat = fg.Malicious(0.1)
    made: Policy = {
        "rpsi": lambda: fg.RPSI(3, 2, threat=threat, spread=fg.Gaussian(0.2), accuracy=0.8),
        "certified": lambda: fg.Certified(3, 2, threat=threat, spread=fg.Gaussian(0.2), accuracy=0.5),
        "auer": lambda: fg.AuerA1(3, 2, accuracy=0.8, scale=0.1),
        "auer-m": lambda: fg.AuerA1M(3, 2, accuracy=0.8, scale=0.1),
    }[policy]()
    check(lambda: used(simulate_one(made, ENVIRONMENT, ATTACKS[attack], seed=5)))


@pytest.mark.parametrize("law", [cauchy([[0.0]], 1.0), skewed([[0.0]], 1.0, 0.7)])
def test_draws(law: fg.Environment) -> None:
    check(lambda: law.sample(0, 2000))


# What kernels may do -----------------------------------------------------------------------------------------------


def all_kernels() -> Iterator[Kernel]:
    import importlib
    import pkgutil

    for module in pkgutil.walk_packages(fg.__path__, "frontguard."):
        if module.name.startswith(
            (
                "frontguard.evidence",
                "frontguard.pareto",
                "frontguard.policies",
                "frontguard.logs",
                "frontguard.simulation",
            )
        ):
            for value in vars(importlib.import_module(module.name)).values():
                if isinstance(value, Kernel | compiled.KernelEntry):
                    yield value


def test_kernels_use_the_logarithms_of_c() -> None:
    """numpy has its own for scalars, which differ from those of C in the last bit; so does a power from a product."""
    found = list(all_kernels())
    assert len(found) > 100
    for each in found:
        names = set(compiled._names(each.py_func.__code__))
        assert not names & {"log", "exp", "log1p", "expm1", "cos", "tan", "sin", "pow", "lgamma"} or "math" in names, (
            each
        )
        assert "lgamma" not in names, each


def test_as_needed_it_is_interpreted_first_and_compiled_when_it_has_taken_long(monkeypatch: pytest.MonkeyPatch) -> None:
    @kernel
    def squares(count: int) -> float:
        total = 0.0
        for i in range(count):
            total += math.sqrt(i)
        return total

    assert isinstance(squares, Kernel)
    monkeypatch.setattr(compiled._State, "spent", 0.0)
    with kernels(AS_NEEDED):
        first = squares(1000)
        assert squares._machine is None
        for _ in range(100):
            squares(200_000)
            if squares._machine is not None:
                break
        assert 0.0 < squares._spent < 4 * squares.price
        assert squares._machine is not None
        assert squares(1000) == first


def test_a_call_that_will_take_long_is_compiled_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    @kernel(over="values")
    def total(values: Any) -> float:
        found = 0.0
        for i in range(values.size):
            found += values[i]
        return found

    assert isinstance(total, Kernel)
    monkeypatch.setattr(compiled._State, "spent", 0.0)
    with kernels(AS_NEEDED):
        assert total(np.ones(10)) == 10.0
        assert total._machine is None
        assert total(np.ones(10**7)) == 1e7
        assert total._machine is not None


# What is made alike ------------------------------------------------------------------------------------------------


@inlined
def _halved(x: float) -> float:
    return x / 2.0


@kernel
def _strange(table: Any, values: Any, which: int) -> tuple[float, float, float, int, float]:
    record = table[which]
    record.count += 3
    table[-1].count = record.count
    return (
        math.log(values[0]),
        math.log1p(-1.0 - values[0]),
        math.exp(1e4 - values[0]),
        record.count,
        _halved(np.inf - np.inf),
    )


def test_records_and_numbers_that_have_no_logarithm() -> None:
    def work() -> Any:
        table = np.zeros(3, COLUMN)
        return _strange(table, np.zeros(1), 1), table

    check(work)
    with kernels(INTERPRETED):
        (log, log1p, exp, count, halved), table = work()
    assert (log, log1p, exp, count) == (-math.inf, -math.inf, math.inf, 3)
    assert math.isnan(halved)
    assert table["count"].tolist() == [0, 3, 3]


def test_only_what_was_changed_is_written_back() -> None:
    table = np.zeros(3, COLUMN)
    records = compiled._Records(table)
    records[1].count = 5
    table["count"][2] = 7  # by somebody else, meanwhile
    records.write_back(table)
    assert table["count"].tolist() == [0, 5, 7]


def test_a_mode_that_there_is_not(snapshot: SnapshotAssertion) -> None:
    with (
        refused(ValueError, snapshot),
        kernels("fast"),
    ):
        pass


def test_a_kernel_is_pickled_by_its_name() -> None:
    assert pickle.loads(pickle.dumps(read_rank)) is read_rank
