"""The format of a spec, as pydantic checks it, and its complaints in one line each: file, line, key, wanted, got.

What a key wants is its description here; an error message quotes it. This module says what each key may hold; what must
agree between keys (arms, commands, placeholders) is checked in `spec`.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable
from functools import cached_property
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import PydanticCustomError

from frontguard import phrases
from frontguard.errors import BadInput
from frontguard.objectives import parse_tolerance
from frontguard.phrases import did_you_mean

_UNITS = {"s": 1, "sec": 1, "second": 1, "seconds": 1, "min": 60, "minute": 60, "minutes": 60, "m": 60,
          "h": 3600, "hour": 3600, "hours": 3600, "d": 86400, "day": 86400, "days": 86400}  # fmt: skip
_DURATION = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)\s*", re.IGNORECASE)


def duration(value: object) -> float:
    """Seconds, from a number or a text such as "30 min".

    >>> duration("1.5 h"), duration(90)
    (5400.0, 90.0)
    """
    seconds = math.nan
    if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 10**300:
        seconds = float(value)
    elif isinstance(value, str) and (match := _DURATION.fullmatch(value)) and (match[2].lower() or "s") in _UNITS:
        seconds = float(match[1]) * _UNITS[match[2].lower() or "s"]
    if not 0.0 < seconds < math.inf:
        raise PydanticCustomError("unfit", "no duration")
    return seconds


def _only(fits: Callable[[Any], bool]) -> BeforeValidator:
    """Refuses what does not fit. The message says what is wanted instead, by the description of the key."""

    def check(value: object) -> object:
        if not fits(value):
            raise PydanticCustomError("unfit", "not what is wanted")
        return value

    return BeforeValidator(check)


def _number(accepts: Callable[[float], bool], whole: bool = False) -> BeforeValidator:
    """Numbers only: pydantic would take a boolean for one, or a text."""
    kind = int if whole else (int, float)
    return _only(lambda x: isinstance(x, kind) and not isinstance(x, bool) and abs(x) <= 10**300 and accepts(x))


def _is_tolerance(value: object) -> bool:
    try:
        parse_tolerance(value)
    except BadInput:
        return False
    return True


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip()) and value.isprintable()


def _is_scalar(value: object) -> bool:
    if isinstance(value, str):
        return "\0" not in value  # no argument of a command can hold it
    return isinstance(value, (int, bool)) or (isinstance(value, float) and math.isfinite(value))


def _is_command(value: object) -> bool:
    words = [value] if isinstance(value, str) else value
    if not isinstance(words, list) or not all(isinstance(word, str) and "\0" not in word for word in words):
        return False
    return bool(words and words[0].strip())


def _environment(value: object) -> object:
    if not isinstance(value, dict):
        raise PydanticCustomError("unfit", "no table")
    for name, text in value.items():
        if not name or "=" in name or "\0" in name or not isinstance(text, (str, int)) or "\0" in str(text):
            raise PydanticCustomError("unfit", "no environment")
    return {name: str(text).lower() if isinstance(text, bool) else str(text) for name, text in value.items()}


# What keys hold: the type, the check, and in words what is wanted.
Count = Annotated[int, _number(lambda x: x >= 1.0, whole=True), Field(description="a whole number from 1")]
Natural = Annotated[int, _number(lambda x: x >= 0.0, whole=True), Field(description="a whole number from 0")]
Share = Annotated[float, _number(lambda x: 0.0 <= x < 0.5), Field(description="a number from 0 to below 0.5")]
Level = Annotated[float, _number(lambda x: 0.0 < x < 1.0), Field(description="a number between 0 and 1, such as 0.95")]
Seconds = Annotated[
    float,
    BeforeValidator(duration),
    Field(description='a positive number of seconds, or a text such as "30 min" or "2 h"'),
]
Text = Annotated[str, _only(_is_text), Field(description="a text of one line that is not blank")]
Tolerance = Annotated[
    float | str,
    _only(_is_tolerance),
    Field(description="the difference that does not matter, a number from 0 such as 0.5 or a percentage such as '2%'"),
]
Threat = Annotated[
    Literal["oblivious", "prescient", "malicious"], Field(description="'oblivious', 'prescient' or 'malicious'")
]
Direction = Annotated[Literal["minimize", "maximize"], Field(description="'minimize' or 'maximize'")]
SourceName = Annotated[
    Literal["json", "regex", "seconds", "cpu_seconds", "max_rss"],
    Field(description="one of 'json', 'regex', 'seconds', 'cpu_seconds', 'max_rss'"),
]
Stream = Annotated[Literal["stdout", "stderr"], Field(description="'stdout' or 'stderr'")]
Scalar = Annotated[str | int | float | bool, _only(_is_scalar)]
CommandLine = Annotated[
    list[str] | str,
    _only(_is_command),
    Field(description="a list of texts such as ['./measure', '{opt}'], or one text with shell = true"),
]
Environment = Annotated[
    dict[str, str],
    BeforeValidator(_environment),
    Field(description="a table of texts, such as {OMP_NUM_THREADS = '1'}"),
]
Grid = Annotated[
    dict[str, Annotated[list[Scalar], Field(min_length=1)]],
    Field(min_length=1, description="a table of lists, such as opt = ['-O1', '-O2']"),
]


class _Toml(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class BudgetToml(_Toml):
    """[budget]."""

    pulls: Count | None = None
    pulls_per_arm: Count | None = None
    seconds: Seconds | None = None
    time: Seconds | None = None


def _budget(value: object) -> object:
    """`budget = 500` and `budget = "30 min"` are short for a table."""
    if isinstance(value, str):
        return {"time": value}
    if isinstance(value, int) and not isinstance(value, bool):
        return {"pulls": value}
    return value


Budget = Annotated[
    BudgetToml,
    BeforeValidator(_budget),
    Field(description='a table with pulls, pulls_per_arm, seconds or time; a number of pulls; or a text as "30 min"'),
]


class StudyToml(_Toml):
    """[study]."""

    name: Text | None = None
    threat: Threat = "prescient"
    contamination: Share = 0.1
    confidence: Level = 0.95
    seed: Natural = 0
    storage: Text | None = None
    budget: Budget | None = None


class ObjectiveToml(_Toml):
    """[[objective]]."""

    name: Text
    direction: Direction | None = None
    tolerance: Tolerance
    quantile: Level = 0.5
    source: SourceName | None = None
    key: Text | None = None
    pattern: Text | None = None
    stream: Stream | None = None


class RunToml(_Toml):
    """[run]."""

    command: CommandLine | None = None
    prepare: CommandLine | None = None
    shell: Annotated[bool, Field(description="true or false")] = False
    workers: Count = 1
    timeout: Seconds = 600.0
    prepare_timeout: Seconds = 600.0
    lease: Seconds | None = None
    cwd: Text = "."
    env: Environment = Field(default_factory=dict)


class ArmToml(_Toml):
    """[[arm]]: whatever else it has are parameters."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)
    __pydantic_extra__: dict[str, Scalar] = Field(init=False)

    name: Text
    command: CommandLine | None = None
    prepare: CommandLine | None = None
    env: Environment = Field(default_factory=dict)


