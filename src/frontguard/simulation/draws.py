"""Random numbers inside kernels, and the kernels that draw clean rewards, one a family of laws.

Random words are those of xoshiro256++ (Blackman and Vigna 2019), one state of four words a stream. Every arm has two
streams of its own, one for its rewards and one for the attacker. The rewards of an arm therefore depend on the seed,
the run and the arm alone: not on the policy, on the order of pulls, on ε, or on the number of workers.

Kernels that draw and kernels that attack work on blocks of `BLOCK` pulls of one arm, objective by objective: arrays of
shape (M, n). They take their parameters from two flat arrays, whose layout is their own affair, and randomness only
from the stream handed in. Words are laid down in the memory of `out` itself and turned into rewards in place: mostly
no workspace, and one pass through the cache. See `environments` for the laws in words.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from frontguard._common.compiled import inlined, kernel
from frontguard._common.typing import Bools, Floats, Ints

Words = npt.NDArray[np.uint64]

STATE = 4
"""Words of a stream's state."""

BLOCK = 64
"""Pulls of one arm that are drawn at a time. A fixed number: what is drawn must not depend on who asks how often."""

_TO_UNIT = 2.0**-53


def stream_states(seed: int, run: int, arms: int) -> tuple[Words, Words]:
    """Initial states (arms, `STATE`) of the rewards' and of the attackers' streams of one run."""
    sequence = np.random.SeedSequence(seed, spawn_key=(run,))
    words = sequence.generate_state(2 * STATE * arms, np.uint64).reshape(2, arms, STATE)
    return np.ascontiguousarray(words[0]), np.ascontiguousarray(words[1])


@inlined
def _rotate(word: np.uint64, left: int) -> np.uint64:
    return (word << np.uint64(left)) | (word >> np.uint64(64 - left))


@kernel
def fill_words(out: Words, state: Words) -> None:
    """Fill `out` with the next 64-bit words. The state stays in registers meanwhile, which makes a word cost 1 ns."""
    s0, s1, s2, s3 = state[0], state[1], state[2], state[3]
    for i in range(out.shape[0]):
        out[i] = _rotate(s0 + s3, 23) + s0
        shifted = s1 << np.uint64(17)
        s2 ^= s0
        s3 ^= s1
        s1 ^= s2
        s0 ^= s3
        s2 ^= shifted
        s3 = _rotate(s3, 45)
    state[0], state[1], state[2], state[3] = s0, s1, s2, s3


@kernel
def next_word(state: Words) -> np.uint64:
    """The next 64-bit word of a stream, for the rare draw outside a block."""
    one = np.empty(1, np.uint64)
    fill_words(one, state)
    word: np.uint64 = one[0]
    return word


@inlined
def unit(word: np.uint64) -> float:
    """A number in [0, 1) from the upper 53 bits of a word."""
    return float(word >> np.uint64(11)) * _TO_UNIT


