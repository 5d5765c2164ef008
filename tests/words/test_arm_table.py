"""The table of arms: its order, its cells, and how it looks on a terminal."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from frontguard.objectives import Objective
from frontguard.phrases import natural
from frontguard.results import Answer, Intervals, Profile
from frontguard.verdicts import Verdict
from frontguard.words.answers import answer, table
from frontguard.words.arm_table import arm_table, estimate_cells, on_terminal, order, order_by, shown
from frontguard.words.certificate import guarantee
from tests.words.results import of_log, result
from tests.words.snapshots import in_state, result_of, snapshot_of

METRICS = (Objective("seconds", "minimize", 0.1), Objective("bytes", "minimize", 0.1))


@pytest.fixture(scope="module")
def few() -> Answer:
    return snapshot_of(4, 2000)


def test_the_table_has_the_front_first_and_every_interval(few: Answer) -> None:
    console = Console(file=io.StringIO(), width=120, color_system=None)
    console.print(on_terminal(table(few), 120))
    rows = console.file.getvalue().splitlines()[1:]  # type: ignore[attr-defined]
    assert [row[:5] for row in rows] == ["arm 0", "arm 1", "arm 3", "arm 2"]
    ends = {name: [r.cells[name].beside for r in table(few).rows] for name in ("m0", "m1")}
    for place, row in enumerate(rows):
        assert all(each[place].startswith("[") and each[place] in row for each in ends.values())


def test_names_with_brackets_are_names_and_no_markup(few: Answer) -> None:
    result = replace(few, arms=("[red]a[/red]", "[b]", "[/]", "d"))
    shown = result
    console = Console(file=io.StringIO(), width=120, color_system=None)
    console.print(on_terminal(table(shown), 120))
    assert all(name in console.file.getvalue() for name in result.arms)  # type: ignore[attr-defined]


def test_cells_are_found_by_column_and_have_a_number_to_sort_by(few: Answer) -> None:
    stands = Profile(np.array([0.1, np.nan, 0.4999, 0.2]), 0.1, np.array([0.1]), np.array([1]), 0.001)
    result = in_state(few, failures={"arm 1": {"exit code 1": 3}})
    result = replace(result, log=of_log(4, profile=stands))
    made = arm_table(result, [2, 1])
    names = ["arm", "verdict", "m0", "m1", "pulls", "failed", "instead", "stands up to"]
    assert [column.name for column in made.columns] == names
    assert [(row.arm, list(row.cells)) for row in made.rows] == [(2, names), (1, names)]
    last, second = made.rows
    assert second.cells["failed"] == ("3", 3.0, "")
    assert last.cells["failed"].text == ""
    assert last.cells["m0"].value == pytest.approx(result.estimates[2, 0])
    assert last.cells["m0"].full == f"{last.cells['m0'].text} {last.cells['m0'].beside}"
    assert last.cells["instead"].text == result.replacement(2).by  # type: ignore[union-attr]
    assert second.cells["instead"].text == ""  # which is listed itself
    decided = arm_table(replace(result, goal="front"), [2, 1]).rows[0].cells["decided by"]
    assert decided.text == result.arms[int(result.decided_by[2])]
    assert (last.cells["stands up to"].text, second.cells["stands up to"].text) == ("< 50%", "")
    assert made.rest == "… and 2 keep"


def test_what_is_not_measured_is_said_and_comes_last(few: Answer) -> None:
    known = few.inner
    estimates, lower, upper = known.estimates.copy(), known.lower.copy(), known.upper.copy()
    estimates[1], lower[1], upper[1] = np.nan, -np.inf, np.inf
    result = replace(few, inner=Intervals(estimates, lower, upper))
    cell = arm_table(result, [1]).rows[0].cells["m0"]
    assert (cell.full, cell.value) == ("not measured", None)
    for turned in (False, True):
        assert order_by(result, "m0", turned=turned).tolist()[-1] == 1


def test_the_order_by_each_column(few: Answer) -> None:
    result = few
    assert order_by(result, "arm", turned=True).tolist() == [3, 2, 1, 0]
    assert order_by(result, "verdict").tolist() == order(result).tolist()
    assert order_by(result, "m0").tolist() == [0, 1, 2, 3]  # the fastest first
    assert order_by(result, "m0", turned=True).tolist() == [3, 2, 1, 0]
    failing = in_state(few, failures={"arm 1": {"exit code 1": 2}, "arm 2": {"exit code 1": 1}})
    assert order_by(failing, "failed").tolist() == [1, 2, 0, 3]
    pulls = result.pulls_per_arm[order_by(result, "pulls")].tolist()
    assert pulls == sorted(pulls, reverse=True)


def test_open_arms_get_room_beside_a_large_front_and_the_likely_ones_come_first(few: Answer) -> None:
    codes = np.array([Verdict.KEEP, Verdict.KEEP, Verdict.UNDECIDED, Verdict.UNDECIDED])
    result = replace(few, verdict_codes=codes)
    likely = np.array([False, False, False, True])
    assert order(result, likely).tolist() == [0, 1, 3, 2]
    assert shown(result, 2, likely).tolist() == [0, 3]


def test_within_a_verdict_names_have_their_natural_order() -> None:
    result = replace(result_of(6, METRICS), arms=("x1024", "x128", "X9", "y", "x10", "a"))
    codes = np.array([Verdict.KEEP, Verdict.KEEP, Verdict.KEEP, Verdict.BEATEN, Verdict.BEATEN, Verdict.BEATEN])
    result = replace(result, verdict_codes=codes)
    named = [result.arms[arm] for arm in order(result)]
    assert named == ["X9", "x128", "x1024", "a", "x10", "y"]
    assert [result.arms[arm] for arm in order_by(result, "arm")] == ["a", "X9", "x10", "x128", "x1024", "y"]


def test_of_a_million_arms_only_those_that_are_shown_are_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    count = 200_000
    keyed: list[str] = []

    def counted(name: str) -> object:
        keyed.append(name)
        return natural(name)

    monkeypatch.setattr("frontguard.words.arm_table.natural", counted)
    result = replace(result_of(1, METRICS), arms=tuple(sorted(f"x{i}" for i in range(count))))
    result = replace(result, verdict_codes=np.full(count, int(Verdict.BEATEN)))
    chosen = [result.arms[arm] for arm in shown(result, 30)]
    assert chosen == sorted(result.arms[:30], key=natural)
    assert len(keyed) <= 30


@pytest.mark.parametrize("status", ["certified", "budget", "running", "unreachable"])
def test_no_answer_lists_more_than_a_handful_of_names(status: str) -> None:
    result = replace(result_of(40, METRICS), status=status, arms=tuple(f"<{i}>" for i in range(40, 0, -1)))
    for verdict in (Verdict.KEEP, Verdict.EXCLUDED):
        codes = np.full(40, int(verdict))
        codes[0] = Verdict.KEEP
        said = answer(replace(result, verdict_codes=codes))
        said += guarantee(replace(result, verdict_codes=codes))
        assert said.count("<") <= 11  # kept one, and a handful of those that failed, twice
        assert ("… and" in said) == (verdict == Verdict.EXCLUDED)  # the table has those to keep


def test_what_is_exact_has_no_interval() -> None:
    size = Objective("bytes", "minimize", exact=True)
    rate = Objective("solved", "maximize", statistic="mean", bounds=(0, 1))
    ends = {"lower": [[-950.0, 0.8]], "upper": [[-950.0, 0.96]]}
    made = arm_table(result([Verdict.KEEP], [size, rate], **ends), [0])
    assert [column.below for column in made.columns[2:4]] == ["↓ exact", "↑ mean [low, high]"]
    assert [made.rows[0].cells[name].full for name in ("m0", "m1")] == ["950", "0.88 [0.80, 0.96]"]


@given(st.floats(-1e8, 1e8), st.floats(0.0, 1e3))
def test_printed_intervals_contain_what_the_intervals_do(low: float, width: float) -> None:
    """Ends are rounded outwards, but for what is beyond twelve digits."""
    score = Objective("score", "maximize")
    found = result([Verdict.KEEP], [score], lower=[[low]], upper=[[low + width]])
    cell = estimate_cells(found, 0, np.array([0]))[0]
    ends = cell.beside.strip("[]").split(", ") if cell.beside else [cell.text, cell.text]
    least, most = (float(end.replace(",", "")) for end in ends)
    assert least <= low + 1e-11 * abs(low)
    assert most >= low + width - 1e-11 * abs(low + width)