class ArmsToml(_Toml):
    """[arms]."""

    grid: Grid


class SpecToml(_Toml):
    """A whole spec."""

    study: Annotated[StudyToml, Field(description="a table [study]")] = StudyToml()
    objective: Annotated[list[ObjectiveToml], Field(min_length=1, description="one [[objective]] or more")]
    run: Annotated[RunToml, Field(description="a table [run]")] = RunToml()
    arm: Annotated[list[ArmToml], Field(min_length=1, description="a list of [[arm]]")] | None = None
    arms: Annotated[ArmsToml, Field(description="a table [arms.grid]")] | None = None
    budget: Budget | None = None


_TABLES: dict[tuple[str, ...], type[BaseModel]] = {
    (): SpecToml,
    ("study",): StudyToml,
    ("study", "budget"): BudgetToml,
    ("objective",): ObjectiveToml,
    ("run",): RunToml,
    ("arm",): ArmToml,
    ("arms",): ArmsToml,
    ("budget",): BudgetToml,
}
_A_PARAMETER = "a text, a finite number or a truth value"


class Complaints:
    """Makes one-line errors about keys of one TOML text."""

    def __init__(self, file: str, text: str) -> None:
        self.file, self.text = file, text

    @cached_property
    def lines(self) -> dict[Path, int]:
        """Where everything in the text stands."""
        return lines_of(self.text)

    def line(self, path: Path) -> int | None:
        """The line of the key at this path, or of what is around it."""
        return nearest_line(self.lines, path)

    def __call__(self, path: Path, message: str) -> BadInput:
        """An error about the key at this path: file, line where it can be known, key, message."""
        line = self.line(path)
        where = f"{self.file}, line {line}" if line is not None else self.file
        return BadInput(f"{where}: {key_name(path)}{': ' if path else ''}{message}")

    def syntax(self, problem: tomllib.TOMLDecodeError) -> BadInput:
        """An error about a text that is not TOML at all."""
        message = str(problem)
        match = re.fullmatch(r"(.*?) \(at (?:line (\d+), column (\d+)|end of document)\)", message, re.DOTALL)
        if match is None:
            return BadInput(f"{self.file}: not TOML: {message}")
        last = self.text.rstrip("\n").count("\n") + 1
        line, column = match[2] or last, f", column {match[3]}" if match[3] else ""
        return BadInput(f"{self.file}, line {line}{column}: not TOML: {match[1]}")


