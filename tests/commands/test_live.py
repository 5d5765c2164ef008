"""The view of a running study, on studies in memory."""

from __future__ import annotations

import io
import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.live import Live

from frontguard import Objective
from frontguard.commands.run import Pace, View, drawn
from frontguard.phrases import LEAST_NAME
from frontguard.policies.forecast import likely
from frontguard.results import Answer
from frontguard.studies import Study
from frontguard.verdicts import Verdict
from frontguard.words.answers import in_a_line
from frontguard.words.arm_table import arm_table
from frontguard.words.terminal import console
from tests.words.snapshots import exclude, in_state, result_of, snapshot_of


@pytest.fixture(scope="module")
def few() -> Answer:
    return snapshot_of(4, 2000)


@pytest.fixture(scope="module")
def many() -> Answer:
    return snapshot_of(60, 700)


def on_screen(snapshot: Answer, width: int, height: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width, height=height, color_system=None)
    console.print(drawn(snapshot, width - 1, height - 1))
    return console.file.getvalue().splitlines()  # type: ignore[attr-defined, no-any-return]


# The screen -----------------------------------------------------------------------------------------------------------


@given(st.integers(40, 200), st.integers(8, 60))
def test_the_view_fits_any_screen(many: Answer, width: int, height: int) -> None:
    lines = on_screen(in_state(many, preparing=("arm 7",), pulls_left=10**6), width, height)
    assert len(lines) <= height - 1
    assert all(cell_len(text) < width for text in lines)


def test_each_arm_shows_estimate_interval_and_verdict(few: Answer) -> None:
    shown = in_state(few, failures={"arm 1": Counter({"exit code 1": 3})}, seconds=75.0, under_way=2)
    lines = on_screen(shown, 100, 30)
    assert lines[0].startswith(f"study  {few.pulls:,} pulls, 3 failed, 2 under way, 1 min 15 s: ")
    assert lines[1].split() == ["arm", "seconds", "↓", "median", "score", "↑", "p90", "verdict"]
    rows = {text[:5]: text for text in lines[2:6]}
    assert list(rows) == ["arm 0", "arm 1", "arm 3", "arm 2"]  # which is out
    for name, row in rows.items():
        i = few.arms.index(name)
        assert f"  {few.verdicts[name]}" in row
        cell = arm_table(few, [i]).rows[0].cells["m0"]
        assert cell.text.rstrip("0") in row
        assert cell.beside.split(", ")[1].rstrip("0]") in row


def test_names_with_brackets_are_names_and_no_markup(few: Answer) -> None:
    result = replace(few, arms=("[red]a[/red]", "[b]", "[/]", "d"))
    assert all(name in "\n".join(on_screen(result, 100, 30)) for name in result.arms)


def test_those_that_matter_come_first_where_not_all_fit(many: Answer) -> None:
    codes = many.verdict_codes.copy()
    codes[:] = 2
    codes[[50, 51]] = 1
    codes[55] = 0
    result = replace(many, verdict_codes=codes)
    lines = on_screen(exclude(result, "arm 59"), 100, 16)
    rows = [text for text in lines if text.startswith("arm ") and "verdict" not in text]
    assert [row.split()[1] for row in rows[:4]] == ["50", "51", "55", "59"]
    assert "excluded" in rows[3]
    hidden = 60 - len(rows)
    assert f"… and {hidden} beaten" in lines


def rows_of(lines: list[str]) -> list[str]:
    return [line.split("  ")[0] for line in lines[2:] if line.startswith("arm")]


def test_the_front_comes_first_then_what_is_open_and_arms_stay_where_they_are(many: Answer) -> None:
    """At 80 by 24, with 40 arms: numbers that move leave the arms where they are; a verdict moves one."""
    rng = np.random.default_rng(3)
    arms = tuple(f"arm{i}" for i in rng.permutation(60))
    codes = np.full(60, int(Verdict.BEATEN))
    inside, opened = [f"arm{i}" for i in (3, 20, 110 - 70)], [f"arm{i}" for i in (5, 9, 10, 11, 51)]
    for names, verdict in ((inside, Verdict.KEEP), (opened, Verdict.UNDECIDED)):
        codes[[arms.index(name) for name in names]] = verdict
    result = replace(many, arms=arms, verdict_codes=codes)
    frames = []
    for _ in range(3):
        moved = replace(result, inner=replace(result.inner, estimates=rng.uniform(0.1, 0.9, result.estimates.shape)))
        frames.append(rows_of(on_screen(moved, 80, 24)))
    assert frames[0][:8] == [*inside, *opened]
    assert frames[0] == frames[1] == frames[2]
    hidden = 60 - len(frames[0])
    assert f"… and {hidden} beaten" in on_screen(result, 80, 24)
    codes[arms.index("arm10")] = Verdict.KEEP
    later = rows_of(on_screen(replace(result, verdict_codes=codes), 80, 24))
    assert later[:8] == ["arm3", "arm10", "arm20", "arm40", "arm5", "arm9", "arm11", "arm51"]


VERDICTS = {verdict.word for verdict in Verdict}
LONG = ("x", "compile-with-some-options-30ch", "名前テスト🎉" * 20, "compile-with-options-" * 6)


