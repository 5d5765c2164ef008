from __future__ import annotations

import bz2
import csv
import datetime as dt
import gzip
import io
import json
import math
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from frontguard import Objective, Prescient
from frontguard.errors import BadInput
from frontguard.logs import byteblocks, log_errors, parquet_rows
from frontguard.logs.byteblocks import ByteFile
from frontguard.logs.places import Place
from frontguard.logs.sources import Log, open_log
from frontguard.studies import Study

Row = tuple[Any, ...]


def rows_of(log: Log) -> list[Row]:
    """Pulls in order: (arm, value, value, …), with None for a failed value."""
    return [
        (arm, *(None if math.isnan(value) else value for value in values))
        for batch in log.batches()
        for arm, *values in zip(batch.arms.to_pylist(), *(column.tolist() for column in batch.values), strict=True)
    ]


def read(path: Path, data: str | bytes, **options: Any) -> list[Row]:
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return rows_of(open_log(path, **{"arm": "arm", "metrics": ["x"], **options}))


def refusal(path: Path, data: str | bytes, **options: Any) -> str:
    with pytest.raises(BadInput) as refused:
        read(path, data, **options)
    line = str(refused.value)
    assert "\n" not in line
    return line.replace(f"{path.parent}/", "")


# CSV ------------------------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("text", ["12ms", "abc", "1_000", "0x10", "1 2", "٣", "1.5.2", "--1", "true", "1e", "$5", "5%"])
def test_text_in_a_metric_is_refused_with_its_place(tmp_path: Path, text: str) -> None:
    line = refusal(tmp_path / "l.csv", f"arm,x\na,1\n\nb,{text}\nc,oops\n")
    assert line == f"l.csv, line 4, column 'x': wanted a number; got '{text}'"


def test_the_place_is_right_far_into_a_file_and_after_line_breaks_in_quotes(tmp_path: Path) -> None:
    count = 100_000  # several blocks
    body = "".join(f'"arm\n{i % 7}",{i}\n' for i in range(count))
    assert len(body) > byteblocks.BLOCK
    assert len(read(tmp_path / "l.csv", f"arm,x\n{body}")) == count
    line = refusal(tmp_path / "l.csv", f"arm,x\n{body}z,12ms\n")
    assert line == f"l.csv, line {2 + 2 * count}, column 'x': wanted a number; got '12ms'"
    assert (
        refusal(tmp_path / "l.csv", f"arm,x\n{body}z\ny,1\n")
        == f"l.csv, line {2 + 2 * count}: 1 field where the header has 2"
    )


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("begin", ["", "\ufeff", "\n\n"])
def test_separators_line_ends_and_byte_order_mark(tmp_path: Path, separator: str, end: str, begin: str) -> None:
    lines = [["arm", "host", "x"], ["a", "h,;|", "1"], ["b", "", "NA"]]
    quoted = [[f'"{field}"' if set(field) & set(",;|") else field for field in line] for line in lines]
    data = begin + "".join(separator.join(line) + end for line in quoted)
    assert read(tmp_path / "l.txt", data) == [("a", 1.0), ("b", None)]


def test_decimal_commas(tmp_path: Path) -> None:
    data = "arm;x\na;1,5\nb;2\n"
    assert refusal(tmp_path / "l.csv", data).endswith(
        "wanted a number; got '1,5'; a decimal comma? say decimal=',' (--decimal ,)"
    )
    assert read(tmp_path / "l.csv", data, decimal=",") == [("a", 1.5), ("b", 2.0)]
    assert "'1.5'; a decimal point" in refusal(tmp_path / "l.csv", "arm;x\na;1.5\n", decimal=",")
    assert "3 fields where the header has 2 (commas in numbers" in refusal(tmp_path / "l.csv", "arm,x\na,1,5\n")
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


def test_a_byte_order_mark_within_a_file_is_a_letter(tmp_path: Path) -> None:
    assert read(tmp_path / "l.csv", "\ufeffarm,x\n\ufeffa,1\n\ufeffa,2\na,3\n") == [
        ("\ufeffa", 1.0),
        ("\ufeffa", 2.0),
        ("a", 3.0),
    ]
    assert "wanted a number; got '\\ufeff1'" in refusal(tmp_path / "l.csv", "x,arm\n\ufeff1,a\n")


