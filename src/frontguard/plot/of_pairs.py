"""More than two objectives: a matrix of pairs, of which each is a picture of the front in two of them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from frontguard.errors import BadInput
from frontguard.plot.arms import Arms, read
from frontguard.plot.hints import listed, sentences
from frontguard.plot.looks import Look
from frontguard.plot.many import choose
from frontguard.plot.of_front import axes_of, boxed_arms, front_caption, front_panel
from frontguard.plot.picture import Panel, Picture
from frontguard.results import Result

MOST_OBJECTIVES = 5
"""More than that are not drawn in pairs: the panels would become too small to read."""

_NAMED_UP_TO = 3  # with more objectives, panels are too small for names


def pairs(result: Result, *, aside: Collection[str] | None = None) -> Picture:
    """Every pair of objectives in a panel of its own; columns share what lies across, rows what lies along.

    The lower triangle is drawn. Of more than five objectives, the first five are.

    >>> import numpy as np
    >>> from frontguard import RPSI, Prescient, Subgaussian
    >>> policy = RPSI(2, 3, threat=Prescient(0.1), spread=Subgaussian(0.1), accuracy=0.5)
    >>> asked = policy.ask()
    >>> policy.tell(asked, np.ones((len(asked), 3)))
    >>> [[panel is not None for panel in row] for row in pairs(policy.result()).rows]
    [[True, False], [True, True]]
    """
    M = min(len(result.objectives), MOST_OBJECTIVES)
    if M < 2:
        raise BadInput("pairs(result) needs two objectives at least; front(result) shows one")
    arms = read(result, aside)
    places = arms.places(*range(M))
    chosen = choose(arms, places)
    named = len(result.objectives) <= _NAMED_UP_TO
    legend: dict[Look, None] = {}
    boxed = {(x, y): boxed_arms(arms, x, y, chosen) for y in range(1, M) for x in range(y)}
    somewhere = np.logical_or.reduce(list(boxed.values()))
    axes = axes_of(arms, range(M), chosen, somewhere)
    rows: list[tuple[Panel | None, ...]] = []
    for y in range(1, M):
        row: list[Panel | None] = [None] * (M - 1)
        for x in range(y):
            panel, looks = front_panel(arms, {x: axes[x], y: axes[y]}, chosen, boxed[x, y], named=named)
            row[x] = _titled_at_the_rim(panel, left=x == 0, bottom=y == M - 1)
            legend.update(dict.fromkeys(looks))
        rows.append(tuple(row))
    side = 3.6 if M <= 3 else 2.9 if M == 4 else 2.5
    return Picture(
        rows=tuple(rows),
        legend=tuple(legend),
        description=sentences(
            f"Arms by every two of {M} objectives, each with a box.",
            *arms.told(),
            arms.ranges(),
            arms.not_drawn(*range(M)),
        ),
        caption=_caption(arms, M, front_caption(arms, chosen, somewhere, axes)),
        width=1.0 + side * (M - 1),
        height=1.2 + 0.85 * side * (M - 1),
        name="pairs",
    )


def _titled_at_the_rim(panel: Panel, *, left: bool, bottom: bool) -> Panel:
    """Only the outermost panels say what lies across and along; the others would say it again."""
    across = panel.x if bottom else replace(panel.x, title="", better="")
    along = panel.y if left else replace(panel.y, title="", better="")
    return replace(panel, x=across, y=along)


def _caption(arms: Arms, drawn: int, common: str) -> str:
    left_out = arms.objectives[drawn:]
    parts = [
        common,
        "An arm that seems beaten in one pair can be on the front by another objective."
        if len(arms.objectives) > 2
        else "",
        f"Not drawn: the objectives {listed(left_out, 4)}." if left_out else "",
    ]
    return " ".join(filter(None, parts))
