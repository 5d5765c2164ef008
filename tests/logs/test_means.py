"""Means, exact values and known deviations of logs: intervals against a naive twin, and what is read from them."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import brentq
from scipy.stats import binom
from syrupy.assertion import SnapshotAssertion

from frontguard import BadInput, Malicious, Objective, Oblivious, Prescient, Share, analyze
from frontguard.evidence.bets import LOG_WEIGHTS, THETAS
from frontguard.evidence.intervals import (
    DOUBT_HIGH,
    DOUBT_LOW,
    ESTIMATE,
    HIGH,
    LOW,
    interval_rule,
    refresh,
    unknown_intervals,
)
from frontguard.evidence.kinds import DOUBT
from frontguard.evidence.measurements import Ordered
from frontguard.evidence.normals import NORMAL_WEIGHT
from frontguard.evidence.readers import IntervalReader
from frontguard.evidence.samples import Samples, absorb, empty_pool, empty_table
from frontguard.evidence.statistics import statistics_of
from frontguard.logs.robustness import needed, profile
from frontguard.logs.sort import sorted_pulls
from frontguard.logs.state import LogState
from frontguard.notices import ExactDiffers
from frontguard.objectives import inward_matrix
from frontguard.pareto.judge import judge
from frontguard.theory.threats import Threat
from frontguard.verdicts import Verdict
from tests.logs.simulated import ordered_log
from tests.support.bets import sums_of_bets, upper_mean_at
from tests.support.snapshots import refused, said

Floats = npt.NDArray[np.float64]

THREATS = [Prescient(0.0), Oblivious(0.1), Malicious(0.12), Share(0.1)]
OBJECTIVES = [
    Objective("m0", "maximize", statistic="mean", bounds=(0, 1)),
    Objective("m1", "minimize", "10%", statistic="mean", bounds=(0.0, 4.0)),
    Objective("m2", "minimize", exact=True),
    Objective("m3", "maximize", quantile=0.5),
]


def log_of(samples: list[Floats], objectives: list[Objective]) -> Ordered:
    arm_of = np.repeat(np.arange(len(samples)), [len(sample) for sample in samples])
    return sorted_pulls([f"{i:06d}" for i in range(len(samples))], objectives, arm_of, np.concatenate(samples))


def some_samples(rng: np.random.Generator, arms: int = 6) -> list[Floats]:
    """Rates with ties, values on a scale some of which are 0, sizes, and anything; some failed, some out of bounds."""
    samples = []
    for arm in range(arms):
        n = int(rng.integers(1, 60)) if arm else 1500
        sample = np.stack(
            [
                rng.random(n) < rng.random(),
                np.where(rng.random(n) < 0.2, 0.0, 4.0 * rng.beta(2, 5, n)),
                np.full(n, 100.0 + arm),
                rng.normal(size=n),
            ],
            axis=1,
        ).astype(np.float64)
        sample[rng.random(sample.shape) < 0.05] = np.nan
        sample[rng.random(n) < 0.05, 1] = 4.5
        samples.append(sample)
    return samples


def naive_mean(
    column: Floats, objective: Objective, threat: Threat, share: float, anytime: bool = True
) -> tuple[float, float, float, Any]:
    """The inner interval, the estimate and its doubt, by the wealth as it is written and scipy's root of it."""
    assert objective.bounds is not None
    low, high = objective.bounds
    good = [x for x in column.tolist() if math.isfinite(x) and low <= x <= high]
    y = sorted(((high - x) if objective.minimized else (x - low)) / (high - low) for x in good)
    n, taken = len(column), math.floor(Fraction(str(threat.taken)) * len(column))
    times, less = threat.surviving

    def most(all_of: list[float]) -> float:
        kept = sorted(all_of)[taken:]
        xi = np.array(kept + [1.0] * (n - len(kept)))

        if not anytime and set(y) <= {0.0, 1.0} and objective.bounds == (0.0, 1.0):
            exact = (lambda p: binom.cdf(xi.sum(), n, p) - share, 1e-12, 1.0)
            return min(1.0, ((brentq(*exact, xtol=1e-13) if xi.sum() < n else 1.0) + less) / times)
        gone = math.log(1.0 / share)
        wanted = 0.0 if anytime else min(0.5, 1.0 / (1.0 + math.sqrt(n / (2.0 * gone))))
        weights = np.where(wanted <= THETAS, np.exp(LOG_WEIGHTS), 0.0)
        with np.errstate(divide="ignore"):
            log_weights = np.log(weights / weights.sum())

        def wealth(c: float) -> float:
            bets = log_weights + np.log(np.prod((1.0 - np.outer(THETAS, xi)) / (1.0 - THETAS * c)[:, None], axis=1))
            largest = bets.max()
            return float(largest + np.log(np.exp(bets - largest).sum()))

        c = 1.0 if wealth(1.0 - 1e-12) < gone else brentq(lambda c: wealth(c) - gone, 0.0, 1.0 - 1e-12, xtol=1e-13)
        if not anytime:  # nor is less left open than where nobody lies; `test_at_once.py` has a twin of that
            clean = upper_mean_at(np.array(all_of + [1.0] * (n - len(all_of))), share)
            c = max(c, clean) if threat.eps else clean
        return min(1.0, (c + less) / times)

    upper, lower = most(y), 1.0 - most([1.0 - each for each in y])

    def inner(y: float) -> float:
        x = high - (high - low) * y if objective.minimized else low + (high - low) * y
        if objective.relative:
            x = math.log(x) if x > 0.0 else -math.inf
        return -x if objective.minimized else x

    if not y:
        return inner(lower), inner(upper), -math.inf, (-math.inf, -math.inf)
    mean, error = np.mean(y), np.std(y) / math.sqrt(len(y))
    return inner(lower), inner(upper), inner(mean), (inner(mean - DOUBT * error), inner(mean + DOUBT * error))


