"""Sketches: bounds that hold, memory that is bounded, and what the library does beside what is said of it.

The coins cannot be seeded. What is random here either holds whatever they say, or fails with a probability that is
stated, below 10⁻⁸.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from syrupy.assertion import SnapshotAssertion

from frontguard import BadInput, analyze
from frontguard._common.typing import Floats, Ints
from frontguard.evidence.confidence_sequences import fixed_rank
from frontguard.evidence.measurements import Ordered
from frontguard.logs.sketch import (
    EMPTY,
    EXACT,
    SKETCH_SHARE,
    Sketch,
    Sketches,
    SketchOrdered,
    allowed_error,
    capacity,
    lasting_error,
    merge_sketches,
    sketch_of,
)
from frontguard.logs.state import LogState, append_to
from tests.support.forks import fork
from tests.support.snapshots import refused

SURE = 1e-12  # of a read: a million reads fail with probability 10⁻⁶ at most, and far less by experience


def one_arm(values: Floats, *, failed: int = 0, name: str = "a") -> Ordered:
    count = len(values)
    return Ordered([name], ("x",), np.array([count + failed]), np.array([[0, count]]), (np.sort(values),))


def zoomed(n: int) -> Floats:
    """From both ends to the middle: every new value lies between all that came before."""
    order = np.empty(n)
    order[0::2] = np.arange((n + 1) // 2)
    order[1::2] = np.arange(n - 1, (n + 1) // 2 - 1, -1)
    return order


ORDERS: dict[str, Callable[[int], Floats]] = {
    "sorted": lambda n: np.arange(float(n)),
    "reversed": lambda n: np.arange(float(n))[::-1].copy(),
    "zoomed in": zoomed,
    "zoomed out": lambda n: zoomed(n)[::-1].copy(),
    "shuffled": lambda n: np.random.default_rng(n).permutation(np.arange(float(n))),
    "in strides": lambda n: np.concatenate([np.arange(float(s), n, 37) for s in range(37)]),
}


def sketch_of_stream(size: int, stream: Floats, shards: int = 1, at_once: int = 30) -> Sketch:
    parts = []
    for part in np.array_split(stream, shards):
        sketch = EMPTY
        for start in range(0, len(part), at_once):
            sketch = merge_sketches(sketch, sketch_of(part[start : start + at_once]), size)
        parts.append(sketch)
    while len(parts) > 1:  # neighbours first, and the odd one last
        merged = [merge_sketches(parts[i], parts[i + 1], size) for i in range(0, len(parts) - 1, 2)]
        parts = merged + parts[2 * len(merged) :]
    return parts[0]


def framed(log: Ordered, metric: int, ranks: Ints, side: int) -> Floats:
    """Values (K,) at ranks from below, for this side of them; −∞ for ranks below 1, +∞ beyond the good values."""
    known = np.flatnonzero((ranks >= 1) & (ranks <= log.good[metric]))
    found = np.where(ranks < 1, -np.inf, np.inf)
    found[known] = log.at(metric, known, ranks[known], side)
    return found


def from_below(log: Ordered, metric: int, ranks: Ints) -> Floats:
    return framed(log, metric, ranks, 0)


def from_above(log: Ordered, metric: int, ranks: Ints) -> Floats:
    return framed(log, metric, log.good[metric] + 1 - ranks, 0)


def lower_bound(log: Ordered, metric: int, ranks: Ints) -> Floats:
    return framed(log, metric, ranks, -1)


def upper_bound(log: Ordered, metric: int, ranks: Ints) -> Floats:
    return framed(log, metric, log.good[metric] + 1 - ranks, 1)


def held_by(sketch: Sketch) -> tuple[Floats, Ints]:
    """The values that a sketch holds, ascending, and how many each stands for."""
    values = np.concatenate(sketch.levels)
    weights = np.concatenate([np.full(len(held), 2**level) for level, held in enumerate(sketch.levels)])
    order = np.argsort(values)
    return values[order], weights[order]


def errors_of(sketch: Sketch, n: int) -> Floats:
    """The rank error at 0.5, 1.5, …: a stream of 0, 1, …, n − 1 has j + 1 values below j + 0.5."""
    values, weights = held_by(sketch)
    found = np.concatenate([[0], np.cumsum(weights)])[np.searchsorted(values, np.arange(n) + 0.5)]
    return found - np.arange(1, n + 1)


@pytest.mark.parametrize("shards", [1, 2, 7])
@pytest.mark.parametrize("n", [20, 100, 997, 5000])
def test_what_a_sketch_holds(n: int, shards: int) -> None:
    stream = np.random.default_rng(n).normal(size=n)
    sketch = sketch_of_stream(20, stream, shards)
    values, weights = held_by(sketch)
    assert (sketch.count, weights.sum()) == (n, n)
    assert set(values) <= set(stream)
    assert sketch.extremes == (stream.min(), stream.max())
    assert len(values) <= sum(capacity(20, depth) for depth in range(len(sketch.levels)))
    assert (sketch.rank_error == (0, 0)) == (len(sketch.levels) == 1) == (len(values) == n)


@pytest.mark.parametrize("shards", [1, 7])
@pytest.mark.parametrize("order", ORDERS)
def test_errors_are_less_than_is_said(order: str, shards: int) -> None:
    """All ranks of 80 sketches: |error| ≤ the hard bound always; the tails, rank by rank, below Azuma's bound."""
    n, repeats = 3000, 80
    ranks = np.arange(50, n, 150)
    scaled = []
    for size in (8, 30):
        for _ in range(repeats // 2):
            sketch = sketch_of_stream(size, ORDERS[order](n), shards)
            proxy, hard = sketch.rank_error
            errors = errors_of(sketch, n)
            assert np.abs(errors).max() <= hard
            assert np.abs(errors).max() <= allowed_error(proxy, hard, SURE)
            scaled.append(errors[ranks] / math.sqrt(proxy))
    spread = np.sqrt(np.mean(np.square(scaled)))
    # Were V too small, the spread could exceed 1; with room it does not come near. Nor is V idle.
    assert 0.1 < spread < 0.8
    for t in (1.0, 1.5, 2.0):
        for sign in (1.0, -1.0):
            assert np.mean(sign * np.array(scaled) >= t) < 0.5 * math.exp(-t * t / 2.0)


def test_a_compaction_keeps_every_second_value_by_a_fair_coin() -> None:
    """Of 0, …, 8 in a sketch of size 8: the odd one stays, and either 1, 3, … or 2, 4, … go up."""
    found = [merge_sketches(EMPTY, sketch_of(np.arange(9.0)), 8) for _ in range(200)]
    assert {sketch.compactions for sketch in found} == {(1, 0)}
    assert {tuple(sketch.levels[0]) for sketch in found} == {(0.0,)}
    kept = [tuple(sketch.levels[1]) for sketch in found]
    assert set(kept) == {(1.0, 3.0, 5.0, 7.0), (2.0, 4.0, 6.0, 8.0)}
    assert binom.cdf(min(map(kept.count, set(kept))), 200, 0.5) > 1e-9


def test_compactions_depend_on_counts_alone() -> None:
    streams = [make(4000) for make in ORDERS.values()]
    assert len({sketch_of_stream(25, stream, 3).compactions for stream in streams}) == 1


def test_bounds_hold_at_every_rank() -> None:
    n = 4000
    for order, make in ORDERS.items():
        for shards in (1, 5):
            log = Sketches(("x",), 30)
            log._kept = Ordered(["a"], ("x",), np.array([n]), np.zeros((1, 2), np.int64), (np.empty(0),))
            log._sketches[0, "a"], log._sums = sketch_of_stream(30, make(n), shards), np.zeros((1, 1))
            reads, _ = log.readable(2 * SURE / SKETCH_SHARE)
            assert 0 < reads.rank_errors[0, 0] < 0.4 * n
            for rank in range(1, n + 1, 7):
                truth = rank - 1.0
                asked, mirrored = np.array([rank]), np.array([n + 1 - rank])
                low, high = lower_bound(reads, 0, asked)[0], upper_bound(reads, 0, mirrored)[0]
                assert low <= truth <= high, (order, shards, rank)
                assert low <= from_below(reads, 0, asked)[0] == from_above(reads, 0, mirrored)[0] <= high
            for rank, ends in ((1, (0.0, n - 1.0)), (0, (-np.inf, np.inf))):
                asked = np.array([rank])
                assert (lower_bound(reads, 0, asked)[0], upper_bound(reads, 0, asked)[0]) == ends


ROWS = st.lists(
    st.tuples(st.sampled_from("abcd"), st.lists(st.sampled_from([0.0, 1.0, 2.0, -3.0]), max_size=60)), max_size=8
)


def log_of(rows: list[tuple[str, list[float]]]) -> Ordered:
    arms = sorted({name for name, _ in rows})
    runs = [np.sort([x for name, some in rows if name == arm for x in some]) for arm in arms]
    counts = np.array([len(run) for run in runs], np.int64)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)[None, :]
    return Ordered(arms, ("x",), counts + 1, starts, (np.concatenate([*runs, np.empty(0)]),))


