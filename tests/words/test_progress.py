"""How far the work is: lines that come late and seldom, a bar on a terminal, silence where it is quick."""

from __future__ import annotations

import io
import re
import time

import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard.logs.sort import LogProgress
from frontguard.words.terminal import ProgressDisplay
from tests.support.snapshots import said


def test_plain_progress_is_rare_and_estimates(monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    text = io.StringIO()
    lines = ProgressDisplay(text)
    for second, done in ((1.0, 10), (2.5, 20), (3.0, 30), (13.0, 60), (30.0, 100)):
        now[0] = second
        lines.show("MovieLens", done, 100, 80.0 - second)
    told = text.getvalue().splitlines()
    assert [re.findall(r"\d+", line) for line in told] == [["20", "100", "78"], ["60", "100", "67"]]
    assert said(text.getvalue()) == snapshot


def test_lines_of_progress_come_late_and_seldom(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    lines = ProgressDisplay()
    for second in range(30):
        now[0] = 100.0 + second
        lines.reading(LogProgress("reading", 1000 * second, 30_000, float(second), 30.0 - second))
    told = capsys.readouterr().err
    assert [re.findall(r"[\d,]*\d", line)[0] for line in told.splitlines()] == ["2,000", "12,000", "22,000"]
    assert said(told) == snapshot


def test_work_that_is_quick_or_done_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressDisplay() as display:
        display.show("MovieLens", 1, 2, None)
        display.counted("pulls read", 1, 2)
    with ProgressDisplay(first=0.0) as display:
        display.show("done", 2, 2, 0.0)
        display.counted("pulls read", 2, 2)
    assert capsys.readouterr() == ("", "")


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_on_a_terminal_there_is_a_bar_with_the_same_words_which_is_gone_in_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("NO_COLOR", "TERM", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    terminal = Terminal()
    with ProgressDisplay(terminal, first=0.0) as display:
        display.counted("pulls [read]", 1500, 3000)
    shown = terminal.getvalue()
    assert "1,500 of 3,000 pulls [read]" in shown
    assert "━" in shown
    assert "\x1b[2K" in shown  # the line is cleared