@pytest.mark.parametrize("anytime", [False, True])
@pytest.mark.parametrize("threat", THREATS, ids=lambda threat: type(threat).__name__)
def test_boxes_are_those_of_the_naive_twin(threat: Threat, anytime: bool) -> None:
    samples = some_samples(np.random.default_rng(3))
    intervals = IntervalReader(log_of(samples, OBJECTIVES), OBJECTIVES, 0.05, anytime=anytime).read(threat)
    share = 0.05 / (2 * 3 * len(samples))  # what is exact has no part of δ
    for i, sample in enumerate(samples):
        if len(sample) > 1000:  # whose products would underflow in the twin
            continue
        for d in (0, 1):
            low, high, estimate, doubt = naive_mean(sample[:, d], OBJECTIVES[d], threat, share, anytime)
            found = [
                getattr(intervals, name)[i, d] for name in ("lower", "upper", "estimates", "doubt_low", "doubt_high")
            ]
            assert found == pytest.approx([low, high, estimate, *doubt], rel=1e-7, abs=3e-9)
    assert (
        intervals.lower[:, 2].tolist()
        == intervals.upper[:, 2].tolist()
        == [-100.0 - arm for arm in range(len(samples))]
    )
    alone = [replace(each, name="m0") for each in OBJECTIVES[3:]]
    medians = ordered_log([sample[:, 3:] for sample in samples])
    wanted = IntervalReader(medians, alone, 0.05 / 3, anytime=anytime).read(threat)
    assert np.array_equal(intervals.lower[:, 3], wanted.lower[:, 0])  # δ is shared by the three that are not exact