def test_what_is_not_read_does_not_matter(tmp_path: Path) -> None:
    assert read(tmp_path / "l.csv", b"arm,z,z,x\na,\xff,12ms,1\n") == [("a", 1.0)]


def test_a_last_line_without_an_end_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    path.write_text("arm,x\na,1\nb,2")
    log = open_log(path, metrics=["x"])
    assert rows_of(log) == [("a", 1.0), ("b", 2.0)]
    assert [note for note in log.notes if "the last line does not end with a line break" in note]
    path.write_text("arm,x\na,1\nb,2\n")
    assert rows_of(log)
    assert not log.notes


fields = st.text(alphabet='ab",;\n\t 1', max_size=6)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(fields, fields), min_size=1, max_size=30),
    st.integers(4, 60),
    st.sampled_from(",;\t"),
    st.sampled_from(["\n", "\r\n"]),
)
@example([('"', "\n"), ("a", '"\n"')], 4, ",", "\n")
def test_blocks_end_where_rows_end(
    tmp_path: Path, records: list[tuple[str, str]], size: int, separator: str, end: str
) -> None:
    text = io.StringIO()
    csv.writer(text, delimiter=separator, lineterminator=end).writerows(records)
    path = tmp_path / "b.csv"
    path.write_bytes(text.getvalue().encode())
    file = ByteFile(Place(path, "b.csv"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(byteblocks, "BLOCK", size)
        blocks = list(file.blocks(delimiter=separator.encode()))
    file.close()
    assert b"".join(block.data for block in blocks) == path.read_bytes()
    found, line = [], 1
    for block in blocks:
        assert block.line == line
        line += block.data.count(b"\n")
        found += [tuple(row) for row in csv.reader(io.StringIO(block.data.decode(), newline=""), delimiter=separator)]
    assert found == records


def test_quotes_within_a_field_are_letters_and_do_not_hold_rows_together(tmp_path: Path) -> None:
    path = tmp_path / "b.csv"
    path.write_text('5" disk,0\n' + "".join(f'"a\nb",{i}\n' for i in range(20)))
    file = ByteFile(Place(path, "b.csv"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(byteblocks, "BLOCK", 12)
        blocks = list(file.blocks(delimiter=b","))
    file.close()
    assert len(blocks) > 5
    assert all(block.data.startswith((b'5"', b'"a\n')) for block in blocks), "each begins with a row"
    assert read(path, 'arm,x\n5" disk,1\n"a""b",2\n') == [('5" disk', 1.0), ('a"b', 2.0)]


def test_a_row_without_end_is_refused_before_memory_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(byteblocks, "LONGEST_ROW", 3 << 20)
    line = refusal(tmp_path / "l.csv", b'arm,x\n"' + b"a" * (8 << 20) + b"\n")
    assert "line 2: a row longer than 3 MiB; is this a text file, and are all quotes closed?" in line


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
        assert "is damaged or was cut in the middle: it cannot be unpacked" in refusal(path, cut)
    if how != "zst":  # which has a checksum only if its writer asks for one
        flipped = bytearray(whole)
        flipped[len(whole) // 2] ^= 0xFF
        assert refusal(path, bytes(flipped))


# JSON lines -----------------------------------------------------------------------------------------------------------


def test_json_lines(tmp_path: Path) -> None:
    data = (
        '{"arm": "a", "x": 1}\n\n{"x": 2.5, "arm": "b", "more": {"x": "no"}}\r\n{"arm": "c", "x": null}\n{"arm": "d"}\n'
    )
    assert read(tmp_path / "l.jsonl", data) == [("a", 1.0), ("b", 2.5), ("c", None), ("d", None)]
    assert read(tmp_path / "l.json", data) == read(tmp_path / "l", data)
    assert read(tmp_path / "l.json", '[{"arm": "a", "x": 1}, {"arm": 7}]') == [("a", 1.0), ("7", None)]
    assert read(tmp_path / "l.json", '{"arm": "a", "x": 1}') == [("a", 1.0)]


def test_ids_that_are_numbers_are_read_as_they_are_written(tmp_path: Path) -> None:
    data = "".join(
        f'{{"arm": {name}, "x": 1}}\n'
        for name in ("7", "1e5", "1.0", "-0", "true", '"007"', "123456789012345678901234567890")
    )
    names = ["7", "1e5", "1.0", "0", "true", "007", "123456789012345678901234567890"]
    assert [arm for arm, _ in read(tmp_path / "l.jsonl", data)] == names
    assert read(tmp_path / "l.jsonl", '{"arm": 7, "x": 1}\n{"arm": -0, "x": 2}\n') == [("7", 1.0), ("0", 2.0)]


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999", "null"])
def test_json_values_that_are_not_known(tmp_path: Path, value: str) -> None:
    assert read(tmp_path / "l.jsonl", f'{{"arm": "a", "x": {value}}}\n{{"arm": "b", "x": 1}}\n') == [
        ("a", None),
        ("b", 1.0),
    ]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("", "l.jsonl is empty: wanted rows, a JSON object each"),
        (
            '{"arm": "a", "x": 1}\n{"arm": "b", "x"',
            "l.jsonl, line 2: no JSON at character 17: Expecting ':' delimiter (was the file cut in the middle?)",
        ),
        (
            '{"arm": "a", "x": 1}\n{"arm": "b", "x": "2"}\n',
            "l.jsonl, line 2, column 'x': wanted a number or null; got '2'",
        ),
        (
            '{"arm": "a", "x": 1}\n{"arm": "b", "x": true}\n',
            "l.jsonl, line 2, column 'x': wanted a number or null; got true",
        ),
        (
            '{"arm": "a", "x": 1}\n{"arm": {}, "x": 2}\n',
            "l.jsonl, line 2, column 'arm': wanted a name, text or a number; got {}",
        ),
        ('{"arm": "a", "x": 1}\n[1]\n', "l.jsonl, line 2: wanted an object with a key for each column; got ['1']"),
        ('{"arm": "a", "x": 1, "x": 2}\n', "l.jsonl, line 1: the key 'x' stands more than once"),
        ('{"arm": "a", "y": 1}\n', "l.jsonl: no column is called 'x'; its columns are 'arm', 'y'"),
        (b'{"arm": "a", "x": 1}\n{"arm": "\xff", "x": 1}\n', "l.jsonl, line 2: text must be UTF-8; got b'\\xff'"),
        (
            '{"arm": "\\ud800", "x": 1}\n',
            "l.jsonl, line 1, column 'arm': half a surrogate pair, which is no text; got '\\ud800'",
        ),
    ],
)
def test_json_lines_that_cannot_be_read(tmp_path: Path, data: str | bytes, message: str) -> None:
    assert refusal(tmp_path / "l.jsonl", data) == message


def test_json_deeper_than_the_interpreter_goes(tmp_path: Path) -> None:
    assert refusal(tmp_path / "l.jsonl", '{"arm": ' + "[" * 100_000 + "\n")


# Parquet --------------------------------------------------------------------------------------------------------------


def parquet(path: Path, **columns: Any) -> Path:
    pq.write_table(pa.table(columns), path, row_group_size=2)
    return path


@pytest.mark.parametrize(
    ("names", "texts"),
    [
        (pa.array([7, -1, 10**15]), ["7", "-1", "1000000000000000"]),
        (pa.array([2**64 - 1, 0, 1], pa.uint64()), ["18446744073709551615", "0", "1"]),
        (pa.array([True, False, True]), ["true", "false", "true"]),
        (pa.array([dt.date(2024, 2, 1)] * 3), ["2024-02-01"] * 3),
        (pa.array([1.0, 0.1, 1e16]), ["1.0", "0.1", "1e+16"]),
        (pa.array([Decimal("1.50")] * 3), ["1.50"] * 3),
        (pa.array([b"a", "ä".encode(), b"c"]), ["a", "ä", "c"]),
        (pa.array(["a", "NA", "a"]).dictionary_encode(), ["a", "NA", "a"]),
        (pa.array([5, 6, 5]).dictionary_encode(), ["5", "6", "5"]),
        (pa.array(["x", "y", "z"], pa.large_string()), ["x", "y", "z"]),
    ],
)
def test_ids_of_parquet_become_text(tmp_path: Path, names: pa.Array, texts: list[str]) -> None:
    log = open_log(parquet(tmp_path / "l.parquet", arm=names, x=[1.0, 2.0, 3.0]), metrics=["x"])
    assert rows_of(log) == [(text, value) for text, value in zip(texts, [1.0, 2.0, 3.0], strict=True)]
    assert (log.rows_hint, log.rows_read, log.share_read) == (3, 3, 1.0)


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1, None, 3]),
        pa.array([1, None, 3], pa.uint8()),
        pa.array([1.0, np.nan, 3.0], pa.float32()),
        pa.array([1.0, -np.inf, 3.0]),
        pa.array([Decimal("1"), None, Decimal("3")]),
        pa.array([np.float16(1), None, np.float16(3)], pa.float16()),
    ],
)
def test_numbers_of_parquet(tmp_path: Path, values: pa.Array) -> None:
    log = open_log(parquet(tmp_path / "l.parquet", arm=["a", "b", "c"], x=values), metrics=["x"])
    assert rows_of(log) == [("a", 1.0), ("b", None), ("c", 3.0)]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        *((["1", "2"], "string"), ([True, False], "bool; make it 0 and 1"), ([[1.0], [2.0]], "list<")),
        *(([dt.timedelta(1)] * 2, "duration[us]; make it a number, of"), ([dt.date(2024, 1, 1)] * 2, "date32")),
    ],
)
def test_columns_that_are_not_numbers(tmp_path: Path, values: Any, kind: str) -> None:
    path = parquet(tmp_path / "l.parquet", arm=["a", "b"], x=values)
    with pytest.raises(BadInput) as refused:
        rows_of(open_log(path, metrics=["x"]))
    assert f"l.parquet, column 'x' must be numbers; got the type {kind}" in str(refused.value)