def key_name(path: Path) -> str:
    """A path as a person would call it: tables in a list are counted from 1.

    >>> key_name(("objective", 0, "tolerance")), key_name(("run", "timeout")), key_name(("run", "command", 1))
    ('objective 1: tolerance', 'run.timeout', 'run.command: value 2')
    """
    name = ""
    for position, part in enumerate(path):
        if isinstance(part, int):
            name += f" {part + 1}" if position == 1 else f": value {part + 1}"
        else:
            name += f"{': ' if position and isinstance(path[position - 1], int) else '.' if name else ''}{part}"
    return name


def checked_table(data: dict[str, Any], complain: Complaints) -> SpecToml:
    """The spec in a parsed TOML text; the error that stands first in the file if there are any."""
    try:
        return SpecToml.model_validate(data)
    except ValidationError as problems:
        errors = problems.errors(include_url=False, include_context=False)
        found = [(_path(error["loc"], data), error) for error in errors]
        last = complain.text.count("\n") + 2
        # What is missing comes last: it may be the very key that is misspelt.
        found.sort(key=lambda each: (each[1]["type"] == "missing", complain.line(each[0]) or last))
        path, error = found[0]
        raise complain(path, _message(path, error, data)) from None


def _path(location: tuple[str | int, ...], data: Any) -> Path:
    """The part of pydantic's location that is keys: it also names branches of unions."""
    path: Path = ()
    at: Any = data
    for number, part in enumerate(location):
        there = (
            part in at if isinstance(at, dict) else isinstance(at, list) and isinstance(part, int) and part < len(at)
        )
        if there:
            at = at[part]
        elif not isinstance(at, dict) or number < len(location) - 1:
            return path
        path = (*path, part)
    return path


def _message(path: Path, error: Any, data: Any) -> str:
    keys = tuple(part for part in path if isinstance(part, str))
    table = _TABLES.get(keys[:-1])
    name = keys[-1] if keys else ""
    if error["type"] == "extra_forbidden" and table is not None:
        known = list(table.model_fields)
        return f"no such key{did_you_mean(name, known)}; wanted one of {', '.join(known)}"
    wanted = _wanted(keys, table, path)
    if error["type"] == "missing":
        return f"missing; wanted {wanted}"
    return f"wanted {wanted}; got {shown(_at(data, path))}"


def _wanted(keys: tuple[str, ...], table: type[BaseModel] | None, path: Path) -> str:
    if keys[:2] == ("arms", "grid") and len(keys) == 3:
        return "a list of values, one at least" if isinstance(path[-1], str) else _A_PARAMETER
    described = _description(table, keys[-1]) if table is not None and keys else ""
    if not described and keys[:1] == ("arm",):
        return _A_PARAMETER
    return described or "something else"


def _description(table: type[BaseModel], key: str) -> str:
    """What a key wants; of a key that may be left out, pydantic keeps it with the type inside `| None`."""
    field = table.model_fields.get(key)
    if field is None:
        return ""
    for each in (field, *(part for kind in get_args(field.annotation) for part in getattr(kind, "__metadata__", ()))):
        described = getattr(each, "description", None)
        if described:
            return str(described)
    return ""


def _at(data: Any, path: Path) -> Any:
    for part in path:
        data = data[part]
    return data


