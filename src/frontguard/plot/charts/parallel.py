"""Parallel coordinates: an upright line for each objective, better always up, and a line across them for each arm."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from frontguard._common.typing import Bools, Ints
from frontguard.phrases import number, number_of
from frontguard.plot.arms import Arms, read
from frontguard.plot.layout.names import short
from frontguard.plot.layout.scales import Scale
from frontguard.plot.looks import MANY, PLAIN, VERDICTS, Look
from frontguard.plot.many import choose
from frontguard.plot.picture import Axis, Band, Layer, Lines, Panel, Picture, Points, Rule, Spans
from frontguard.plot.sentences import captioned, sentences
from frontguard.results import Result
from frontguard.verdicts import VERDICT_ORDER, Verdict

_ORDER = VERDICT_ORDER[::-1]  # what matters most lies on top
_ALL = 60  # arms whose lines can still be told apart
_MOST = {Verdict.IN: 60, Verdict.UNDECIDED: 24, Verdict.COVERED: 8}
_BOLD = {Verdict.IN: 24, Verdict.UNDECIDED: 8, Verdict.COVERED: 4}  # more lines than that are fainter
_FAINTEST = {Verdict.IN: 0.6, Verdict.UNDECIDED: 0.35, Verdict.COVERED: 0.35}
_DASHES = {Verdict.UNDECIDED: (6.0, 3.0), Verdict.COVERED: (2.0, 2.0)}
_WITH_INTERVALS = 8  # arms on the front whose intervals are drawn as well
_NAMED = 12
_QUANTILES = (0.1, 0.9)


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
    scales, ends = zip(*(_ladder(arms, d, chosen.full, chosen.rest) for d in range(M)), strict=True)
    x = np.arange(M, dtype=np.float64)
    heights = np.stack([scales[d](arms.estimates[:, d]) for d in range(M)], axis=1)
    layers: list[Layer] = [Rule(float(d), replace(PLAIN, width=0.8), upright=True) for d in range(M)]
    legend: list[Look] = []
    rest = int(chosen.rest.sum())
    if rest:
        look = replace(MANY, label=f"between them 10–90 % of {rest:,} more")
        low, high = np.quantile(heights[chosen.rest], _QUANTILES, axis=0)
        layers.append(Band(x, low, high, look, hint=f"10 to 90 % of {number_of(rest)} that are not drawn"))
        legend.append(look)
    ins = arms.with_verdict(Verdict.IN, chosen.full)
    if 0 < len(ins) <= _WITH_INTERVALS:
        layers.extend(_intervals(arms, scales, ins))
    for verdict in _ORDER:
        some = arms.with_verdict(verdict, chosen.full)
        if not len(some):
            continue
        look, opacity = _of_many(verdict, arms.look(verdict), len(some))
        rows, keys = np.tile(x, (len(some), 1)), tuple(some.tolist())
        layers.append(Lines(rows, heights[some], look, arms.hints(some), keys, opacity, marks=True))
        legend.insert(0, look)
    at_the_ends = replace(PLAIN, size=0.01)
    for height, values in zip((1.07, -0.07), zip(*ends, strict=True), strict=True):
        written = tuple(number(value) for value in values)  # in the objective's own units
        layers.append(Points(x, np.full(M, height), at_the_ends, written=written))
    if 0 < len(ins) <= _NAMED:
        look, named = replace(VERDICTS[Verdict.IN], label=""), arms.named(ins)
        layers.append(Points(np.full(len(ins), M - 1.0), heights[ins, -1], look, written=named))
    names = tuple(
        f"{short(name, 28)} ({'lower' if arms.minimized(d) else 'higher'} is better)"
        for d, name in enumerate(result.objectives)
    )
    across = Axis(names=names, low=-0.25, high=M - 1 + (0.6 if 0 < len(ins) <= _NAMED else 0.25))
    up = Axis(title="better is up", low=-0.14, high=1.14, ticks=())
    return Picture(
        rows=((Panel(across, up, tuple(layers)),),),
        legend=tuple(legend),
        description=sentences(
            f"Arms across {M} objectives, better always up.", *arms.told(), arms.not_drawn(*range(M))
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


def _of_many(verdict: Verdict, look: Look, count: int) -> tuple[Look, float]:
    """How one of so many lines looks, and how opaque it is: the more there are, the fainter, the front the least."""
    look = replace(look, dash=_DASHES.get(verdict, ()))
    if verdict == Verdict.OUT:
        return replace(look, width=0.8), 0.4
    loud = min(1.0, _BOLD[verdict] / count)
    quiet = replace(look, width=look.width * max(0.6, loud), size=look.size * max(0.6, loud**0.5))
    return quiet if loud < 1.0 else look, max(_FAINTEST[verdict], 0.9 * loud)


def _ladder(arms: Arms, d: int, full: Bools, rest: Bools) -> tuple[Scale, tuple[float, float]]:
    """The scale of an upright line, from the worst estimate of those drawn and of the band to the best; and these."""
    values = arms.estimates[full, d]
    if rest.any():
        values = np.concatenate([values, np.quantile(arms.estimates[rest, d], _QUANTILES)])
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)
    foot, head = (high, low) if arms.minimized(d) else (low, high)
    log = low > 0.0 and arms.axis(d, full | rest, full & ~full).scale == "log"
    if low == high:  # which is in the middle then
        low, high = low - abs(low) - 1.0, high + abs(high) + 1.0
        log = False
    return Scale(low, high, float(foot > head), float(foot <= head), log=log), (head, foot)


def _intervals(arms: Arms, scales: Sequence[Scale], ins: Ints) -> Iterator[Spans]:
    look = replace(VERDICTS[Verdict.IN], label="")
    for d, scale in enumerate(scales):
        low, high = np.sort(scale(np.stack([arms.low[ins, d], arms.high[ins, d]])), axis=0)
        at = np.linspace(-0.015, 0.015, len(ins)) * (len(ins) - 1) + d  # beside each other
        yield Spans(at, low, high, look, upright=True, opacity=0.3, thickness=3.0)
