"""A run of commands that is stopped while commands are at work."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import Study
from frontguard.commands import run as commanded
from frontguard.commands.run import CommandedRun
from frontguard.commands.spec import spec_from_arms
from frontguard.measure.drive import FirstMistake
from frontguard.results import Answer
from frontguard.storage.contract import End
from tests.support.snapshots import refused

PATIENCE = 180.0


class Nobody:
    """A view that nobody looks at."""

    def show(self, look: Callable[[], Answer]) -> None:
        """Show nothing."""

    def say(self, news: str, *, warning: bool = False) -> None:
        """Say nothing."""


def run_of(command: str, cancel: threading.Event) -> tuple[CommandedRun, Study]:
    spec = spec_from_arms([f"one={command}", f"other={command}"])
    study = Study([arm.name for arm in spec.arms], question=spec.question)
    return CommandedRun(spec, study, Nobody(), cancel=cancel), study


@pytest.mark.parametrize("name", ["INT", "TERM", "HUP"])
def test_a_command_that_dies_of_the_signal_that_stops_us_is_no_failure_of_its_arm(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command is dead before the signal has reached us."""
    monkeypatch.setattr(commanded, "MOMENT", PATIENCE)
    cancel = threading.Event()
    run, study = run_of(f"sh -c 'kill -{name} $$'", cancel)
    threading.Timer(0.3, cancel.set).start()
    began = time.monotonic()
    assert run.until_done().how == "cancelled"
    assert time.monotonic() - began < PATIENCE
    log = study.storage.told(study.name)
    assert log.ends.tolist() == [End.STOPPED]


def test_a_command_that_dies_of_a_signal_of_its_own_has_failed(
    monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.setattr(commanded, "MOMENT", 0.01)
    cancel = threading.Event()
    run, study = run_of("sh -c 'kill -INT $$'", cancel)
    with refused(FirstMistake, snapshot):
        run.until_done()
    assert study.storage.studies() == []


def test_a_command_that_fails_while_we_stop_has_failed() -> None:
    cancel = threading.Event()
    run, study = run_of("sh -c 'exit 3'", cancel)
    (pull,) = study.ask(1)
    cancel.set()
    with run.commands:
        assert run._pulled(pull).reason == "exit code 3"
