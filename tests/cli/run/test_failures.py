"""`frontguard run`: commands that fail, hang, or are wrong from the start."""

from __future__ import annotations

import os
import re
from pathlib import Path

from syrupy.assertion import SnapshotAssertion

from frontguard.storage import open_storage
from tests.cli.run.toy import (
    SPEC,
    alive_with,
    found,
    run,
    write_spec,
)
from tests.support.snapshots import said


def test_an_arm_that_always_fails_is_reported_and_does_not_eat_the_budget(
    folder: Path, snapshot: SnapshotAssertion
) -> None:
    broken = """
    [[arm]]
    name = "broken"
    cost = 1
    size = 1
    command = ["sh", "-c", "echo 'no such device' >&2; exit 7"]
    [[arm]]
    name = "unprepared"
    cost = 1
    size = 1
    prepare = ["sh", "-c", "echo 'cannot build' >&2; exit 9"]
    """
    write_spec(folder, broken)
    ran = run(folder, "toy.toml", "--json")
    assert ran.returncode == 3, ran.stderr  # certified, but not for all arms
    answer = found(ran)
    assert answer["status"] == "certified"
    assert run(folder, "toy.toml", "--json", "--allow-failed-arms").returncode == 0
    assert answer["pareto_set"] == ["small", "fast"]
    assert answer["certificate"]["excluded"] == ["broken", "unprepared"]
    assert answer["verdicts"]["broken"] == "excluded"
    assert answer["pulls_per_arm"]["broken"] == answer["pulls_per_arm"]["unprepared"] == 5
    assert answer["study"]["failures"] == {"broken": {"exit code 7": 5}, "unprepared": {"prepare: exit code 9": 5}}
    warnings = [warning for warning in answer["warnings"] if "excluded" in warning]
    assert said("\n".join(warnings)) == snapshot
    assert f"warning: {warnings[0]}" in ran.stderr.splitlines()


def test_a_first_mistake_is_shown_and_not_stored(folder: Path, snapshot: SnapshotAssertion) -> None:
    text = SPEC.replace('"measure.sh"', '"measured.sh"').replace("SLEEP", "0")
    (folder / "toy.toml").write_text(text)
    ran = run(folder, "toy.toml")
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert "measured.sh" in ran.stderr
    by_the_shell = re.compile(r"(?<=exit code 2: ).*measured\.sh.*?(?=\. )")
    assert said(by_the_shell.sub("WORDS OF THE SHELL", ran.stderr.splitlines()[-1])) == snapshot
    with open_storage(folder / "toy.db", read_only=True) as storage:
        assert storage.studies() == []
    write_spec(folder)  # mended: the command is another one now
    mended = run(folder, "toy.toml", "--json")
    assert mended.returncode == 0, mended.stderr
    assert "beginning study" in mended.stderr
    assert found(mended)["study"]["failures"] == {}


def test_a_pull_that_takes_too_long_is_killed_with_all_its_processes(folder: Path) -> None:
    mark = f"{os.getpid()}.4321"
    hangs = f"""
    [[arm]]
    name = "hangs"
    cost = 1
    size = 1
    command = ["sh", "-c", "trap '' TERM; sh -c 'sleep 9{mark}; :' & setsid sleep 8{mark}"]
    """
    write_spec(folder, hangs)
    ran = run(folder, "toy.toml", "--timeout", "0.2", "--json", "--workers", "2", "--allow-failed-arms")
    assert ran.returncode == 0, ran.stderr
    answer = found(ran)
    assert answer["certificate"]["excluded"] == ["hangs"]
    assert answer["study"]["failures"]["hangs"] == {"timeout after 0.2 s": 5}
    assert not alive_with(mark)


def test_every_arm_is_prepared_once_in_a_folder_of_its_own(folder: Path) -> None:
    text = SPEC.replace("SLEEP", "0").replace(
        '[run]\ncommand = ["sh", "measure.sh",',
        '[run]\nprepare = ["sh", "-c", "echo {arm} {workdir} >> prepared; cp measure.sh {workdir}/copy.sh"]\n'
        'command = ["sh", "{workdir}/copy.sh",',
    )
    (folder / "toy.toml").write_text(text)
    ran = run(folder, "toy.toml", "--json", "--workers", "3")
    assert ran.returncode == 0, ran.stderr
    prepared = [line.split() for line in (folder / "prepared").read_text().splitlines()]
    assert sorted(arm for arm, _ in prepared) == ["fast", "poor", "small"]
    workdirs = {Path(workdir) for _, workdir in prepared}
    assert len(workdirs) == 3
    assert not any(workdir.exists() for workdir in workdirs)