def shown(value: Any) -> str:
    """A value as an error quotes it, shortened.

    >>> shown("x"), shown({"a": 1}), shown(True)
    ("'x'", 'a table', 'true')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a table"
    return phrases.shown(value)


Path = tuple[str | int, ...]

_KEY = re.compile(r"""[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'""")
_BLANK = re.compile(r"[ \t]*")
_SPACE = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_STRING = re.compile(
    r'"""(?:[^"\\]|\\.|"{1,2}(?!"))*"{3,5}'
    + r"|'''(?:[^']|'{1,2}(?!'))*'{3,5}"
    + r'|"(?:[^"\\\n]|\\.)*"'
    + r"|'[^'\n]*'",
    re.DOTALL,
)
_BARE = re.compile(r"[^,\]}#\n]*")


def lines_of(text: str) -> dict[Path, int]:
    """The line, from 1, of every key, table and element of a list; a list of tables counts its tables from 0.

    >>> lines_of('[run]\\ntimeout = 3\\n\\n[[arm]]\\nname = "a"\\n[[arm]]\\nname = "b"')[("arm", 1, "name")]
    7
    """
    scanner = _Scanner(text)
    scanner.document()
    return scanner.lines


def nearest_line(lines: dict[Path, int], path: Path) -> int | None:
    """The line of a key, or of the nearest thing around it that is written down; None where there is no such thing.

    >>> lines = lines_of('[study]\\nname = "x"')
    >>> nearest_line(lines, ("study", "threat")), nearest_line(lines, ("run",))
    (1, None)
    """
    for length in range(len(path), 0, -1):
        found = lines.get(path[:length])
        if found is not None:
            return found
    return None


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.lines: dict[Path, int] = {}
        self.tables: dict[Path, int] = {}  # how many [[tables]] of a path there have been
        self._counted = (0, 1)  # an offset and its line: offsets only grow, so lines are counted once

    def document(self) -> None:
        table: Path = ()
        while self._skip(_SPACE) < len(self.text):
            start = self.at
            if self.text.startswith("[", start):
                table = self._header()
            elif not self._pair(table):
                return
            if self.at == start:
                return

    def _header(self) -> Path:
        start = self.at
        listed = self.text.startswith("[[", start)
        self.at += 2 if listed else 1
        keys = self._keys()
        self._take("]]" if listed else "]")
        path: Path = ()
        for number, key in enumerate(keys):
            path = (*path, key)
            last = number == len(keys) - 1
            if last and listed:
                self._note(path, start)
                self.tables[path] = self.tables.get(path, 0) + 1
            if path in self.tables:
                path = (*path, self.tables[path] - 1)
            self._note(path, start)
        return path

    def _pair(self, table: Path) -> bool:
        start = self.at
        keys = self._keys()
        if not keys or not self._take("="):
            return False
        path = table
        for key in keys:
            path = (*path, key)
            self._note(path, start)
        self._value(path)
        return True

    def _keys(self) -> list[str]:
        keys: list[str] = []
        while True:
            self._skip(_BLANK)
            match = _KEY.match(self.text, self.at)
            if match is None:
                return keys
            self.at = match.end()
            written = match[0]
            keys.append(_unquoted(written) if written[0] in "\"'" else written)
            self._skip(_BLANK)
            if not self.text.startswith(".", self.at):
                return keys
            self.at += 1

    def _value(self, path: Path) -> None:
        self._skip(_BLANK)
        self._note(path, self.at)
        opening = self.text[self.at : self.at + 1]
        if opening == "[":
            self.at += 1
            number = 0
            while not self._closed("]"):
                start = self.at
                self._value((*path, number))
                number += 1
                self._separated(start)
        elif opening == "{":
            self.at += 1
            while not self._closed("}"):
                start = self.at
                if not self._pair(path):
                    self.at = len(self.text)
                self._separated(start)
        elif opening in ('"', "'"):
            self.at = match.end() if (match := _STRING.match(self.text, self.at)) else len(self.text)
        else:
            self._skip(_BARE)

    def _closed(self, bracket: str) -> bool:
        self._skip(_SPACE)
        return self._take(bracket) or self.at >= len(self.text)

    def _separated(self, start: int) -> None:
        self._skip(_SPACE)
        if not self._take(",") and self.at == start:  # nothing was read: not TOML
            self.at = len(self.text)

    def _take(self, wanted: str) -> bool:
        self._skip(_BLANK)
        if self.text.startswith(wanted, self.at):
            self.at += len(wanted)
            return True
        return False

    def _skip(self, pattern: re.Pattern[str]) -> int:
        match = pattern.match(self.text, self.at)
        self.at = match.end() if match else self.at
        return self.at

    def _note(self, path: Path, offset: int) -> None:
        if path in self.lines:
            return
        before, line = self._counted
        if offset >= before:
            self._counted = (offset, line + self.text.count("\n", before, offset))
        self.lines[path] = self._counted[1] if offset >= before else self.text.count("\n", 0, offset) + 1


def _unquoted(written: str) -> str:
    try:
        return str(tomllib.loads(f"key = {written}")["key"])
    except tomllib.TOMLDecodeError:  # an escape that there is not
        return written
