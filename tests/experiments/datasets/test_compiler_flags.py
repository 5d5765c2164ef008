"""The recorded compiler flags, the experiment on them, and the example that they come from."""

from __future__ import annotations

import csv
import importlib.util
import io
import itertools
import json
import platform
import re
import shutil
import subprocess
import sys
from functools import lru_cache
from importlib import resources
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard.commands.spec import read_spec
from frontguard.errors import BadInput
from frontguard.experiments.datasets import FLAGS_FACTS, FLAGS_TABLE, bundled_recording, bundled_text
from frontguard.experiments.setup import CONTESTANTS, Setting, choose
from frontguard.simulation import simulate
from frontguard.simulation.judging import judge
from frontguard.theory.threats import Malicious
from tests.conftest import ROOT
from tests.support.snapshots import refused

EXAMPLE = ROOT / "examples" / "compiler-flags"

needs_gcc = pytest.mark.skipif(
    any(shutil.which(tool) is None for tool in ("gcc", "size", "awk")), reason="gcc or binutils are not installed"
)


@lru_cache
def rows() -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(bundled_text(FLAGS_TABLE))))


@lru_cache
def example(name: str) -> ModuleType:
    """A module of the example, which is no package."""
    sys.path.insert(0, str(EXAMPLE))  # record.py imports neighbour.py
    try:
        spec = importlib.util.spec_from_file_location(name, EXAMPLE / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(EXAMPLE))
    return module


def values_of(arm: str, neighbour: str, column: str) -> list[float]:
    return [float(row[column]) for row in rows() if (row["arm"], row["neighbour"]) == (arm, neighbour)]


# The recording


def test_enough_pulls_of_every_arm_with_the_neighbour_off_and_on() -> None:
    recording = bundled_recording()
    assert len(recording.arms) >= 16
    for arm in recording.arms:
        for neighbour in (False, True):
            pulls = recording.pulls_of(arm, neighbour=neighbour)
            assert len(pulls) >= 200
            assert pulls[:, 0].tolist() == values_of(arm, str(int(neighbour)), "time")
            assert len(set(pulls[:, 1])) == 1  # a build has one size


def test_rows_are_raw_and_in_order() -> None:
    recording = bundled_recording()
    np.testing.assert_allclose(recording.metrics[:, 0], recording.seconds / recording.reference_seconds, rtol=2e-5)
    assert (np.diff(recording.at) >= 0).all()


def test_small_and_without_a_trace_of_the_machine() -> None:
    assert len((resources.files("frontguard") / "data" / FLAGS_TABLE).read_bytes()) < 400_000
    for name in (FLAGS_TABLE, FLAGS_FACTS):
        text = bundled_text(name)
        assert re.search(r"/(home|root|work|tmp|usr|var)\b", text) is None
        assert platform.node() not in text or not platform.node()
    facts = bundled_recording().facts
    assert {"cpu", "cores", "compiler", "date", "neighbour"} <= facts.keys()


def test_points_are_standardised_logarithms() -> None:
    """One arm by hand, from the table alone."""
    recording = bundled_recording()
    points, arm_of_row = recording.points()
    medians = np.array(
        [[np.median(values_of(arm, "0", column)) for column in ("time", "bytes")] for arm in recording.arms]
    )
    np.testing.assert_allclose(recording.medians(), medians)
    logs = np.log(medians)
    expected = (
        logs.mean(axis=0) - np.log([values_of("-O2", "0", "time"), values_of("-O2", "0", "bytes")]).T
    ) / logs.std(axis=0)
    np.testing.assert_allclose(points[arm_of_row == recording.arms.index("-O2")], expected, rtol=1e-9, atol=1e-9)


