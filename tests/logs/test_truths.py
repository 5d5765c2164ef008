"""True and false as a metric: their rate counts, in every format; medians that say little are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import BadInput, Objective, analyze
from frontguard.logs.checks import refuse_ties
from frontguard.logs.sort import sorted_pulls
from frontguard.logs.sources import text_tables
from frontguard.notices import TakenAsRate
from frontguard.question import Question
from tests.cli import commands
from tests.support.snapshots import refused, said

N = 120
ARMS = ["a"] * N + ["b"] * N
SOLVED = [i % 10 < 9 for i in range(N)] + [i % 10 < 3 for i in range(N)]
COLUMNS: dict[str, Any] = {"arm": ARMS, "solved": SOLVED, "price": [2.0] * N + [1.0] * N}


def csv(folder: Path, columns: dict[str, Any]) -> Path:
    path = folder / "log.csv"
    pd.DataFrame(columns).to_csv(path, index=False)  # True and False
    return path


def blank_csv(folder: Path, columns: dict[str, Any]) -> Path:
    path = csv(folder, columns)
    path.write_text(path.read_text().replace("True", " true ").replace("False", "FALSE"))
    return path


def lines(folder: Path, columns: dict[str, Any]) -> Path:
    path = folder / "log.jsonl"
    rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def json_list(folder: Path, columns: dict[str, Any]) -> Path:
    path = folder / "log.json"
    path.write_text(json.dumps([dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]))
    return path


def parquet(folder: Path, columns: dict[str, Any]) -> Path:
    pq.write_table(pa.table(columns), folder / "log.parquet")
    return folder / "log.parquet"


def coded(folder: Path, columns: dict[str, Any]) -> Any:
    return pa.table({**columns, "solved": pa.array(columns["solved"]).dictionary_encode()})


FORMATS: dict[str, Callable[[Path, dict[str, Any]], Any]] = {
    "csv": csv,
    "csv with blanks": blank_csv,
    "json lines": lines,
    "json list": json_list,
    "parquet": parquet,
    "lists": lambda folder, columns: columns,
    "arrow": lambda folder, columns: pa.table(columns),
    "arrow dictionary": coded,
    "pandas": lambda folder, columns: pd.DataFrame(columns),
    "pandas nullable": lambda folder, columns: pd.DataFrame(columns).astype({"solved": "boolean"}),
    "pandas objects": lambda folder, columns: pd.DataFrame(columns).astype({"solved": object}),
    "polars": lambda folder, columns: pl.DataFrame(columns),
    "polars lazy": lambda folder, columns: pl.DataFrame(columns).lazy(),
}


@pytest.mark.parametrize("kind", FORMATS)
def test_a_column_of_truths_is_a_rate_in_every_format(kind: str, tmp_path: Path) -> None:
    missing = {**COLUMNS, "solved": [None, *SOLVED[1:]]}
    wanted = analyze(
        {**COLUMNS, "solved": [None, *map(float, SOLVED[1:])]},
        objectives=[Objective("solved", "maximize", statistic="mean", bounds=(0, 1)), Objective("price", "minimize")],
        contamination=0.02,
    )
    # A tolerance in percent of all metrics must not make false a failure.
    for columns, tolerance in ((missing, None), (COLUMNS, "1%")):
        log = FORMATS[kind](tmp_path, columns)
        found = analyze(log, maximize="solved", minimize="price", contamination=0.02, tolerance=tolerance)
        assert TakenAsRate("solved") in found.notices
        assert found.metrics[0].statistic_word == "mean"
        assert found.log.failed[:, 0].sum() == (columns is missing)
        if tolerance is None:
            np.testing.assert_array_equal(found.lower, wanted.lower)
            assert found.verdicts == wanted.verdicts


def test_many_rows_of_truths_are_read_quickly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batch by batch, by Polars."""
    monkeypatch.setattr(text_tables, "BATCH", 1 << 8)
    monkeypatch.setattr(text_tables.TextTable, "_carefully", lambda *_: iter(()))
    columns = {"arm": ["a", "b"] * 4000, "solved": [True, False, True, True] * 2000, "x": list(range(8000))}
    for make in (csv, lines):
        found = analyze(make(tmp_path, columns), maximize=["solved", "x"], contamination=0.0)
        assert found.log.means[:, 0].tolist() == [1.0, 0.5]


