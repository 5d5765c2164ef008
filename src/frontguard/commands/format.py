"""The format of a spec, and its complaints in one line each: file, line, key, wanted, got.

A key has its reader beside it. What is asked is read by `frontguard.question`; `spec` checks that keys agree.
"""

from __future__ import annotations

import math
import re
import tomllib
from bisect import bisect_left
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import cache, lru_cache
from typing import Annotated, Any, ClassVar, Self, TypeVar, cast, get_args, get_type_hints

from frontguard import phrases
from frontguard._common.checks import WANTED_TIME, checked_seconds
from frontguard._common.secrets import MASK, hidden, without_password
from frontguard.commands.spec import MEASURED, Command, MetricSource, Scalar, SourceKind, Stream, as_text, usual_kind
from frontguard.errors import BadArgument, BadInput
from frontguard.limits import Limit
from frontguard.objectives import Objective
from frontguard.phrases import did_you_mean
from frontguard.question import keys_of


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


Path = tuple[str | int, ...]
Reader = Callable[[Any, Path, "Complaints"], Any]
Made = TypeVar("Made")

_HUGE = 10**300  # beyond, a whole number is no float


def _value(wanted: str, convert: Callable[[Any], Any], *words: str) -> Reader:
    """A reader of one value, for which `convert` gives what is kept, or raises `ValueError`; one of the `words`."""

    def read(value: Any, path: Path, complain: Complaints) -> Any:
        try:
            return convert(value)
        except ValueError:
            hint = did_you_mean(value, words) if isinstance(value, str) else ""
            raise complain.wanted(path, f"{wanted}{hint}", value) from None

    return read


def _if(fits: Callable[[Any], bool]) -> Callable[[Any], Any]:
    """A conversion that keeps what fits as it is, and refuses all else."""

    def convert(value: Any) -> Any:
        if not fits(value):
            raise ValueError("does not fit")
        return value

    return convert


def _one_of(*words: str) -> Reader:
    return _value(f"one of {', '.join(map(repr, words))}", _if(lambda value: value in words), *words)


def _whole(least: int) -> Reader:
    return _value(f"a whole number from {least}", _if(lambda value: type(value) is int and least <= value <= _HUGE))


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip()) and value.isprintable()


def _is_scalar(value: object) -> bool:
    if isinstance(value, str):
        return "\0" not in value  # no argument of a command can hold it
    return isinstance(value, (int, bool)) or (isinstance(value, float) and math.isfinite(value))


def _command(value: object) -> Command:
    words = [value] if isinstance(value, str) else value
    if not isinstance(words, list) or not all(isinstance(word, str) and "\0" not in word for word in words):
        raise ValueError("no command")
    if not words or not words[0].strip():
        raise ValueError("nothing to run")
    return value if isinstance(value, str) else tuple(words)


