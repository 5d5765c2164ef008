"""Pulls of each arm: where the measurements went."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from frontguard._common.typing import Ints
from frontguard.phrases import natural, number, number_of
from frontguard.plot.arms import Arms, read
from frontguard.plot.looks import VERDICTS
from frontguard.plot.picture import Axis, Bars, Panel, Picture
from frontguard.results import Result
from frontguard.verdicts import Verdict

NAMED = 40
"""Up to so many arms have a bar and a name each."""

GROUPS = 60
"""Bars that stand for several arms each, at most."""

_LOG_FACTOR = 100.0
_LEAST = 8  # bars that a verdict has if it has so many arms
_WIDTH_OF_WORDS = 9  # bars that would fit where "1,234 undecided" is written


def pulls(result: Result) -> Picture:
    """How often each arm was pulled, by verdict. Many arms are put together in groups of similar pulls.

    >>> from frontguard.demo.cases import analyze_reviews
    >>> [len(layer.at) for layer in pulls(analyze_reviews().analysis).panels[0].layers]
    [1, 2, 7, 2]
    """
    arms = read(result)
    groups = [
        (verdict, some[np.argsort(-result.pulls_per_arm[some], kind="stable")])
        for verdict in VERDICTS
        if len(some := arms.with_verdict(verdict))
    ]
    panel, caption = _each(arms, groups) if len(arms.names) <= NAMED else _grouped(arms, groups)
    return Picture(
        rows=((panel,),),
        legend=tuple(arms.look(verdict) for verdict, _ in groups),
        caption=caption,
        width=7.0,
        height=1.4 + 0.24 * max(4, len(arms.names)) if len(arms.names) <= NAMED else 4.0,
        name="pulls",
    )


def _each(arms: Arms, groups: list[tuple[Verdict, Ints]]) -> tuple[Panel, str]:
    """A bar and a name for each arm, the most pulled first; as often pulled, by name."""
    counts = arms.result.pulls_per_arm
    order = np.array(sorted(range(len(counts)), key=lambda arm: (-counts[arm], natural(arms.names[arm]))))
    row = np.argsort(order).astype(np.float64)
    layers = tuple(
        Bars(
            row[some],
            counts[some].astype(np.float64),
            arms.look(verdict),
            hints=arms.hints(some),
            keys=tuple(some.tolist()),
            written=tuple(f"{count:,}" for count in counts[some].tolist()),
        )
        for verdict, some in groups
    )
    names = arms.named(order)
    least, most = int(counts.min()), int(counts.max())
    caption = f"All have {number_of(least, 'pull')}." if least == most else "The most pulled come first."
    return Panel(_pulls_axis(counts), Axis(names=names, reverse=True), layers), caption


def _grouped(arms: Arms, groups: list[tuple[Verdict, Ints]]) -> tuple[Panel, str]:
    """A bar for some arms of one verdict that have similar pulls: as long as their mean."""
    counts = arms.result.pulls_per_arm
    bars, ticks, at = [], [], 0
    for (verdict, some), share in zip(groups, _shares([len(some) for _, some in groups]), strict=True):
        pieces = np.array_split(some, share)
        length = np.array([counts[piece].mean() for piece in pieces])
        hints = tuple(
            f"{number_of(len(piece))}: {int(counts[piece].min()):,} to {int(counts[piece].max()):,} pulls, "
            f"{number(float(counts[piece].mean()))} on average"
            for piece in pieces
        )
        place = at + max(0.0, (_WIDTH_OF_WORDS - share) / 2.0)
        bars.append(
            Bars(place + np.arange(share, dtype=np.float64), length, arms.look(verdict), upright=True, hints=hints)
        )
        ticks.append((place + (share - 1) / 2.0, f"{len(some):,} {verdict.word}"))
        at += max(share, _WIDTH_OF_WORDS) + 1  # a gap between verdicts
    across = Axis(title="arms by verdict, the most pulled first", low=-1.0, high=float(at - 1), ticks=tuple(ticks))
    caption = "Each bar is the mean of some arms of one verdict that have similar pulls."
    return Panel(across, _pulls_axis(np.concatenate([bar.high for bar in bars])), tuple(bars)), caption


def _shares(sizes: list[int]) -> list[int]:
    """How many bars each verdict has: some for each, however few its arms, and the rest in proportion.

    >>> _shares([3, 18, 979]), _shares([500, 500])
    ([3, 8, 49], [30, 30])
    """
    shares = [min(size, _LEAST) for size in sizes]
    left = max(0, GROUPS - sum(shares))
    wanted = [size - share for size, share in zip(sizes, shares, strict=True)]
    more = [round(left * each / max(1, sum(wanted))) for each in wanted]
    return [min(size, share + extra) for size, share, extra in zip(sizes, shares, more, strict=True)]


def _pulls_axis(lengths: npt.NDArray[Any]) -> Axis:
    least, most = float(lengths.min()), float(lengths.max())
    if most == 0.0:
        return Axis(title="pulls", low=0.0, high=1.0, ticks=((0.0, "0"), (1.0, "1")))
    if least > 0.0 and most > _LOG_FACTOR * least:
        return Axis(title="pulls", scale="log", low=least / 2.0)
    return Axis(title="pulls", low=0.0)
