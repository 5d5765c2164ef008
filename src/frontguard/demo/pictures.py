"""The demonstration's pictures: what two methods make of the same sabotaged records, and of a bombed review log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from frontguard._common.typing import Floats, Ints
from frontguard.demo.cases import AGES, BOMBED, Demo, Reviews
from frontguard.phrases import joined, percent
from frontguard.plot import picture as parts
from frontguard.plot.frames import limits
from frontguard.plot.fronts import beaten_by
from frontguard.results import Answer
from frontguard.statements import Statement
from frontguard.verdicts import Verdict
from frontguard.words import arm_table
from frontguard.words.answers import place
from frontguard.words.certificate import true_values

_WORDS = {
    Verdict.KEEP: "returned",
    Verdict.UNDECIDED: "undecided",
    Verdict.MATCHED: "matched by a returned one",
    Verdict.BEATEN: "put out",
}
_LOOKS = {verdict: replace(parts.VERDICTS[verdict], label=word) for verdict, word in _WORDS.items()}
_LIES = replace(parts.SUSPECT, label="from the truth to where lies moved it", mark="bar", width=1.3)
_WITHOUT = replace(parts.SUSPECT, label="without the campaign")
_BEATEN = replace(parts.BEATEN, label="")


def _by_verdict(codes: Ints) -> Iterator[tuple[parts.Look, Ints]]:
    """Give the places of each verdict among codes (n,), and its look; what matters most lies on top."""
    for verdict in (Verdict.BEATEN, Verdict.MATCHED, Verdict.UNDECIDED, Verdict.KEEP):
        (some,) = np.nonzero(codes == verdict)
        if some.size:
            yield _LOOKS[verdict], some


def _legend(panels: Sequence[parts.Panel], *others: parts.Look) -> tuple[parts.Look, ...]:
    drawn = parts.looks_of([layer for panel in panels for layer in panel.layers])
    return tuple(look for look in (*_LOOKS.values(), *others) if look in drawn)


def demo_picture(demo: Demo) -> parts.Picture:
    """Return the picture of what medians with a guarantee and means found, side by side; rings are the truth."""
    total, share = len(demo.truth), percent(demo.contamination)
    attacked = demo.contamination > 0.0
    ring = replace(parts.TRUTH, label=f"truly on the front{', and attacked' if attacked else ''}")
    robust, by_means = demo.robust, demo.by_means
    panels = [
        _method(demo, robust, ring, "Medians with a guarantee", true_values(robust, "intervals")),
        _method(demo, by_means, ring, "Means",
                f"intervals are what it takes for certain{', although records lie' if attacked else ''}"),
    ]  # fmt: skip
    panels = _on_the_same_axes(panels)
    return parts.Picture(
        rows=(tuple(panels),),
        title=f"Which of {len(robust.arms)} treatments are best? "
        + (f"A saboteur replaced {share} of the records of the {total} that truly are." if attacked else ""),
        legend=_legend(panels, ring, _LIES),
        caption="Rings are the truth. Medians stay within them whatever the saboteur writes; means are carried away, "
        "and others take their place. Shaded is what the true front beats.",
        width=12.0,
        height=6.0,
        name="demo",
    )  # fmt: skip


def _method(demo: Demo, result: Answer, ring: parts.Look, title: str, note: str) -> parts.Panel:
    centre, lower, upper = result.estimates, result.lower, result.upper
    true = np.array([result.arms.index(name) for name in demo.truth], np.int64)
    places = demo.true_minutes[true]
    beaten = beaten_by(places, np.array([-1.0, -1.0]))  # minutes are better the fewer they are
    layers: list[parts.Layer] = [parts.Region(beaten[:, 0], beaten[:, 1], _BEATEN)]
    for look, some in _by_verdict(result.verdict_codes):
        layers.append(parts.Boxes(lower[some, 0], lower[some, 1], upper[some, 0], upper[some, 1], look))
    # Where an estimate is far from the truth, a line shows who was carried away.
    away = np.abs(centre[true] - places).max(axis=1) > 0.03 * np.ptp(demo.true_minutes, axis=0).max()
    if away.any():
        ways = np.stack([places[away], centre[true[away]]], axis=1)
        layers.append(parts.Lines(ways[..., 0], ways[..., 1], _LIES))
    for look, some in _by_verdict(result.verdict_codes):
        hints = tuple(_hint(result, i, centre) for i in some.tolist())
        layers.append(parts.Points(centre[some, 0], centre[some, 1], look, hints, keys=tuple(some.tolist())))
    names = tuple(demo.truth)
    hints = tuple(f"{name}: truly {x:.0f} above, {y:.0f} below" for name, (x, y) in zip(names, places, strict=True))
    layers.append(parts.Points(places[:, 0], places[:, 1], ring, hints, names))
    return parts.Panel(
        parts.Axis(result.objectives[0], "lower"),
        parts.Axis(result.objectives[1], "lower"),
        tuple(layers),
        f"{title} ({result.policy}): {len(result.pareto_set)} returned, {_kept(demo, result)} truly best",
        f"{result.pulls:,} pulls; {note}",
    )


def _kept(demo: Demo, result: Answer) -> str:
    kept = len(demo.found(result))
    return {0: "none", len(result.pareto_set): "all"}.get(kept, str(kept))


def _hint(result: Answer, i: int, centre: Floats) -> str:
    verdict = Verdict(int(result.verdict_codes[i])).word
    return (
        f"{result.arms[i]}: {verdict}; estimated {centre[i, 0]:.0f} minutes above, {centre[i, 1]:.0f} below; "
        f"{int(result.pulls_per_arm[i]):,} pulls"
    )


def _on_the_same_axes(panels: list[parts.Panel]) -> list[parts.Panel]:
    first = panels[0]
    ends = limits(replace(first, layers=tuple(layer for panel in panels for layer in panel.layers)))
    x, y = (replace(axis, low=low, high=high) for axis, (low, high) in zip((first.x, first.y), ends, strict=True))
    return [replace(panel, x=x, y=y) for panel in panels]


def reviews_picture(reviews: Reviews) -> parts.Picture:
    """Return the picture of the reviews: means, one of which the campaign moves, and medians with intervals."""
    found = reviews.analysis
    panels = (_means(reviews), _medians(reviews))
    return parts.Picture(
        rows=tuple((panel,) for panel in panels),
        title=f"{found.pulls * len(AGES):,} reviews of {len(found.arms)} movies. A campaign wrote "
        f"{percent(reviews.share)} of those of {BOMBED} (✱), all with one star.",
        legend=_legend(panels, parts.BY_MEANS, _WITHOUT, _LIES),
        caption="The campaign moves the mean out of the front, and cannot move the median's interval off it.",
        width=7.5,
        height=9.5,
        name="demo-reviews",
    )  # fmt: skip


def _means(reviews: Reviews) -> parts.Panel:
    """Return the panel of means: their front ringed, and how far the campaign moved the bombed one."""
    found = reviews.analysis
    bombed = found.arms.index(BOMBED)
    way = np.stack([reviews.true_means[bombed], reviews.log.means[bombed]], axis=1)
    true = parts.Points(way[0, :1], way[1, :1], _WITHOUT, (_stars(reviews, bombed),), (BOMBED,))
    layers: list[parts.Layer] = [parts.Lines(way[:1], way[1:], _LIES), true]
    for look, some in _by_verdict(found.verdict_codes):
        hints = tuple(_stars(reviews, i) for i in some.tolist())
        x, y = reviews.log.means[some].T
        layers.append(parts.Points(x, y, look, hints, keys=tuple(some.tolist())))
    (ringed,) = np.nonzero(reviews.log.mean_front)
    x, y = reviews.log.means[ringed].T
    hints = tuple(_stars(reviews, i) for i in ringed.tolist())
    layers.append(parts.Points(x, y, parts.BY_MEANS, hints, tuple(found.arms[i] for i in ringed.tolist())))
    return parts.Panel(
        parts.Axis(f"mean stars from viewers of {AGES[0]}", "higher"),
        parts.Axis(f"mean stars from viewers of {AGES[1]}", "higher"),
        tuple(layers),
        f"Means: the front seems to be {joined(reviews.analysis.mean_set)}",
    )


def _stars(reviews: Reviews, i: int) -> str:
    mean, true = reviews.log.means[i], reviews.true_means[i]
    return f"{reviews.analysis.arms[i]}: mean {mean[0]:.2f}, {mean[1]:.2f}; truly {true[0]:.2f}, {true[1]:.2f}"


def _medians(reviews: Reviews) -> parts.Panel:
    """Return the panel of medians with their intervals, a pair for each movie, in the order of the table."""
    found = reviews.analysis
    estimates, low, high = found.estimates, found.lower, found.upper
    order = arm_table.order(found, reviews.log.mean_front)
    layers: list[parts.Layer] = []
    for look, rows in _by_verdict(found.verdict_codes[order]):
        arms = order[rows]
        for d, shift in enumerate((-0.17, 0.17)):
            at = np.asarray(rows + shift, np.float64)
            hints = tuple(
                f"{found.arms[i]}, {AGES[d]}: median {estimates[i, d]:g} [{low[i, d]:g}, {high[i, d]:g}]"
                for i in arms.tolist()
            )
            layers += [
                parts.Spans(at, low[arms, d], high[arms, d], look, hints=hints, opacity=0.4),
                parts.Points(estimates[arms, d], at, replace(look, size=5.0, label=""), hints),
            ]
    names = tuple(f"{'✱ ' if found.arms[i] == BOMBED else ''}{found.arms[i]}" for i in order.tolist())
    certain = joined(found.pareto_set) or "no movie yet"
    return parts.Panel(
        parts.Axis(f"median stars, {AGES[0]} above {AGES[1]}", "higher", low=0.8, high=5.2),
        parts.Axis(names=names, reverse=True),
        tuple(layers),
        f"Medians with a guarantee: {certain} {Statement.IS_CERTAINLY(place=place(found))}",
    )
