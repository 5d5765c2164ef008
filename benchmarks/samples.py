"""Growing samples with exact medians against np.median at every read, against heapq, and as n grows."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.engine import best_of
from benchmarks.tables import Row, heading, peer
from frontguard._common.compiled import kernel
from frontguard.evidence.samples import empty_pool, empty_table, median, push, push_one, reserve

Floats = npt.NDArray[np.float64]


@kernel
def by_blocks(values: Floats, step: int, pool: Floats, table: Any) -> Floats:
    """Read the median after every `step` values. Returns the pool, to be used again as the engine does."""
    total = 0.0
    for start in range(0, values.shape[0] - step + 1, step):
        pool = reserve(pool, table, 0, step, True)
        push(pool, table, 0, values[start : start + step])
        total += median(pool, table, 0)
    pool[0] = total
    return pool


@kernel
def one_by_one(values: Floats, pool: Floats, table: Any) -> Floats:
    """Read the median after every value. Returns the pool."""
    total = 0.0
    for start in range(0, values.shape[0] - 63, 64):
        pool = reserve(pool, table, 0, 64, True)
        for i in range(64):
            push_one(pool, table, 0, values[start + i])
            total += median(pool, table, 0)
    pool[0] = total
    return pool


def blocks_cost(values: Floats, times: int = 5) -> float:
    pool = by_blocks(values, 100, empty_pool(1), empty_table(1))
    return best_of(times, lambda: by_blocks(values, 100, pool, empty_table(1)))


def with_numpy(values: Floats, step: int) -> float:
    return float(sum(np.median(values[:end]) for end in range(step, len(values) + 1, step)))


def with_heapq(values: Floats) -> float:
    """Two heaps in plain Python, a median at every value."""
    low: list[float] = []
    high: list[float] = []
    total = 0.0
    for value in values.tolist():
        heapq.heappush(high, -heapq.heappushpop(low, -value))
        if len(high) > len(low):
            heapq.heappush(low, -heapq.heappop(high))
        total += -low[0]
    return total


def main() -> list[Row]:
    rng = np.random.default_rng(0)
    rows: list[Row] = []
    warm = rng.normal(size=1000)
    by_blocks(warm, 100, empty_pool(1), empty_table(1))
    one_by_one(warm, empty_pool(1), empty_table(1))

    heading("exact medians read every 100 values: np.median / ours")
    for count in (10_000, 100_000):
        values = rng.normal(size=count)
        ours = blocks_cost(values)
        numpy = best_of(1, lambda: with_numpy(values, 100))  # noqa: B023
        what, details = f"np.median at every read / ours, n = {count:,}", f"ours {ours / count * 1e9:.1f} ns a value"
        rows.append(Row(what, numpy / ours, at_least=10, details=details, beside=peer("numpy")))
    heading("two heaps of the standard library / ours, read at every value")
    values = rng.normal(size=100_000)
    pool = one_by_one(values, empty_pool(1), empty_table(1))
    ours = best_of(5, lambda: one_by_one(values, pool, empty_table(1)))
    plain = best_of(1, lambda: with_heapq(values))
    rows.append(Row("two heaps of the standard library / ours, read at every value", plain / ours, at_least=5))
    heading("cost of a value as n grows, relative to n = 10,000")
    base = None
    for count in (10_000, 100_000, 1_000_000, 10_000_000):
        values = rng.normal(size=count)
        each = blocks_cost(values) / count
        base = base or each
        rows.append(Row(f"a value at n = {count:,} / at n = 10,000", each / base, details=f"{each * 1e9:.1f} ns"))
    heading("drift: rising values / independent ones (a window lasts for as many values as it is long)")
    values = np.arange(1_000_000.0)
    drift = blocks_cost(values) / len(values)
    rows.append(Row("rising values / independent ones", drift / (base or 1.0), details=f"{drift * 1e9:.1f} ns a value"))
    return rows
