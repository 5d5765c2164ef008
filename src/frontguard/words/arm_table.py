"""The table of arms, once: in which order arms are shown, which of them, and what is said of the rest.

Terminal, reports and the live page each draw it in their own way; what they draw comes from here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from frontguard._typing import Ints
from frontguard.results import Result
from frontguard.verdicts import VERDICT_ORDER, Verdict

_RANK = np.argsort(np.array(VERDICT_ORDER))  # of a verdict, by its number: what matters first


WORDS = np.array([verdict.word for verdict in Verdict], object)
"""The word of each verdict, by its number."""


def order(result: Result) -> Ints:
    """The arms by verdict, the front first; within a verdict as they are."""
    return np.argsort(_RANK[result.verdict_codes], kind="stable")


def shown(result: Result, most: int) -> Ints:
    """So many arms of `order` at most. Where the front alone would fill the table, open arms get up to half of it."""
    ordered = order(result)
    if len(ordered) <= most:
        return ordered
    codes = result.verdict_codes[ordered]
    front, rest = ordered[codes == Verdict.IN], ordered[codes != Verdict.IN]
    kept = max(most - int((codes == Verdict.UNDECIDED).sum()), most - most // 2)
    return np.concatenate([front[:kept], rest])[:most]


def rank(verdict: Verdict) -> int:
    """Where a verdict stands in the order."""
    return int(_RANK[verdict])


def counts(result: Result, arms: Sequence[int] | Ints | None = None) -> str:
    """How many arms (of those given) have which verdict: "2 in, 1 set aside, 1,005 out"; "" if there are none."""
    codes = result.verdict_codes if arms is None else result.verdict_codes[np.asarray(arms, np.int64)]
    found = np.bincount(codes, minlength=len(Verdict))
    return ", ".join(f"{found[verdict]:,} {verdict.word}" for verdict in VERDICT_ORDER if found[verdict])
