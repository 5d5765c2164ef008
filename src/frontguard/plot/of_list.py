"""One objective: the arms as a list, the best first, each with its interval."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from frontguard.plot.arms import Arms
from frontguard.plot.hints import number_of, sentences
from frontguard.plot.looks import VERDICTS, Look
from frontguard.plot.many import CELLS, choose, densities, edges_between, stretch
from frontguard.plot.picture import Axis, Density, Layer, Panel, Picture, Points, Spans
from frontguard.results import Verdict

Ints = npt.NDArray[np.int64]

LINES = 40
"""Arms that a list names at most."""


def list_picture(arms: Arms) -> Picture:
    """The arms of a result with one objective. If they are many, those that matter, and one line for the rest."""
    places = arms.places(0)
    chosen = choose(arms, places, everyone=LINES, total=LINES)
    order = _best_first(arms, np.flatnonzero(chosen.full))
    rest = chosen.rest
    axis = arms.axis(0, places, chosen.full, crowd=bool(rest.any()))
    layers: list[Layer] = []
    legend: list[Look] = []
    names = [arms.names[i] for i in order.tolist()]
    for mine, look in densities(arms, rest):
        values = arms.medians[mine, 0]
        edges = edges_between(*stretch(axis, values), CELLS[0], axis)
        counts = np.histogram(values, edges)[0].astype(np.int64)  # those beyond the ends of the axis are not seen
        line = len(names)
        layers.append(Density(edges, np.array([line - 0.4, line + 0.4]), counts[:, None], look))
        legend.append(look)
        names.append(look.label.removesuffix(", as a density"))
    row = np.empty(len(arms.names), np.float64)
    row[order] = np.arange(len(order))
    for verdict, look in reversed(VERDICTS.items()):
        some = arms.with_verdict(verdict, chosen.full)
        if not len(some):
            continue
        keys, hints = tuple(some.tolist()), arms.hints(some)
        quiet = replace(look, label="")
        layers.append(Spans(row[some], arms.low[some, 0], arms.high[some, 0], quiet, hints=hints, keys=keys))
        layers.append(Points(arms.medians[some, 0], row[some], look, hints=hints, keys=keys))
        legend.insert(0, look)
    panel = Panel(axis, Axis(names=tuple(names), reverse=True), tuple(layers))
    last = "in the last line" if len(names) == len(order) + 1 else "below them"
    thinned = f"{number_of(int(rest.sum()))} that matter less are counted {last}." if rest.any() else ""
    return Picture(
        rows=((panel,),),
        legend=tuple(legend),
        description=sentences(*arms.told(), arms.ranges(), arms.not_drawn(0)),
        caption=" ".join(
            filter(
                None,
                (
                    f"Marks are estimates, lines the intervals in which the true values lie with probability "
                    f"{arms.result.certificate.confidence:.0%}.",
                    thinned,
                    arms.not_seen(places, {0: axis}),
                    arms.not_drawn(0),
                ),
            )
        ),
        width=7.0,
        height=1.4 + 0.26 * max(3, len(names)),
        name="front",
    )


def _best_first(arms: Arms, some: Ints) -> Ints:
    values = arms.medians[some, 0] if arms.minimized(0) else -arms.medians[some, 0]
    # Equal estimates: who is in comes before who is not.
    rank = np.array([0 if arms.codes[i] == Verdict.IN else 1 for i in some.tolist()], np.int64)
    return some[np.lexsort((rank, values))]
