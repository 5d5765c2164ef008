"""`frontguard run` on a terminal, with bad input, and on damaged files."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.cli.run.toy import (
    TWIN,
    run,
    write_spec,
)
from tests.cli.terminal import Terminal
from tests.support import warm
from tests.support.snapshots import said


def test_on_a_terminal_there_is_a_view_that_gives_way_to_the_answer(folder: Path) -> None:
    broken = '[[arm]]\nname = "broken"\ncost = 1\nsize = 1\ncommand = ["false"]\n'
    write_spec(folder, TWIN + broken, sleep=0.1)
    # Twins are never told apart: it goes on until it is interrupted, however seldom a busy machine draws the view.
    terminal = Terminal(warm.frontguard("run", "toy.toml", "--tolerance", "0"), folder, columns=100, rows=24)

    def intervals_and_warning(lines: list[str]) -> bool:
        text = "\n".join(lines)
        return "excluded" in text and "Certain within" in text and "Warning: arm 'broken'" in text

    assert terminal.wait_for(intervals_and_warning), "\n".join(terminal.lines)
    screen = terminal.lines
    head = next(place for place, text in enumerate(screen) if text.startswith("toy  "))
    assert re.match(r"toy  \d+ pulls, \d+ failed.*: .*1 excluded", screen[head])
    assert {"arm", "verdict"} <= set(screen[head + 1].split())
    names = ["broken", "fast", "poor", "small", "twin"]
    rows = {
        text.split()[0]: text for text in screen[head + 2 :] if text.startswith(tuple(f"{name} " for name in names))
    }
    assert sorted(rows) == names
    verdicts = ["beaten" if " beaten" in row else "excluded" if " excluded" in row else "open" for row in rows.values()]
    assert verdicts == sorted(verdicts, key=["open", "excluded", "beaten"].index)
    assert "[" in rows["small"]  # its interval
    assert re.match(r"broken +not measured .* excluded$", rows["broken"].rstrip())
    assert any("goal" in text for text in screen)
    assert sum("small " in text for text in screen) == 1  # drawn over, not again and again
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.finish() == 130
    whole = [*terminal.scrolled, *terminal.lines]
    assert not any("Certain within" in text for text in whole)  # the view has gone
    assert sum(text.startswith("small ") for text in whole) == 1  # and the table is there
    assert any(text.startswith("broken: ") for text in whole)
    assert terminal.raw.count("\x1b[?25l") == terminal.raw.count("\x1b[?25h")  # the cursor is back
    assert terminal.raw.count("Certain within") >= 2  # it was drawn several times


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["no.toml"],
        ["measure.sh"],
        ["toy.toml", "--arm", "a=true"],
        ["toy.toml", "--minimize", "cost"],
        ["--arm", "a=true"],
        ["toy.toml", "--tolerance", "2 percent"],
        ["toy.toml", "--tolerance", "price=2"],
        ["toy.toml", "--max-pulls", "0"],
        ["toy.toml", "--workers", "0"],
        ["toy.toml", "--max-time", "soon"],
        ["toy.toml", "--threat", "presient"],
        ["toy.toml", "--contamination", "0.7"],
        ["toy.toml", "--confidence", "95"],
        ["toy.toml", "--storage", "mysql://x"],
        ["toy.toml", "--storage", "."],
    ],
    ids=" ".join,
)
def test_bad_input_is_one_line_and_exit_code_2(arguments: list[str], folder: Path, snapshot: SnapshotAssertion) -> None:
    ran = run(folder, *arguments)
    assert ran.returncode == 2, ran.stderr
    assert ran.stdout == ""
    (line,) = ran.stderr.splitlines()
    assert said(line) == snapshot
    assert not list(folder.glob("*.db*"))


def test_a_study_of_other_arms_or_commands_is_not_taken_up(folder: Path, snapshot: SnapshotAssertion) -> None:
    assert run(folder, "toy.toml", "--max-pulls", "3").returncode == 3
    (folder / "toy.toml").write_text((folder / "toy.toml").read_text().replace("cost = 40", "cost = 50"))
    ran = run(folder, "toy.toml")
    assert ran.returncode == 2
    assert said(ran.stderr) == snapshot
    assert run(folder, "toy.toml", "--max-pulls", "3", "--study", "toy 2").returncode == 3


def test_a_damaged_file_is_refused_and_left_as_it_is(folder: Path) -> None:
    write_spec(folder, TWIN)
    assert run(folder, "toy.toml", "--max-pulls", "400", "--tolerance", "0").returncode == 3
    file = folder / "toy.db"
    whole = file.read_bytes()
    damaged = whole[:-4096]
    file.write_bytes(damaged)
    refused = run(folder, "toy.toml")
    assert refused.returncode == 2
    assert ".recover" in refused.stderr
    assert file.read_bytes() == damaged