@settings(max_examples=20)
@given(ROWS, ROWS, st.booleans())
def test_bounds_frame_the_exact_log(first: list, second: list, merged: bool) -> None:
    """Any parts, added or merged: counts exact, small arms exact, order statistics inside the bounds."""
    both = Sketches(("x",), 8)
    both.add(log_of(first))
    if merged:
        other = Sketches(("x",), 8)
        other.add(log_of(second))
        both.merge(other)
    else:
        both.add(log_of(second))
    exact = LogState.from_ordered(log_of(first)).merge(LogState.from_ordered(log_of(second))).data
    assert isinstance(exact, Ordered)
    reads, left = both.readable(1e-9)
    assert list(reads.arms) == list(exact.arms)
    assert reads.pulls.tolist() == exact.pulls.tolist()
    assert reads.good.tolist() == exact.good.tolist()
    assert reads.good.tolist() == exact.good.tolist()
    small = exact.good[0] <= EXACT * 8
    assert (reads.rank_errors[0][small] == 0).all()
    assert left == (1e-9 if (reads.rank_errors == 0).all() else pytest.approx(0.9e-9))
    for share in (0.0, 0.1, 0.5, 0.9, 1.1):
        ranks = np.ceil(share * exact.good[0]).astype(np.int64)
        for bound, truth, way in (
            (lower_bound(reads, 0, ranks), from_below(exact, 0, ranks), np.less_equal),
            (upper_bound(reads, 0, ranks), from_above(exact, 0, ranks), np.greater_equal),
        ):
            assert way(bound, truth).all()
            assert (bound == truth)[small].all()
    some = exact.good[0] > 0
    sums = np.array([run.sum() for run in np.split(exact.values[0], exact.starts[0, 1:-1])])
    assert reads.mean(0)[some] == pytest.approx(sums[some] / exact.good[0][some])
    assert np.isnan(reads.mean(0)[~some]).all()


