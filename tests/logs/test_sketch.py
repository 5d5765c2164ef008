"""Sketches: bounds that hold, memory that is bounded, and what the library does beside what is said of it.

The library's coins cannot be seeded. What is random here either holds whatever the coins say, or fails with a
probability that is stated, below 10⁻⁸.
"""

from __future__ import annotations

import math
import re
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
from frontguard.evidence.boundaries import fixed_rank
from frontguard.logs.sketch import (
    Retained,
    Sketches,
    SketchOrdered,
    _retained,
    allowed_error,
    capacity,
    exact_up_to,
    lasting_error,
    ranks_error,
    readable,
)
from frontguard.logs.sort.ordered import Ordered, Readable
from frontguard.logs.state import LogState, append_to
from tests.support.forks import fork
from tests.support.snapshots import refused

datasketches = pytest.importorskip("datasketches", reason="the extra `sketch` is not installed")

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


def sketch_of(size: int, stream: Floats, shards: int = 1) -> object:
    parts = []
    for part in np.array_split(stream, shards):
        sketch = datasketches.kll_doubles_sketch(size)
        sketch.update(np.ascontiguousarray(part))
        parts.append(sketch)
    while len(parts) > 1:  # neighbours first, and the odd one last
        merged = []
        for i in range(0, len(parts) - 1, 2):
            parts[i].merge(parts[i + 1])
            merged.append(parts[i])
        parts = merged + parts[2 * len(merged) :]
    return parts[0]


def framed(log: Readable, metric: int, ranks: Ints, side: int) -> Floats:
    """Values (K,) at ranks from below, for this side of them; −∞ for ranks below 1, +∞ beyond the good values."""
    known = np.flatnonzero((ranks >= 1) & (ranks <= log.good[metric]))
    found = np.where(ranks < 1, -np.inf, np.inf)
    found[known] = log.at(metric, known, ranks[known], side)
    return found


def from_below(log: Readable, metric: int, ranks: Ints) -> Floats:
    return framed(log, metric, ranks, 0)


def from_above(log: Readable, metric: int, ranks: Ints) -> Floats:
    return framed(log, metric, log.good[metric] + 1 - ranks, 0)


def lower_bound(log: Readable, metric: int, ranks: Ints) -> Floats:
    return framed(log, metric, ranks, -1)


def upper_bound(log: Readable, metric: int, ranks: Ints) -> Floats:
    return framed(log, metric, log.good[metric] + 1 - ranks, 1)


def errors_of(retained: Retained, n: int) -> Floats:
    """The rank error at 0.5, 1.5, …: a stream of 0, 1, …, n − 1 has j + 1 values below j + 0.5."""
    order = np.argsort(retained.values)
    weights = np.concatenate([[0], np.cumsum(retained.weights[order])])
    found = weights[np.searchsorted(retained.values[order], np.arange(n) + 0.5)]
    return found - np.arange(1, n + 1)


def test_capacities_are_those_of_the_library() -> None:
    for size in (8, 20, 200, 801, 65535):
        sketch = datasketches.kll_doubles_sketch(size)
        sketch.update(np.arange(30_000.0 + 30 * size))
        stated = [int(found) for found in re.findall(r"^\s+\d+: (\d+), \d+$", sketch.to_string(True, False), re.M)]
        assert len(stated) > 3
        assert stated == [capacity(size, len(stated) - 1 - level) for level in range(len(stated))]


@pytest.mark.parametrize("n", [2, 8, 100, 5000])
def test_what_a_sketch_holds(n: int) -> None:
    sketch = sketch_of(20, np.random.default_rng(n).normal(size=n))
    retained = _retained(sketch)
    assert list(zip(retained.values.tolist(), retained.weights.tolist(), strict=True)) == list(sketch)
    assert (retained.count, retained.weights.sum()) == (n, n)
    assert (retained.lowest, retained.highest) == (sketch.get_min_value(), sketch.get_max_value())
    assert (retained.hard_error == 0) == (not sketch.is_estimation_mode()) == (retained.proxy == 0)


