"""Parallel coordinates: an upright line for each objective, better always up, and a line across them for each arm."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from frontguard._typing import Bools, Floats
from frontguard.phrases import number, number_of
from frontguard.plot.arms import Arms, captioned, read, sentences
from frontguard.plot.layout.names import short
from frontguard.plot.looks import MANY, PLAIN, VERDICTS, Look
from frontguard.plot.many import choose
from frontguard.plot.picture import Axis, Band, Layer, Lines, Panel, Picture, Points, Rule, Spans
from frontguard.results import Result
from frontguard.verdicts import VERDICT_ORDER, Verdict

_ORDER = VERDICT_ORDER[::-1]  # what matters most lies on top
_ALL = 60  # arms whose lines can still be told apart
_MOST = {Verdict.IN: 60, Verdict.UNDECIDED: 24, Verdict.COVERED: 8}
_BOLD = {Verdict.IN: 24, Verdict.UNDECIDED: 8, Verdict.COVERED: 4}  # more lines than that are fainter
_FAINTEST = {Verdict.IN: 0.6, Verdict.UNDECIDED: 0.35, Verdict.COVERED: 0.35}
_WITH_INTERVALS = 8  # arms on the front whose intervals are drawn as well
_NAMED = 12
_QUANTILES = (0.1, 0.9)


@dataclass(frozen=True)
class Ladder:
    """The scale of one upright line: the value at its foot (the worst) and at its head, by ratios if `log`."""

    foot: float
    head: float
    log: bool

    def height(self, values: Floats) -> Floats:
        """Where values stand: 0 at the foot, 1 at the head. What is infinite stays so, on its side."""
        if self.foot == self.head:
            return np.where(np.isfinite(values), 0.5, values)
        foot, head = self.foot, self.head
        if self.log:
            foot, head = float(np.log(foot)), float(np.log(head))
            with np.errstate(divide="ignore", invalid="ignore"):
                values = np.where(values > 0.0, np.log(np.maximum(values, 1e-300)), -np.inf)
        return np.asarray((values - foot) / (head - foot), np.float64)


def parallel(result: Result) -> Picture:
    """All objectives at once. Who is higher on a line is better in that objective, whatever its direction.

    With many arms, those that matter are drawn and the others are a band: 10 to 90 % of them in each objective.

    >>> from frontguard.demo.reviews import analyze_reviews
    >>> picture = parallel(analyze_reviews().analysis)
    >>> picture.panels[0].x.names
    ('19-25 (higher is better)', '26-35 (higher is better)')
    """
    arms = read(result)
    M = len(result.objectives)
    places = arms.places(*range(M))
    chosen = choose(arms, places, everyone=_ALL, most=_MOST)
    ladders = [_ladder(arms, d, chosen.full, chosen.rest) for d in range(M)]
    x = np.arange(M, dtype=np.float64)
    heights = np.stack([ladders[d].height(arms.medians[:, d]) for d in range(M)], axis=1)
    layers: list[Layer] = [Rule(float(d), replace(PLAIN, width=0.8), upright=True) for d in range(M)]
    legend: list[Look] = []
    rest = int(chosen.rest.sum())
    if rest:
        look = replace(MANY, label=f"between them 10–90 % of {rest:,} more")
        low, high = np.quantile(heights[chosen.rest], _QUANTILES, axis=0)
        layers.append(Band(x, low, high, look, hint=f"10 to 90 % of {number_of(rest)} that are not drawn"))
        legend.append(look)
    layers.extend(_intervals(arms, ladders, chosen.full))
    for verdict in _ORDER:
        some = chosen.of(arms, verdict)
        if not len(some):
            continue
        look, opacity = _of_many(verdict, len(some))
        layers.append(
            Lines(
                np.tile(x, (len(some), 1)),
                heights[some],
                look,
                hints=arms.hints(some),
                keys=tuple(some.tolist()),
                opacity=opacity,
                marks=True,
            )
        )
        legend.insert(0, look)
    layers.extend(_ends(ladders))
    ins = chosen.of(arms, Verdict.IN)
    if 0 < len(ins) <= _NAMED:
        layers.append(
            Points(
                np.full(len(ins), M - 1.0),
                heights[ins, -1],
                replace(VERDICTS[Verdict.IN], label=""),
                written=tuple(arms.names[i] for i in ins.tolist()),
            )
        )
    names = tuple(
        f"{short(name, 28)} ({'lower' if arms.minimized(d) else 'higher'} is better)"
        for d, name in enumerate(result.objectives)
    )
    return Picture(
        rows=(
            (
                Panel(
                    Axis(names=names, low=-0.25, high=M - 1 + (0.6 if 0 < len(ins) <= _NAMED else 0.25)),
                    Axis(title="better is up", low=-0.14, high=1.14, ticks=()),
                    tuple(layers),
                ),
            ),
        ),
        legend=tuple(legend),
        description=sentences(
            f"Arms across {M} objectives, better always up.", *arms.told(), arms.ranges(), arms.not_drawn(*range(M))
        ),
        caption=captioned(
            "Each line is an arm; a line that lies above another in every objective beats it.",
            "Bars are the intervals of the front." if 0 < len(ins) <= _WITH_INTERVALS else "",
            f"{rest:,} more arms are only in the band." if rest else "",
            arms.not_drawn(*range(M)),
        ),
        width=max(6.0, 2.0 + 1.9 * M),
        height=5.0,
        name="parallel",
    )


_DASHES: dict[Verdict, tuple[float, ...]] = {
    Verdict.IN: (),
    Verdict.UNDECIDED: (6.0, 3.0),
    Verdict.COVERED: (2.0, 2.0),
    Verdict.OUT: (),
}


def _of_many(verdict: Verdict, count: int) -> tuple[Look, float]:
    """How one of so many lines looks, and how opaque it is: the more there are, the fainter, the front the least."""
    look = replace(VERDICTS[verdict], dash=_DASHES[verdict])
    if verdict == Verdict.OUT:
        return replace(look, width=0.8), 0.4
    loud = min(1.0, _BOLD[verdict] / count)
    quiet = replace(look, width=look.width * max(0.6, loud), size=look.size * max(0.6, loud**0.5))
    return quiet if loud < 1.0 else look, max(_FAINTEST[verdict], 0.9 * loud)


def _ladder(arms: Arms, d: int, full: Bools, rest: Bools) -> Ladder:
    """From the worst to the best estimate of those drawn, and of the band."""
    values = arms.medians[full, d]
    if rest.any():
        values = np.concatenate([values, np.quantile(arms.medians[rest, d], _QUANTILES)])
    if not len(values):
        return Ladder(0.0, 0.0, log=False)
    log = arms.axis(d, full | rest, full & ~full).scale == "log" and float(values.min()) > 0.0
    low, high = float(values.min()), float(values.max())
    return Ladder(high, low, log) if arms.minimized(d) else Ladder(low, high, log)


def _intervals(arms: Arms, ladders: list[Ladder], full: Bools) -> list[Layer]:
    ins = arms.with_verdict(Verdict.IN, full)
    if not 0 < len(ins) <= _WITH_INTERVALS:
        return []
    layers: list[Layer] = []
    for d, ladder in enumerate(ladders):
        ends = np.stack([ladder.height(arms.low[ins, d]), ladder.height(arms.high[ins, d])])
        at = np.linspace(-0.015, 0.015, len(ins)) * (len(ins) - 1) + d  # beside each other
        layers.append(
            Spans(
                at,
                ends.min(axis=0),
                ends.max(axis=0),
                replace(VERDICTS[Verdict.IN], label=""),
                upright=True,
                opacity=0.3,
                thickness=3.0,
            )
        )
    return layers


def _ends(ladders: list[Ladder]) -> list[Layer]:
    """The values at the foot and the head of each line, in the objective's own units."""
    look = replace(PLAIN, size=0.01)
    at = np.arange(len(ladders), dtype=np.float64)
    return [
        Points(at, np.full(len(at), height), look, written=tuple(number(end) for end in ends))
        for height, ends in ((1.07, [each.head for each in ladders]), (-0.07, [each.foot for each in ladders]))
    ]
