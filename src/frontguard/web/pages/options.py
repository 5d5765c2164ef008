"""What a visitor may choose by a URL: axes, view, rows and order of the table. Anything else is refused."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self
from urllib.parse import urlencode

from frontguard.errors import BadInput
from frontguard.studies.overview import Overview

VIEWS = ("front", "pairs", "parallel")
ROWS = ("some", "all")
SORTS = ("verdict", "name", "pulls", "failed")
"""What the table may be sorted by, beside the objectives, which are m0, m1, …; a minus before it turns it around."""

_MOST_OBJECTIVES = 1000
_NUMBER = re.compile(r"0|[1-9][0-9]{0,2}")
_SORT = re.compile(r"-?(?:verdict|name|pulls|failed|m(?:0|[1-9][0-9]{0,2}))")


@dataclass(frozen=True)
class Options:
    """A view of a study, as its URL says it. What is left out of the URL has its default here.

    >>> Options.read({"x": "1", "y": "0", "sort": "-pulls"})
    Options(x=1, y=0, view='front', rows='some', sort='-pulls')
    >>> Options.read({"x": "1", "y": "0", "sort": "-pulls"}).query()
    '?x=1&y=0&sort=-pulls'
    >>> Options.read({"view": "<script>"})
    Traceback (most recent call last):
    ...
    frontguard.errors.BadInput: view must be one of front, pairs, parallel; got '<script>'
    """

    x: int | None = None  # number of the objective along the bottom
    y: int | None = None
    view: str = "front"
    rows: str = "some"
    sort: str = "verdict"

    @classmethod
    def read(cls, query: Mapping[str, str] | Iterable[tuple[str, str]], overview: Overview | None = None) -> Self:
        """The options of a query; with an overview, objectives must be ones that the study has."""
        given: dict[str, Any] = {}
        for name, text in query.items() if isinstance(query, Mapping) else query:
            if name not in _READERS:
                raise BadInput(f"the query may hold {', '.join(_READERS)}; got {_short(name)}")
            if name in given:
                raise BadInput(f"{name} must be given once in the query; got it twice")
            given[name] = _READERS[name](name, text)
        options = cls(**given)
        return options if overview is None else options.within(len(overview.settings.objectives))

    def within(self, objectives: int) -> Self:
        """These options if the study has so many objectives; refused if they speak of one that it has not."""
        asked = {"x": self.x, "y": self.y}
        if (column := self.sort.removeprefix("-")) not in SORTS:
            asked["sort"] = int(column[1:])
        for name, number in asked.items():
            if number is not None and number >= objectives:
                raise BadInput(
                    f"{name} must speak of one of the {objectives} objectives, numbered from 0; got {number}"
                )
        return self

    def axes(self, objectives: int) -> tuple[int, int]:
        """The objectives on the axes: as chosen, the first two unless said otherwise; two different ones if there are.

        >>> Options(x=1).axes(3), Options(y=0).axes(3), Options(x=2, y=2).axes(3), Options().axes(1)
        ((1, 0), (1, 0), (2, 0), (0, 0))
        """
        if objectives < 2:
            return 0, 0
        x, y = self.x, self.y
        if x is None:
            x = 1 if y == 0 else 0
        if y is None or y == x:
            y = 1 if x == 0 else 0
        return x, y

    def changed(self, **values: Any) -> Options:
        """The same but for some choices."""
        return replace(self, **values)

    def query(self) -> str:
        """The query that says so, with its question mark; empty if nothing differs from the defaults."""
        usual = type(self)()
        said = {name: value for name, value in vars(self).items() if value != getattr(usual, name)}
        return f"?{urlencode(said)}" if said else ""


def _objective(name: str, text: str) -> int:
    if _NUMBER.fullmatch(text) is None:
        raise BadInput(f"{name} must be a whole number from 0 to {_MOST_OBJECTIVES - 1}; got {_short(text)}")
    return int(text)


def _one_of(words: tuple[str, ...]) -> Any:
    def read(name: str, text: str) -> str:
        if text not in words:
            raise BadInput(f"{name} must be one of {', '.join(words)}; got {_short(text)}")
        return text

    return read


def _order(name: str, text: str) -> str:
    if _SORT.fullmatch(text) is None:
        raise BadInput(
            f"{name} must be one of {', '.join(SORTS)}, or m0, m1, … for an objective, with a minus before it to turn "
            f"it around; got {_short(text)}"
        )
    return text


def _short(text: str, most: int = 40) -> str:
    return repr(text if len(text) <= most else text[: most - 1] + "…")


_READERS: dict[str, Any] = {
    "x": _objective,
    "y": _objective,
    "view": _one_of(VIEWS),
    "rows": _one_of(ROWS),
    "sort": _order,
}
