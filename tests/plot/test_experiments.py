"""Sample complexity against ε, with the paper's numbers."""

from __future__ import annotations

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import plot
from frontguard.errors import BadInput
from frontguard.experiments.results import Row, figures_of
from frontguard.experiments.setup import TABLE2
from frontguard.plot.picture import Lines, Panel, Points, Spans
from frontguard.simulation.judging import judge
from tests.support.snapshots import refused


def row(dataset: str, policy: str, eps: float, pulls: list[int], good: int | None = None) -> Row:
    returned = [[True, k >= (len(pulls) if good is None else good)] for k in range(len(pulls))]
    verdict = judge(returned, [[1.0], [0.0]], accuracy=0.1, coverage=0.0)
    return Row(
        dataset=dataset,
        variant="as published",
        policy=policy,
        contamination=eps,
        bias=0.5,
        accuracy=0.1,
        told_threat="oblivious",
        pareto_arms=1,
        seconds=1.25,
        **figures_of(verdict, pulls, TABLE2.get((dataset, policy, eps))),
    )


ROWS = [
    row("sw-llvm", "rpsi", 0.2, [70000, 71000]),
    row("sw-llvm", "rpsi", 0.1, [57000, 58000], good=1),
    row("sw-llvm", "certified", 0.1, [500, 700]),
    row("diabetes", "rpsi", 0.1, [5000]),
]


def line(panel: Panel, label: str) -> tuple[list[float], list[float]]:
    (found,) = [layer for layer in panel.layers if isinstance(layer, Lines) and layer.look.label == label]
    return found.x[0].tolist(), found.y[0].tolist()


def printed(panel: Panel) -> dict[str, list[float]]:
    return {
        layer.look.label: layer.y.tolist()
        for layer in panel.layers
        if isinstance(layer, Points) and layer.look.label.endswith("paper")
    }


def test_samples_and_success_stand_beside_the_papers_numbers() -> None:
    picture = plot.sample_complexity(ROWS)
    assert [[panel.title if panel else "" for panel in panels] for panels in picture.rows] == [
        ["SW-LLVM (as published): samples"],
        ["SW-LLVM (as published): success"],
        ["UVA/PADOVA (as published): samples"],
        ["UVA/PADOVA (as published): success"],
    ]
    samples, success, other, _ = picture.panels
    assert line(samples, "R-PSI") == ([0.1, 0.2], [57500.0, 70500.0])
    assert line(samples, "certified") == ([0.1], [600.0])
    assert line(other, "R-PSI") == ([0.1], [5000.0])
    assert line(success, "R-PSI")[1] == [0.5, 1.0]
    assert line(success, "R-PSI")[0] == pytest.approx([0.1, 0.2], abs=0.005)
    assert printed(samples) == {"R-PSI, paper": [57822.5, 72969.3]}
    assert printed(success) == {"R-PSI, paper": [1.0, 1.0]}
    assert printed(other) == {"R-PSI, paper": [5067.2]}
    assert samples.y.scale == "log"
    assert [look.label for look in picture.legend] == ["R-PSI", "R-PSI, paper", "certified"]


def test_bars_are_the_intervals() -> None:
    samples, success = plot.sample_complexity(ROWS[:3]).panels
    (spans, _) = [layer for layer in samples.layers if isinstance(layer, Spans)]
    half = 1.959963984540054 * 500.0  # the standard error of two runs that differ by 1000
    assert spans.upright
    assert spans.low.tolist() == pytest.approx([57500.0 - half, 70500.0 - half])
    assert spans.high.tolist() == pytest.approx([57500.0 + half, 70500.0 + half])
    first = next(layer for layer in success.layers if isinstance(layer, Spans))
    assert (first.low[0], first.high[0]) == pytest.approx((0.01257911709, 0.98742088291))  # Clopper-Pearson, 1 of 2


def test_a_single_run_has_no_bar_and_bars_stay_positive() -> None:
    (samples, _) = plot.sample_complexity([row("diabetes", "rpsi", 0.1, [5000])]).panels
    (spans,) = [layer for layer in samples.layers if isinstance(layer, Spans)]
    assert spans.low.tolist() == spans.high.tolist() == [5000.0]
    (samples, _) = plot.sample_complexity([row("diabetes", "rpsi", 0.1, [10, 5000])]).panels
    (spans,) = [layer for layer in samples.layers if isinstance(layer, Spans)]
    assert (np.asarray(spans.low) > 0.0).all()


def test_nothing_is_refused(snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        plot.sample_complexity([])
