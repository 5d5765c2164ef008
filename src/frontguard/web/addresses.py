"""What a URL of the live page leads to: numbers of a study and an arm, and a few known words. Anything else is refused.

No name ever stands in a URL, and none is read from one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self
from urllib.parse import urlencode

from frontguard.errors import BadInput

VIEWS = ("front", "pairs", "parallel")
ROWS = ("some", "all")
SORTS = ("verdict", "name", "pulls", "failed")
"""What the table may be sorted by, beside the objectives, which are m0, m1, …; a minus before it turns it around."""

_MOST_OBJECTIVES = 1000
_NUMBER = re.compile(r"0|[1-9][0-9]{0,2}")
_SORT = re.compile(r"-?(?:verdict|name|pulls|failed|m(?:0|[1-9][0-9]{0,2}))")


@dataclass(frozen=True)
class ViewOptions:
    """How a study is shown: axes, view, rows and order of the table. What a URL leaves out has its default here.

    >>> ViewOptions.read({"x": "1", "y": "0", "sort": "-pulls"})
    ViewOptions(x=1, y=0, view='front', rows='some', sort='-pulls')
    >>> ViewOptions.read({"x": "1", "y": "0", "sort": "-pulls"}).query()
    '?x=1&y=0&sort=-pulls'
    >>> ViewOptions.read({"view": "<script>"})
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
    def read(cls, query: Mapping[str, str] | Iterable[tuple[str, str]]) -> Self:
        """The options of a query."""
        given: dict[str, Any] = {}
        for name, text in query.items() if isinstance(query, Mapping) else query:
            if name not in _READERS:
                raise BadInput(f"the query may hold {', '.join(_READERS)}; got {_short(name)}")
            if name in given:
                raise BadInput(f"{name} must be given once in the query; got it twice")
            given[name] = _READERS[name](name, text)
        return cls(**given)

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

        >>> ViewOptions(x=1).axes(3), ViewOptions(y=0).axes(3), ViewOptions(x=2, y=2).axes(3), ViewOptions().axes(1)
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

    def changed(self, **values: Any) -> Self:
        """The same but for some choices."""
        return replace(self, **values)

    @property
    def chosen(self) -> dict[str, Any]:
        """What differs from the defaults."""
        usual = type(self)()
        return {name: value for name, value in vars(self).items() if value != getattr(usual, name)}

    def query(self) -> str:
        """The query that says so, with its question mark; empty if nothing differs from the defaults."""
        return f"?{urlencode(self.chosen)}" if self.chosen else ""


@dataclass(frozen=True)
class Address:
    """What can be looked at: the list of studies, a study, or an arm of it.

    >>> Address(2, 7, ViewOptions(x=1)).page, Address(2).twin, Address().events
    ('/study/2/arm/7?x=1', '/study/2.json', '/events/studies')
    """

    study: int | None = None
    arm: int | None = None
    options: ViewOptions = field(default_factory=ViewOptions)

    @property
    def _path(self) -> str:
        arm = "" if self.arm is None else f"/arm/{self.arm}"
        return "/studies" if self.study is None else f"/study/{self.study}{arm}"

    @property
    def page(self) -> str:
        """Where it is shown."""
        return "/" if self.study is None else f"{self._path}{self.options.query()}"

    @property
    def twin(self) -> str:
        """Where the same is found as JSON."""
        return f"{self._path}.json{self.options.query()}"

    @property
    def events(self) -> str:
        """Where the events are that keep it up to date."""
        return f"/events{self._path}{self.options.query()}"


_USUAL = ViewOptions()


def study_url(study: int, options: ViewOptions = _USUAL) -> str:
    """Where a study is shown."""
    return Address(study, options=options).page


def arm_url(study: int, arm: int, options: ViewOptions = _USUAL) -> str:
    """Where an arm is shown."""
    return Address(study, arm, options).page


# Reading a query ------------------------------------------------------------------------------------------------------


def _objective(name: str, text: str) -> int:
    if _NUMBER.fullmatch(text) is None:
        raise BadInput(f"{name} must be a whole number from 0 to {_MOST_OBJECTIVES - 1}; got {_short(text)}")
    return int(text)


def _one_of(words: tuple[str, ...], name: str, text: str) -> str:
    if text not in words:
        raise BadInput(f"{name} must be one of {', '.join(words)}; got {_short(text)}")
    return text


def _order(name: str, text: str) -> str:
    if _SORT.fullmatch(text) is None:
        raise BadInput(
            f"{name} must be one of {', '.join(SORTS)}, or m0, m1, … for an objective, with a minus before it to turn "
            f"it around; got {_short(text)}"
        )
    return text


def _short(text: str, most: int = 40) -> str:
    return repr(text if len(text) <= most else text[: most - 1] + "…")


_READERS: dict[str, Callable[[str, str], Any]] = {
    "x": _objective,
    "y": _objective,
    "view": partial(_one_of, VIEWS),
    "rows": partial(_one_of, ROWS),
    "sort": _order,
}
