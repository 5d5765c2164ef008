"""Commands that tests start heed signals, and those that are to ignore one ignore it."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tests.support.signals import IGNORED_BY_STARTERS, ignoring_signal, signals_of_a_terminal

KILLS_ITSELF = [sys.executable, "-c", "import os, sys; os.kill(os.getpid(), int(sys.argv[1])); print('alive')"]


@pytest.mark.parametrize("number", IGNORED_BY_STARTERS)
def test_what_we_were_told_to_ignore_is_not_passed_on(number: signal.Signals) -> None:
    before = signal.signal(number, signal.SIG_IGN)
    try:
        with signals_of_a_terminal():
            ended = subprocess.run([*KILLS_ITSELF, str(int(number))], capture_output=True, text=True, check=False)
            if number != signal.SIGINT:
                signal.raise_signal(number)  # does nothing to us
        assert signal.getsignal(number) is signal.SIG_IGN
    finally:
        signal.signal(number, before)
    assert ended.returncode == -number
    assert ended.stdout == ""


def test_ctrl_c_interrupts_us() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with signals_of_a_terminal(), pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_command_that_ignores_a_signal() -> None:
    command = [*ignoring_signal("HUP"), *KILLS_ITSELF, str(int(signal.SIGHUP))]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "alive\n"
