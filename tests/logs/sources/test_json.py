"""JSON lines: ids, values, what cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.logs.sources.reading import read, refusal


def test_json_lines(tmp_path: Path) -> None:
    data = (
        '{"arm": "a", "x": 1}\n\n{"x": 2.5, "arm": "b", "more": {"x": "no"}}\r\n{"arm": "c", "x": null}\n{"arm": "d"}\n'
    )
    assert read(tmp_path / "l.jsonl", data) == [("a", 1.0), ("b", 2.5), ("c", None), ("d", None)]
    assert read(tmp_path / "l.json", data) == read(tmp_path / "l", data)
    assert read(tmp_path / "l.json", '[{"arm": "a", "x": 1}, {"arm": 7}]') == [("a", 1.0), ("7", None)]
    assert read(tmp_path / "l.json", '{"arm": "a", "x": 1}') == [("a", 1.0)]


@pytest.mark.parametrize("value", ["1", "NaN"], ids=["quickly", "carefully"])
def test_ids_that_are_numbers_become_digits(tmp_path: Path, value: str) -> None:
    names = {
        "7": "7",
        "-0": "0",
        "true": "true",
        '"007"': "007",
        '"1e5"': "1e5",
        "1e5": "100000",
        "1.0": "1",
        "0.1": "0.1",
        "-2.5e-7": "-0.00000025",
        "123456789012345678901234567890": "123456789012345678901234567890",
    }
    data = "".join(f'{{"arm": {name}, "x": {value}}}\n' for name in names)
    assert [arm for arm, _ in read(tmp_path / "l.jsonl", data)] == list(names.values())
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
            "l.jsonl, line 2, column 'x': wanted numbers, or true and false; got both: write true as 1 and false as 0 "
            "throughout",
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
