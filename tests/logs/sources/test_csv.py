"""CSV: numbers, ids and places, separators, blocks, packed files."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from frontguard.logs.sources import open_log, text_tables
from frontguard.logs.sources.reader import BATCH
from frontguard.notices import UnfinishedLine
from tests.logs.sources.reading import read, refusal, rows_of
from tests.support.snapshots import said


def test_ids_stay_what_they_are(tmp_path: Path) -> None:
    names = ["NA", "007", "1e5", "1.0", "true", "null", " a ", "a", "nan", "-0", "ä", "٣", '"']
    text = io.StringIO()
    csv.writer(text).writerows([("arm", "x"), *((name, 1) for name in names)])
    assert read(tmp_path / "l.csv", text.getvalue()) == [(name, 1.0) for name in names]
    assert read(tmp_path / "n.csv", "arm,x\n1,1\n01,2\n1.0,3\n") == [("1", 1.0), ("01", 2.0), ("1.0", 3.0)]


@pytest.mark.parametrize(
    "text", ["", "NA", "na", "N/A", "NaN", "nan", "NULL", "none", "inf", "-Inf", "+Infinity", " NA ", "1e999"]
)
def test_missing_and_infinite_values_are_failed_pulls(tmp_path: Path, text: str) -> None:
    assert read(tmp_path / "l.csv", f"arm,x,y\na,{text},1\nb,2,1\n") == [("a", None), ("b", 2.0)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(
            ("1", 1.0),
            (" 1.5 ", 1.5),
            ("+2", 2.0),
            (".5", 0.5),
            ("5.", 5.0),
            ("-1e-3", -0.001),
            ("1E5", 1e5),
            ('"3"', 3.0),
        ),
        *(("123456789012345678901234567890", 123456789012345678901234567890.0), ("0.1", 0.1), ("1e-400", 0.0)),
    ],
)
def test_numbers(tmp_path: Path, text: str, value: float) -> None:
    assert read(tmp_path / "l.csv", f"arm,x\na,{text}\n") == [("a", value)]


@pytest.mark.parametrize("text", ["12ms", "abc", "1_000", "0x10", "1 2", "٣", "1.5.2", "--1", "yes", "1e", "$5", "5%"])
def test_text_in_a_metric_is_refused_with_its_place(tmp_path: Path, text: str, snapshot: SnapshotAssertion) -> None:
    line = refusal(tmp_path / "l.csv", f"arm,x\na,1\n\nb,{text}\nc,oops\n")
    assert said(line) == snapshot


def test_the_place_is_right_far_into_a_file_and_after_line_breaks_in_quotes(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    count = 150_000
    body = "".join(f'"arm\n{i % 7}",{i}\n' for i in range(count))
    assert count > BATCH
    assert len(read(tmp_path / "l.csv", f"arm,x\n{body}")) == count
    line = refusal(tmp_path / "l.csv", f"arm,x\n{body}z,12ms\n")
    assert said(line) == snapshot
    assert said(refusal(tmp_path / "l.csv", f"arm,x\n{body}z\ny,1\n")) == snapshot


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("begin", ["", "\ufeff", "\n\n"])
def test_separators_line_ends_and_byte_order_mark(tmp_path: Path, separator: str, end: str, begin: str) -> None:
    lines = [["arm", "host", "x"], ["a", "h,;|", "1"], ["b", "", "NA"]]
    quoted = [[f'"{field}"' if set(field) & set(",;|") else field for field in line] for line in lines]
    data = begin + "".join(separator.join(line) + end for line in quoted)
    assert read(tmp_path / "l.txt", data) == [("a", 1.0), ("b", None)]


def test_decimal_commas(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    data = "arm;x\na;1,5\nb;2\n"
    assert refusal(tmp_path / "l.csv", data).endswith(
        "wanted a number; got '1,5'; a decimal comma? say decimal=',' (--decimal ,)"
    )
    assert read(tmp_path / "l.csv", data, decimal=",") == [("a", 1.5), ("b", 2.0)]
    assert "'1.5'; a decimal point" in refusal(tmp_path / "l.csv", "arm;x\na;1.5\n", decimal=",")
    assert said(refusal(tmp_path / "l.csv", "arm,x\na,1,5\n")) == snapshot
    assert "wanted a number; got '1,234.5'" in refusal(tmp_path / "l.csv", 'arm,x\na,"1,234.5"\n')


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("", "l.csv is empty: wanted a line with the names of the columns, then rows"),
        ("\n\n", "l.csv is empty: wanted a line with the names of the columns, then rows"),
        ("arm,x\n", "l.csv has no rows; its columns are 'arm', 'x'"),
        ("arm,x", "l.csv has no rows; its columns are 'arm', 'x'"),
        ("arm,x\na,1\nb", "l.csv, line 3: 1 field where the header has 2 (was the file cut in the middle?)"),
        ("arm,x\na,1\nb\nc,2\n", "l.csv, line 3: 1 field where the header has 2"),
        ('arm,x\na,1\n"b,2\n', "l.csv, line 3: a quote is opened and never closed (was the file cut in the middle?)"),
        ('arm,x,y\na,1,"b', "l.csv, line 2: a quote is opened and never closed (was the file cut in the middle?)"),
        (b"arm,x\na,1\n\xff\xfe,2\n", "l.csv, line 3, column 'arm': text must be UTF-8; got b'\\xff\\xfe'"),
        (b"arm,x\na,1\nb\0,2\n", "l.csv, line 3: a zero byte; is this UTF-8 text, or is the file damaged?"),
        ("arm,x\na,1\n".encode("utf-16"), "l.csv: text must be UTF-8; this begins like UTF-16"),
        ("arm,x,x\na,1,2\n", "l.csv: 2 columns are called 'x'; wanted one"),
        ("arm,X\na,1\n", "l.csv: no column is called 'x' (did you mean 'X'?); its columns are 'arm', 'X'"),
        ("a,1\nb,2\n", "l.csv: no column is called 'arm'; its columns are 'a', '1'"),
    ],
)
def test_csv_that_cannot_be_read(tmp_path: Path, data: str | bytes, message: str) -> None:
    assert refusal(tmp_path / "l.csv", data) == message


def test_a_byte_order_mark_within_a_file_is_a_letter(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    assert read(tmp_path / "l.csv", "\ufeffarm,x\n\ufeffa,1\n\ufeffa,2\na,3\n") == [
        ("\ufeffa", 1.0),
        ("\ufeffa", 2.0),
        ("a", 3.0),
    ]
    assert said(refusal(tmp_path / "l.csv", "x,arm\n\ufeff1,a\n")) == snapshot


def test_what_is_not_read_does_not_matter(tmp_path: Path) -> None:
    assert read(tmp_path / "l.csv", b"arm,z,z,x\na,\xff,12ms,1\n") == [("a", 1.0)]


def test_a_last_line_without_an_end_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    path.write_text("arm,x\na,1\nb,2")
    log = open_log(path, metrics=["x"])
    assert rows_of(log) == [("a", 1.0), ("b", 2.0)]
    assert [type(note) for note in log.notes] == [UnfinishedLine]
    path.write_text("arm,x\na,1\nb,2\n")
    assert rows_of(log)
    assert not log.notes


fields = st.text(alphabet='ab",;\n\t 1', max_size=6)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(fields.filter(bool), fields), min_size=1, max_size=30),
    st.sampled_from(",;\t"),
    st.sampled_from(["\n", "\r\n"]),
    st.integers(1, 9),
)
@example([('"', "\n"), ("a", '"\n"')], ",", "\n", 1)
def test_whatever_is_quoted_is_read_as_it_was_written(
    tmp_path: Path, records: list[tuple[str, str]], separator: str, end: str, size: int
) -> None:
    written = io.StringIO()
    rows = [(arm, "1.5", other) for arm, other in records]
    csv.writer(written, delimiter=separator, lineterminator=end).writerows([("arm", "x", "other"), *rows])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_tables, "BATCH", size)
        assert read(tmp_path / "b.csv", written.getvalue()) == [(arm, 1.5) for arm, _ in records]


def test_quotes_within_a_field_are_letters_and_do_not_hold_rows_together(tmp_path: Path) -> None:
    assert read(tmp_path / "b.csv", 'arm,x\n5" disk,1\n"a""b",2\n') == [('5" disk', 1.0), ('a"b', 2.0)]


def test_rows_that_polars_doubts_are_read_on_from_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_tables, "BATCH", 2)
    numbers = [*map(str, range(5)), " 5 ", "NA", "7"]
    expected = [*map(float, range(6)), None, 7.0]
    assert read(tmp_path / "l.csv", "arm,x\n" + "".join(f"a,{each}\n" for each in numbers)) == [
        ("a", value) for value in expected
    ]
    lines = "".join(f"a,{i}\n" for i in range(5)) + '5" disk,5\n'
    assert read(tmp_path / "m.csv", "arm,x\n" + lines)[-2:] == [("a", 4.0), ('5" disk', 5.0)]


def test_blank_lines_are_no_rows_and_rows_that_lack_fields_are_refused(tmp_path: Path) -> None:
    assert read(tmp_path / "l.csv", "arm,x,y\na,1,\n\nb,2,\n\n") == [("a", 1.0), ("b", 2.0)]
    assert "line 4" in refusal(tmp_path / "l.csv", "arm,x,y\na,1,\n\nb,2\nc,3,\n")


def test_a_row_without_end_is_refused_before_memory_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.setattr(text_tables, "LONGEST_ROW", 3 << 20)
    line = refusal(tmp_path / "l.csv", b'arm,x\n"' + b"a" * (8 << 20) + b"\n")
    assert said(line) == snapshot


# Packed ---------------------------------------------------------------------------------------------------------------


def _packed(how: str, data: bytes) -> bytes:
    if how == "zst":
        return bytes(pa.compress(data, "zstd", asbytes=True))
    return gzip.compress(data) if how == "gz" else bz2.compress(data)


@pytest.mark.parametrize("how", ["gz", "zst", "bz2"])
def test_packed_files_and_those_that_were_cut(tmp_path: Path, how: str) -> None:
    rows = "".join(f"a,{value!r}\n" for value in np.random.default_rng(0).random(20_000).tolist())
    whole = _packed(how, f"arm,x\n{rows}".encode())
    path = tmp_path / f"l.csv.{how}"
    assert len(read(path, whole)) == 20_000
    lines = "".join(json.dumps({"arm": "a", "x": i}) + "\n" for i in range(3)).encode()
    assert read(tmp_path / f"l.jsonl.{how}", _packed(how, lines)) == [("a", 0.0), ("a", 1.0), ("a", 2.0)]
    for cut in (whole[: len(whole) // 2], whole[:-3]):
        assert "cannot be unpacked" in refusal(path, cut)  # and then what the unpacker says
    if how != "zst":  # which has a checksum only if its writer asks for one
        flipped = bytearray(whole)
        flipped[len(whole) // 2] ^= 0xFF
        assert refusal(path, bytes(flipped))
