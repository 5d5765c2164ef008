"""Stored runs: what is written comes back, and the key knows what determines a run."""

from __future__ import annotations

import dataclasses
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

import frontguard
from frontguard.errors import BadInput
from frontguard.experiments.runner import FILE_NAME, Run, RunStore, code_fingerprint, key_of
from frontguard.experiments.setup import CONTESTANTS, Experiment, Setting, choose, diabetes, sw_llvm
from frontguard.simulation.environments import gaussian
from tests.support.snapshots import refused

PACKAGE = Path(frontguard.__file__).parent
SYNTHETIC = choose("synthetic", None).experiments[0]
RUNS = [Run(120, (0, 3), 0.5), Run(99, (), 0.5)]


def test_what_is_added_is_there_and_stays(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "deep" / "down")
    store.add("key", 10, RUNS)
    assert store.runs("key") == {10: RUNS[0], 11: RUNS[1]}
    assert RunStore(tmp_path / "deep" / "down").runs("key") == store.runs("key")
    assert store.runs("another") == {}


def test_what_is_no_store_is_refused(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    (tmp_path / FILE_NAME).write_text("not a database" * 1000, encoding="utf-8")
    with refused(BadInput, snapshot):
        RunStore(tmp_path)


def test_fresh_ignores_but_keeps(tmp_path: Path) -> None:
    RunStore(tmp_path).add("key", 0, RUNS)
    assert RunStore(tmp_path, fresh=True).runs("key") == {}
    assert len(RunStore(tmp_path).runs("key")) == 2


def test_after_a_fresh_computation_the_newer_runs_count(tmp_path: Path) -> None:
    RunStore(tmp_path).add("key", 0, [Run(1, (), 0.0)])
    RunStore(tmp_path, fresh=True).add("key", 0, [Run(2, (), 0.0)])
    assert RunStore(tmp_path).runs("key")[0].pulls == 2


def test_a_directory_that_cannot_be_made(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with refused(BadInput, snapshot):
        RunStore(tmp_path / "file" / "inside")


def test_a_store_that_cannot_be_written(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    (tmp_path / FILE_NAME).mkdir()  # something else is where the runs should go
    with refused(BadInput, snapshot):
        RunStore(tmp_path)


def test_the_key_knows_everything_that_determines_a_run() -> None:
    experiment = diabetes()
    rpsi, auer = CONTESTANTS["rpsi"], CONTESTANTS["auer-a1"]
    base = key_of(Setting(experiment, 0.1), rpsi, 0)
    assert base == key_of(Setting(diabetes(), 0.1), rpsi, 0)  # built again, the same
    moved = np.array(experiment.environment.medians)
    moved[0, 0] += 1e-9
    others = [
        key_of(Setting(experiment, 0.2), rpsi, 0),
        key_of(Setting(experiment, 0.1), auer, 0),
        key_of(Setting(experiment, 0.1), rpsi, 1),
        key_of(Setting(dataclasses.replace(experiment, accuracy=0.2), 0.1), rpsi, 0),
        key_of(Setting(dataclasses.replace(experiment, bias=lambda eps: 0.0), 0.1), rpsi, 0),
        key_of(Setting(dataclasses.replace(experiment, environment=gaussian(moved, 0.025)), 0.1), rpsi, 0),
        key_of(
            Setting(
                dataclasses.replace(experiment, environment=gaussian(experiment.environment.medians, 0.03)),
                0.1,
            ),
            rpsi,
            0,
        ),
        key_of(Setting(dataclasses.replace(experiment, attack=SYNTHETIC.attack), 0.1), rpsi, 0),
    ]
    assert len({base, *others}) == len(others) + 1


def test_the_key_changes_with_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    setting = Setting(diabetes(), 0.1)
    before = key_of(setting, CONTESTANTS["rpsi"], 0)
    monkeypatch.setattr("frontguard.experiments.runner.code_fingerprint", lambda: "9.9.9+0")
    assert key_of(setting, CONTESTANTS["rpsi"], 0) != before


def llvm_like() -> list[Experiment]:
    generator = np.random.default_rng(0)
    return sw_llvm(generator.normal(size=(160, 2)), np.repeat(np.arange(16), 10))


def test_rows_that_differ_in_judgement_only_share_their_runs() -> None:
    published, demanded = (Setting(experiment, 0.1) for experiment in llvm_like())
    assert key_of(published, CONTESTANTS["auer-a1"], 0) == key_of(demanded, CONTESTANTS["auer-a1"], 0)
    assert key_of(published, CONTESTANTS["rpsi"], 0) != key_of(demanded, CONTESTANTS["rpsi"], 0)


@pytest.mark.parametrize("room", ["theory", "evidence", "pareto", "policies", "simulation"])
def test_an_edit_of_what_decides_a_run_changes_the_fingerprint(
    room: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("_common/compiled.py", "theory", "evidence", "pareto", "policies", "simulation"):
        for source in [*(PACKAGE / name).rglob("*.py")] or [PACKAGE / name]:
            copy = tmp_path / source.relative_to(PACKAGE)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(source.read_bytes())
    monkeypatch.setattr(resources, "files", lambda package: tmp_path)
    before = code_fingerprint.__wrapped__()
    edited = next((tmp_path / room).rglob("*.py"))
    edited.write_bytes(edited.read_bytes() + b"# edited\n")
    assert code_fingerprint.__wrapped__() != before
