"""The format of a spec, as pydantic checks it, and its complaints in one line each: file, line, key, wanted, got.

What a key wants stands beside its type, and an error quotes it. What is asked ([[objective]], [[limit]], and what
[study] and [budget] say of it) is read by `frontguard.question`, and what must agree between keys (arms, commands,
placeholders) is checked in `spec`.
"""

from __future__ import annotations

import math
import re
import tomllib
from bisect import bisect_left
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from dataclasses import fields
from functools import cached_property, lru_cache
from typing import Annotated, Any, ClassVar, LiteralString, Self, cast, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from frontguard import phrases
from frontguard._common.checks import WANTED_TIME, checked_seconds
from frontguard._common.secrets import MASK, hidden, without_password
from frontguard.commands import spec
from frontguard.errors import BadArgument, BadInput
from frontguard.limits import Limit
from frontguard.objectives import Objective
from frontguard.phrases import did_you_mean


@lru_cache(maxsize=16)
def masked_spec(text: str) -> str:
    """The text of a spec with the values of `env` and the password in `storage` masked; nothing of it if in doubt.

    >>> print(masked_spec('[run]\\nenv = {TOKEN = "hunter2"}  # not hunter2\\n[study]\\nstorage = "pg://a:b@c/d"'))
    [run]
    env = {TOKEN = "***"}  # not ***
    [study]
    storage = "pg://a:***@c/d"
    """
    if not any(sign in text for sign in ("env", "://", "password")):
        return text
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document = tomlkit.parse(text)
        secrets = [value for table in _with_variables(document) for value in _mask_variables(table)]
        study = document.get("study", {})
        if isinstance(study, MutableMapping) and isinstance(study.get("storage"), str):
            shown = without_password(str(study["storage"]))
            if shown != study["storage"]:
                study["storage"] = shown
        masked = without_password(hidden(tomlkit.dumps(document), secrets))  # comments too
        tomllib.loads(masked)
    except (TOMLKitError, ValueError, RecursionError, TypeError):
        return "# The text of the spec is not shown: its secrets could not be told from the rest.\n"
    return masked


def _with_variables(document: MutableMapping[str, Any]) -> Iterator[MutableMapping[str, Any]]:
    """The tables that may have an `env`."""
    tables = document.get("arm", [])
    for table in [document.get("run"), *(tables if isinstance(tables, list) else [tables])]:
        if isinstance(table, MutableMapping):
            yield table


def _mask_variables(table: MutableMapping[str, Any]) -> Iterator[str]:
    """Mask the values of the table's `env` in place, and give them."""
    variables = table.get("env", {})
    if not isinstance(variables, MutableMapping):
        raise TypeError("env is no table")
    for name, value in list(variables.items()):
        if isinstance(value, (MutableMapping, list)):
            raise TypeError("a variable has one value")
        if value != MASK:
            variables[name] = MASK
            yield str(value)


# The format -----------------------------------------------------------------------------------------------------------

Path = tuple[str | int, ...]

_HUGE = 10**300  # beyond, a whole number is no float


def _wanted(what: LiteralString, *words: str) -> WrapValidator:
    """Says what is wanted, whatever is wrong with a value; what is wrong inside a table or list says so itself.

    `words` are those that may be meant where one of them is wanted.
    """

    def check(value: object, handler: ValidatorFunctionWrapHandler) -> object:
        try:
            return handler(value)
        except ValidationError as problems:
            found = [(each["loc"], each.get("ctx", {}).get("error")) for each in problems.errors()]
            inside = any(where or isinstance(error, BadInput) for where, error in found)
            if isinstance(value, (dict, list)) and inside:
                raise
            raise PydanticCustomError("wanted", what, {"words": words}) from None

    return WrapValidator(check)


def _only(fits: Callable[[Any], bool]) -> BeforeValidator:
    """Refuses what does not fit."""

    def check(value: object) -> object:
        if not fits(value):
            raise ValueError("does not fit")
        return value

    return BeforeValidator(check)


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
        raise ValueError("no table")
    for name, text in value.items():
        if not name or "=" in name or "\0" in name or not isinstance(text, (str, int)) or "\0" in str(text):
            raise ValueError("no environment")
    return {name: str(text).lower() if isinstance(text, bool) else str(text) for name, text in value.items()}


