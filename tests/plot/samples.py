"""Pictures made by hand that together have everything a renderer must be able to draw: every layer, axis and oddity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from frontguard.plot import picture as looks
from frontguard.plot.picture import (
    Axis,
    Band,
    Bars,
    Boxes,
    Density,
    Lines,
    Panel,
    Picture,
    Points,
    Region,
    Rule,
    Spans,
    looks_of,
)

INF, NAN = np.inf, np.nan

HOSTILE = (
    "<script>window.__hacked = 1</script>",
    "<img src=x onerror=alert(1)>",
    "$\\frac{1}{0}$ and $x_{",
    "a &amp; b < c > d",
    "%{x} %{customdata[0]} {count} %s {0}",
    "</title></svg><b>bold</b><br>next<extra></extra>",
    "zwei\nZeilen\tund\x00Steuerzeichen\x1b[31m",
    "\u202egnol si siht\u202c ‏עברית‏",
    "日本語の名前 🎯 🏳️‍🌈",
    "<a href='javascript:alert(1)'>link</a>",
    "half a pair \ud800 here",
    "long " * 2000,
    "",
    "\\",
    "'\"`",
)
"""Names as nobody would like to meet them; the suite's 200 are elsewhere, these are enough for a renderer."""


def array(*values: float) -> np.ndarray:
    return np.array(values, np.float64)


def front() -> Picture:
    """What is drawn most: boxes, marks, names, and what the front beats; smaller seconds, higher quality."""
    rng = np.random.default_rng(3)
    seconds, quality = array(1.0, 1.6, 2.9, 4.4), array(0.50, 0.71, 0.84, 0.91)
    region = Region(
        array(1.0, 1.0, 1.6, 1.6, 2.9, 2.9, 4.4, 4.4, INF, INF),
        array(-INF, 0.50, 0.50, 0.71, 0.71, 0.84, 0.84, 0.91, 0.91, -INF),
        replace(looks.KEEP, label=""),
    )
    x, y = rng.uniform(2.0, 5.5, 14), rng.uniform(0.35, 0.68, 14)
    names = ("-O1", "-O2", "-O3 -march=native", "-Ofast")
    layers = (
        region,
        Boxes(x - 0.1, y - 0.02, x + 0.1, y + 0.02, looks.BEATEN, tuple(f"arm {i}: out" for i in range(4, 18)),
              tuple(range(4, 18))),
        Boxes(seconds - 0.15, quality - 0.02, seconds + 0.2, quality + 0.03, looks.KEEP, names, (0, 1, 2, 3)),
        Boxes(array(3.6), array(0.80), array(4.3), array(0.88), looks.UNDECIDED, ("arm 18: undecided",), (18,)),
        Boxes(array(1.5), array(0.66), array(1.9), array(0.71), looks.MATCHED, ("arm 19: covered",), (19,)),
        Points(x, y, looks.BEATEN, keys=tuple(range(4, 18))),
        Points(array(1.7), array(0.69), looks.MATCHED, ("arm 19: covered",), keys=(19,)),
        Points(array(3.9), array(0.85), looks.UNDECIDED, ("arm 18: undecided",), ("-Os",), (18,)),
        Points(seconds, quality, looks.KEEP, tuple(f"{n}: in" for n in names), names, (0, 1, 2, 3)),
        Points(seconds[2:3], quality[2:3], looks.TRUTH),
    )  # fmt: skip
    panel = Panel(Axis("seconds", "lower"), Axis("quality", "higher"), layers, "20 sets of flags", "a note")
    return Picture(((panel,),), "The front", looks_of(layers), caption="Blue is best.", name="front")


def infinite_ends() -> Picture:
    """Boxes, bands, spans, regions and lines that go on beyond every edge, and values that are no numbers."""
    boxes = Boxes(
        array(-INF, 1.0, 2.0, 3.0, -INF, NAN),
        array(1.0, -INF, 2.0, 0.5, -INF, 1.0),
        array(1.0, 2.0, INF, 4.0, INF, 2.0),
        array(2.0, 1.5, 3.0, INF, INF, 2.0),
        looks.UNDECIDED,
        tuple(f"box {i}" for i in range(6)),
        tuple(range(6)),
    )
    points = Points(
        array(0.5, 1.5, 2.5, 3.5, NAN, INF), array(1.5, 1.0, 2.5, 1.0, 1.0, 1.0), looks.UNDECIDED,
        tuple(f"arm {i}" for i in range(6)), ("a", "b", "c", "d", "nowhere", "infeasible"), tuple(range(6)),
    )  # fmt: skip
    region = Region(array(2.0, INF, INF, 2.0), array(-INF, -INF, 1.0, 1.0), replace(looks.KEEP, label=""))
    left = Panel(Axis("x", "lower"), Axis("y", "lower"), (region, boxes, points), "boxes")
    band = Band(array(1, 2, 3, 4), array(-INF, 0.2, 0.3, 0.4), array(INF, 2.0, 1.0, 0.7), looks.KEEP, "arm 1", 1)
    steps = Band(array(1, 2, 3, 4), array(2.0, 2.2, NAN, 2.4), array(INF, 2.9, 2.8, 2.7), looks.MATCHED)
    lines = Lines(
        np.array([[1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0]]),
        np.array([[1.0, NAN, 0.7, 0.5], [INF, 2.5, 2.6, -INF]]),
        looks.KEEP, ("arm 1", "arm 2"), (1, 2),
    )  # fmt: skip
    spans = Spans(array(1.5, 2.5), array(-INF, 1.0), array(1.0, INF), looks.GOAL, True, ("down", "up"), (1, 2))
    right = Panel(Axis("pulls"), Axis("value"), (band, steps, lines, spans), "bands")
    return Picture(((left, right),), "Beyond the edges", looks_of([*left.layers, *right.layers]), width=10, name="ends")


