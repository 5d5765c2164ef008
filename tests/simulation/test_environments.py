"""What each environment draws against scipy, and what it says of itself against values found by hand."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from syrupy.assertion import SnapshotAssertion

from frontguard.simulation import environments as env
from frontguard.simulation.draws import stream_states
from frontguard.simulation.environments import Environment
from tests.support import worlds
from tests.support.snapshots import refused

MEDIANS = np.array([[0.0, 1.0], [2.0, -3.0], [-1.0, 0.5]])
SCALES = np.array([[0.5, 1.0], [2.0, 0.1], [1.0, 3.0]])
POINTS = np.array([[0.0, 5.0], [1.0, 4.0], [2.0, 9.0], [7.0, 7.0], [-1.0, 2.0], [1.0, 4.0], [3.0, 3.0]])
OWNERS = np.array([0, 0, 0, 1, 2, 2, 2])


class Mixture:
    """Just enough of a scipy law for a mixture of normals with equal weights."""

    def __init__(self, centres: list[float], sigma: float, weights: list[float] | None = None) -> None:
        self.parts = [stats.norm(c, sigma) for c in centres]
        self.weights = weights or [1 / len(centres)] * len(centres)

    def cdf(self, x: Any) -> Any:
        return sum(w * part.cdf(x) for w, part in zip(self.weights, self.parts, strict=True))

    def mean(self) -> float:
        return float(sum(w * part.mean() for w, part in zip(self.weights, self.parts, strict=True)))


def location_scale(law: Any, *shape: float) -> list[list[Any]]:
    return [[law(*shape, loc=MEDIANS[i, d], scale=SCALES[i, d]) for d in range(2)] for i in range(len(MEDIANS))]


def shifted_lognormal(s: float) -> list[list[Any]]:
    """For s > 0: median − scale/s + (scale/s) e^(sZ)."""
    return [
        [stats.lognorm(s, loc=MEDIANS[i, d] - SCALES[i, d] / s, scale=SCALES[i, d] / s) for d in range(2)]
        for i in range(len(MEDIANS))
    ]


CONTINUOUS: dict[str, tuple[Environment, list[list[Any]]]] = {
    "gaussian": (env.gaussian(MEDIANS, SCALES), location_scale(stats.norm)),
    "cauchy": (worlds.cauchy(MEDIANS, SCALES), location_scale(stats.cauchy)),
    "skewed": (worlds.skewed(MEDIANS, SCALES, 0.8), shifted_lognormal(0.8)),
    "uniform": (
        env.uniform(MEDIANS, SCALES),
        [[stats.uniform(MEDIANS[i, d] - SCALES[i, d] / 2, SCALES[i, d]) for d in range(2)] for i in range(3)],
    ),
    "bimodal": (
        worlds.bimodal(MEDIANS, MEDIANS + 4.0, 0.5, 0.3),
        [[Mixture([m, m + 4.0], 0.5, [0.7, 0.3]) for m in row] for row in MEDIANS],
    ),
    "noisy bootstrap": (
        env.noisy_bootstrap(POINTS, OWNERS, [0.1, 0.7]),
        [[Mixture(list(POINTS[i == OWNERS, d]), (0.1, 0.7)[d]) for d in range(2)] for i in range(3)],
    ),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_draws_follow_the_law(name: str) -> None:
    environment, laws = CONTINUOUS[name]
    for arm, row in enumerate(laws):
        sample = environment.sample(arm, 20_000, seed=1)
        for d, law in enumerate(row):
            assert stats.kstest(sample[:, d], law.cdf).pvalue > 1e-4, (arm, d)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_truths_are_those_of_the_law(name: str) -> None:
    environment, laws = CONTINUOUS[name]
    assert isinstance(environment, env.Quantiled)
    for arm, row in enumerate(laws):
        for d, law in enumerate(row):
            assert law.cdf(environment.medians[arm, d]) == pytest.approx(0.5, abs=1e-9)
            for level in (0.05, 0.5, 0.8):
                reached = law.cdf(environment.law.quantile(level)[arm, d])
                assert reached == pytest.approx(level, abs=2e-6 if "many" in name else 1e-9)
                below, upto = environment.law.mass(environment.law.quantile(level))
                assert below[arm, d] == upto[arm, d] == pytest.approx(level, abs=1e-9)


def test_means() -> None:
    for name in ("skewed", "bimodal", "noisy bootstrap"):
        environment, laws = CONTINUOUS[name]
        assert environment.means is not None
        assert environment.means == pytest.approx(np.array([[law.mean() for law in row] for row in laws]))
    assert env.gaussian(MEDIANS, 1.0).means is None  # the same as the medians
    assert np.isnan(worlds.cauchy(MEDIANS, 1.0).means).all()  # type: ignore[arg-type]


def test_skewed_to_the_left_mirrors_skewed_to_the_right() -> None:
    right = worlds.skewed([[0.0]], 2.0, 0.7)
    left = worlds.skewed([[0.0]], 2.0, -0.7)
    assert stats.ks_2samp(left.sample(0, 20_000, seed=1)[:, 0], -right.sample(0, 20_000, seed=2)[:, 0]).pvalue > 1e-3
    assert left.law.quantile(0.9) == pytest.approx(-right.law.quantile(0.1))
    beyond_the_support = left.law.mass(np.array([[2.0 / 0.7 + 0.1]]))
    assert beyond_the_support[1].item() == 1.0


def test_objectives_are_independent_unless_said_otherwise() -> None:
    count = 20_000
    for name in ("gaussian", "cauchy", "skewed", "uniform", "bimodal"):
        sample = CONTINUOUS[name][0].sample(0, count, seed=3)
        first, second = stats.rankdata(sample[:, 0]), stats.rankdata(sample[:, 1])
        table = np.histogram2d(first, second, bins=4)[0]
        assert stats.chi2_contingency(table).pvalue > 1e-4, name


def test_constant() -> None:
    environment = env.constant(MEDIANS)
    assert environment.sample(1, 70).tolist() == [[2.0, -3.0]] * 70
    assert environment.law.quantile(0.01).tolist() == MEDIANS.tolist()


def test_gaussian_without_deviation_is_constant() -> None:
    environment = env.gaussian([[1.0, 2.0]], [0.0, 1.0])
    sample = environment.sample(0, 100)
    assert (sample[:, 0] == 1.0).all()
    assert sample[:, 1].std() > 0.5


def test_categorical_frequencies() -> None:
    counts = np.array([[[1, 0, 3, 6], [5, 5, 0, 0]], [[0, 0, 0, 2], [1, 1, 1, 1]]])
    values = np.array([1.0, 2.0, 4.0, 8.0])
    environment = env.categorical(counts, values)
    assert environment.medians.tolist() == [[8.0, 1.5], [8.0, 3.0]]
    assert environment.means == pytest.approx(np.array([[6.1, 1.5], [8.0, 3.75]]))
    for arm in range(2):
        sample = environment.sample(arm, 40_000, seed=5)
        for d in range(2):
            drawn = np.array([(sample[:, d] == v).sum() for v in values])
            assert drawn.sum() == len(sample)
            possible = counts[arm, d] > 0
            assert (drawn[~possible] == 0).all()
            expected = counts[arm, d][possible] / counts[arm, d].sum() * len(sample)
            if possible.sum() > 1:
                assert stats.chisquare(drawn[possible], expected).pvalue > 1e-4
    both = environment.sample(0, 40_000, seed=6)
    table = [[((both[:, 0] == a) & (both[:, 1] == b)).sum() for b in (1.0, 2.0)] for a in (1.0, 4.0, 8.0)]
    assert stats.chi2_contingency(table).pvalue > 1e-4


@given(st.lists(st.integers(0, 50), min_size=1, max_size=9).filter(any))
def test_alias_tables_hold_exactly_the_weights(weights: list[int]) -> None:
    """Summed over cells, each value gets its share, to the resolution of the coin."""
    cells = len(weights)
    environment = env.categorical([[weights]], np.arange(cells, dtype=float))
    thresholds = environment.ints[-cells:] / 2.0**32
    share = np.zeros(cells)
    for (own, alias), keep in zip(environment.reals.reshape(-1, 2), thresholds, strict=True):
        share[int(own)] += keep / cells
        share[int(alias)] += (1 - keep) / cells
    assert share == pytest.approx(np.array(weights) / sum(weights), abs=1e-9)
    assert (share[np.array(weights) == 0] == 0).all()


def test_bootstrap_draws_whole_rows() -> None:
    environment = env.bootstrap(POINTS, OWNERS)
    assert environment.medians.tolist() == [[1.0, 5.0], [7.0, 7.0], [1.0, 3.0]]
    assert environment.means == pytest.approx(np.array([[1.0, 6.0], [7.0, 7.0], [1.0, 3.0]]))
    for arm in range(3):
        rows = Counter(map(tuple, environment.sample(arm, 30_000, seed=7).tolist()))
        expected = Counter(map(tuple, POINTS[arm == OWNERS].tolist()))
        assert set(rows) == set(expected)
        if len(expected) > 1:
            shares = [30_000 * expected[row] / sum(expected.values()) for row in rows]
            assert stats.chisquare(list(rows.values()), shares).pvalue > 1e-4


def test_bootstrap_does_not_care_for_the_order_of_the_table() -> None:
    shuffled = np.array([6, 3, 0, 5, 1, 4, 2])
    other = env.bootstrap(POINTS[shuffled], OWNERS[shuffled])
    assert other.medians.tolist() == env.bootstrap(POINTS, OWNERS).medians.tolist()
    assert set(map(tuple, other.sample(1, 100).tolist())) == {(7.0, 7.0)}


def test_noisy_bootstrap_takes_one_row_for_all_objectives() -> None:
    environment = env.noisy_bootstrap([[0.0, 0.0], [10.0, 10.0]], [0, 0], 0.1)
    sample = environment.sample(0, 2000, seed=8)
    assert ((sample[:, 0] > 5) == (sample[:, 1] > 5)).all()
    noise = sample - np.where(sample > 5, 10.0, 0.0)
    assert abs(stats.pearsonr(noise[:, 0], noise[:, 1]).statistic) < 0.1


ALL: dict[str, Environment] = {name: pair[0] for name, pair in CONTINUOUS.items()} | {
    "constant": env.constant(MEDIANS),
    "categorical": env.categorical(np.arange(1, 19).reshape(3, 2, 3), [1, 2, 3]),
    "bootstrap": env.bootstrap(POINTS, OWNERS),
}


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("count", [0, 1, 63, 65])
def test_any_length_of_block_is_filled(name: str, count: int) -> None:
    environment = ALL[name]
    out = np.full((2, count), np.nan)
    environment.draw(out, 1, environment.reals, environment.ints, stream_states(1, 0, 1)[0][0])
    assert np.isfinite(out).all()


@pytest.mark.parametrize("name", ALL)
def test_draws_are_determined_by_the_seed(name: str) -> None:
    environment = ALL[name]
    assert environment.sample(0, 100, seed=1).tolist() == environment.sample(0, 100, seed=1).tolist()
    if name != "constant":
        assert environment.sample(0, 100, seed=1).tolist() != environment.sample(0, 100, seed=2).tolist()


def test_one_arm_and_one_objective() -> None:
    for environment in (
        env.gaussian([[1.0]], 1.0),
        env.categorical([[[1, 2]]], [0, 1]),
        env.bootstrap([[1.0], [2.0]], [0, 0]),
        env.noisy_bootstrap([[1.0], [2.0]], [0, 0], 0.5),
    ):
        assert environment.sample(0, 10).shape == (10, 1)
        assert environment.pareto_set == [0]


def test_inputs_are_neither_kept_nor_changed() -> None:
    medians, sigma = MEDIANS.copy(), SCALES.copy()
    environment = env.gaussian(medians, sigma)
    before = environment.sample(0, 5).tolist()
    sigma *= 100
    assert environment.sample(0, 5).tolist() == before
    points = POINTS.copy()
    env.bootstrap(points, OWNERS)
    assert points.tolist() == POINTS.tolist()


def test_pareto_set_and_gaps_by_hand() -> None:
    environment = env.gaussian([[3.0, 1.0], [1.0, 3.0], [0.5, 2.0], [2.5, 0.0]], 1.0)
    assert environment.pareto_set == [0, 1]
    assert environment.gaps.tolist() == [0.0, 0.0, 0.5, 0.5]


BAD: list[tuple[str, Callable[[], object], str]] = [
    (
        "sigma of wrong shape",
        lambda: env.gaussian(MEDIANS, [1.0, 2.0, 3.0]),
        r"sigma .*\(2,\).*\(3, 2\).*got \(3,\)",
    ),
    (
        "negative sigma",
        lambda: env.gaussian(MEDIANS, -1.0),
        r"sigma must be finite and not negative; got -1.0",
    ),
    ("infinite median", lambda: env.gaussian([[np.inf]], 1.0), "medians must be finite; got inf"),
    ("flat medians", lambda: env.gaussian([1.0, 2.0], 1.0), r"medians must have the shape \(K, M\)"),
    ("no width", lambda: env.uniform(MEDIANS, [1.0, np.nan]), "width must be finite and positive; got nan"),
    ("flat counts", lambda: env.categorical([[1, 2]], [1, 2]), r"counts must have the shape \(K, M, S\)"),
    (
        "values too few",
        lambda: env.categorical([[[1, 2]]], [1]),
        r"values must have the shape \(S,\) = \(2,\)",
    ),
    ("infinite value", lambda: env.categorical([[[1, 2]]], [1, np.inf]), "values must be finite"),
    (
        "negative count",
        lambda: env.categorical([[[1, -2]]], [1, 2]),
        "counts must be finite and not negative",
    ),
    ("no counts", lambda: env.categorical([[[1, 2], [0, 0]]], [1, 2]), "arm 0, objective 1"),
    ("owners too few", lambda: env.bootstrap(POINTS, OWNERS[:-1]), "one integer for each of the 7 points"),
    ("owners not integers", lambda: env.bootstrap(POINTS, OWNERS + 0.5), "float64"),
    ("negative owner", lambda: env.bootstrap(POINTS, OWNERS - 1), "must not be negative; got -1"),
    ("empty arm", lambda: env.bootstrap(POINTS, OWNERS * 2), "arm 1 has none"),
    ("no noise", lambda: env.noisy_bootstrap(POINTS, OWNERS, 0.0), "sigma must be finite and positive"),
]


@pytest.mark.parametrize("build", [case[1] for case in BAD], ids=[case[0] for case in BAD])
def test_bad_input_is_refused(build: Callable[[], object], snapshot: SnapshotAssertion) -> None:
    with refused(ValueError, snapshot):
        build()


def test_movielens_histograms(shared_data: Path) -> None:
    """Medians, means and Pareto sets against those that come with the data."""
    selections = json.loads((shared_data / "movielens" / "movielens24.json").read_text())
    selections = selections.get("selections", selections)
    checked = 0
    for selection in selections.values():
        if not isinstance(selection, dict) or "arms" not in selection:
            continue
        arms = selection["arms"]
        environment = env.categorical([arm["counts"] for arm in arms], selection["scores"])
        assert environment.medians.tolist() == [[float(m) for m in arm["median"]] for arm in arms]
        assert environment.means == pytest.approx(np.array([arm["mean"] for arm in arms]), abs=1e-3)
        assert environment.gaps == pytest.approx(np.array([arm["gap_median"] for arm in arms]))
        assert environment.pareto_set == sorted(selection["pareto_arms"])
        checked += 1
    assert checked == 3


def test_sw_llvm_points(shared_data: Path) -> None:
    """Medians, means and Pareto set against the summary that comes with the data."""
    with (shared_data / "sw_llvm" / "sw_llvm.csv").open() as lines:
        rows = list(csv.DictReader(lines))
    points = np.array([[float(row["y0"]), float(row["y1"])] for row in rows])
    environment = env.bootstrap(points, np.array([int(row["arm"]) for row in rows]))
    assert environment.arms == 16
    assert environment.pareto_set == [9, 15]
    assert environment.gaps[8] == pytest.approx(0.324, abs=5e-4)
    assert environment.means is not None
    assert np.abs(environment.means - environment.medians).max(axis=0) == pytest.approx([0.098, 0.113], abs=5e-4)