def _environment(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        raise ValueError("no table")
    for name, text in value.items():
        if not name or "=" in name or "\0" in name or not isinstance(text, (str, int)) or "\0" in str(text):
            raise ValueError("no environment")
    return {name: as_text(text) for name, text in value.items()}


COUNT, NATURAL = _whole(1), _whole(0)
SECONDS = _value(WANTED_TIME, lambda value: checked_seconds(value, "time"))
TEXT = _value("a text of one line that is not blank", _if(_is_text))
TRUTH = _value("true or false", _if(lambda value: isinstance(value, bool)))
SCALAR = _value("a text, a finite number or a truth value", _if(_is_scalar))
COMMAND = _value("a list of texts such as ['./measure', '{opt}'], or one text with shell = true", _command)
ENVIRONMENT = _value("a table of texts, such as {OMP_NUM_THREADS = '1'}", _environment)


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table: its own keys, each with its reader beside its type, and `more`, which `others` name."""

    more: dict[str, Any] = field(default_factory=dict)
    others: ClassVar[tuple[str, ...] | None] = ()  # None: any

    @classmethod
    @cache
    def readers(cls) -> dict[str, Reader]:
        """Readers by key."""
        kinds = get_type_hints(cls, include_extras=True)
        return {name: kind.__metadata__[0] for name, kind in kinds.items() if hasattr(kind, "__metadata__")}

    @classmethod
    def read(cls, data: Any, where: Path, complain: Complaints) -> Self:
        """Read a parsed table; refuse what it says in the order of the file, and then what is missing."""
        readers = cls.readers()
        known = list(dict.fromkeys([*readers, *(cls.others or ())]))
        said: dict[str, Any] = {}
        for name, value in data.items():
            if name in readers:
                said[name] = readers[name](value, (*where, name), complain)
            elif name not in known and cls.others is not None:
                wanted = f"wanted one of {', '.join(known)}"
                raise complain((*where, name), f"no such key{did_you_mean(name, known)}; {wanted}")
        for each in fields(cls):
            if each.default is MISSING and each.default_factory is MISSING and each.name not in said:
                readers[each.name](MISSING, (*where, each.name), complain)
        others = data.keys() - readers.keys() if cls.others is None else cls.others
        return cls(more={name: value for name, value in data.items() if name in others}, **said)


def _table(kind: type[Table], wanted: str, short: Callable[[Any], Any] = lambda value: value) -> Reader:
    """A reader of a table, or of what is `short` for one."""

    def read(value: Any, path: Path, complain: Complaints) -> Table:
        if not isinstance(short(value), dict):
            raise complain.wanted(path, wanted, value)
        return kind.read(short(value), path, complain)

    return read


def _tables(read_one: Reader, wanted: str) -> Reader:
    """A reader of a list of tables, one at least."""

    def read(value: Any, path: Path, complain: Complaints) -> list[Any]:
        if not isinstance(value, list) or not value or not all(isinstance(each, dict) for each in value):
            raise complain.wanted(path, wanted, value)
        return [read_one(each, (*path, number), complain) for number, each in enumerate(value)]

    return read


@dataclass(frozen=True, kw_only=True)
class BudgetToml(Table):
    """[budget]."""

    others = keys_of("budget")

    max_time: Annotated[float | None, SECONDS] = None


def _long_budget(value: Any) -> Any:
    """`budget = 500` and `budget = "30 min"` are short for a table."""
    if isinstance(value, str):
        return {"max_time": value}
    return {"max_pulls": value} if isinstance(value, int) and not isinstance(value, bool) else value


BUDGET = _table(
    BudgetToml,
    'a table with max_pulls, max_pulls_per_arm, max_time or max_cost; a number of pulls; or a text as "30 min"',
    _long_budget,
)


@dataclass(frozen=True, kw_only=True)
class StudyToml(Table):
    """[study]."""

    others = keys_of("study")

    name: Annotated[str | None, TEXT] = None
    seed: Annotated[int, NATURAL] = 0
    storage: Annotated[str | None, TEXT] = None
    budget: Annotated[BudgetToml | None, BUDGET] = None
    baseline: Annotated[str | None, TEXT] = None


@dataclass(frozen=True, kw_only=True)
class MetricToml(Table):
    """The source of a metric, if that is said, and what counts of it."""

    source: Annotated[SourceKind | None, _one_of(*get_args(SourceKind))] = None
    key: Annotated[str | None, TEXT] = None
    pattern: Annotated[str | None, TEXT] = None
    stream: Annotated[Stream | None, _one_of(*get_args(Stream))] = None

    def source_of(self, name: str, where: Path, complain: Complaints) -> MetricSource:
        """The source of the metric of this name."""
        kind = self.source or usual_kind(name)
        for key, only in (("key", "json"), ("pattern", "regex"), ("stream", "regex")):
            if getattr(self, key) is not None and kind != only:
                raise complain((*where, key), f"belongs to source = {only!r}; the source is {kind!r}")
        if kind == "regex":
            _check_pattern(self.pattern, (*where, "pattern"), complain)
        return MetricSource(name, kind, self.key or "", self.pattern or "", self.stream or "stdout")


def _check_pattern(pattern: str | None, path: Path, complain: Complaints) -> None:
    if pattern is None:
        raise complain(path, "missing; source = 'regex' wants a regular expression with one group")
    try:
        groups = re.compile(pattern).groups
    except (re.error, OverflowError, RecursionError) as problem:
        raise complain(path, f"not a regular expression: {problem}; got {pattern!r}") from None
    if groups != 1:
        raise complain(path, f"wanted one group in round brackets, the value; got {groups} in {pattern!r}")


@dataclass(frozen=True, kw_only=True)
class ObjectiveToml(MetricToml):
    """[[objective]]."""

    others = tuple(each.name for each in fields(Objective))

    name: Annotated[str, TEXT]


@dataclass(frozen=True, kw_only=True)
class LimitToml(MetricToml):
    """[[limit]]: what arms must keep to; where it comes from, unless it is an objective."""

    others = tuple(each.name for each in fields(Limit))

    metric: Annotated[str, TEXT]


def _objective(value: Any, where: Path, complain: Complaints) -> tuple[Objective, MetricSource]:
    """An objective and its source; what we measure, whatever its name, is minimised unless said otherwise."""
    table = ObjectiveToml.read(value, where, complain)
    if "tolerance" not in value and value.get("exact") is not True:  # exact ones need none
        wanted = "the difference that does not matter, a number from 0 such as 0.5 or a percentage such as '2%'"
        raise complain.wanted((*where, "tolerance"), wanted, MISSING)
    measured = (table.source or usual_kind(table.name)) in MEASURED
    objective = complain.made(Objective, ({"direction": "minimize"} if measured else {}) | table.more, where)
    return objective, table.source_of(table.name, where, complain)


def _limit(value: Any, where: Path, complain: Complaints) -> tuple[Limit, MetricSource | None]:
    """A limit, and its source if that is said."""
    table = LimitToml.read(value, where, complain)
    limit = complain.made(Limit, table.more, where)
    said = any(key in value for key in MetricToml.readers())
    return limit, table.source_of(table.metric, where, complain) if said else None


@dataclass(frozen=True, kw_only=True)
class StepsToml(Table):
    """The commands of an arm."""

    command: Annotated[Command | None, COMMAND] = None
    prepare: Annotated[Command | None, COMMAND] = None
    before: Annotated[Command | None, COMMAND] = None
    after: Annotated[Command | None, COMMAND] = None
    cleanup: Annotated[Command | None, COMMAND] = None
    env: Annotated[dict[str, str], ENVIRONMENT] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class RunToml(StepsToml):
    """[run]."""

    warmups: Annotated[int, NATURAL] = 0
    shell: Annotated[bool, TRUTH] = False
    workers: Annotated[int, COUNT] = 1
    timeout: Annotated[float, SECONDS] = 600.0
    prepare_timeout: Annotated[float, SECONDS] = 600.0
    cleanup_timeout: Annotated[float, SECONDS] = 60.0
    lease: Annotated[float | None, SECONDS] = None
    cwd: Annotated[str, TEXT] = "."


@dataclass(frozen=True, kw_only=True)
class ArmToml(StepsToml):
    """[[arm]]: whatever else it has are parameters."""

    others = None

    name: Annotated[str, TEXT]
    warmups: Annotated[int | None, NATURAL] = None


def _arm(value: Any, where: Path, complain: Complaints) -> ArmToml:
    table = ArmToml.read(value, where, complain)
    for name, parameter in table.more.items():
        SCALAR(parameter, (*where, name), complain)
    return table


def _grid(value: Any, path: Path, complain: Complaints) -> dict[str, list[Scalar]]:
    if not isinstance(value, dict) or not value:
        raise complain.wanted(path, "a table of lists, such as opt = ['-O1', '-O2']", value)
    for name, values in value.items():
        if not isinstance(values, list) or not values:
            raise complain.wanted((*path, name), "a list of values, one at least", values)
        for number, each in enumerate(values):
            SCALAR(each, (*path, name, number), complain)
    return value


@dataclass(frozen=True, kw_only=True)
class ArmsToml(Table):
    """[arms]."""

    grid: Annotated[dict[str, list[Scalar]], _grid]


Objectives = list[tuple[Objective, MetricSource]]
Limits = list[tuple[Limit, MetricSource | None]]


@dataclass(frozen=True, kw_only=True)
class SpecToml(Table):
    """A whole spec."""

    study: Annotated[StudyToml, _table(StudyToml, "a table [study]")] = field(default_factory=StudyToml)
    objective: Annotated[Objectives, _tables(_objective, "one [[objective]] or more")]
    limit: Annotated[Limits, _tables(_limit, "a list of [[limit]]")] = field(default_factory=list)
    run: Annotated[RunToml, _table(RunToml, "a table [run]")] = field(default_factory=RunToml)
    arm: Annotated[list[ArmToml] | None, _tables(_arm, "a list of [[arm]]")] = None
    arms: Annotated[ArmsToml | None, _table(ArmsToml, "a table [arms.grid]")] = None
    budget: Annotated[BudgetToml | None, BUDGET] = None


class Complaints:
    """Makes one-line errors about keys of one TOML text."""

    def __init__(self, file: str, text: str) -> None:
        self.file, self.text = file, text

    def __call__(self, path: Path, message: str) -> BadInput:
        """An error about the key at this path: file, line where it can be known, key, message."""
        line = self.line(path)
        where = f"{self.file}, line {line}" if line is not None else self.file
        return BadInput(f"{where}: {key_name(path)}{': ' if path else ''}{message}")

    def wanted(self, path: Path, wanted: str, got: object) -> BadInput:
        """An error about a value that is missing, or is something else; as a variable it may be a secret."""
        if got is MISSING:
            return self(path, f"missing; wanted {wanted}")
        seen = "something else" if "env" in path and not isinstance(got, dict) else without_password(shown(got))
        return self(path, f"wanted {wanted}; got {seen}")

    def about(self, where: Path, error: BadInput) -> BadInput:
        """An error that the table at this path makes, by the key that it speaks of."""
        path = (*where, error.key) if isinstance(error, BadArgument) else where
        if path == where or not _holds(tomllib.loads(self.text), path):
            return self(where, str(error))
        line = self.line(path)
        return BadInput(f"{self.file}, line {line}: {cast(BadArgument, error).named(key_name(path))}")

    def made(self, kind: Callable[..., Made], said: dict[str, Any], where: Path) -> Made:
        """Make an objective or limit of what the table at this path says."""
        try:
            return kind(**said)
        except BadInput as problem:
            raise self.about(where, problem) from None

    def line(self, path: Path) -> int | None:
        """The line of the key at this path, or of the nearest thing around it that is written down.

        >>> complain = Complaints("x.toml", '[[arm]]\\nname = "a"\\n[[arm]]\\nname = "b"')
        >>> complain.line(("arm", 1, "name")), complain.line(("arm", 1, "command")), complain.line(("run",))
        (4, 3, None)
        """
        whole = tomllib.loads(self.text)
        while path and not _holds(whole, path):
            path = path[:-1]
        lines = self.text.split("\n")
        counts = range(len(lines))
        return bisect_left(counts, True, key=lambda n: _holds(_beginning(lines[:n]), path)) if path else None

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
    """The first lines of a TOML text, read once everything is closed that is open at their end."""
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