def lists() -> Picture:
    """Names along an axis that is read from the top: bars, spans with marks, and a share in percent."""
    names = ("Star Wars (1977)", "Toy Story (1995)", "Twelve Monkeys (1995)", "Volcano (1997)", "a " * 60)
    at = np.arange(5.0)
    spans = Spans(at, array(3.9, 2.9, 2.9, 1.9, 1.0), array(5.0, 4.0, 4.0, 3.0, INF), looks.KEEP, keys=tuple(range(5)))
    marks = Points(array(5, 4, 4, 3, 2), at, looks.KEEP, names, keys=tuple(range(5)))
    left = Panel(Axis("stars", "higher"), Axis(names=names, reverse=True), (spans, marks), "intervals")
    some, others = (
        Bars(at[:3], array(0.9, 0.5, 0.2), looks.KEEP, keys=(0, 1, 2)),
        Bars(at[3:], array(0.1, 0), looks.BEATEN),
    )
    right = Panel(
        Axis("share"), Axis(names=names, reverse=True),
        (some, others, Rule(0.6, looks.GOAL, True)), "bars",
    )  # fmt: skip
    return Picture(((left, right),), legend=(looks.KEEP, looks.BEATEN, looks.GOAL), width=10, height=4, name="lists")


def over_pulls() -> Picture:
    """Logarithmic axes, error bars, steps, a forecast, rules with words, ticks that are given."""
    pulls = np.geomspace(10, 1e6, 30)
    share = 40 / np.sqrt(pulls)
    layers = (
        Band(pulls, share / 1.5, share * 1.5, looks.NOW, "between"),
        Lines(pulls[None, :], share[None, :], looks.NOW, ("seconds",)),
        Lines(array(1e6, 1e7)[None, :], array(share[-1], 0.01)[None, :], looks.FORECAST, ("forecast",)),
        Rule(1.0, looks.GOAL),
        Rule(1e4, looks.PLAIN, True),
    )
    top = Panel(Axis("pulls", scale="log"), Axis("share of the goal", "lower", "log"), layers, note="log and log")
    epsilon = array(0.0, 0.1, 0.2, 0.3)
    steps = Lines(epsilon[None, :], array(9, 7, 4, 0)[None, :], looks.KEEP, ("how many are in",), marks=True)
    errors = Spans(epsilon, array(8, 6, 3, 0), array(10, 8, 5, 1), looks.KEEP, True, opacity=0.4, thickness=2.0)
    grades = tuple((float(value), word) for value, word in ((0, "none"), (5, "some"), (9, "$many$")))
    below = Panel(Axis("ε", low=-0.02, high=0.4), Axis("arms", ticks=grades), (steps, errors), "steps")
    legend = (looks.NOW, looks.FORECAST, looks.GOAL, looks.KEEP)
    return Picture(((top,), (below,)), "Over pulls", legend, width=8, height=8, name="over-pulls")