def _budget(value: object) -> object:
    """`budget = 500` and `budget = "30 min"` are short for a table."""
    if isinstance(value, str):
        return {"max_time": value}
    if isinstance(value, int) and not isinstance(value, bool):
        return {"max_pulls": value}
    return value


# What keys hold: the type, the check, and in words what is wanted.
Count = Annotated[int, Field(ge=1, le=_HUGE), _wanted("a whole number from 1")]
Natural = Annotated[int, Field(ge=0, le=_HUGE), _wanted("a whole number from 0")]
Seconds = Annotated[float, BeforeValidator(lambda value: checked_seconds(value, "time")), _wanted(WANTED_TIME)]
Text = Annotated[str, _only(_is_text), _wanted("a text of one line that is not blank")]
Truth = Annotated[bool, _wanted("true or false")]
SourceKind = Annotated[
    spec.SourceKind,
    _wanted("one of 'json', 'regex', 'seconds', 'cpu_seconds', 'max_rss'", *get_args(spec.SourceKind)),
]
Stream = Annotated[spec.Stream, _wanted("'stdout' or 'stderr'", *get_args(spec.Stream))]
Scalar = Annotated[str | int | float | bool, _only(_is_scalar), _wanted("a text, a finite number or a truth value")]
CommandLine = Annotated[
    list[str] | str,
    _only(_is_command),
    _wanted("a list of texts such as ['./measure', '{opt}'], or one text with shell = true"),
]
Environment = Annotated[
    dict[str, str], BeforeValidator(_environment), _wanted("a table of texts, such as {OMP_NUM_THREADS = '1'}")
]
Values = Annotated[list[Scalar], Field(min_length=1), _wanted("a list of values, one at least")]

MISSING: Any = None
"""Where a key must be given: TOML has no such value, and no key takes it."""

EMPTY: Any = {}
"""A table that is left out: whatever it would hold has its default."""


class _Toml(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, validate_default=True)


class _Asking(_Toml):
    """A table that says something of the question, too, in keys that `asks` names."""

    model_config = ConfigDict(extra="allow")
    asks: ClassVar[tuple[str, ...]] = ()

    @property
    def said(self) -> dict[str, Any]:
        """What it says of the question."""
        return {name: value for name, value in (vars(self) | (self.model_extra or {})).items() if name in self.asks}

    @model_validator(mode="after")
    def _known(self) -> Self:
        known = list(dict.fromkeys([*type(self).model_fields, *self.asks]))
        for name in self.model_extra or {}:
            if name not in known:
                raise BadArgument(name, f"no such key{did_you_mean(name, known)}; wanted one of {', '.join(known)}")
        return self


class BudgetToml(_Asking):
    """[budget]."""

    asks = ("max_pulls", "max_pulls_per_arm", "max_cost")

    max_time: Seconds | None = None


Budget = Annotated[
    BudgetToml,
    BeforeValidator(_budget),
    _wanted(
        'a table with max_pulls, max_pulls_per_arm, max_time or max_cost; a number of pulls; or a text as "30 min"'
    ),
]


class StudyToml(_Asking):
    """[study]."""

    asks = (
        "threat", "contamination", "confidence", "goal", "paired", "items", "independent", "blocks", "cost",
        "polish",
    )  # fmt: skip

    name: Text | None = None
    seed: Natural = 0
    storage: Text | None = None
    budget: Budget | None = None
    baseline: Text | None = None


class MetricToml(_Asking):
    """What counts of a metric, and where it comes from."""

    source: SourceKind | None = None
    key: Text | None = None
    pattern: Text | None = None
    stream: Stream | None = None


