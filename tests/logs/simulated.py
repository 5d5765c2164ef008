"""Logs made up for tests: samples by arm, sorted the way everything about a log is read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from frontguard.evidence.measurements import Ordered

Floats = npt.NDArray[np.float64]


def ordered_log(samples: Sequence[Floats], positive: Sequence[bool] = ()) -> Ordered:
    """The samples (n_i, M) of K arms as a log; NaN and infinite values failed, and those ≤ 0 of `positive` metrics."""
    M = samples[0].shape[1]
    starts = np.zeros((M, len(samples) + 1), np.int64)
    values = []
    for d in range(M):
        good = []
        for sample in samples:
            column = sample[:, d][np.isfinite(sample[:, d])]
            good.append(np.sort(column[column > 0.0] if d < len(positive) and positive[d] else column))
        starts[d, 1:] = np.cumsum([len(column) for column in good])
        values.append(np.concatenate(good))
    return Ordered(
        arms=[f"{i:06d}" for i in range(len(samples))],
        metrics=tuple(f"m{d}" for d in range(M)),
        pulls=np.array([len(sample) for sample in samples], np.int64),
        starts=starts,
        values=tuple(values),
    )


def random_samples(arms: int, objectives: int, rng: np.random.Generator, *, rows: tuple[int, int]) -> list[Floats]:
    """Arms of different centres, scales, shapes and numbers of rows; some values failed."""
    samples = []
    for _ in range(arms):
        sample = np.exp(rng.normal(size=objectives) + 0.4 * rng.standard_t(4, (int(rng.integers(*rows)), objectives)))
        sample[rng.random(sample.shape) < 0.03 * rng.integers(0, 3)] = np.nan
        samples.append(sample)
    return samples