@pytest.mark.parametrize("threat", [*THREATS, Share(0.3)], ids=str)
def test_boxes_are_those_of_a_study_with_the_same_values(threat: Threat) -> None:
    """The kernels of a study read samples of their own, value by value, and blocks know nothing of them."""
    objectives, arms = OBJECTIVES[:3], 4
    samples = [sample[:, :3] for sample in some_samples(np.random.default_rng(5), arms)]
    found = IntervalReader(log_of(samples, objectives), objectives, 0.05, anytime=True).read(threat)
    rule = interval_rule(threat, arms=arms, objectives=3, delta=0.05, statistics=statistics_of(objectives))
    values = np.concatenate(samples)
    for d, objective in enumerate(objectives):
        values[~objective.usable(values[:, d]), d] = np.nan
    table, pool = empty_table(3 * arms), empty_pool(3 * arms)
    arm_of = np.repeat(np.arange(arms), [len(sample) for sample in samples])
    pool = absorb(pool, table, arm_of, inward_matrix(objectives, values), True)
    intervals = unknown_intervals(arms, 3)
    for i, sample in enumerate(samples):
        refresh(intervals, i, Samples(pool, np.empty(0), table), len(sample), rule)
    columns = {"lower": LOW, "upper": HIGH, "estimates": ESTIMATE, "doubt_low": DOUBT_LOW, "doubt_high": DOUBT_HIGH}
    for name, column in columns.items():
        np.testing.assert_allclose(getattr(found, name), intervals[:, column], rtol=1e-9, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("anytime", [False, True])
def test_a_known_deviation_has_a_normal_tail_or_mixture_while_nothing_fails_or_is_replaced(
    anytime: bool, snapshot: SnapshotAssertion
) -> None:
    rng = np.random.default_rng(1)
    known = [Objective("m0", "minimize", 0.5, statistic="mean", sigma=2.0), Objective("m1", "maximize")]
    samples = [np.stack([rng.normal(50, 2, n), rng.normal(size=n)], axis=1) for n in (40, 25)]
    samples[1][3, 0] = np.nan
    reader = IntervalReader(log_of(samples, known), known, 0.05, anytime=anytime)
    intervals = reader.read(Prescient(0.0))
    alpha, n = 2 * 0.05 / (2 * 2 * 2), 40
    reach = 2.0 * math.sqrt(2 * math.log(2 / alpha) / n)
    if anytime:
        whole = n + NORMAL_WEIGHT
        reach = 2.0 * math.sqrt(whole * (2 * math.log(1 / alpha) + math.log(whole / 10.0))) / n
    mean = samples[0][:, 0].mean()
    assert intervals.lower[0, 0] == pytest.approx(-(mean + reach), rel=1e-9)
    assert intervals.upper[0, 0] == pytest.approx(-(mean - reach), rel=1e-9)
    assert intervals.estimates[0, 0] == pytest.approx(-mean)
    assert (intervals.lower[1, 0], intervals.upper[1, 0]) == (
        -np.inf,
        np.inf,
    )  # a pull failed: it may have been anything
    assert np.isinf(reader.read(Prescient(0.01)).lower[:, 0]).all()
    with refused(BadInput, snapshot):
        analyze({"arm": ["a"], "x": [1.0]}, minimize="x", statistic="mean", sigma=2.0, contamination=0.1)


def test_exact_values_are_points_and_two_of_them_are_nothing() -> None:
    frame = {"arm": list("aabbcc"), "size": [5.0, 5.0, 7.0, 7.0, 4.0, 9.0], "x": np.arange(6.0)}
    found = analyze(frame, minimize="size", maximize="x", exact="size", contamination=0.0)
    size = found.objectives.index("size")
    assert found.lower[:, size].tolist() == [5.0, 7.0, -np.inf]
    assert found.upper[:, size].tolist() == [5.0, 7.0, np.inf]
    differs = [notice for notice in found.notices if isinstance(notice, ExactDiffers)]
    assert differs == [ExactDiffers("size", "c", 1, 4.0, 9.0)]
    assert found.verdicts["c"] == "undecided"
    alone = analyze({**frame, "size": [5.0] * 2 + [7.0] * 2 + [9.0] * 2}, minimize="size", exact=["size"])
    assert alone.verdicts == {"a": "keep", "b": "beaten", "c": "beaten"}  # whatever is replaced: nothing of it is exact


def test_blocks_add_up_to_their_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is left out at either end."""
    rng = np.random.default_rng(2)
    values = np.sort(np.where(rng.random(3000) < 0.5, rng.random(3000), np.round(rng.random(3000), 1)))
    starts = np.array([[0, 1700, 1700, 3000]])
    for begin, end in ((0, 1700), (1700, 3000)):
        values[begin:end].sort()
    pulls = np.array([1720, 9, 1300])
    for taken in (0, 1, 511, 512, 700, 1299, 5000):
        log = Ordered(["a", "b", "c"], ("x",), pulls, starts, (values,))
        found = log.sums_of_bets(0, np.arange(3), (0.0, 1.0), np.full(3, float(taken)))
        for arm in range(3):
            own = values[starts[0, arm] : starts[0, arm + 1]]
            for side, xi in enumerate((own, 1.0 - own)):
                kept = np.sort(xi)[taken:]
                wanted = sums_of_bets(np.append(kept, np.ones(pulls[arm] - len(kept))))
                assert found[arm, side] == pytest.approx(wanted, rel=1e-9)


def test_a_share_of_an_arm_known_by_its_sums_alone_is_bounded_no_tighter() -> None:
    values = np.sort(np.random.default_rng(4).beta(5, 2, 900))
    log = Ordered(["a"], ("x",), np.array([950]), np.array([[0, 900]]), (values,))
    state = LogState.from_ordered(log, {"bounds": {"x": [0.0, 1.0]}}).sketched(8)
    sketched, _ = state.readable(0.05)
    assert not sketched.whole
    for taken in (0, 90):
        asked = 0, np.array([0]), (0.0, 1.0), np.array([float(taken)])
        exact, loose = log.sums_of_bets(*asked), sketched.sums_of_bets(*asked)
        assert (loose <= exact + 1e-9).all()
        assert (loose == pytest.approx(exact, rel=1e-9)) == (taken == 0)


def test_equal_values_cost_as_much_as_one_and_sums_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    samples = [(np.arange(2000.0) < 1200).astype(np.float64)[:, None]] * 2
    objective = [Objective("m0", "maximize", statistic="mean", bounds=(0, 1))]
    reader = IntervalReader(log_of(samples, objective), objective, 0.05)
    first = reader.read(Prescient(0.0))
    asked = []
    monkeypatch.setattr(Ordered, "sums_of_bets", lambda *given: asked.append(given))
    for eps in (0.1, 0.2):
        intervals = reader.read(Prescient(eps))  # the same bets, and what keep makes of them
        assert intervals.upper[0, 0] == pytest.approx(min(1.0, first.upper[0, 0] / (1 - eps)))
    assert not asked


# What is read from intervals ------------------------------------------------------------------------------------------


def rates(shares: dict[str, float], n: int, seed: int = 0) -> dict[str, Any]:
    """A log of models, each of which solves this share of its tasks; the better, the dearer."""
    rng = np.random.default_rng(seed)
    solved = np.concatenate([rng.permutation(np.arange(n) < round(share * n)) for share in shares.values()])
    prices = np.repeat(np.arange(len(shares), 0, -1.0), n)
    return {"arm": np.repeat(list(shares), n), "solved": solved.astype(np.float64), "price": prices}


MODELS = {"large": 0.92, "middle": 0.75, "small": 0.60, "tiny": 0.55}
SOLVED = Objective("solved", "maximize", statistic="mean", bounds=(0, 1))
PRICE = Objective("price", "minimize", exact=True)


def test_models_with_a_median_of_one_are_refused_and_their_rates_are_told_apart(snapshot: SnapshotAssertion) -> None:
    log = rates(MODELS, 400)
    with pytest.raises(BadInput) as refused:
        analyze(log, maximize="solved", minimize="price")
    assert said(refused.value) == snapshot
    assert '--mean solved (Objective(statistic="mean", bounds=(0, 1)))' in str(refused.value)
    assert "--quantile solved=0.5 (Objective(quantile=0.5))" in str(refused.value)
    found = analyze(log, objectives=[SOLVED, PRICE], contamination=0.0)
    assert found.verdicts["large"] == found.verdicts["tiny"] == "keep"
    assert {found.verdicts["middle"], found.verdicts["small"]} <= {
        "keep",
        "undecided",
    }  # which takes more than 400 rows
    much = analyze(rates(MODELS, 20_000), objectives=[SOLVED, PRICE], contamination=0.02)
    assert set(much.verdicts.values()) == {"keep"}
    assert much.front_changes_at is not None
    assert 0.02 < much.front_changes_at < 0.1
    asked = analyze(log, maximize="solved", minimize="price", quantile={"solved": 0.5}, contamination=0.0)
    assert asked.verdicts["tiny"] == "keep"  # the median, as it was asked for


def test_a_robustness_profile_is_that_of_every_level() -> None:
    for threat in (Prescient(0.0), Malicious(0.0), Share(0.0)):
        log = rates({"a": 0.9, "b": 0.7, "c": 0.65}, 800, seed=3)
        arm_of = np.repeat(np.arange(3), 800)
        ordered = sorted_pulls(list("abc"), [SOLVED, PRICE], arm_of, np.stack([log["solved"], log["price"]], axis=1))
        reader = IntervalReader(ordered, [SOLVED, PRICE], 0.05)
        goal = {"accuracy": np.zeros(2), "coverage": np.zeros(2), "margin": np.zeros(2)}
        found = profile(reader, threat, resolution=0.01, **goal)
        levels = np.round(0.01 * np.arange(50), 12)
        codes = np.array([judge(reader.read(replace(threat, eps=eps)), **goal).codes for eps in levels])
        for arm in range(3):
            if codes[0, arm] != Verdict.UNDECIDED:
                changed = np.flatnonzero(codes[:, arm] != codes[0, arm])
                last = levels[-1] if not len(changed) else levels[changed[0] - 1]
                assert found.per_arm[arm] == pytest.approx(last)


@pytest.mark.parametrize("threat", THREATS, ids=str)
def test_boxes_widen_with_epsilon_and_confidence(threat: Threat) -> None:
    """What the robustness profile and the search of `if_cleaner` rest on."""
    log = log_of(some_samples(np.random.default_rng(8)), OBJECTIVES)
    reader = IntervalReader(log, OBJECTIVES, 0.05)
    before = reader.read(replace(threat, eps=0.0))
    for eps in (0.01, 0.05, 0.2, 0.4):
        now = reader.read(replace(threat, eps=eps))
        assert (now.lower <= before.lower).all()
        assert (now.upper >= before.upper).all()
        assert np.array_equal(now.estimates, before.estimates)
        before = now
    surer = IntervalReader(log, OBJECTIVES, 0.01).read(threat)
    own = reader.read(threat)
    assert (surer.lower <= own.lower).all()
    assert (surer.upper >= own.upper).all()


def test_more_pulls_are_foreseen_and_then_enough() -> None:
    log = rates({"a": 0.8, "b": 0.7}, 60)
    objectives, goal = [SOLVED], {"accuracy": np.zeros(1), "coverage": np.zeros(1), "margin": np.zeros(1)}

    def reader(times: int) -> IntervalReader:
        values = np.tile(log["solved"].reshape(2, -1), times)
        return IntervalReader(
            sorted_pulls(["a", "b"], objectives, np.repeat([0, 1], 60 * times), values.reshape(-1, 1)), objectives, 0.05
        )

    now = reader(1)
    for threat in (Prescient(0.01), Share(0.02)):
        verdicts = judge(now.read(threat), **goal)
        more = needed(now, threat, verdicts, **goal)
        assert more.limit.tolist() == [0, 0]
        level = int(more.level[0])
        later = judge(reader(math.ceil(level / 60)).read(threat), **goal)
        assert later.codes.tolist() == [Verdict.KEEP, Verdict.BEATEN]
        ahead, real = now.foresee(threat, 60 * 8), reader(8).read(threat)
        np.testing.assert_allclose(ahead.upper, real.upper, atol=2e-3)
        np.testing.assert_allclose(ahead.doubt_high, real.doubt_high, rtol=1e-9)


def test_the_first_pulls_that_tell_anything() -> None:
    for n in (2, 3, 4, 5):
        log = rates({"a": 1.0, "b": 0.0}, n)
        ordered = sorted_pulls(["a", "b"], [SOLVED], np.repeat([0, 1], n), log["solved"][:, None])
        reader = IntervalReader(ordered, [SOLVED], 0.05)
        first = reader.first_bounded(Prescient(0.1))
        assert first[0] == first[1] is not None
        intervals = reader.read(Prescient(0.1))
        assert reader.unknown(intervals, 1).all() == (n < (first[0] or 0))
    rows = {"arm": ["a", "b"], "x": [1.0, 0.0]}
    found = analyze(rows, objectives=[replace(SOLVED, name="x")], contamination=0.1)
    assert found.notices[0].kind == "too_few_pulls"  # type: ignore[attr-defined]


def test_many_arms_take_seconds() -> None:
    arms = 250_000
    rng = np.random.default_rng(0)
    values = np.sort(rng.random((arms, 4)), axis=1).ravel()
    starts = (4 * np.arange(arms + 1))[None]
    log = Ordered(range(arms), ("x",), np.full(arms, 4), starts, (values,))  # type: ignore[arg-type]
    begun = time.process_time()
    intervals = IntervalReader(log, [replace(SOLVED, name="x")], 0.05).read(Prescient(0.1))
    assert time.process_time() - begun < 10.0
    assert intervals.lower.shape == (arms, 1)


@pytest.mark.parametrize("threat", [Prescient(0.1), Malicious(0.1), Share(0.1)], ids=str)
def test_means_of_attacked_logs_are_covered(threat: Threat) -> None:
    """An attacker who sees all values, and replaces what it may by the best of one arm and the worst of another."""
    rng = np.random.default_rng(17)
    true, misses, logs, n = (0.7, 0.55, 0.5), 0, 100, 60
    words = ("keep", "beaten", "beaten")
    for _ in range(logs):
        columns = []
        for arm, share in enumerate(true):
            values = (rng.random(n) < share).astype(np.float64)
            to = 0.0 if arm == 0 else 1.0
            if threat.chooses_hits:
                hits = np.flatnonzero(values != to)[: math.floor(threat.eps * n)]
            else:
                hits = np.flatnonzero(rng.random(n) < threat.eps)
            values[hits] = to
            columns.append(values)
        log = {"arm": np.repeat(list("abc"), n), "solved": np.concatenate(columns)}
        found = analyze(log, objectives=[SOLVED], threat=threat, confidence=0.95, profile=False, anytime=False)
        covered = (found.lower[:, 0] <= true) & (np.asarray(true) <= found.upper[:, 0])
        certain = all(found.verdicts[arm] in ("undecided", word) for arm, word in zip("abc", words, strict=True))
        misses += not (covered.all() and certain)
    assert misses <= 0.05 * logs
