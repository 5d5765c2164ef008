"""The UVA/PADOVA tables: standardisation, miscounted meals, and rebuilding with the simulator."""

from __future__ import annotations

import csv
import importlib.util
import io
import sys
import warnings
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard.errors import BadInput
from frontguard.experiments.datasets import ARMS_TABLE, DENSE_TABLE, bundled_text, bundled_treatments
from frontguard.pareto.dominance import pareto_mask
from tests.support.snapshots import refused
from tools import rebuild_diabetes


@lru_cache
def rows(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(bundled_text(name))))


def test_points_are_the_tables_own() -> None:
    treatments = bundled_treatments()
    written = np.array([(float(row["y0"]), float(row["y1"])) for row in rows(ARMS_TABLE)])
    np.testing.assert_allclose(treatments.points, written, rtol=1e-12, atol=1e-14)
    assert np.flatnonzero(pareto_mask(treatments.points)).tolist() == [0, 6, 12, 13, 20]


def test_standardised_with_the_arms_own_mean_and_deviation() -> None:
    """Arm 0 by hand: 115 minutes above, mean 180.806, deviation 122.16879."""
    assert bundled_treatments().points[0, 0] == pytest.approx(-(115 - 180.80556) / 122.16879, rel=1e-6)


def test_miscounted_meals_keep_the_bolus_and_change_the_meal() -> None:
    treatments = bundled_treatments()
    dense = rows(DENSE_TABLE)
    for arm in (0, 14, 35):
        others = [
            row
            for row in dense
            if float(row["bolus_u"]) == treatments.bolus[arm] and float(row["carbs_g"]) != treatments.carbs[arm]
        ]
        got = treatments.miscounted[treatments.miscounted_arm == arm]
        above = [-(float(row["minutes_above"]) - 180.80555555555554) / 122.16879 for row in others]
        below = [-(float(row["minutes_below"]) - 88.75) / 96.31152 for row in others]
        np.testing.assert_allclose(got, np.column_stack([above, below]), rtol=1e-6)
    counts = np.bincount(treatments.miscounted_arm)
    assert counts.tolist() == [29 if carbs in (20, 100) else 30 for carbs in treatments.carbs]


def test_without_the_simulator_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
) -> None:
    monkeypatch.setitem(sys.modules, "simglucose", None)
    with refused(BadInput, snapshot):
        rebuild_diabetes.simulator()
    assert rebuild_diabetes.main([str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def fake(carbs: int, bolus: int) -> rebuild_diabetes.Outcome:
    row = next(
        r for r in rows(DENSE_TABLE) + rows(ARMS_TABLE) if (r["carbs_g"], r["bolus_u"]) == (str(carbs), str(bolus))
    )
    minutes = int(row["minutes_above"]), int(row["minutes_below"])
    return rebuild_diabetes.Outcome(carbs, bolus, *minutes, float(row["bg_min"]), float(row["bg_max"]))


def test_tables_are_written_byte_for_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The writer alone: with the known outcomes in place of the simulator, the files are the bundled ones."""
    monkeypatch.setattr(rebuild_diabetes, "simulator", lambda: fake)
    assert rebuild_diabetes.main([str(tmp_path)]) == 0
    for name in (ARMS_TABLE, DENSE_TABLE):
        assert (tmp_path / name).read_text(encoding="utf-8") == bundled_text(name)


@pytest.mark.audit
@pytest.mark.skipif(
    importlib.util.find_spec("simglucose") is None, reason="simglucose (extra diabetes) is not installed"
)
def test_the_simulator_gives_the_bundled_tables(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of gym and pkg_resources, which simglucose imports
        rebuild_diabetes.write_tables(tmp_path)
    for name in (ARMS_TABLE, DENSE_TABLE):
        assert (tmp_path / name).read_text(encoding="utf-8") == bundled_text(name)
