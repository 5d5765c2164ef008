"""Arms that several columns name together: one name to read, and the parts as data wherever there are data."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from frontguard import BadInput, Objective, Prescient, Study, analyze
from frontguard._common.entries import json_pieces
from frontguard.cli.analyze import write_csv
from frontguard.logs.sources.reader import joined, parts_of
from frontguard.logs.state import LogState
from frontguard.phrases import slashed
from frontguard.reports.of_results import analysis_report
from frontguard.reports.report import arms_table
from frontguard.results import Answer, ArmParts
from tests.support.snapshots import refused

COLUMNS = ["lang", "arch", "size"]
ROWS = [(lang, arch, size) for lang in ("rust", "c/c++", '"q"') for arch in ("x86_64", "arm") for size in (128, 64)]


def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = [(*row, place + rng.normal(0.0, 0.1)) for place, row in enumerate(ROWS) for _ in range(40)]
    return pd.DataFrame(rows, columns=[*COLUMNS, "seconds"])


def analysis(log: Any = None, **more: Any) -> Answer:
    return analyze(frame() if log is None else log, arm=COLUMNS, minimize="seconds", **more)


def parts_by_name(found: Any) -> dict[str, tuple[str, ...]]:
    return {name: found.parts.row(arm) for arm, name in enumerate(found.arms)}


EXPECTED = {slashed([lang, arch, str(size)]): (lang, arch, str(size)) for lang, arch, size in ROWS}

# The name -------------------------------------------------------------------------------------------------------------

texts = st.text(st.sampled_from('ab/" \\\n名'), max_size=6)


@given(st.integers(2, 4).flatmap(lambda width: st.lists(st.tuples(*[texts] * width), min_size=1, max_size=12)))
def test_a_name_is_read_back_to_the_parts_it_was_made_of(rows: list[tuple[str, ...]]) -> None:
    rows = [row for row in rows if any(row)] or [("a",) * len(rows[0])]
    columns = {f"column {d}": column for d, column in enumerate(zip(*rows, strict=True))}
    names = pl.DataFrame(columns).select(joined(list(columns))).to_series().to_list()
    assert names == [slashed(row) for row in rows]
    parts = parts_of(names, [f"column {d}" for d in range(len(rows[0]))])
    assert parts is not None
    assert [parts.row(arm) for arm in range(len(rows))] == rows
    assert [tuple(row) for row in parts.rows()] == rows
    again = ArmParts.of(parts.names, rows)
    assert [again.column(d) for d in range(len(parts.names))] == [parts.column(d) for d in range(len(parts.names))]


# Where there are data -------------------------------------------------------------------------------------------------


def test_an_analysis_has_the_parts_as_data() -> None:
    found = analysis()
    assert parts_by_name(found) == EXPECTED
    assert str(found.parts) == "lang/arch/size"
    assert analyze(frame(), arm="lang", minimize="seconds").parts is None


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_a_frame_has_a_column_for_each_part(kind: str) -> None:
    given = {"pandas": frame, "polars": lambda: pl.from_pandas(frame()), "arrow": lambda: pa.table(dict(frame()))}
    made = analysis(given[kind]()).to_frame()
    columns = {name: list(made[name].to_pylist() if kind == "arrow" else made[name]) for name in ["arm", *COLUMNS]}
    rows = zip(*columns.values(), strict=True)
    assert {name: tuple(parts) for name, *parts in rows} == EXPECTED


def test_a_part_that_is_called_as_a_column_of_ours_is_still_there() -> None:
    named = frame().rename(columns={"lang": "verdict"})
    made = analyze(named, arm=["verdict", "arch", "size"], minimize="seconds").to_frame()
    assert set(made["verdict"]) <= {"keep", "beaten", "undecided", "matched"}
    assert set(made["verdict of the arm"]) == {"rust", "c/c++", '"q"'}


def test_csv_files_have_a_column_for_each_part(tmp_path: Path) -> None:
    found = analysis()
    write_csv(found, tmp_path / "arms.csv")
    found.report(tmp_path / "report.csv")
    for name, quote in (("arms.csv", ""), ("report.csv", "'")):
        rows = list(csv.DictReader(io.StringIO((tmp_path / name).read_text(encoding="utf-8"))))
        plain = [tuple(row[each].removeprefix(quote) for each in COLUMNS) for row in rows]
        assert dict(zip((row["arm"].removeprefix(quote) for row in rows), plain, strict=True)) == EXPECTED


def test_json_keeps_the_name_as_key_and_adds_the_parts(snapshot: SnapshotAssertion) -> None:
    found = analysis()
    printed = json.loads("".join(json_pieces(found.entries())))
    assert printed["arm_columns"] == COLUMNS
    assert {name: tuple(parts) for name, parts in printed["arm_parts"].items()} == EXPECTED
    assert list(printed["verdicts"]) == list(found.arms)
    back = Answer.from_dict(printed, "it")
    assert parts_by_name(back) == EXPECTED
    printed["arm_parts"][found.arms[0]].pop()
    with refused(BadInput, snapshot):
        Answer.from_dict(printed, "it")


def test_the_table_of_a_report_has_a_column_for_each_part() -> None:
    table = arms_table(analysis())
    assert table.caption == "The arms (lang/arch/size)"
    assert [column.heading for column in table.columns][:6] == ["arm", "verdict", *COLUMNS, "seconds"]
    assert {row[0].text: tuple(entry.text for entry in row[2:5]) for row in table.rows} == EXPECTED
    assert list(analysis_report(analysis()).columns)[:5] == ["arm", *COLUMNS, "verdict"]


# Whatever way they come -----------------------------------------------------------------------------------------------


def test_a_state_that_is_added_to_keeps_them(tmp_path: Path) -> None:
    log = frame()
    state = tmp_path / "state"
    for number, half in enumerate((log[::2], log[1::2])):
        half.to_csv(tmp_path / f"{number}.csv", index=False)
        found = analysis(tmp_path / f"{number}.csv", append=state)
    assert parts_by_name(found) == EXPECTED
    assert int(found.pulls) == len(log)
    assert parts_by_name(analyze(state, minimize="seconds")) == EXPECTED
    assert parts_by_name(analyze(state, minimize="seconds", sketch=64, anytime=False)) == EXPECTED


def test_names_that_were_joined_otherwise_are_not_mixed_with_these(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    """States of before have names such as "opt=-O2, threads=4": added up, every arm would be there twice."""
    state = tmp_path / "state"
    frame().to_csv(tmp_path / "log.csv", index=False)
    analysis(tmp_path / "log.csv", append=state)
    before = LogState.load(state)
    about = {name: said for name, said in before.about.items() if name != "joined"}
    LogState(before.data, about, before.sources).save(state)
    assert analyze(state, minimize="seconds").parts is None
    frame()[:9].to_csv(tmp_path / "more.csv", index=False)
    with refused(BadInput, snapshot):
        analysis(tmp_path / "more.csv", append=state)


def test_a_study_that_a_grid_made_has_the_parameters_as_parts(tmp_path: Path) -> None:
    about = {"arm_columns": ["opt", "unroll"], "arm_parts": [["-O1", ""], ["-O2", ""]]}
    arms, seconds = ["-O1/none", "-O2/none"], [Objective("seconds", "minimize", 0.5)]
    with_parts = Study(arms, seconds, Prescient(0.1), storage=tmp_path / "study.db", about=about)
    while pulls := with_parts.ask(8):
        with_parts.tell_many([(pull, {"seconds": float(pull.index)}) for pull in pulls])
    pulled = with_parts.to_frame()
    assert list(pulled.columns)[:4] == ["arm", "opt", "unroll", "seconds"]
    assert set(zip(pulled["arm"], pulled["opt"], strict=True)) == {("-O1/none", "-O1"), ("-O2/none", "-O2")}
    assert list(with_parts.result().to_frame()["opt"]) == ["-O1", "-O2"]
    with_parts.close()
    for more in ({}, {"contamination": 0.2}):
        found = analyze(tmp_path / "study.db", **more)
        assert parts_by_name(found) == {"-O1/none": ("-O1", ""), "-O2/none": ("-O2", "")}