def test_memory_does_not_grow_with_the_rows() -> None:
    sketches = Sketches(("x",), 50)
    rng = np.random.default_rng(1)
    sizes = []
    for _ in range(30):
        sketches.add(one_arm(rng.normal(size=2000)))
        kept, arrays = sketches.to_arrays()
        sizes.append(sum(part.nbytes for part in (*kept.values, *arrays.values())))
    assert sketches.pulls.tolist() == [60_000]
    assert sketches.readable(0.05)[0].sketched.sum() == 1
    # k (1 + 2/3 + …) values, with at least 8 at each of some 12 levels, and a few bytes of bookkeeping.
    assert max(sizes) < 8 * (3 * 50 + 8 * 12) + 400


def test_some_of_the_arms_are_looked_at() -> None:
    rng = np.random.default_rng(2)
    sketches = Sketches(("x",), 20)
    for name in "abc":
        sketches.add(one_arm(rng.normal(size=500 if name == "b" else 40), name=name))
    reads, _ = sketches.readable(0.05)
    which, ranks = np.array([2, 1]), np.array([20, 250])
    whole = np.array([1, 250, 20])
    assert reads.at(0, which, ranks, -1).tolist() == lower_bound(reads, 0, whole)[[2, 1]].tolist()
    assert reads.at(0, which, ranks, 1).tolist() == upper_bound(reads, 0, reads.good[0] + 1 - whole)[[2, 1]].tolist()
    assert reads.at(0, which, ranks).tolist() == from_below(reads, 0, whole)[[2, 1]].tolist()


def reads_equal(first: Sketches, second: Sketches) -> bool:
    a, b = first.readable(0.05)[0], second.readable(0.05)[0]
    return all(
        np.array_equal(x, y, equal_nan=True) if isinstance(x, np.ndarray) else repr(x) == repr(y)
        for x, y in zip(vars(a).values(), vars(b).values(), strict=True)
    )


