"""The demonstration's picture says what was found, and who was attacked."""

from __future__ import annotations

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard.demo.cases import Demo, run_demo
from frontguard.demo.pictures import demo_picture
from frontguard.plot.frames import limits
from frontguard.plot.picture import Boxes, Lines, Panel, Points, Region
from frontguard.verdicts import Verdict
from tests.support.snapshots import said


@pytest.fixture(scope="module")
def demo() -> Demo:
    return run_demo()


def ring_of(panel: Panel) -> Points:
    (ring,) = (layer for layer in panel.layers if isinstance(layer, Points) and layer.look.mark == "ring")
    return ring


def test_the_attacked_are_ringed_where_they_truly_are(demo: Demo, snapshot: SnapshotAssertion) -> None:
    for panel in demo_picture(demo).panels:
        ring = ring_of(panel)
        assert said(ring.look.label) == snapshot(name="ring")
        assert sorted(ring.written) == sorted(demo.truth)
        where = [demo.robust.arms.index(name) for name in ring.written]
        np.testing.assert_array_equal(np.stack([ring.x, ring.y], axis=1), demo.true_minutes[where])


def test_lines_show_who_was_carried_away(demo: Demo) -> None:
    medians, means = demo_picture(demo).panels
    assert not [layer for layer in medians.layers if isinstance(layer, Lines)]
    (ways,) = (layer for layer in means.layers if isinstance(layer, Lines))
    ends = set(zip(ways.x[:, 1].tolist(), ways.y[:, 1].tolist(), strict=True))
    estimates = demo.by_means.estimates
    assert ends == {tuple(estimates[demo.by_means.arms.index(name)].tolist()) for name in demo.truth}


def test_every_arm_is_there_with_its_verdict_and_box_in_minutes(demo: Demo) -> None:
    for panel, result in zip(demo_picture(demo).panels, (demo.robust, demo.by_means), strict=True):
        marks = [layer for layer in panel.layers if isinstance(layer, Points) and layer.keys]
        assert sorted(key for layer in marks for key in layer.keys) == list(range(len(result.arms)))
        (returned,) = (layer for layer in marks if layer.look.label.startswith("returned"))
        assert {result.arms[key] for key in returned.keys} == set(result.pareto_set)
        intervals = [layer for layer in panel.layers if isinstance(layer, Boxes)]
        assert sum(layer.x_low.size for layer in intervals) == len(result.arms)
        assert all((layer.x_low <= layer.x_high).all() and (layer.y_low <= layer.y_high).all() for layer in intervals)


def test_the_shade_is_what_the_true_front_beats(demo: Demo) -> None:
    from matplotlib.path import Path

    panel = demo_picture(demo).panels[0]
    (region,) = (layer for layer in panel.layers if isinstance(layer, Region))
    big = 1e4
    corners = np.clip(np.stack([region.x, region.y], axis=1), -big, big)
    front = demo.true_minutes[[demo.robust.arms.index(name) for name in demo.truth]]
    points = np.random.default_rng(0).uniform(-40, 400, (500, 2))
    beaten = (front[None, :, :] <= points[:, None, :]).all(axis=2).any(axis=1)
    assert beaten.any()
    assert not beaten.all()
    np.testing.assert_array_equal(Path(np.vstack([corners, corners[:1]])).contains_points(points), beaten)


def test_both_panels_show_the_same_part_of_the_plane(demo: Demo) -> None:
    picture = demo_picture(demo)
    left, right = picture.panels
    assert limits(left) == limits(right)
    assert left.title.endswith("4 returned, all truly best")
    assert right.title.endswith("26 returned, none truly best")
    assert "20%" in picture.title
    codes = np.concatenate([demo.robust.verdict_codes, demo.by_means.verdict_codes])
    verdicts = sum(bool((codes == verdict).any()) for verdict in Verdict)
    assert len(picture.legend) == verdicts + 2  # the ring and the lines


def test_nobody_is_called_attacked_who_was_not() -> None:
    picture = demo_picture(run_demo(contamination=0.0))
    assert "attacked" not in " ".join(look.label for look in picture.legend)
    assert "saboteur" not in picture.title
