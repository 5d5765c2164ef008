"""The table of arms on terminals of any width: names stay, numbers are whole, what is left out is said."""

from __future__ import annotations

import io
import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from rich.cells import cell_len
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from frontguard.objectives import Objective
from frontguard.phrases import LEAST_NAME
from frontguard.words.arm_table import ArmTable, arm_table, on_terminal, shown
from tests.support.snapshots import said
from tests.words.snapshots import result_of

WIDTHS = (40, 60, 80, 120)
NAMES = {
    "three": lambda i: f"a{i:02}",
    "thirty": lambda i: f"compile-with-some-options-{i:04}",
    "in the middle": lambda i: f"{'begin-' * 10}{i:04}{'-end' * 14}",
    "wide": lambda i: f"{'名前テスト🎉' * 9}{i:04}{'終わり' * 3}",
    "hostile": lambda i: f"\x1b]0;\n{i}\t" + "x" * 50,
}
VERDICTS = "keep|beaten|matched|undecided|excluded"


def made(arms: int, name: str, metrics: int, metric: str = "seconds_of_wall_clock_time") -> ArmTable:
    objectives = tuple(Objective(f"{metric}_{d}", "minimize", 0.1) for d in range(metrics))
    result = replace(result_of(arms, objectives), arms=tuple(map(NAMES[name], range(arms))))
    return arm_table(result, shown(result, 40))


def printed(table: ArmTable, width: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(on_terminal(table, width, "--csv FILE"))
    return console.file.getvalue().splitlines()  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("metrics", [1, 2, 3, 6])
@pytest.mark.parametrize("width", WIDTHS)
def test_every_row_has_a_name_of_its_own_and_whole_numbers(name: str, metrics: int, width: int) -> None:
    table = made(40, name, metrics)
    lines = printed(table, width)
    noted = " ".join(lines).partition("not shown: ")[2]
    assert all(cell_len(line) <= width for line in lines if "shown" not in line)
    rows = [line for line in lines if re.search(rf"  ({VERDICTS})( |$)", line)]
    assert len(rows) == 40
    called = [re.split(r" {2,}", row)[0] for row in rows]
    assert len(set(called)) == 40
    longest = max(cell_len(row.cells["arm"].text) for row in table.rows)
    assert max(map(cell_len, called)) >= min(LEAST_NAME, longest)
    assert table.rows[0].cells["m0"].text in rows[0].split()  # the first metric is never left out, nor half a number
    assert "\x1b" not in "\n".join(lines)
    for row, line in zip(table.rows, rows, strict=True):
        there = (Counter(row.cells[f"m{d}"].text for d in range(metrics)) & Counter(line.split())).total()
        assert there + noted.count("median") == metrics
    assert ("the intervals" in noted) == ("[" not in "\n".join(lines[1:]))


def test_whoever_decides_is_called_as_in_the_first_column() -> None:
    lines = printed(made(6, "in the middle", 1, "s"), 120)
    rows = [line for line in lines if "…" in line]
    called = {row.split()[0] for row in rows}
    deciders = {row.split(" by ")[1] for row in rows if " by " in row}
    assert deciders
    assert deciders <= called


def test_what_is_left_out_is_said_until_there_is_room(snapshot: SnapshotAssertion) -> None:
    table = made(5, "thirty", 3, "s")
    assert said("\n".join(printed(table, 44))) == snapshot
    for width in (120, 300):
        assert "not shown" not in "\n".join(printed(table, width))
    assert all(NAMES["thirty"](i) in "\n".join(printed(table, 300)) for i in range(5))


def test_arms_that_nobody_decides_have_a_verdict_alone() -> None:
    result = replace(result_of(3, (Objective("s", "maximize"),)), decided_by=np.full(3, -1))
    lines = printed(arm_table(result, [0, 1, 2]), 80)
    assert all(re.search(rf"  ({VERDICTS})$", line) for line in lines[1:])


def test_metrics_whose_names_differ_only_in_the_middle_have_headings_of_their_own() -> None:
    names = [f"{'begin_' * 9}{word}{'_end' * 9}" for word in ("left", "right")]
    result = result_of(3, tuple(Objective(name, "maximize") for name in names))
    lines = printed(arm_table(result, [0, 1, 2], deciders=False), 60)
    heading = "".join(lines[:3])
    assert "left" in heading
    assert "right" in heading
