"""Pulls a minute over time, and how many of them failed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from frontguard.phrases import duration, number, number_of
from frontguard.plot.arms import sentences
from frontguard.plot.looks import FAILED, NOW, VERMILION, Look
from frontguard.plot.picture import Axis, Bars, Panel, Picture
from frontguard.studies.overview import Rate

TOLD = replace(NOW, label="pulls a minute", mark="square")
LOST = replace(FAILED, label="of these failed", colour=VERMILION, mark="square")


def rate(rate: Rate) -> Picture:
    """How fast a study goes: a bar for each span of time, as high as its pulls a minute; the failed ones within.

    >>> told = Rate(np.array([0.0, 60.0, 120.0]), np.array([30, 60]), np.array([0, 6]))
    >>> [layer.length.tolist() for layer in rate(told).panels[0].layers]
    [[30.0, 60.0], [0.0, 6.0]]
    """
    seconds = np.diff(rate.edges)
    kept = seconds > 0.0
    seconds = seconds[kept]
    told, failed = rate.told[kept], rate.failed[kept]
    middle = (rate.edges[:-1] + rate.edges[1:])[kept] / 2.0
    width = float(seconds.mean()) if len(seconds) else 60.0
    hints = tuple(
        f"{number_of(int(n), 'pull')} in {duration(float(s))}, {int(lost):,} failed"
        for n, lost, s in zip(told, failed, seconds, strict=True)
    )
    layers = [
        Bars(middle, 60.0 * counts / seconds, look, upright=True, thickness=0.9 * width, hints=hints)
        for counts, look in ((told, TOLD), (failed, LOST))
        if look is TOLD or failed.any()
    ]
    legend: tuple[Look, ...] = tuple(layer.look for layer in layers)
    total, lost = int(rate.told.sum()), int(rate.failed.sum())
    took = float(rate.edges[-1] - rate.edges[0]) if len(rate.edges) > 1 else 0.0
    mean = f", {number(60.0 * total / took)} a minute" if took > 0.0 else ""
    panel = Panel(
        Axis(title="time", dates=True),
        Axis(title="pulls a minute", low=0.0),
        tuple(layers),
        note="" if total else "nothing told yet",
    )
    return Picture(
        rows=((panel,),),
        legend=legend,
        description=sentences(f"{number_of(total, 'pull')} in {duration(took)}{mean}; {lost:,} of them failed."),
        caption=f"{number_of(total, 'pull')} in {duration(took)}{mean}" + (f"; {lost:,} failed." if lost else "."),
        width=7.0,
        height=3.0,
        name="rate",
    )