def test_an_unknown_arm(snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        bundled_recording().pulls_of("-O9")


# The experiment


def test_the_experiment_is_the_attack_on_sw_llvm() -> None:
    (experiment,) = choose("compiler-flags", None).experiments
    setting = Setting(experiment, 0.1)
    assert setting.threat.name == "malicious"
    assert setting.adversary is not None
    assert setting.adversary.threat == Malicious(setting.eps)
    assert setting.published("rpsi") is None
    assert 4 <= len(experiment.environment.pareto_set) < experiment.environment.arms


def test_it_reads_no_data_from_outside_and_all_is_table_2(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        choose("compiler-flags", tmp_path)
    assert "compiler-flags" not in [experiment.dataset for experiment in choose("all", None).experiments]


@pytest.mark.parametrize("eps", [0.0, 0.1])
def test_the_certified_policy_keeps_its_guarantee_on_it(eps: float) -> None:
    (experiment,) = choose("compiler-flags", None).experiments
    setting = Setting(experiment, eps)
    policy = CONTESTANTS["certified"].build(setting)
    finished = simulate(policy, experiment.environment, setting.adversary, runs=5)
    judged = judge(finished.returned, experiment.environment.medians, **setting.goal)
    assert judged.success.all()


# The example


def test_the_spec_names_the_recorded_arms() -> None:
    spec = read_spec(EXAMPLE / "flags.toml")
    assert {arm.name for arm in spec.arms} == set(bundled_recording().arms)
    assert [(objective.name, objective.direction) for objective in spec.question.objectives] == [
        ("time", "minimize"),
        ("bytes", "minimize"),
    ]


def test_record_writes_what_is_bundled(tmp_path: Path) -> None:
    facts = json.loads(bundled_text(FLAGS_FACTS))
    example("record").write(rows(), facts, tmp_path)
    for name in (FLAGS_TABLE, FLAGS_FACTS):
        assert (tmp_path / name).read_bytes() == (resources.files("frontguard") / "data" / name).read_bytes()


@needs_gcc
@pytest.mark.parametrize("flags", ["-O1", "-Os -fno-asynchronous-unwind-tables"])
def test_a_pull(tmp_path: Path, flags: str) -> None:
    subprocess.run(["sh", str(EXAMPLE / "build.sh"), str(tmp_path), flags], check=True)
    done = subprocess.run([tmp_path / "bench"], capture_output=True, text=True, check=True)
    metrics = json.loads(done.stdout.splitlines()[-1])
    assert metrics["time"] == pytest.approx(metrics["seconds"] / metrics["reference_seconds"], abs=1e-4)
    assert 1000 < metrics["bytes"] < 20000


@needs_gcc
def test_a_build_that_computes_something_else_is_found_out(tmp_path: Path) -> None:
    for file in ("bench.c", "kernels.h", "build.sh"):
        shutil.copy(EXAMPLE / file, tmp_path)
    source = (EXAMPLE / "kernels.c").read_text(encoding="utf-8")
    assert "#define ITEMS 3000" in source
    (tmp_path / "kernels.c").write_text(source.replace("#define ITEMS 3000", "#define ITEMS 2999"), encoding="utf-8")
    subprocess.run(["sh", "build.sh", ".", "-O1"], cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "bench"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "sorting" in done.stderr
    assert done.stdout == ""


def test_bursts_take_the_share_that_they_should() -> None:
    bursts = list(itertools.islice(example("neighbour").bursts(0.08, 0.2, seed=1), 20_000))
    assert bursts[:100] == list(itertools.islice(example("neighbour").bursts(0.08, 0.2, seed=1), 100))
    lengths = [end - start for start, end in bursts]
    assert sum(lengths) / bursts[-1][1] == pytest.approx(0.08, rel=0.05)
    assert np.mean(lengths) == pytest.approx(0.2, rel=0.05)
    assert all(before[1] < after[0] for before, after in itertools.pairwise(bursts))


def test_the_neighbour_passes_the_exit_code_on() -> None:
    command = [sys.executable, str(EXAMPLE / "neighbour.py"), "--burst", "0.01"]
    assert subprocess.run([*command, "sh", "-c", "exit 3"], check=False).returncode == 3
    done = subprocess.run([*command, "no-such-command"], capture_output=True, text=True, check=False)
    assert done.returncode == 127
    assert done.stderr.count("\n") == 1
