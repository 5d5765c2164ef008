"""The generator against integers of Python, its laws against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from frontguard._common.compiled import kernel
from frontguard._common.typing import Floats
from frontguard.simulation.draws import Words, below, fill_normals, fill_words, next_word, stream_states, unit

MASK = (1 << 64) - 1


def reference_words(state: list[int], count: int) -> tuple[list[int], list[int]]:
    """xoshiro256++ as its authors define it, in unbounded integers."""

    def rotate(x: int, k: int) -> int:
        return ((x << k) | (x >> (64 - k))) & MASK

    s = list(state)
    out = []
    for _ in range(count):
        out.append((rotate((s[0] + s[3]) & MASK, 23) + s[0]) & MASK)
        t = (s[1] << 17) & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = rotate(s[3], 45)
    return out, s


@kernel
def units(words: Words) -> Floats:
    out = np.empty(len(words))
    for i in range(len(words)):
        out[i] = unit(words[i])
    return out


@kernel
def integers(words: Words, bound: int) -> Floats:
    out = np.empty(len(words))
    for i in range(len(words)):
        out[i] = below(words[i], bound)
    return out


def words_of(seed: int, count: int, *, run: int = 0, arm: int = 0) -> Words:
    state = stream_states(seed, run, arm + 1)[0][arm]
    out = np.empty(count, np.uint64)
    fill_words(out, state)
    return out


def normals(count: int, seed: int) -> Floats:
    out = np.empty(count)
    fill_normals(out, np.empty(count, np.uint64), stream_states(seed, 0, 1)[0][0])
    return out


def test_known_words() -> None:
    out = np.empty(4, np.uint64)
    fill_words(out, np.array([1, 2, 3, 4], np.uint64))
    assert out.tolist() == [41943041, 58720359, 3588806011781223, 3591011842654386]


@given(st.lists(st.integers(0, MASK), min_size=4, max_size=4), st.integers(0, 70))
def test_words_equal_the_reference(state: list[int], count: int) -> None:
    words = np.empty(count, np.uint64)
    stream = np.array(state, np.uint64)
    fill_words(words, stream)
    expected, after = reference_words(state, count)
    assert words.tolist() == expected
    assert stream.tolist() == after
    assert int(next_word(stream)) == reference_words(after, 1)[0][0]


def test_cutting_a_stream_into_pieces_changes_nothing() -> None:
    whole = words_of(3, 130)
    state = stream_states(3, 0, 1)[0][0]
    pieces = []
    for length in (64, 1, 0, 65):
        piece = np.empty(length, np.uint64)
        fill_words(piece, state)
        pieces.append(piece)
    assert np.concatenate(pieces).tolist() == whole.tolist()


def test_unit_uses_the_upper_53_bits() -> None:
    words = np.array([0, MASK, 1 << 63, (1 << 11) - 1, 1 << 11], np.uint64)
    assert units(words).tolist() == [0.0, 1.0 - 2.0**-53, 0.5, 0.0, 2.0**-53]


def test_uniform_law() -> None:
    assert stats.kstest(units(words_of(11, 200_000)), "uniform").pvalue > 1e-3


def test_every_bit_is_fair() -> None:
    words = words_of(12, 100_000)
    for bit in range(64):
        ones = int(((words >> np.uint64(bit)) & np.uint64(1)).sum())
        assert stats.binomtest(ones, len(words)).pvalue > 1e-5, bit


@pytest.mark.parametrize("bound", [1, 2, 7, 63, 64, 1000])
def test_below_is_uniform_on_its_range(bound: int) -> None:
    drawn = integers(words_of(13, 100_000), bound).astype(np.int64)
    assert drawn.min() >= 0
    assert drawn.max() < bound
    if bound > 1:
        assert stats.chisquare(np.bincount(drawn, minlength=bound)).pvalue > 1e-3


def test_below_reaches_both_ends() -> None:
    assert integers(np.array([0, MASK], np.uint64), 10).tolist() == [0.0, 9.0]


def test_normal_law() -> None:
    sample = normals(400_000, 21)
    assert stats.kstest(sample, "norm").pvalue > 1e-3
    # moments see what a Kolmogorov distance does not: the tails
    assert abs(sample.mean()) < 4 / np.sqrt(len(sample))
    assert abs(sample.var() - 1) < 4 * np.sqrt(2 / len(sample))
    assert abs((sample**4).mean() - 3) < 4 * np.sqrt(96 / len(sample))


@pytest.mark.parametrize("edge", [0.2, 1.0, 2.0, 3.0, 3.6541528853610088, 4.0])
def test_normal_tails(edge: float) -> None:
    sample = normals(2_000_000, 22)
    for count in ((sample > edge).sum(), (sample < -edge).sum()):
        assert stats.binomtest(int(count), len(sample), stats.norm.sf(edge)).pvalue > 1e-4


def test_normal_density_within_the_layers() -> None:
    """Errors at the edges of layers move draws by less than a layer: only fine bins can see them."""
    edges = np.arange(0.0, 3.61, 0.02)
    sizes = np.abs(normals(2_000_000, 25))
    seen = np.histogram(sizes, np.append(edges, np.inf))[0]
    expected = 2 * len(sizes) * -np.diff(np.append(stats.norm.sf(edges), 0.0))
    assert stats.chisquare(seen, expected).pvalue > 1e-4


def test_normal_law_beyond_the_lowest_layer() -> None:
    """Marsaglia's tail is code of its own that 1 draw in 3,900 reaches."""
    edge = 3.6541528853610088
    sample = np.abs(normals(6_000_000, 23))
    tail = sample[sample > edge]
    assert len(tail) > 1000
    law = stats.truncnorm(edge, np.inf)
    assert stats.kstest(tail, law.cdf).pvalue > 1e-3


def test_normals_may_be_made_in_the_memory_of_their_words() -> None:
    apart = normals(5000, 24)
    out = np.empty(5000)
    fill_normals(out, out.view(np.uint64), stream_states(24, 0, 1)[0][0])
    assert out.tolist() == apart.tolist()


def test_streams_are_all_different() -> None:
    states = [s for run in range(20) for part in stream_states(7, run, 30) for s in part]
    assert len({tuple(s.tolist()) for s in states}) == 20 * 2 * 30
    assert stream_states(7, 0, 1)[0].tolist() != stream_states(8, 0, 1)[0].tolist()


def test_a_rewards_stream_does_not_know_how_many_arms_there_are() -> None:
    few, many = stream_states(5, 2, 3)[0], stream_states(5, 2, 50)[0]
    assert few.tolist() == many[:3].tolist()


def test_streams_are_independent() -> None:
    """Correlation of uniforms between arms, runs, seeds, and with the attacker's stream of the same arm."""
    count = 50_000
    rewards, attackers = stream_states(9, 0, 3)
    samples = []
    for state in (*rewards, *attackers):
        words = np.empty(count, np.uint64)
        fill_words(words, state)
        samples.append(units(words))
    samples.append(units(words_of(9, count, run=1)))
    samples.append(units(words_of(10, count)))
    correlation = np.corrcoef(samples)
    assert np.abs(correlation[np.triu_indices(len(samples), 1)]).max() < 4.5 / np.sqrt(count)


def test_draws_are_independent_in_time() -> None:
    sample = units(words_of(14, 100_000)) - 0.5
    for lag in (1, 2, 3, 64):
        assert abs(np.corrcoef(sample[:-lag], sample[lag:])[0, 1]) < 4 / np.sqrt(len(sample))
