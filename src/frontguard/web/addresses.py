"""What a URL of the live page leads to: numbers of a study and an arm, and a few known words. Anything else is refused.

No name ever stands in a URL, and none is read from one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self
from urllib.parse import urlencode

from frontguard.errors import BadInput
from frontguard.phrases import shortened

VIEWS = ("front", "pairs", "parallel")
ROWS = ("some", "all")
SORTS = ("verdict", "name", "pulls", "failed")
"""What the table may be sorted by, beside the objectives, which are m0, m1, …; a minus before it turns it around."""

_NUMBER = "(?:0|[1-9][0-9]{0,2})"
_OBJECTIVE = (_NUMBER, "a whole number from 0 to 999")
_CHOICES = {
    "x": _OBJECTIVE,
    "y": _OBJECTIVE,
    "view": ("|".join(VIEWS), f"one of {', '.join(VIEWS)}"),
    "rows": ("|".join(ROWS), f"one of {', '.join(ROWS)}"),
    "sort": (
        f"-?(?:{'|'.join(SORTS)}|m{_NUMBER})",
        f"one of {', '.join(SORTS)}, or m0, m1, … for an objective, with a minus before it to turn it around",
    ),
}
"""What a query may say of what: a pattern, and the same in words."""


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
            if name not in _CHOICES:
                raise BadInput(f"the query may hold {', '.join(_CHOICES)}; got {shortened(name, 40)!r}")
            if name in given:
                raise BadInput(f"{name} must be given once in the query; got it twice")
            pattern, wanted = _CHOICES[name]
            if re.fullmatch(pattern, text) is None:
                raise BadInput(f"{name} must be {wanted}; got {shortened(text, 40)!r}")
            given[name] = int(text) if name in ("x", "y") else text
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

    def to(self, arm: int | None = None, **changed: Any) -> str:
        """Where the study or an arm of it is shown, with the same options but for those that are changed.

        >>> Address(2, 7, ViewOptions(x=1)).to(), Address(2).to(3, sort="-pulls")
        ('/study/2?x=1', '/study/2/arm/3?sort=-pulls')
        """
        return Address(self.study, arm, replace(self.options, **changed)).page