@pytest.mark.parametrize("shards", [1, 7])
@pytest.mark.parametrize("order", ORDERS)
def test_errors_are_less_than_is_said(order: str, shards: int) -> None:
    """All ranks of 200 sketches: |error| ≤ the hard bound always; the tails, rank by rank, below Azuma's bound."""
    n, repeats = 3000, 200
    ranks = np.arange(50, n, 150)
    scaled = []
    for size in (8, 30):
        for _ in range(repeats // 2):
            retained = _retained(sketch_of(size, ORDERS[order](n), shards))
            errors = errors_of(retained, n)
            assert np.abs(errors).max() <= retained.hard_error
            assert np.abs(errors).max() <= allowed_error(retained.proxy, retained.hard_error, SURE)
            scaled.append(errors[ranks] / math.sqrt(retained.proxy))
    spread = np.sqrt(np.mean(np.square(scaled)))
    # Were V too small, the spread could exceed 1; with room it does not come near. Nor is V idle.
    assert 0.1 < spread < 0.8
    for t in (1.0, 1.5, 2.0):
        for sign in (1.0, -1.0):
            assert np.mean(sign * np.array(scaled) >= t) < 0.5 * math.exp(-t * t / 2.0)


def test_compactions_are_never_more_than_is_said() -> None:
    """Counted one by one: a sketch that is updated value by value changes its levels when it compacts."""
    for size in (8, 25):
        sketch = datasketches.kll_doubles_sketch(size)
        proxy = hard = 0
        held = [0]
        for value in range(4000):
            sketch.update(float(value))
            body = sketch.serialize()
            if value == 0:
                held = [1]
                continue
            levels = body[18]
            bounds = [*np.frombuffer(body, "<u4", levels, 20).tolist()]
            now = np.diff([*bounds, bounds[0] + sketch.num_retained]).tolist()
            before = held + [0] * (len(now) - len(held))
            before[0] += 1
            if now != before:  # one level gave half of its values to the next
                level = next(h for h in range(len(now)) if now[h] < before[h])
                proxy += 4**level
                hard += 2**level
            held = now
            said = ranks_error(size, now)
            assert said[0] >= proxy
            assert said[1] >= hard
        assert said[0] < 4 * proxy


def test_bounds_hold_at_every_rank() -> None:
    n = 4000
    for order, make in ORDERS.items():
        for shards in (1, 5):
            retained = _retained(sketch_of(30, make(n), shards))
            empty = Ordered(["a"], ("x",), np.array([n]), np.zeros((1, 2), np.int64), (np.empty(0),))
            reads = readable(empty, [[(0, retained)]], np.zeros((1, 1)), SURE)
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


@settings(max_examples=40)
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
    small = exact.good[0] <= exact_up_to(8)
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
    assert reads.means[0][some] == pytest.approx(sums[some] / exact.good[0][some])
    assert np.isnan(reads.means[0][~some]).all()


def test_memory_does_not_grow_with_the_rows() -> None:
    sketches = Sketches(("x",), 50)
    rng = np.random.default_rng(1)
    sizes = []
    for _ in range(30):
        sketches.add(one_arm(rng.normal(size=2000)))
        kept, arrays = sketches.to_arrays()
        sizes.append(sum(part.nbytes for part in (*kept.values, *arrays.values())))
    assert sketches.pulls.tolist() == [60_000]
    assert sketches.sketched == 1
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
    assert repr(loaded) == "LogState(sketches of size 25: 2 arms, 5033 pulls, metrics 'x', 0 sources)"
    assert reads_equal(state.data, loaded.data)
    more = LogState.from_ordered(one_arm(rng.normal(size=700), name="b"))
    both = append_to(tmp_path / "state", more)
    assert both.pulls.tolist() == [5003, 730]
    assert reads_equal(state.data, loaded.data)  # what was merged is left as it was
    assert isinstance(both.data, Sketches)
    assert both.data.sketched == 2
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
    sketches = Sketches(("x",), 8)
    sketches.add(one_arm(np.arange(5000.0)))  # the generator of this thread is in use

    def work() -> bytes:
        own = Sketches(("x",), 8)
        own.add(one_arm(np.arange(5000.0)))
        return own.to_arrays()[1]["sketches 0"].tobytes()

    children = [fork(work) for _ in range(4)]
    assert len({child.result() for child in children}) == 4  # some 600 coins each


def boxes(sketches: Sketches, delta: float, kept: float, *, allowing: bool) -> tuple[Floats, Floats]:
    """Boxes (M, K) of medians, by hand; without allowing for the sketch, its estimates are taken for the truth."""
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

    Boxes must hold in all but a share δ of the logs, so that no arm of the front is put out, nor one called certain
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
        assert sketches.sketched == 2 * K
        low, high = boxes(sketches, delta, (1.0 - eps) * 0.5, allowing=True)
        failures += bool(((truth < low) | (truth > high)).any())
        lax_low, lax_high = boxes(sketches, delta, (1.0 - eps) * 0.5, allowing=False)
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
    return int(reads.held_weights[0][reads.held[0] <= z].max(initial=0))


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
    sketches.add(one_arm(np.arange(5000.0), name="a"))
    alone = sketches.readable(0.1, anytime=True)[0].rank_errors[0, 0]
    for name in "bcd":
        sketches.add(one_arm(np.arange(5000.0), name=name))
    assert sketches.readable(0.1, anytime=True)[0].rank_errors[0, 0] == alone
    assert alone > sketches.readable(0.1)[0].rank_errors[0, 0]


def test_a_state_with_all_values_is_not_sketched_once_it_may_have_been_looked_at(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    frame = {"arm": ["a", "b"] * 50, "x": np.arange(100.0)}
    asked: dict[str, Any] = {"maximize": "x", "anytime": True, "profile": False}
    analyze(frame, append=tmp_path / "exact", **asked)
    for log, state in ((frame, tmp_path / "exact"), (tmp_path / "exact", None)):
        with refused(BadInput, snapshot):
            analyze(log, append=state, sketch=8, **asked)
    assert analyze(tmp_path / "exact", sketch=8, maximize="x").pulls == 100  # one look is one look
    analyze(frame, append=tmp_path / "small", sketch=8, **asked)
    assert analyze(frame, append=tmp_path / "small", sketch=8, **asked).pulls == 200
    assert analyze(tmp_path / "small", **asked).pulls == 200
