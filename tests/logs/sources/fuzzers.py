"""Files that are nearly right: valid logs with bytes, fields, rows or types changed, and a plain reader to judge by."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from frontguard.errors import BadInput
from frontguard.logs.sources import open_log

Answer = list[tuple[str, tuple[float, ...]]]
METRICS = ["seconds", "bytes"]

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_MISSING = {"", "na", "n/a", "#n/a", "nan", "null", "none", "inf", "infinity"}
_MISSING |= {sign + word for sign in "+-" for word in ("nan", "inf", "infinity")}


def read(path: Path, **options: Any) -> Answer | str:
    """What we answer, pull by pull, or the one line with which we refuse."""
    try:
        log = open_log(path, **{"arm": "arm", "metrics": METRICS, **options})
        return [
            (arm, values)
            for batch in log.batches()
            for arm, *values in zip(
                batch.arms.cast(str).to_list(), *(map(_plain, column) for column in batch.values), strict=True
            )
        ]
    except BadInput as error:
        line = str(error)
        assert line, "a message says something"
        assert "\n" not in line, f"a message is one line; got {line!r}"
        assert len(line) < 1000, f"a message is short; got {line!r}"
        return line


def _plain(value: float) -> float:
    """NaN as one object, so that equal answers compare equal."""
    return math.nan if math.isnan(value) else float(value)


# The logs ------------------------------------------------------------------------------------------------------------


def valid_rows(random: np.random.Generator) -> Answer:
    """Up to thirty pulls of a few arms, some of them failed."""
    names = ["a", "007", "1e5", "NA", "x y", 'q"t', "com,ma", "line\nbreak", "ä", "true", "-"]
    rows: Answer = []
    for _ in range(int(random.integers(1, 30))):
        values = [float(np.round(random.lognormal(), 4)) if random.random() > 0.1 else math.nan for _ in METRICS]
        rows.append((names[int(random.integers(len(names)))], values))  # type: ignore[arg-type]
    return rows


def as_csv(rows: Answer, random: np.random.Generator) -> bytes:
    text = io.StringIO()
    writer = csv.writer(
        text, delimiter=",;\t"[int(random.integers(3))], lineterminator=["\n", "\r\n"][int(random.integers(2))]
    )
    writer.writerow(["arm", "host", *METRICS])
    for arm, values in rows:
        writer.writerow([arm, "h1", *("NA" if math.isnan(value) else repr(value) for value in values)])
    return text.getvalue().encode()


def as_jsonl(rows: Answer, random: np.random.Generator) -> bytes:
    ascii_only = bool(random.integers(2))
    lines = []
    for arm, values in rows:
        record: dict[str, Any] = {"arm": arm, "host": {"name": "h1"}}
        record |= {name: None if math.isnan(value) else value for name, value in zip(METRICS, values, strict=True)}
        lines.append(json.dumps(record, ensure_ascii=ascii_only))
    return ("\n".join(lines) + "\n").encode()


def as_parquet(rows: Answer, random: np.random.Generator) -> bytes:
    columns: dict[str, Any] = {"arm": pa.array([arm for arm, _ in rows])}
    if random.integers(2):
        columns["arm"] = columns["arm"].dictionary_encode()
    for d, name in enumerate(METRICS):
        values = [values[d] for _, values in rows]
        columns[name] = pa.array([None if math.isnan(value) else value for value in values], pa.float64())
    sink = io.BytesIO()
    pq.write_table(
        pa.table(columns),
        sink,
        row_group_size=int(random.integers(1, 40)),
        compression=["none", "snappy", "zstd", "gzip"][int(random.integers(4))],
        use_dictionary=bool(random.integers(2)),
        write_page_checksum=bool(random.integers(2)),
    )
    return sink.getvalue()


WRITERS = {"csv": as_csv, "jsonl": as_jsonl, "parquet": as_parquet}

# Mutations -----------------------------------------------------------------------------------------------------------

_PIECES = (
    *(
        b'"',
        b",",
        b";",
        b"\n",
        b"\r",
        b"\r\n",
        b"\0",
        b"\xff",
        b"\xef\xbb\xbf",
        b"NaN",
        b"inf",
        b"12ms",
        b"1e999",
        b"-",
    ),
    *(
        b"{",
        b"}",
        b"[",
        b"]",
        b":",
        b"null",
        b'""',
        b"\\",
        b"\\u0000",
        b"\\ud800",
        b"'",
        b" ",
        b"\t",
        b"arm",
        b"seconds",
    ),
    *(b"1,5", b"0x1F", b"PAR1", b"+", b".", b"true", b"nan(1)", b"e", b"_"),
)


def damaged(data: bytes, random: np.random.Generator) -> bytes:
    """Bytes flipped, cut, inserted, doubled or replaced, once or a few times."""
    changed = bytearray(data)
    for _ in range(int(random.choice([1, 1, 1, 2, 5]))):
        at = int(random.integers(len(changed) + 1))
        until = min(len(changed), at + int(random.choice([1, 1, 2, 8, 64])))
        match int(random.integers(6)):
            case 0 if at < len(changed):
                changed[at] ^= 1 << int(random.integers(8))
            case 1:
                del changed[at:]
            case 2:
                del changed[at:until]
            case 3:
                changed[at:at] = _PIECES[int(random.integers(len(_PIECES)))]
            case 4:
                changed[at:at] = changed[at:until]
            case _:
                changed[at:until] = random.bytes(until - at)
    return bytes(changed)


def edited(rows: Answer, random: np.random.Generator) -> Answer:
    """The rows after a change whose effect is known: a value lost, a row removed, repeated, moved or renamed."""
    changed = list(rows)
    at = int(random.integers(len(changed)))
    arm, values = changed[at]
    match int(random.integers(5)):
        case 0:
            changed[at] = (arm, [math.nan, values[1]])  # type: ignore[assignment]
        case 1 if len(changed) > 1:
            del changed[at]
        case 2:
            changed.insert(0, changed[at])
        case 3:
            changed.append(changed.pop(at))
        case _:
            changed[at] = ("renamed", values)
    return changed


# A plain reader ------------------------------------------------------------------------------------------------------


def plainly_csv(data: bytes) -> Answer | None:
    """The rows of a CSV file by the csv module, or None if it is not a sound one."""
    try:
        text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
        for delimiter in ",;\t|":
            rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]
            if not rows:
                return None
            header = [name.strip() if rows[0].count(name.strip()) == 0 else name for name in rows[0]]
            if all(header.count(name) == 1 for name in ("arm", *METRICS)):
                break
        else:
            return None
        at = [header.index(name) for name in ("arm", *METRICS)]
        answer: Answer = []
        for row in rows[1:]:
            if len(row) != len(header):
                return None
            arm, *values = (row[index] for index in at)
            arm.encode()
            answer.append((arm, [_plain(_naive_number(value)) for value in values]))  # type: ignore[arg-type]
        return answer
    except (UnicodeError, ValueError, csv.Error):
        return None


def without_quotes(answer: Answer | None) -> Answer | None:
    """The rows with names as several readers agree on them where text follows a closing quote, as in "a"b."""
    return answer and [(arm.replace('"', ""), values) for arm, values in answer]


def is_loose(data: bytes) -> bool:
    """Whether text follows a closing quote: then a field has no one reading."""
    text = data.decode("utf-8", "surrogateescape")
    try:
        for delimiter in ",;\t|":
            list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error:
        return True
    return False


def _naive_number(text: str) -> float:
    text = text.strip(" \t")
    if text.lower() in _MISSING:
        return math.nan
    if not _NUMBER.fullmatch(text):
        if re.fullmatch(r"[+-]?nan(\([\w]*\))?", text, re.I):
            return math.nan
        raise ValueError(text)
    return float(text) if math.isfinite(float(text)) else math.nan


def plainly_jsonl(data: bytes) -> Answer | None:
    """The rows of a JSON lines file by the json module, or None if it is not a sound one."""
    decoder = json.JSONDecoder(
        object_pairs_hook=_unique, parse_float=_Number, parse_int=_Number, parse_constant=_Number
    )
    try:
        text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
        answer: Answer = []
        at = 0
        while text[at:].strip():
            at += len(text[at:]) - len(text[at:].lstrip())
            record, at = decoder.raw_decode(text, at)
            values = [record.get(name) for name in METRICS]
            if not all(value is None or isinstance(value, _Number) for value in values):
                return None
            arm = record["arm"]
            numbers = [math.nan if value is None else float(value) for value in values]
            arm = {True: "true", False: "false"}[arm] if isinstance(arm, bool) else str(arm)
            answer.append((arm, [value if math.isfinite(value) else math.nan for value in numbers]))  # type: ignore[arg-type]
        return answer
    except (UnicodeError, ValueError, AttributeError, KeyError, RecursionError):
        return None


class _Number(str):
    __slots__ = ()


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    if any(keys.count(name) > 1 for name in ("arm", *METRICS)):
        raise ValueError("repeated")
    return dict(pairs)
