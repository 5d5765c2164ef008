"""The table of arms on terminals of any width: names stay, numbers are whole, what is left out is said."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import numpy as np
import pytest
from rich.cells import cell_len
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from frontguard.objectives import Objective
from frontguard.phrases import LEAST_NAME
from frontguard.results import Profile
from frontguard.words.arm_table import ArmTable, arm_table, on_terminal, shown
from tests.support.snapshots import said
from tests.words.results import of_log
from tests.words.snapshots import result_of

WIDTHS = (40, 60, 80, 120)
NAMES = {
    "three": lambda i: f"a{i:02}",
    "thirty": lambda i: f"compile-with-some-options-{i:04}",
    "in the middle": lambda i: f"{'begin-' * 10}{i:04}{'-end' * 14}",
    "wide": lambda i: f"{'名前テスト🎉' * 9}{i:04}{'終わり' * 3}",
    "hostile": lambda i: f"\x1b]0;\n{i}\t" + "x" * 50,
}


def made(arms: int, name: str, metrics: int, metric: str = "seconds_of_wall_clock_time") -> ArmTable:
    objectives = tuple(Objective(f"{metric}_{d}", "minimize", 0.1) for d in range(metrics))
    result = replace(result_of(arms, objectives), arms=tuple(map(NAMES[name], range(arms))))
    rng = np.random.default_rng(1)
    failed, stands = rng.integers(0, 9, arms), rng.random(arms) / 2.0
    profile = Profile(stands, 0.1, np.array([0.1]), np.array([1]), 0.001)
    result = replace(result, log=of_log(arms, metrics, failed_pulls=failed, profile=profile))
    return arm_table(result, shown(result, 40))


def printed(table: ArmTable, width: int) -> tuple[list[str], str]:
    found = on_terminal(table, width, "--csv FILE")
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(found.table)
    return console.file.getvalue().splitlines(), found.left_out  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("metrics", [1, 2, 3, 6])
@pytest.mark.parametrize("width", WIDTHS)
def test_every_row_has_a_name_of_its_own_and_whole_numbers(name: str, metrics: int, width: int) -> None:
    table = made(40, name, metrics)
    lines, left_out = printed(table, width)
    assert all(cell_len(line) <= width for line in lines)
    rows = [line for line in lines if re.search(r"  (keep|beaten|matched|undecided|excluded)( |$)", line)]
    assert len(rows) == 40
    called = [re.split(r" {2,}", row)[0] for row in rows]
    assert len(set(called)) == 40
    longest = max(cell_len(row.cells["arm"].text) for row in table.rows)
    assert max(map(cell_len, called)) >= min(LEAST_NAME, longest)
    first = table.rows[0]
    assert first.cells["m0"].text in rows[0].split()  # the first metric is never left out, nor half a number shown
    text = "\n".join(lines)
    assert "\x1b" not in text
    for column in table.columns[1:]:
        if not column.name.startswith("m"):
            cells = [row.cells[column.name].text for row in table.rows]
            there = column.heading.split()[0] in text
            assert there or column.heading in left_out
            if column.number and there:
                assert all(cell in row for cell, row in zip(cells, rows, strict=True))
    assert ("the intervals" in left_out) == ("[" not in "\n".join(lines[1:]).replace("[low, high]", ""))


def test_whoever_decides_is_called_as_in_the_first_column() -> None:
    lines, _ = printed(made(6, "in the middle", 1, "s"), 120)
    head = next(line for line in lines if "decided" in line)
    place = head.index("decided")
    rows = [line for line in lines if "…" in line]
    called = {row.split()[0] for row in rows}
    deciders = {row[place:].split()[0] for row in rows if row[place : place + 1].strip()}
    assert deciders
    assert deciders <= called


def test_what_is_left_out_is_said_with_the_width_at_which_it_is_there(snapshot: SnapshotAssertion) -> None:
    table = made(5, "thirty", 3, "s")
    _, left_out = printed(table, 80)
    assert said(left_out) == snapshot
    (wide_enough,) = map(int, re.findall(r"\d+", left_out))
    lines, left_out = printed(table, wide_enough)
    assert said(left_out) == snapshot  # parts of names
    assert all(word in "\n".join(lines) for word in ("decided", "stands", "median [low, high]"))
    for width in (wide_enough + 20, 300):
        lines, left_out = printed(table, width)
    assert left_out == ""
    assert all(NAMES["thirty"](i) in "\n".join(lines) for i in range(5))


def test_columns_without_an_entry_are_not_there() -> None:
    result = replace(result_of(3, (Objective("s", "maximize"),)), decided_by=np.full(3, -1))
    lines, left_out = printed(arm_table(result, [0, 1, 2]), 80)
    assert "failed" not in lines[0]
    assert "decided" not in lines[0]
    assert left_out == ""


def test_metrics_whose_names_differ_only_in_the_middle_have_headings_of_their_own() -> None:
    names = [f"{'begin_' * 9}{word}{'_end' * 9}" for word in ("left", "right")]
    result = result_of(3, tuple(Objective(name, "maximize") for name in names))
    lines, _ = printed(arm_table(result, [0, 1, 2], deciders=False), 60)
    heading = "".join(lines[:2])
    assert "left" in heading
    assert "right" in heading