@pytest.mark.parametrize("name", LONG)
@pytest.mark.parametrize("metrics", [1, 3, 6])
def test_however_long_names_are_each_row_has_one_of_its_own_and_no_number_is_cut(name: str, metrics: int) -> None:
    objectives = tuple(Objective(f"{name[:40]}{d}", "minimize", 0.1) for d in range(metrics))
    result = replace(result_of(8, objectives), arms=tuple(f"{name}{i}{name}" for i in range(8)))
    shown = result
    for height in range(8, 24):
        assert len(on_screen(shown, 60, height)) < height
    numbers = {cell.text for row in arm_table(result, range(8)).rows for cell in row.cells.values() if cell.text}
    for width in (40, 60, 80, 120):
        lines = on_screen(shown, width, 24)
        rows = [line for line in lines if VERDICTS & {*re.split(" {2,}", line)[-1:]}]
        assert all(cell_len(line) < width for line in lines)
        called = [row.split("  ")[0] for row in rows]
        assert len(set(called)) == len(rows) >= 4
        assert all(cell_len(each) >= min(cell_len(result.arms[0]), LEAST_NAME) for each in called)
        assert all(any(text in row.split() for text in numbers) for row in rows)
        assert not any(row.endswith("…") for row in rows)


def test_the_foot_has_the_certificate_the_goal_and_the_forecast(few: Answer) -> None:
    shown = in_state(
        few,
        pulls_left=1234,
        pulls_left_range=likely(1234, few.pulls),
        pulls_a_second=10.0,
        preparing=("arm 2",),
        max_pulls=100,
    )
    text = "\n".join(on_screen(shown, 100, 30))
    assert "Certain within " in text
    assert "(goal 5%)" in text
    assert re.search(r"About 490 to 2,[0-9]00 more runs \(49 s to 4\.[0-9] min\)", text)
    assert "budget of 100 runs" in text
    assert "Preparing arm 2" in text
    assert "not known yet" in "\n".join(on_screen(few, 100, 30))


def test_news_stay_above_the_view(few: Answer) -> None:
    screen_of = console(file=io.StringIO(), width=80, height=24, force_terminal=True, color_system=None)
    with Live(console=screen_of, auto_refresh=False, transient=True) as live:
        screen = View(None, live)
        screen.show(lambda: few)
        screen.say("[b]arm 3[/b] was excluded", warning=True)
    lines = screen_of.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert any(line.endswith("Warning: [b]arm 3[/b] was excluded") for line in lines)


def test_a_terminal_without_utf8_gets_plain_characters(many: Answer) -> None:
    console = Console(file=io.StringIO(), width=100, color_system=None)
    console.print(drawn(many, 99, 29, plain=True))
    assert console.file.getvalue().isascii()  # type: ignore[attr-defined]


# When ---------------------------------------------------------------------------------------------------------------


class Watched:
    """A clock, and a pace that goes by it: looks take as long as they are told to."""

    def __init__(self) -> None:
        self.now, self.looking = 0.0, 0.0
        self.pace = Pace(clock=lambda: self.now)

    def look(self, took: float) -> bool:
        """Whether it was time to look."""
        before = self.looking

        def look() -> None:
            self.now += took
            self.looking += took

        self.pace.look_if_due(look)
        return self.looking > before


def test_looking_takes_two_percent_of_the_time_at_most() -> None:
    watched = Watched()
    for _ in range(10_000):
        watched.now += 0.1
        watched.look(0.03)
    assert 0.01 * watched.now < watched.looking < 0.02 * watched.now


def test_a_look_that_takes_long_once_is_not_held_against_the_next() -> None:
    watched = Watched()
    for took in (2.0, 0.01, 2.0, 0.01, 2.0):
        assert watched.look(took)
        watched.now += 0.51
    assert watched.look(2.0)
    watched.now += 99.0
    assert not watched.look(2.0)  # two of them in a row
    watched.now += 1.1
    assert watched.look(2.0)


def test_plain_lines_come_after_two_seconds_and_then_every_ten(few: Answer) -> None:
    now = 0.0
    stream = io.StringIO()
    lines = View(stream, clock=lambda: now)
    written = []
    for tenth in range(400):
        now = tenth / 10
        before = stream.tell()
        lines.show(lambda: few)
        if stream.tell() > before:
            written.append(now)
    assert written == [2.0, 12.0, 22.0, 32.0]
    assert stream.getvalue().splitlines()[0] == in_a_line(few)


def test_news_are_written_at_once() -> None:
    stream = io.StringIO()
    View(stream).say("arm 'x' failed", warning=True)
    assert stream.getvalue() == "warning: arm 'x' failed\n"


def test_exact_values_and_rates_are_shown_as_what_they_are() -> None:
    study = Study(
        ["a", "b"],
        [
            Objective("solved", "maximize", tolerance=0.3, statistic="mean", bounds=(0, 1)),
            Objective("bytes", "maximize", exact=True),
        ],
        contamination=0.0,
    )
    study.tell_many([(pull, [pull.id % 2 == 0, 950.0]) for pull in study.ask(20)])
    lines = on_screen(study.result(), 100, 20)
    heading = "\n".join(lines[1:3])
    assert "mean" in heading
    assert "exact" in heading
    assert all("950" in line for line in lines if line.startswith(("a ", "b ")))