def test_saved_loaded_and_gone_on(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    rng = np.random.default_rng(3)
    state = LogState.from_ordered(one_arm(rng.normal(size=5000), failed=3)).sketched(25)
    state = state.merge(LogState.from_ordered(one_arm(rng.normal(size=30), name="b")))
    state.save(tmp_path / "state")
    loaded = LogState.load(tmp_path / "state")
    assert isinstance(state.data, Sketches)
    assert isinstance(loaded.data, Sketches)
    assert (loaded.pulls.tolist(), loaded.data.size) == ([5003, 30], 25)
    assert reads_equal(state.data, loaded.data)
    more = LogState.from_ordered(one_arm(rng.normal(size=700), name="b"))
    both = append_to(tmp_path / "state", more)
    assert both.pulls.tolist() == [5003, 730]
    assert reads_equal(state.data, loaded.data)  # what was merged is left as it was
    assert isinstance(both.data, Sketches)
    assert both.data.readable(0.05)[0].sketched.sum() == 2
    assert more.merge(loaded).pulls.tolist() == [5003, 730]
    with refused(BadInput, snapshot):
        loaded.sketched(30)
    with refused(BadInput, snapshot):
        loaded.merge(more.sketched(30))
    with refused(BadInput, snapshot):
        more.sketched(7)


def test_what_is_merged_is_left_as_it_was(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    parts = [LogState.from_ordered(one_arm(rng.normal(size=900), name=name)) for name in ("a", "b", "a", "b")]
    states = [parts[0].sketched(20), parts[1].sketched(20)]
    twins = []
    for index, state in enumerate(states):
        state.save(tmp_path / str(index))
        twins.append(LogState.load(tmp_path / str(index)))
    both = states[0].merge(states[1])
    assert isinstance(both.data, Sketches)
    for part in parts[2:]:
        both.merge(part)
        assert isinstance(part.data, Ordered)
        both.data.add(part.data)
    assert both.pulls.tolist() == [1800, 1800]
    for state, twin in zip(states, twins, strict=True):
        assert isinstance(state.data, Sketches)
        assert isinstance(twin.data, Sketches)
        assert reads_equal(state.data, twin.data)


def test_forked_processes_toss_their_own_coins() -> None:
    def work() -> bytes:
        own = Sketches(("x",), 8)
        for start in range(0, 5000, 50):
            own.add(one_arm(np.arange(start, start + 50.0)))
        return own.to_arrays()[1]["sketches"].tobytes()

    children = [fork(work) for _ in range(4)]
    assert len({child.result() for child in children}) == 4  # some hundred coins each


def intervals(sketches: Sketches, delta: float, kept: float, *, allowing: bool) -> tuple[Floats, Floats]:
    """Intervals (M, K) of medians, by hand; without allowing for the sketch, its estimates are taken for the truth."""
    reads, left = sketches.readable(delta)
    K, M = len(reads.arms), len(reads.metrics)
    ranks: Ints = np.array([fixed_rank(int(n), kept, left / (2 * M * K)) for n in reads.pulls])
    below = lower_bound if allowing else from_below
    above = upper_bound if allowing else from_above
    failed = reads.pulls - reads.good
    low = np.array([below(reads, d, ranks - failed[d]) for d in range(M)])
    high = np.array([above(reads, d, ranks - failed[d]) for d in range(M)])
    return low, high


def test_false_verdicts_stay_within_delta() -> None:
    """80 logs with known fronts, attacked, in sketches so small that the sketch is most of the error.

    Intervals must hold in all but a share δ of the logs, so that no arm of the front is put out, nor one called certain
    that is not on it. Taken for exact, the same sketches fail in most logs: here they matter.
    """
    rng = np.random.default_rng(11)
    delta, eps, n, K, logs = 0.2, 0.1, 15_000, 3, 80
    failures, careless, false_verdicts, verdicts = 0, 0, 0, 0
    for _ in range(logs):
        truth = rng.normal(0.0, 2.0, (2, K))
        sketches = Sketches(("x", "y"), 16)
        lies = rng.choice([-50.0, 50.0], (2, K))  # always on the same side of an arm's values: the worst for medians
        for _ in range(3):
            noise = truth[:, :, None] + rng.normal(size=(2, K, n // 3))
            hit = rng.random((K, n // 3)) < eps
            noise = np.where(hit, lies[:, :, None], noise)
            values = np.sort(noise, axis=2)
            starts = np.tile(np.arange(K + 1) * (n // 3), (2, 1))
            part = Ordered([*"abc"], ("x", "y"), np.full(K, n // 3), starts, (values[0].ravel(), values[1].ravel()))
            sketches.add(part)
        assert sketches.readable(0.05)[0].sketched.sum() == 2 * K
        low, high = intervals(sketches, delta, (1.0 - eps) * 0.5, allowing=True)
        failures += bool(((truth < low) | (truth > high)).any())
        lax_low, lax_high = intervals(sketches, delta, (1.0 - eps) * 0.5, allowing=False)
        careless += bool(((truth < lax_low) | (truth > lax_high)).any())
        front = [not any((truth[:, j] > truth[:, i]).all() for j in range(K)) for i in range(K)]
        for i in range(K):
            others = [j for j in range(K) if j != i]
            out = any((low[:, j] > high[:, i]).all() for j in others)
            certain = all((low[:, i] > high[:, j]).any() for j in others)
            verdicts += out or certain
            false_verdicts += (out and front[i]) or (certain and not front[i])
    assert failures <= delta * logs
    assert false_verdicts <= delta * logs
    assert verdicts > logs  # it is not for want of verdicts
    assert careless > 0.5 * logs


# Many looks -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.05, 0.01])
def test_an_error_that_is_watched_stays_within_what_is_said_for_all_looks(share: float) -> None:
    """Compactions of one level, one sign each, looked at after every one: E of one look is exceeded far too often."""
    rng = np.random.default_rng(0)
    walks, steps = 400, 20_000
    once, always = (
        np.array([error(v, v, share) for v in range(1, steps + 1)]) for error in (allowed_error, lasting_error)
    )
    exceeded = np.zeros(2)
    for _ in range(walks):
        errors = np.cumsum(rng.choice([-1, 1], steps))
        exceeded += (errors > once).any(), (errors > always).any()
    assert exceeded[0] > 2 * share * walks
    assert exceeded[1] <= binom.ppf(0.999, walks, share)
    assert (always >= once).all()
    assert always[-1] < 1.3 * once[-1]


def test_levels_of_any_weight_are_within_it_too() -> None:
    """Compactions of level h weigh 2ʰ, and come as the counts have it."""
    rng = np.random.default_rng(1)
    walks, share = 2000, 0.05
    weights = np.concatenate([np.repeat(2**level, 40) for level in range(12)])
    limits = [
        lasting_error(int(v), int(hard), share)
        for v, hard in zip(np.cumsum(weights**2), np.cumsum(weights), strict=True)
    ]
    errors = np.cumsum(weights * rng.choice([-1, 1], (walks, len(weights))), axis=1)
    assert (errors > limits).any(axis=1).sum() <= binom.ppf(0.999, walks, share)


def weight_up_to(reads: SketchOrdered, z: float) -> int:
    """How many values of the first arm are at or below z by what is held of it."""
    return int(reads.counts[0][reads.values[0] <= z].max(initial=0))


def test_a_sketch_that_grows_is_right_at_every_look() -> None:
    """At the true median, which is what bounds have to be right about. A sketch taken for exact would not be."""
    rng = np.random.default_rng(6)
    logs, delta, wrong, careless = 60, 0.5, 0, 0
    for _ in range(logs):
        sketches, below, missed, off = Sketches(("x",), 8), 0, False, False
        for _ in range(25):
            values = rng.normal(size=400)
            below += int((values <= 0.0).sum())
            sketches.add(one_arm(values))
            reads, left = sketches.readable(delta, anytime=True)
            assert left == pytest.approx(0.9 * delta)
            error = abs(weight_up_to(reads, 0.0) - below)
            missed |= error > reads.rank_errors[0, 0]
            off |= error > 0
        wrong += missed
        careless += off
    assert wrong <= 0.1 * delta * logs
    assert careless > 0.9 * logs


def test_it_is_paid_from_the_first_look_and_for_every_arm() -> None:
    """What a look costs does not depend on how many samples are sketched by then: later looks would cost again."""
    sketches = Sketches(("x",), 50)
    for name in "abcd":
        sketches.add(one_arm(np.arange(20.0), name=name))
    reads, left = sketches.readable(0.1, anytime=True)
    assert (left, reads.rank_errors.any()) == (pytest.approx(0.09), False)
    assert sketches.readable(0.1)[1] == 0.1
    for start in range(0, 5000, 50):
        sketches.add(one_arm(np.arange(start, start + 50.0), name="a"))
    alone = sketches.readable(0.1, anytime=True)[0].rank_errors[0, 0]
    for name in "bcd":
        sketches.add(one_arm(np.arange(5000.0), name=name))
    assert sketches.readable(0.1, anytime=True)[0].rank_errors[0, 0] == alone
    assert alone > sketches.readable(0.1)[0].rank_errors[0, 0]


def test_a_state_with_all_values_is_not_sketched_once_it_may_have_been_looked_at(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    frame = {"arm": ["a", "b"] * 50, "x": np.arange(100.0)}
    asked: dict[str, Any] = {"maximize": "x", "profile": False}
    analyze(frame, append=tmp_path / "exact", **asked)
    for log, state in ((frame, tmp_path / "exact"), (tmp_path / "exact", None)):
        with refused(BadInput, snapshot):
            analyze(log, append=state, sketch=8, **asked)
    assert analyze(tmp_path / "exact", sketch=8, maximize="x", anytime=False).pulls == 100  # one look is one look
    analyze(frame, append=tmp_path / "small", sketch=8, **asked)
    assert analyze(frame, append=tmp_path / "small", sketch=8, **asked).pulls == 200
    assert analyze(tmp_path / "small", **asked).pulls == 200
