"""Arms that are named by whole numbers: the same texts as of any column, with a dictionary that grows."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from frontguard.logs.sources import open_log
from frontguard.logs.sources.columns import as_text
from frontguard.logs.sources.numbered import NumberedNames

COLUMNS = [
    pa.array([5, 5, 7, -3], pa.int64()),
    pa.array([0, 2**24 - 1], pa.int64()),
    pa.array([0, 2**24 + 5], pa.int64()),  # too far apart for a table
    pa.array([2**64 - 1, 1], pa.uint64()),
    pa.array([-(2**63), 2**63 - 1], pa.int64()),
    pa.array([200, 7], pa.uint8()),
    pa.array([1, None, 2], pa.int16()),
    pa.array([], pa.int32()),
]


def test_texts_are_those_of_any_column() -> None:
    names = NumberedNames()
    for column in COLUMNS + COLUMNS[::-1]:
        assert names.texts(column, "log").to_pylist() == as_text(column, "log").to_pylist()


def test_numbers_that_are_known_cost_no_text() -> None:
    names = NumberedNames()
    first = names.texts(pa.array([3, 1, 3]), "log")
    again = names.texts(pa.array([1, 3, 1, 1]), "log")
    assert again.dictionary.equals(first.dictionary)
    more = names.texts(pa.array([0, 9, 3]), "log")
    assert more.dictionary.to_pylist()[:2] == first.dictionary.to_pylist()
    assert len(set(more.dictionary.to_pylist())) == 4


def test_threads_may_share_it() -> None:
    names, rng = NumberedNames(), np.random.default_rng(0)
    columns = [pa.array(rng.integers(-50 * n, 50 * n + 1, 500)) for n in range(1, 60)]
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda column: names.texts(column, "log").to_pylist(), columns))
    assert found == [[str(number) for number in column.to_pylist()] for column in columns]


@pytest.mark.parametrize("kind", [pa.int64(), pa.uint16()], ids=str)
def test_a_log_names_its_arms_in_digits(tmp_path: Path, kind: pa.DataType) -> None:
    arms = np.random.default_rng(1).integers(0, 400, 3000)
    table = pa.table({"arm": pa.array(arms, kind), "x": pa.array(np.arange(3000.0))})
    pq.write_table(table, tmp_path / "log.parquet", row_group_size=500)
    batches = list(open_log(tmp_path / "log.parquet", arm="arm", metrics=["x"]).batches())
    assert [name for batch in batches for name in batch.arms.to_pylist()] == [str(arm) for arm in arms]
    assert np.concatenate([batch.values[0] for batch in batches]).tolist() == list(range(3000))