def over_time() -> Picture:
    """Upright bars, contestants in every mark and dash, and a dense cloud."""
    when = np.arange(40.0)
    rate = Bars(when, 30 + 10 * np.sin(np.arange(40) / 5), looks.VALUE, True, 0.8)
    left = Panel(Axis("minutes"), Axis("pulls per minute"), (rate,), "pulls per minute")
    x = np.arange(8.0)
    others = tuple(
        Lines(x[None, :], (i + np.sin(x + i))[None, :], replace(look, label=f"policy {i}"), marks=True)
        for i, look in enumerate(looks.CONTESTANTS)
    )
    right = Panel(Axis("number"), Axis("value"), others, "contestants")
    rng = np.random.default_rng(0)
    counts, x_edges, y_edges = np.histogram2d(*np.exp(rng.normal(0, 1, (2, 5000))),
                                              bins=(np.geomspace(0.02, 50, 31), np.linspace(0, 20, 21)))  # fmt: skip
    density = Density(x_edges, y_edges, counts.astype(np.int64), looks.MANY)
    front_of_it = Points(array(0.1, 1.0, 10.0), array(0.3, 5.0, 15.0), looks.KEEP, written=("low", "mid", "high"))
    dense = Panel(Axis("seconds", "lower", "log"), Axis("bytes", "lower"), (density, front_of_it), "5,000 arms")
    legend = (*(line.look for line in others), looks.MANY, looks.KEEP)
    return Picture(((left, right), (dense, None)), "Over time", legend, width=10, height=8, name="over-time")


def grid() -> Picture:
    """A lower triangle of pairs: panels that are not there, and every mark once."""

    def pair(i: int, j: int) -> Panel:
        marks = tuple(
            Points(array(1.0 + n, 2.0 + n), array(n * 1.0, n + 0.5), replace(look, label=""))
            for n, look in enumerate(MARKS)
        )
        return Panel(Axis(f"objective {j}", "lower"), Axis(f"objective {i}", "higher"), marks)

    rows = ((pair(1, 0), None, None), (pair(2, 0), pair(2, 1), None), (pair(3, 0), pair(3, 1), pair(3, 2)))
    return Picture(rows, "Pairs", MARKS, width=10, height=9, name="grid")


MARKS = (
    looks.KEEP, looks.UNDECIDED, looks.MATCHED, looks.BEATEN, looks.EXCLUDED, looks.TRUTH, looks.GOAL, looks.NOW,
    looks.FORECAST, looks.SUSPECT, replace(looks.UNDECIDED, label="hollow triangle", filled=False),
    replace(looks.PLAIN, label="plain"),
)  # fmt: skip


def hostile() -> Picture:
    """Hostile texts wherever a text can be."""
    n = len(HOSTILE)
    at = np.arange(float(n))
    points = Points(at, at, replace(looks.KEEP, label=HOSTILE[0]), HOSTILE, HOSTILE, tuple(range(n)))
    layers = (
        Region(array(5, INF, INF, 5), array(-INF, -INF, 2, 2), looks.BEATEN),
        points,
        Rule(3.0, replace(looks.GOAL, label=HOSTILE[2]), True),
        Band(at, at, at + 1, looks.MATCHED, HOSTILE[5]),
    )
    left = Panel(Axis(HOSTILE[0], "lower"), Axis(HOSTILE[2], "higher"), layers, HOSTILE[5], HOSTILE[6])
    bars = Bars(at, at + 1, looks.BEATEN, hints=HOSTILE, keys=tuple(range(n)))
    right = Panel(
        Axis(HOSTILE[8], ticks=((1.0, HOSTILE[1]), (5.0, HOSTILE[2]))), Axis(names=HOSTILE, reverse=True), (bars,),
        HOSTILE[11],
    )  # fmt: skip
    legend = tuple(replace(looks.CONTESTANTS[i % 6], label=HOSTILE[i]) for i in range(n) if HOSTILE[i])
    return Picture(((left, right),), HOSTILE[11], legend, 12, 6, HOSTILE[5], HOSTILE[9])


def nothing() -> Picture:
    """Layers without anything in them, and a panel without layers."""
    none = array()
    empty = (
        Points(none, none, looks.KEEP),
        Boxes(none, none, none, none, looks.KEEP),
        Lines(none[None, :][:0], none[None, :][:0], looks.KEEP),
        Band(none, none, none, looks.KEEP),
        Spans(none, none, none, looks.KEEP),
        Bars(none, none, looks.KEEP),
        Region(none, none, looks.KEEP),
    )
    nowhere = Points(array(NAN, INF), array(1.0, -INF), looks.BEATEN, written=("a", "b"))
    zeros = Density(array(0, 1, 2), array(0, 1, 2), np.zeros((2, 2), np.int64), looks.MANY)
    panels = (
        Panel(Axis("x"), Axis("y"), empty, "empty layers"),
        Panel(Axis("x", scale="log"), Axis("y", scale="log"), ()),
        Panel(Axis("x", scale="log"), Axis("y"), (nowhere,)),
        Panel(Axis(), Axis(), (zeros, Points(array(1.0), array(1.0), looks.KEEP))),
    )
    return Picture((panels[:2], panels[2:]), name="nothing")


SAMPLES: dict[str, Callable[[], Picture]] = {
    sample.__name__: sample for sample in (front, infinite_ends, lists, over_pulls, over_time, grid, hostile, nothing)
}
"""By name, so that tests can be parametrised."""