class ObjectiveToml(MetricToml):
    """[[objective]]."""

    asks = tuple(each.name for each in fields(Objective))

    name: Text = MISSING

    @cached_property
    def objective(self) -> Objective:
        """The objective that it says; one that we measure, whatever its name, is minimised unless said otherwise."""
        measured = (self.source or spec.usual_kind(self.name)) in spec.MEASURED
        said = ({"direction": "minimize"} if measured else {}) | self.said
        if "tolerance" not in said and said.get("exact") is not True:  # exact ones need none
            wanted = "the difference that does not matter, a number from 0 such as 0.5 or a percentage such as '2%'"
            raise BadArgument("tolerance", f"missing; wanted {wanted}")
        return Objective(**said)

    @model_validator(mode="after")
    def _read(self) -> Self:
        assert self.objective
        return self


class LimitToml(MetricToml):
    """[[limit]]: what arms must keep to; where it comes from, unless it is an objective."""

    asks = tuple(each.name for each in fields(Limit))

    metric: Text = MISSING

    @cached_property
    def limit(self) -> Limit:
        """The limit that it says."""
        return Limit(**self.said)

    @model_validator(mode="after")
    def _read(self) -> Self:
        assert self.limit
        return self


class StepsToml(_Toml):
    """The commands of an arm."""

    command: CommandLine | None = None
    prepare: CommandLine | None = None
    before: CommandLine | None = None
    after: CommandLine | None = None
    cleanup: CommandLine | None = None
    env: Environment = {}


class RunToml(StepsToml):
    """[run]."""

    warmups: Natural = 0
    shell: Truth = False
    workers: Count = 1
    timeout: Seconds = 600.0
    prepare_timeout: Seconds = 600.0
    cleanup_timeout: Seconds = 60.0
    lease: Seconds | None = None
    cwd: Text = "."


