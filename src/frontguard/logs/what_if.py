"""Verdicts at a lower confidence or contamination, of a log at whose own nothing is decided.

It says how far away an answer is, and is none itself: a level that is chosen by looking at what it gives is no longer
that level. As δ rises or ε falls, every box shrinks; then arms that are out stay so, and one that is in stays in or is
out. So whether any arm is decided changes once along a list of levels, and the list is searched by halving.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from frontguard._common.typing import Ints
from frontguard.logs.boxes import BoxReader
from frontguard.pareto.judge import judge_briefly
from frontguard.theory.threats import Threat
from frontguard.verdicts import Verdict

CONFIDENCES = (0.9, 0.8, 0.5)
"""Confidences that are tried, those above the log's own left out."""

STEP = 0.01
"""Between two contaminations that are tried, from below the log's own down to 0."""


@dataclass(frozen=True, eq=False)
class WhatIf:
    """The verdicts (K,) at another confidence, or at another contamination, than was asked for."""

    confidence: float
    contamination: float
    codes: Ints

    def among(self, kept: Ints, arms: int) -> WhatIf:
        """The same where its arms are the arms `kept` of more, which were set aside."""
        codes = np.full(arms, int(Verdict.SET_ASIDE))
        codes[kept] = self.codes
        return replace(self, codes=codes)


def what_if(
    reader: BoxReader, delta: float, threat: Threat, confidence: float, goal: Mapping[str, Any]
) -> tuple[WhatIf, ...]:
    """The largest confidence of the list, and the largest ε, at which some arm is decided; without those that are not.

    `delta` is what the boxes have of δ = 1 − confidence, and have in proportion at another one.
    """

    def at(level: float, eps: float) -> WhatIf:
        own = reader.with_delta(delta * (1.0 - level) / (1.0 - confidence))
        return WhatIf(level, eps, judge_briefly(own.read(replace(threat, eps=eps)), **goal).codes)

    less_sure = [level for level in CONFIDENCES if level < confidence]
    cleaner = (STEP * np.arange(np.ceil(threat.eps / STEP - 1e-9))).round(12)[::-1].tolist()
    found = _first_that_decides([partial(at, level, threat.eps) for level in less_sure])
    found += _first_that_decides([partial(at, confidence, eps) for eps in cleaner])
    return tuple(found)


def _first_that_decides(trials: Sequence[Callable[[], WhatIf]]) -> list[WhatIf]:
    """The first of these that decides an arm; nothing if none does. All after it decide one, too."""
    known: dict[int, WhatIf] = {}

    def decides(place: int) -> bool:
        known[place] = trials[place]()
        return bool((known[place].codes != Verdict.UNDECIDED).any())

    first = bisect_left(range(len(trials)), True, key=decides)
    return [known[first]] if first < len(trials) else []
