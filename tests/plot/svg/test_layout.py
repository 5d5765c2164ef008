"""Which panels of a drawing go below each other, so that its words can be read on a phone."""

from __future__ import annotations

import numpy as np

from frontguard import Objective, plot
from frontguard.plot.looks import IN
from frontguard.plot.picture import Axis, Panel, Picture, Points
from frontguard.plot.svg.draw import stacked
from frontguard.verdicts import Verdict
from tests.plot.made import made_result


def panel(title: str) -> Panel:
    return Panel(Axis("x"), Axis(title), (Points(np.array([1.0]), np.array([1.0]), IN),))


def shape(picture: Picture) -> list[int]:
    return [len(row) for row in picture.rows]


def test_panels_that_were_beside_each_other_for_the_room_are_stacked() -> None:
    wide = Picture(((panel("seconds"), panel("bytes")),), width=10.0)
    assert shape(stacked(wide)) == [1, 1]
    assert stacked(wide).panels == wide.panels
    assert stacked(wide).width < wide.width


def test_what_is_narrow_or_compared_across_stays() -> None:
    narrow = Picture(((panel("seconds"), panel("bytes")),), width=6.0)
    assert stacked(narrow) is narrow
    compared = Picture(((panel("seconds"), panel("")),), width=10.0)  # the second shares the axis of the first
    assert stacked(compared) is compared


def test_a_matrix_of_pairs_stays_a_matrix() -> None:
    values = np.random.default_rng(3).normal(size=(9, 4))
    metrics = [Objective(name) for name in "abcd"]
    picture = plot.pairs(made_result(values, [Verdict.IN] * 9, metrics))
    assert picture.width > 7.5
    assert stacked(picture) is picture
