"""The text of an `AnalyzeDocument`, in pieces: there may be a million arms, and never all of it is there at once.

What is printed is made from the facts and not through the model, whose import alone takes longer than most logs; the
tests read it back through the model. Numbers of arms become text column by column, in a fraction of the time that a
dictionary for each arm would take. What several documents say of how something was made is here for the same reason.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from itertools import chain, repeat
from json.encoder import encode_basestring_ascii as quoted
from typing import Any

import numpy as np

from frontguard._common.typing import Floats
from frontguard.comparisons.picks import Beside
from frontguard.logs.analysis import Analysis
from frontguard.results import AT_A_TIME, ByArm, TableByArm


def analyze_pieces(found: Analysis, answer: str, origin: Origin, beside: Beside | None = None) -> Iterator[str]:
    """The text, all of it in ASCII."""
    profile = found.profile
    more = {
        "answer": answer,
        "more_pulls_of_rival": _pulls_of_rivals(found),
        "profile": profile
        and {
            "levels": profile.levels.tolist(),
            "in_front": profile.in_front.tolist(),
            "resolution": profile.resolution,
        },
        "version": origin.version,
        "command": origin.command,
        "source": origin.source,
        "at": origin.at,
        **entries(beside),
    }
    between = "{"
    for key, value in (*found.entries(), *more.items()):
        yield f"{between}{quoted(key)}: "
        between = ", "
        if isinstance(value, ByArm):
            inner = "{"
            for piece in _of_table(value) if isinstance(value, TableByArm) else map(_of_pairs, value.pieces()):
                yield inner + piece
                inner = ", "
            yield "}" if inner == ", " else "{}"
        else:
            yield json.dumps(value)
    yield "}"


def _pulls_of_rivals(found: Analysis) -> dict[str, int]:
    """How many more pulls of its rival each open arm needs, where any number would do."""
    if found.needed is None:
        return {}
    reached = np.flatnonzero(found.needed.rival_pulls >= 0)
    pulls = found.needed.rival_pulls[reached].tolist()
    return {found.arms[arm]: more for arm, more in zip(found.needed.arms[reached].tolist(), pulls, strict=True)}


def _of_pairs(piece: dict[str, Any]) -> str:
    """What `json.dumps` gives, but for blanks and the outer braces, in a tenth of its time.

    >>> _of_pairs({"a": [0.1, None, 1e-07]}), _of_pairs({"é": 1})
    ('"a":[0.1,null,1e-7]', '"\\\\u00e9": 1')
    """
    from pydantic_core import to_json

    try:
        text = to_json(piece)
    except ValueError:  # half a surrogate pair, which is no text
        return json.dumps(piece)[1:-1]
    return text[1:-1].decode() if text.isascii() else json.dumps(piece)[1:-1]


def _of_table(table: TableByArm) -> Iterator[str]:
    """The same of tables of numbers: one number for each arm and objective, or a list of one of each table."""
    opens, closes = ("", "") if len(table.tables) == 1 else ("[", "]")
    for start in range(0, len(table.arms), AT_A_TIME):
        arms = [quoted(arm) for arm in table.arms[start : start + AT_A_TIME]]
        columns: list[Iterable[str]] = [chain([""], repeat(",")), arms]
        between = ":{"
        for d, name in enumerate(table.names):
            between += f"{quoted(name)}:{opens}"
            for each in table.tables:
                columns += [repeat(between), _numbers(each[start : start + AT_A_TIME, d])]
                between = ","
            between = f"{closes},"
        columns.append(repeat(closes + "}" if table.names else ":{}"))
        yield "".join(chain.from_iterable(zip(*columns)))  # noqa: B905  # what is repeated has no end


def _numbers(column: Floats) -> list[str]:
    """Each number as JSON; null where it is not finite.

    >>> _numbers(np.array([0.1, np.inf, -2.0]))
    ['0.1', 'null', '-2.0']
    """
    from pydantic_core import to_json

    finite = np.where(np.isfinite(column), column, np.nan).tolist()
    return to_json(finite, inf_nan_mode="null")[1:-1].decode().split(",")


# How it was made, and what was asked for besides ----------------------------------------------------------------------


def entries(beside: Beside | None) -> dict[str, Any]:
    """What was asked for beside an answer, as entries of a document."""
    compared, chosen = (None, None) if beside is None else (beside.compared, beside.pick)
    return {
        "baseline": None if compared is None else compared.baseline,
        "comparisons": ByArm(() if compared is None else compared.plain()),
        "pick": None if chosen is None else chosen.to_dict(),
    }


@dataclass(frozen=True)
class Origin:
    """How something was made, as far as is known: entries of several documents."""

    version: str | None = None
    command: str | None = None
    source: str | list[str] | None = None
    at: str | None = None
    seed: int | None = None
    spec: str | None = None

    @classmethod
    def of(cls, document: object) -> Origin:
        """What a document says of it."""
        said = {field.name: getattr(document, field.name, None) for field in fields(cls)}
        return cls(**said)