class ArmToml(StepsToml):
    """[[arm]]: whatever else it has are parameters."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Scalar] = Field(init=False)

    name: Text = MISSING
    warmups: Natural | None = None


class ArmsToml(_Toml):
    """[arms]."""

    grid: Annotated[
        dict[str, Values], Field(min_length=1), _wanted("a table of lists, such as opt = ['-O1', '-O2']")
    ] = MISSING


class SpecToml(_Toml):
    """A whole spec."""

    study: Annotated[StudyToml, _wanted("a table [study]")] = EMPTY
    objective: Annotated[list[ObjectiveToml], Field(min_length=1), _wanted("one [[objective]] or more")] = MISSING
    limit: Annotated[list[LimitToml], _wanted("a list of [[limit]]")] = []
    run: Annotated[RunToml, _wanted("a table [run]")] = EMPTY
    arm: Annotated[list[ArmToml], Field(min_length=1), _wanted("a list of [[arm]]")] | None = None
    arms: Annotated[ArmsToml, _wanted("a table [arms.grid]")] | None = None
    budget: Budget | None = None


_TABLES: dict[str, type[BaseModel]] = {"run": RunToml, "arms": ArmsToml}


def checked_table(data: dict[str, Any], complain: Complaints) -> SpecToml:
    """The spec in a parsed TOML text; the error that stands first in the file if there are any."""
    try:
        return SpecToml.model_validate(data)
    except ValidationError as problems:
        errors = {_place(error): error for error in problems.errors(include_url=False)}
    # What is missing comes last: it may be the very key that is misspelt.
    written = [path for path, error in errors.items() if error["input"] is not MISSING]
    path = complain.first(written)[1] if written else next(iter(errors))
    wanted, got = errors[path]["msg"], errors[path]["input"]
    if isinstance(problem := errors[path].get("ctx", {}).get("error"), BadInput):
        raise complain.about(errors[path]["loc"], problem)
    if errors[path]["type"] == "extra_forbidden":
        name, tables = str(path[-1]), [part for part in path[:-1] if isinstance(part, str)]
        known = list(_TABLES.get(tables[-1] if tables else "", SpecToml).model_fields)
        raise complain(path, f"no such key{did_you_mean(name, known)}; wanted one of {', '.join(known)}")
    if got is MISSING:
        raise complain(path, f"missing; wanted {wanted}")
    words = errors[path].get("ctx", {}).get("words", ())
    hint = did_you_mean(got, words) if isinstance(got, str) else ""
    # What somebody wrote in the place of variables, or as an address, may be a secret.
    seen = "something else" if "env" in path and not isinstance(got, dict) else without_password(shown(got))
    raise complain(path, f"wanted {wanted}{hint}; got {seen}")


def _place(error: Any) -> Path:
    """Where an error is: at the key of which it speaks, if that is written."""
    loc, problem = error["loc"], error.get("ctx", {}).get("error")
    return (*loc, problem.key) if isinstance(problem, BadArgument) and problem.key in error["input"] else loc


class Complaints:
    """Makes one-line errors about keys of one TOML text."""

    def __init__(self, file: str, text: str) -> None:
        self.file, self.text = file, text

    def __call__(self, path: Path, message: str) -> BadInput:
        """An error about the key at this path: file, line where it can be known, key, message."""
        line = self.line(path)
        where = f"{self.file}, line {line}" if line is not None else self.file
        return BadInput(f"{where}: {key_name(path)}{': ' if path else ''}{message}")

    def about(self, where: Path, error: BadInput) -> BadInput:
        """An error that the table at this path makes, by the key that it speaks of."""
        path = (*where, error.key) if isinstance(error, BadArgument) else where
        if path == where or not _holds(tomllib.loads(self.text), path):
            return self(where, str(error))
        line = self.line(path)
        return BadInput(f"{self.file}, line {line}: {cast(BadArgument, error).named(key_name(path))}")

    def line(self, path: Path) -> int | None:
        """The line of the key at this path, or of the nearest thing around it that is written down.

        >>> complain = Complaints("x.toml", '[[arm]]\\nname = "a"\\n[[arm]]\\nname = "b"')
        >>> complain.line(("arm", 1, "name")), complain.line(("arm", 1, "command")), complain.line(("run",))
        (4, 3, None)
        """
        whole = tomllib.loads(self.text)
        while path and not _holds(whole, path):
            path = path[:-1]
        return self.first([path])[0] if path else None

    def first(self, paths: Sequence[Path]) -> tuple[int, Path]:
        """The first line at which one of these keys has been written, and this key."""
        lines = self.text.split("\n")

        def written(count: int) -> list[Path]:
            beginning = _beginning(lines[:count])
            return [path for path in paths if _holds(beginning, path)]

        line = bisect_left(range(len(lines)), 1, key=lambda count: len(written(count)))
        return line, written(line)[0]

    def syntax(self, problem: tomllib.TOMLDecodeError) -> BadInput:
        """An error about a text that is not TOML at all."""
        message = str(problem)
        match = re.fullmatch(r"(.*?) \(at (?:line (\d+), column (\d+)|end of document)\)", message, re.DOTALL)
        if match is None:
            return BadInput(f"{self.file}: not TOML: {message}")
        last = self.text.rstrip("\n").count("\n") + 1
        line, column = match[2] or last, f", column {match[3]}" if match[3] else ""
        return BadInput(f"{self.file}, line {line}{column}: not TOML: {match[1]}")


_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}'
    + r"|'''.*?'{3,5}"
    + r"|(\"\"\"|''').*"  # a text that does not end
    + r'|"(?:\\.|[^"\\\n])*"'
    + r"|'[^'\n]*'|#[^\n]*|[][{}]",
    re.DOTALL,
)
_CLOSING = {"[": "]", "{": "}"}


def _beginning(lines: Sequence[str]) -> dict[str, Any]:
    """What the first lines of a TOML text say, once everything is closed that is open at their end."""
    text = "\n".join(lines)
    still_open: list[str] = []
    for token in _TOKEN.finditer(text):
        if token[0] in _CLOSING:
            still_open.append(_CLOSING[token[0]])
        elif token[0] in ("]", "}"):
            still_open.pop()
        elif token[1]:
            still_open.append(token[1])
    return tomllib.loads(f"{text}\n{''.join(reversed(still_open))}")


def _holds(data: Any, path: Path) -> bool:
    """Whether there is something at this path."""
    try:
        for part in path:
            data = data[part]
    except (LookupError, TypeError):
        return False
    return True


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


def shown(value: Any) -> str:
    """A value as an error quotes it, shortened.

    >>> shown("x"), shown({"a": 1}), shown(True)
    ("'x'", 'a table', 'true')
    """
    if isinstance(value, bool):
        return str(value).lower()
    return "a table" if isinstance(value, dict) else phrases.shown(value)
