"""The compiler flags of the demonstration: the recording as a log, and the log by its name."""

from __future__ import annotations

import numpy as np
import pytest

import frontguard as fg
from frontguard.demo.cases import analyze_flags
from frontguard.experiments.datasets import bundled_recording
from frontguard.logs.sources.files import find


def test_the_recording_is_a_log_of_the_pulls_beside_the_neighbour() -> None:
    recording = bundled_recording()
    ordered = recording.sorted_by_arm(neighbour=True)
    assert list(ordered.arms) == sorted(recording.arms)
    for i, arm in enumerate(ordered.arms):
        pulls = recording.pulls_of(arm, neighbour=True)
        assert ordered.pulls[i] == len(pulls)
        for d in range(2):
            values = ordered.values[d][ordered.starts[d, i] : ordered.starts[d, i + 1]]
            np.testing.assert_array_equal(values, np.sort(pulls[:, d]))


def test_what_is_in_is_so_by_the_medians_of_quiet_pulls_too() -> None:
    """The truth here: medians of all pulls without the neighbour, whom the analysis has not seen."""
    found, recording = analyze_flags(), bundled_recording()
    truth = dict(zip(recording.arms, np.log(recording.medians()), strict=True))
    tolerance = np.log([1.05, 1.01])
    for arm in found.pareto_set:
        assert not any((truth[arm] - truth[other] > tolerance).all() for other in truth), arm
    for arm in (name for name, verdict in found.verdicts.items() if verdict == "beaten"):
        assert any((truth[other] <= truth[arm]).all() for other in truth if other != arm), arm
    assert len(found.pareto_set) >= 5


def test_bundled_logs_are_found_by_name_unless_a_file_is_called_so(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place,) = find("compiler-flags").files
    assert place.path is not None
    assert place.path.name == "compiler_flags.csv.gz"
    pytest.importorskip("polars", reason="the extra `logs` is not installed")
    found = fg.analyze("compiler-flags", arm="arm", minimize=["time", "bytes"])
    assert found.pulls == len(bundled_recording().at)
    monkeypatch.chdir(str(tmp_path))
    with open("compiler-flags", "w") as file:
        file.write("arm,x\na,1\n")
    (place,) = find("compiler-flags").files
    assert str(place.path) == "compiler-flags"