@inlined
def below(word: np.uint64, bound: int) -> int:
    """An integer in [0, bound) from the upper 32 bits of a word; its bias is below bound / 2³²."""
    return int(((word >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))


def _ziggurat() -> tuple[Floats, Floats]:
    """Edges x and heights f(x) = exp(−x²/2) of a ziggurat of equal layers under the normal density (Doornik 2005)."""
    edge, area, layers = 3.6541528853610088, 0.00492867323399, 256  # of the lowest of these layers
    x = np.empty(layers + 1)
    x[0] = area / np.exp(-0.5 * edge * edge)
    x[1] = edge
    for i in range(2, layers):
        x[i] = np.sqrt(-2.0 * np.log(area / x[i - 1] + np.exp(-0.5 * x[i - 1] ** 2)))
    x[layers] = 0.0
    return x, np.exp(-0.5 * x * x)


_EDGE, _HEIGHT = _ziggurat()


@kernel
def _normal_rare(layer: int, x: float, state: Words) -> float:
    """Finish a draw that fell outside its layer's rectangle: in the tail, in the wedge, or once more (1.2 %)."""
    while True:
        if layer == 0:
            while True:  # Marsaglia's tail beyond the lowest edge
                beyond = -math.log(1.0 - unit(next_word(state))) / _EDGE[1]
                height = -math.log(1.0 - unit(next_word(state)))
                if 2.0 * height > beyond * beyond:
                    far: float = _EDGE[1] + beyond
                    return far if x > 0.0 else -far
        if _HEIGHT[layer] + unit(next_word(state)) * (_HEIGHT[layer + 1] - _HEIGHT[layer]) < math.exp(-0.5 * x * x):
            return x
        word = next_word(state)
        layer = int(word & np.uint64(255))
        x = (2.0 * unit(word) - 1.0) * _EDGE[layer]
        if abs(x) < _EDGE[layer + 1]:
            return x


@kernel
def fill_normals(out: Floats, words: Words, state: Words) -> None:
    """Fill `out` with standard normal draws by the ziggurat; `words` is a workspace at least as long."""
    count = out.shape[0]
    fill_words(words[:count], state)
    for i in range(count):
        word = words[i]
        layer = int(word & np.uint64(255))
        x = (2.0 * unit(word) - 1.0) * _EDGE[layer]
        if abs(x) < _EDGE[layer + 1]:
            out[i] = x
        else:
            out[i] = _normal_rare(layer, x, state)


def draw_types(types: Any) -> Any:
    """draw(out (M, n), arm, reals, ints, stream): fill `out` with clean rewards of `arm`."""
    real, whole, word = types.float64, types.int64, types.uint64
    return types.void(real[:, ::1], whole, real[::1], whole[::1], word[::1])


def attack_types(types: Any) -> Any:
    """attack(rewards (M, n), replacements (M, n), hits (M, n), arm, reals, ints, stream): see types of adversary."""
    real, whole, word = types.float64, types.int64, types.uint64
    return types.void(real[:, ::1], real[:, ::1], types.boolean[:, ::1], whole, real[::1], whole[::1], word[::1])


DrawKernel = Callable[[Floats, int, Floats, Ints, Words], None]
AttackKernel = Callable[[Floats, Floats, Bools, int, Floats, Ints, Words], None]

draw_kernel: Callable[[DrawKernel], DrawKernel] = kernel
attack_kernel: Callable[[AttackKernel], AttackKernel] = kernel


@draw_kernel
def draw_constant(out: Floats, arm: int, reals: Floats, ints: Ints, stream: Words) -> None:
    """reals: value (K, M)."""
    objectives = out.shape[0]
    at = objectives * arm
    for d in range(objectives):
        out[d, :] = reals[at + d]


@draw_kernel
def draw_gaussian(out: Floats, arm: int, reals: Floats, ints: Ints, stream: Words) -> None:
    """reals: (median, σ) of each (K, M)."""
    objectives, count = out.shape
    at = 2 * objectives * arm
    for d in range(objectives):
        row = out[d]
        fill_normals(row, row.view(np.uint64), stream)
        median, sigma = reals[at + 2 * d], reals[at + 2 * d + 1]
        for i in range(count):
            row[i] = median + sigma * row[i]


@draw_kernel
def draw_uniform(out: Floats, arm: int, reals: Floats, ints: Ints, stream: Words) -> None:
    """reals: (median, width) of each (K, M)."""
    objectives, count = out.shape
    at = 2 * objectives * arm
    for d in range(objectives):
        row = out[d]
        words = row.view(np.uint64)
        fill_words(words, stream)
        median, width = reals[at + 2 * d], reals[at + 2 * d + 1]
        for i in range(count):
            row[i] = median + width * (unit(words[i]) - 0.5)


@draw_kernel
def draw_categorical(out: Floats, arm: int, reals: Floats, ints: Ints, stream: Words) -> None:
    """Walker's alias tables: the upper half of a word picks a cell, the lower half one of its two values.

    ints: S, then the thresholds of the cells (K, M, S) on the scale of 2³²; reals: (own value, alias value)
    of each cell.
    """
    objectives, count = out.shape
    cells = ints[0]
    for d in range(objectives):
        row = out[d]
        words = row.view(np.uint64)
        fill_words(words, stream)
        at = cells * (objectives * arm + d)
        for i in range(count):
            cell = at + below(words[i], cells)
            coin = np.int64(words[i] & np.uint64(0xFFFFFFFF))
            row[i] = reals[2 * cell + (1 if coin >= ints[1 + cell] else 0)]


@draw_kernel
def draw_rows(out: Floats, arm: int, reals: Floats, ints: Ints, stream: Words) -> None:
    """One word a pull picks a row for all objectives."""
    objectives, count = out.shape
    start, rows = ints[2 * arm], ints[2 * arm + 1]
    words = out[0].view(np.uint64)
    fill_words(words, stream)
    picks = out[0].view(np.int64)  # objective by objective with the picks kept is a fifth faster than pull by pull
    for i in range(count):
        picks[i] = objectives * (start + below(words[i], rows))
    for back in range(objectives):  # the first objective comes last: its memory holds the picks
        d = objectives - 1 - back
        row = out[d]
        for i in range(count):
            row[i] = reals[picks[i] + d]


@draw_kernel
def draw_noisy_rows(out: Floats, arm: int, reals: Floats, ints: Ints, stream: Words) -> None:
    """A row and Gaussian noise. ints: as for rows; reals: σ of each objective, then points (N, M)."""
    objectives, count = out.shape
    start, rows = ints[2 * arm], ints[2 * arm + 1]
    picks = np.empty(count, np.uint64)
    fill_words(picks, stream)
    for d in range(objectives):
        row = out[d]
        fill_normals(row, row.view(np.uint64), stream)
        for i in range(count):
            chosen = 1 + start + below(picks[i], rows)  # one on: the deviations come first
            row[i] = reals[objectives * chosen + d] + reals[d] * row[i]
