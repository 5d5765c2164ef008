"""What is asked for beside an answer: comparisons with a baseline, and one arm to choose; as options write it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from frontguard._common.written import read_amount
from frontguard.comparisons.effects import Comparisons
from frontguard.comparisons.picks import Pick
from frontguard.errors import BadInput

_LIMIT = re.compile("<=|>=|≤|≥")
_WANTED = "knee, METRIC=WEIGHT or a limit such as 'bytes<=1000'"


@dataclass(frozen=True)
class Asked:
    """An arm that all others are compared with, and what is wanted of the one to choose; None where it is not asked."""

    baseline: str | None = None
    wants: bool = False  # whether one is to be chosen
    rule: str | None = None
    weights: tuple[tuple[str, float], ...] = ()
    limits: tuple[str, ...] = ()

    @property
    def nothing(self) -> bool:
        """Whether nothing is asked for."""
        return self.baseline is None and not self.wants


@dataclass(frozen=True, eq=False)
class Beside:
    """What was asked for beside an answer: all arms against a baseline, and one arm to choose; None where not asked."""

    compared: Comparisons | None = None
    pick: Pick | None = None

    def columns(self, arms: int) -> dict[str, Any]:
        """Columns for a table of all arms (K,)."""
        return {} if self.compared is None else self.compared.columns(arms)


def asked(baseline: str | None = None, pick: Sequence[str] | None = None) -> Asked:
    """What options ask for: --pick knee, --pick seconds=2 --pick bytes=1, --pick 'bytes<=1000'.

    >>> asked("main", ["bytes<=1000", "seconds=2"])
    Asked(baseline='main', wants=True, rule=None, weights=(('seconds', 2.0),), limits=('bytes<=1000',))
    >>> asked(None, ["kne"])
    Traceback (most recent call last):
    ...
    frontguard.errors.BadInput: --pick: wanted knee, METRIC=WEIGHT or a limit such as 'bytes<=1000'; got 'kne'
    """
    rule, weights, limits = None, {}, []
    for text in pick or ():
        if text.strip() == "knee":
            rule = "knee"
        elif _LIMIT.search(text):
            limits.append(text)
        else:
            name, equals, value = text.rpartition("=")
            amount = read_amount(value)
            if not equals or not name or amount is None or amount[1]:
                raise BadInput(f"--pick: wanted {_WANTED}; got {text!r}")
            if name in weights:
                raise BadInput(f"--pick: wanted one weight for each metric; got {name!r} again")
            weights[name] = amount[0]
    if rule and weights:
        raise BadInput("--pick: wanted knee or weights, not both")
    return Asked(baseline, bool(pick), rule, tuple(weights.items()), tuple(limits))