def test_damaged_parquet(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    columns = {"arm": random.integers(0, 50, 9000).astype(str), "x": random.random(9000)}
    pq.write_table(pa.table(columns), tmp_path / "l.parquet", write_page_checksum=True)
    whole = (tmp_path / "l.parquet").read_bytes()
    for cut in (whole[:-10], whole[: len(whole) // 2], whole[:4], b"PAR1" + b"\0" * 100 + b"PAR1"):
        assert "is no Parquet file, or is damaged or cut in the middle" in refusal(tmp_path / "l.parquet", cut)
    middle = bytearray(whole)
    middle[len(whole) // 2] ^= 1  # within the numbers: the checksum shows it
    assert refusal(tmp_path / "l.parquet", bytes(middle)).startswith("l.parquet is damaged: after row 0, ")
    assert refusal(tmp_path / "l.parquet", b"").startswith("l.parquet is no Parquet file")


def test_parquet_whose_text_is_not_utf8(tmp_path: Path) -> None:
    names = pa.StringArray.from_buffers(2, pa.py_buffer(np.array([0, 1, 3], np.int32)), pa.py_buffer(b"a\xffb"))
    path = parquet(tmp_path / "l.parquet", arm=names, x=[1.0, 2.0])
    with pytest.raises(BadInput, match=r"l.parquet, column 'arm': names cannot be read as text, type string"):
        rows_of(open_log(path, metrics=["x"]))


def test_parquet_that_says_another_number_of_rows_than_it_has(tmp_path: Path) -> None:
    path = parquet(tmp_path / "l.parquet", arm=["a", "b", "c"], x=[1.0, 2.0, 3.0])
    whole = path.read_bytes()
    footer = int.from_bytes(whole[-8:-4], "little")
    lies = 0
    for at in range(len(whole) - 8 - footer, len(whole) - 8):
        if whole[at] == 6:  # three, as the format writes it
            path.write_bytes(whole[:at] + b"\x08" + whole[at + 1 :])
            try:
                said = open_log(path, metrics=["x"]).rows_hint
            except BadInput:
                continue
            if said == 4:
                lies += 1
                with pytest.raises(BadInput, match="is damaged"):
                    rows_of(open_log(path, metrics=["x"]))
    assert lies, "one of the bytes is the number of rows"


@pytest.mark.parametrize("arms", [40, 120_000])
def test_many_rows_in_many_groups(tmp_path: Path, arms: int) -> None:
    """Few names are read as codes, many as text; the rows come in order and complete either way."""
    count = 300_000
    names = [f"arm {i}" for i in range(arms)]
    of = np.random.default_rng(1).integers(0, arms, count)
    table = pa.table({"arm": pa.array(names).take(pa.array(of)), "x": np.arange(count, dtype=float), "y": of})
    pq.write_table(table, tmp_path / "l.parquet", row_group_size=70_000)
    batches = list(open_log(tmp_path / "l.parquet", metrics=["y", "x"]).batches())
    assert max(map(len, batches)) <= 1 << 18
    assert pa.types.is_dictionary(batches[0].arms.type) == (arms == 40)
    assert np.array_equal(np.concatenate([batch.values[1] for batch in batches]), np.arange(count))
    assert np.array_equal(np.concatenate([batch.values[0] for batch in batches]), of)
    assert [name for batch in batches for name in batch.arms.to_pylist()] == table.column("arm").to_pylist()


def test_large_row_groups_are_read_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_rows, "_LARGE_GROUP", 1)
    path = parquet(tmp_path / "l.parquet", arm=["a", "b", "c"], x=[1.0, 2.0, 3.0])
    assert rows_of(open_log(path, metrics=["x"])) == [("a", 1.0), ("b", 2.0), ("c", 3.0)]


# Arms -----------------------------------------------------------------------------------------------------------------


def test_several_columns_form_the_arm(tmp_path: Path) -> None:
    data = "opt,n,x\n-O1,4,1\n-O2,,2\n"
    assert read(tmp_path / "l.csv", data, arm=["opt", "n"]) == [("opt=-O1, n=4", 1.0), ("opt=-O2, n=", 2.0)]


def test_joined_names_differ_where_the_values_do(tmp_path: Path) -> None:
    parts = ["", "a", ",", ", ", "\\", "b=", ", b=", "a, b=", "\\,", "\\, b="]
    pairs = [(a, b) for a in parts for b in parts if a or b]
    log = open_log(
        {"a": [a for a, _ in pairs], "b": [b for _, b in pairs], "x": [1.0] * len(pairs)}, arm=["a", "b"], metrics=["x"]
    )
    assert len({arm for arm, _ in rows_of(log)}) == len(pairs)


def test_rows_without_an_arm_are_counted_and_refused_or_dropped(tmp_path: Path) -> None:
    rows = 300_000
    body = "".join("a,1\n" if i % 100_000 else ",2\n" for i in range(1, rows + 1))
    line = refusal(tmp_path / "l.csv", f"arm,x\n{body}")
    assert line == (
        "3 rows have no arm (column 'arm' is missing or empty), the first is row 100000 of l.csv; wanted a name in "
        "every row, or missing_arms='drop' (--missing-arms drop)"
    )
    path = parquet(tmp_path / "l.parquet", arm=["a", None, "b", ""], x=[1.0, 2.0, 3.0, 4.0])
    with pytest.raises(BadInput, match=r"2 rows have no arm .* the first is row 2 of"):
        rows_of(open_log(path, metrics=["x"]))
    log = open_log(path, metrics=["x"], missing_arms="drop")
    assert rows_of(log) == [("a", 1.0), ("b", 3.0)]
    assert len(log.notes) == 1
    assert "dropped" in log.notes[0]


# The long layout ------------------------------------------------------------------------------------------------------


def test_long_layout(tmp_path: Path) -> None:
    data = "arm,metric,value\na,x,1\nb,y,5\na,y,2\na,x,3\nb,x,NA\nb,z,9\nc,z,1\n"
    path = tmp_path / "l.csv"
    path.write_text(data)
    log = open_log(path, metrics=["x", "y"])
    assert log.layout == "long"
    # a has x twice and y once: its second y failed.
    assert rows_of(log) == [("a", 1.0, 2.0), ("a", 3.0, None), ("b", None, 5.0)]
    assert log.notes == [f"{path}: 1 arm has no row of any of the metrics; left out"]
    assert "no row is of the metric 'xx' (did you mean" not in refusal(path, data, metrics=["q"])
    assert refusal(path, data, metrics=["x", "Z"]).endswith(
        "no row is of the metric 'Z' (did you mean 'z'?); others there are 'y', 'z'"
    )
    assert (
        refusal(path, "arm,metric,value\na,x,1\na,,2\n")
        == "l.csv: row 2 has no name of a metric; wanted one in every row"
    )
    assert read(path, "arm;m;v\na;x;1\n", metric_column="m", value_column="v") == [("a", 1.0)]
    assert "no column is called 'value'" in refusal(path, "arm,metric,x\na,x,1\n", layout="long")


values = st.one_of(st.none(), st.floats(-1e6, 1e6))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz"), values), min_size=1, max_size=60))
def test_long_layout_against_lists(rows: list[tuple[str, str, float | None]]) -> None:
    by_arm: dict[str, dict[str, list[float | None]]] = {}
    for arm, metric, value in rows:
        if metric != "z":
            by_arm.setdefault(arm, {"x": [], "y": []})[metric].append(value)
    expected = []
    for arm, kept in by_arm.items():
        for k in range(max(map(len, kept.values()))):
            expected.append((arm, *(kept[m][k] if k < len(kept[m]) else None for m in "xy")))
    columns = {"arm": [row[0] for row in rows], "metric": [row[1] for row in rows], "value": [row[2] for row in rows]}
    if {"x", "y"} <= {row[1] for row in rows}:
        assert sorted(rows_of(open_log(columns, metrics=["x", "y"])), key=repr) == sorted(expected, key=repr)
    else:
        with pytest.raises(BadInput, match="no row is of the metric"):
            rows_of(open_log(columns, metrics=["x", "y"]))


# Places ---------------------------------------------------------------------------------------------------------------


def test_directories_globs_and_partitions(tmp_path: Path) -> None:
    for name, value in (("fast", 1), ("a%2Fb", 2)):
        (tmp_path / "d" / f"arm={name}").mkdir(parents=True)
        (tmp_path / "d" / f"arm={name}" / "1.csv").write_text(f"x,y\n{value},0\n")
    (tmp_path / "d" / "_SUCCESS").write_text("")
    (tmp_path / "d" / ".hidden.csv").write_text("nonsense")
    expected = [("a/b", 2.0), ("fast", 1.0)]
    log = open_log(tmp_path / "d", metrics=["x"])
    assert rows_of(log) == expected
    assert log.share_read == 1.0
    assert log.describe().endswith("d (csv, 2 files): wide, arm 'arm', metrics 'x'")
    assert rows_of(open_log(str(tmp_path / "d" / "*" / "*.csv"), metrics=["x"])) == expected
    assert rows_of(open_log(str(tmp_path / "d" / "**" / "*.csv"), metrics=["x"])) == expected
    files = [tmp_path / "d" / "arm=fast", tmp_path / "d" / "arm=a%2Fb"]
    assert rows_of(open_log(files, metrics=["x"])) == expected[::-1]


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_partitions_of_other_formats_and_a_metric_that_is_a_folder(tmp_path: Path, suffix: str) -> None:
    for name in ("p", "q"):
        folder = tmp_path / f"arm={name}" / "x=5"
        folder.mkdir(parents=True)
        if suffix == "parquet":
            pq.write_table(pa.table({"y": [1.0]}), folder / "1.parquet")
        else:
            (folder / "1.jsonl").write_text('{"y": 1}\n')
    assert rows_of(open_log(tmp_path, metrics=["y"])) == [("p", 1.0), ("q", 1.0)]
    with pytest.raises(BadInput, match="'x' is the name of a folder; a metric must be a column"):
        rows_of(open_log(tmp_path, metrics=["x"]))


def test_places_that_are_not_there(tmp_path: Path) -> None:
    for where, message in (
        (tmp_path / "no.csv", "no such file or directory"),
        (tmp_path / "*.csv", "no file matches"),
        (tmp_path, "is a directory without data files"),
        ([], "got an empty list"),
        ("", "a log must be a file"),
        (7, "a log must be a path"),
    ):
        with pytest.raises(BadInput, match=message):
            open_log(str(where) if isinstance(where, Path) else where, metrics=["x"])
    (tmp_path / "a.csv").write_text("arm,x\na,1\n")
    parquet(tmp_path / "b.parquet", arm=["a"], x=[1.0])
    with pytest.raises(BadInput, match="all files of a log must have one format; got 1 csv, 1 parquet"):
        open_log(tmp_path, metrics=["x"])
    (tmp_path / "b.parquet").unlink()
    (tmp_path / "c.csv").write_text("arm,y\na,1\n")
    with pytest.raises(BadInput, match=r"c.csv: no column is called 'x'"):
        rows_of(open_log(tmp_path, metrics=["x"]))


def test_what_is_asked_for_is_checked(tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    data = "a,b,x\n1,2,3\n"
    assert refusal(path, data, arm=None) == "l.csv: say which column is the arm; its columns are 'a', 'b', 'x'"
    assert (
        refusal(path, data, arm="a", metrics=[])
        == "l.csv: say which columns are the metrics; its columns are 'a', 'b', 'x'"
    )
    assert refusal(path, data, arm="x") == "arm and metrics must be different columns; got 'x' more than once"
    assert "layout must be" in refusal(path, data, layout="tall")
    assert "format must be one of csv, parquet" in refusal(path, data, format="xls")
    assert "decimal must be" in refusal(path, data, decimal="'")
    assert "missing_arms must be" in refusal(path, data, missing_arms="keep")
    assert "metrics must be names" in refusal(path, data, metrics=[1])


def test_the_content_counts_more_than_the_name(tmp_path: Path) -> None:
    path = parquet(tmp_path / "l.csv", arm=["a"], x=[1.0])
    assert rows_of(open_log(path, metrics=["x"])) == [("a", 1.0)]


READER = """
import sys
from frontguard.logs.sources import open_log
from frontguard.errors import BadInput
try:
    log = open_log("-", metrics=["x"])
    print([(b.arms.to_pylist(), b.values[0].tolist()) for b in log.batches()])
    next(log.batches())
except BadInput as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("data", "answer"),
    [
        (b"arm,x\na,1\n", "[(['a'], [1.0])]\nstandard input can be read once only\n"),
        (b'{"arm": "a", "x": 1}\n', "[(['a'], [1.0])]\nstandard input can be read once only\n"),
        (gzip.compress(b"arm,x\na,1\n", mtime=0), "[(['a'], [1.0])]\nstandard input can be read once only\n"),
        (b"", "standard input is empty: wanted a line with the names of the columns, then rows\n"),
    ],
)
def test_standard_input(data: bytes, answer: str) -> None:
    done = subprocess.run([sys.executable, "-c", READER], input=data, capture_output=True, check=True, timeout=120)
    assert done.stdout.decode() == answer


# Studies --------------------------------------------------------------------------------------------------------------


def test_a_study_is_a_log(tmp_path: Path) -> None:
    objectives = [Objective("seconds", "minimize", tolerance="5%"), Objective("size", tolerance=1.0)]
    path = tmp_path / "study.db"
    told = []
    with Study(["a", "b"], objectives, Prescient(0.1), storage=path, name="s").storage as storage:
        study = Study.open(storage)
        for number, pull in enumerate(study.ask(10)):
            if number == 3:
                study.fail(pull, "timeout")
                told.append((pull.arm, None, None))
            else:
                study.tell(pull, [1.0 + number, 2.0 * number])
                told.append((pull.arm, 1.0 + number, 2.0 * number))
    log = open_log(path)
    assert (log.format, log.metrics, log.rows_hint) == ("study", ("seconds", "size"), 10)
    assert log.objectives == tuple(objectives)
    assert rows_of(log) == told
    assert rows_of(log) == told, "a second time"
    only = open_log(f"sqlite:///{path}", metrics=["size"])
    assert only.objectives == (objectives[1],)
    assert rows_of(only) == [(arm, size) for arm, _, size in told]
    with pytest.raises(BadInput, match="no column is called 'sise' \\(did you mean 'size'\\?\\)"):
        open_log(path, metrics=["sise"])
    Study(["a"], objectives, Prescient(0.1), storage=path, name="empty").close()
    with pytest.raises(BadInput, match="the storage holds 2 studies"):
        open_log(path)
    with pytest.raises(BadInput, match=r"study 'empty' in .* has no told pulls yet"):
        open_log(path, study="empty")
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 200)
    with pytest.raises(BadInput):
        open_log(path)


def test_messages_are_short_and_on_one_line() -> None:
    assert len(log_errors.shown("x\n" * 1000)) <= 60
    assert "\n" not in log_errors.one_line(ValueError("first\nsecond"))
    assert log_errors.one_line(ValueError("")) == "ValueError"
    assert log_errors.listed(map(str, range(100))).endswith("and 88 more")