@pytest.mark.parametrize("kind", ["csv", "json lines", "json list", "lists", "pandas objects"])
def test_truths_mixed_with_numbers_are_refused(kind: str, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    mixed = {**COLUMNS, "solved": [*SOLVED[:-1], 0.5]}
    with refused(BadInput, snapshot):
        analyze(FORMATS[kind](tmp_path, mixed), maximize="solved", minimize="price")


def test_truths_in_one_file_and_numbers_in_another_are_refused(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    first, second = tmp_path / "1", tmp_path / "2"
    for folder, solved in ((first, SOLVED), (second, list(map(int, SOLVED)))):
        folder.mkdir()
        parquet(folder, {**COLUMNS, "solved": solved})
    with refused(BadInput, snapshot):
        analyze([first / "log.parquet", second / "log.parquet"], maximize="solved", minimize="price")


def test_truths_of_which_something_else_was_said_are_refused(snapshot: SnapshotAssertion) -> None:
    for options in ({"quantile": 0.5}, {"exact": True}, {"statistic": "mean", "bounds": (1, 5)}):
        with refused(BadInput, snapshot):
            analyze(COLUMNS, objectives=[Objective("solved", "maximize", **options)])
    found = analyze(
        COLUMNS, objectives=[Objective("solved", "maximize", statistic="mean", bounds=(0, 1))], contamination=0.0
    )
    assert not any(isinstance(notice, TakenAsRate) for notice in found.notices)


def test_truths_in_the_long_layout() -> None:
    long = {"arm": ARMS * 2, "metric": ["solved"] * 2 * N + ["safe"] * 2 * N, "value": SOLVED + SOLVED[::-1]}
    found = analyze(long, maximize=["solved", "safe"], contamination=0.0)
    assert [each.statistic_word for each in found.metrics] == ["mean", "mean"]
    assert found.log.means.tolist() == [[0.9, 0.3], [0.3, 0.9]]


# Medians that say little ------------------------------------------------------------------------------------------


def refusal_of(columns: dict[str, Any], **asked: Any) -> str:
    with pytest.raises(BadInput) as error:
        analyze(columns, **asked)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_arms_that_tie_at_their_medians_are_refused(snapshot: SnapshotAssertion) -> None:
    stars = np.concatenate([np.repeat([3, 4, 5], counts) for counts in ((12, 36, 12), (6, 30, 24), (48, 6, 6))])
    columns = {"arm": np.repeat(["x", "y", "z"], 60), "stars": stars.astype(float)}
    assert said(refusal_of(columns, maximize="stars")) == snapshot
    assert analyze(columns, maximize="stars", quantile=0.5).metrics[0].statistic_word == "median"
    assert analyze(columns, maximize="stars", statistic="mean", bounds=(1, 5)).metrics[0].bounds == (1.0, 5.0)


def test_what_says_something_is_not_refused() -> None:
    rng = np.random.default_rng(0)
    arms = np.repeat(["x", "y", "z"], 60)
    for values in (
        rng.normal(size=180),
        np.repeat([5.0, 5.0, 7.0], 60),  # constant within each arm: sizes, of which two are equal
        np.repeat([0.0, 1.0, 1.0], 60),  # two values, but no arm shows both
        np.concatenate([rng.choice([1.0, 2.0, 3.0], 60), np.full(60, 2.0), np.full(60, 2.0)]),  # one varies
        np.concatenate([[0.0], rng.normal(size=179)]),
        np.concatenate([np.repeat([0.0, 0.5, 1.0], 20), np.repeat([1.0, 0.0], 60)]),  # something lies between
        np.concatenate([rng.permutation(np.r_[np.full(19, 7.0), rng.normal(7, 1, 41)]) for _ in range(3)]),  # too few
    ):
        assert analyze({"arm": arms, "v": values}, maximize="v").arms == ("x", "y", "z")
    few = {"arm": ["a", "a", "b"], "v": [0.0, 1.0, np.nan]}
    assert "only the values 0 and 1" in refusal_of(few, maximize="v")
    assert analyze({"arm": ["a", "b"], "v": [0.0, 1.0]}, maximize="v").arms == ("a", "b")
    once = {"arm": ["a", "a", "b", "b"], "v": [1.0, 2.0, 1.0, 3.0]}  # half of the values of each, but one each
    assert analyze(once, maximize="v").arms == ("a", "b")


@pytest.mark.parametrize("n", [3, 4, 5, 6, 7, 12, 13, 30, 31])
def test_a_third_of_the_values_is_counted_exactly(n: int) -> None:
    """Wherever the run of equal values lies about the middle."""
    middle, median = (n + 1) // 2, Objective("v", "maximize")
    for run in range(1, n):
        for begin in range(max(1, middle - run + 1), middle + 1):
            if begin + run - 1 > n:
                continue
            values = np.arange(1.0, n + 1.0)
            values[begin - 1 : begin - 1 + run] = values[middle - 1]
            both = np.sort(np.where(values == values[middle - 1], 0.0, values - values[middle - 1]))
            other = np.where(both == 0.0, 0.0, 2.5 * both)
            log = sorted_pulls(["x", "y"], [median], np.repeat([0, 1], n), np.concatenate([both, other])[:, None])
            with pytest.raises(BadInput) if 3 * run >= n and run > 1 else nullcontext():
                refuse_ties(log, Question.of([median]))


def test_a_refused_log_is_not_appended(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    state = tmp_path / "state"
    log = csv(tmp_path, {**COLUMNS, "solved": list(map(int, SOLVED))})
    with refused(BadInput, snapshot):
        analyze(log, maximize="solved", minimize="price", append=state)
    assert not state.exists()


def test_it_is_said_that_true_and_false_were_taken_as_a_rate(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    rows = "".join(f"{arm},{str(k % 4 < share).lower()}\n" for arm, share in (("a", 1), ("b", 3)) for k in range(80))
    (tmp_path / "log.csv").write_text("arm,solved\n" + rows)
    done = commands.run(
        "analyze", "log.csv", "--arm", "arm", "--maximize", "solved", "--tolerance", "0.1", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert said(done.stdout) == snapshot
