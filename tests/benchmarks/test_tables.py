"""What benchmarks return, how it is shown, and what is kept of it for the next time."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest
from benchmarks.kept import keep, last_time
from benchmarks.processes import fresh
from benchmarks.tables import Row, line, peer, table
from syrupy.assertion import SnapshotAssertion

from benchmarks import __main__ as runner
from benchmarks import kept
from tests.support.snapshots import said


def test_what_is_wanted_and_whether_it_is_reached() -> None:
    assert [Row("a", 2.0, at_most=2).reached, Row("a", 2.1, at_most=2).reached] == [True, False]
    assert [Row("a", 2.0, at_least=2).reached, Row("a", 1.9, at_least=2).reached] == [True, False]
    assert Row("a", 5.0).reached
    assert Row("a", 0.05, at_most=0.1, unit="s").wanted == "≤ 0.1 s"
    assert "MISSED" in line(Row("a", 3.0, at_most=2))
    assert "wanted" not in line(Row("a", 3.0))


def test_a_run_is_found_again_as_it_was(tmp_path: Path) -> None:
    rows = [Row("a | b", 1.25, at_most=2, details="x", beside=peer("numpy")), Row("b", 3, at_least=1, unit="s")]
    keep("one", rows, tmp_path / "last")
    assert last_time(["one", "other"], tmp_path / "last") == {"one": rows}


def cells(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in text.splitlines()[2:]]


def test_one_table_of_what_is_and_what_was() -> None:
    before = {"one": [Row("a", 3.0, at_most=2), Row("gone", 1.0)], "slow": [Row("c", 7.0, at_least=9, beside="peer 1")]}
    now = {"one": [Row("a", 1.5, at_most=2), Row("new", 4.0)]}
    assert cells(table(now, before)) == [
        ["one", "a", "≤ 2 ×", "1.5 ×", "3 ×", "", ""],
        ["one", "new", "", "4 ×", "", "", ""],
        ["slow", "c", "≥ 9 ×", "", "7 ×", "MISSED", "peer 1"],
    ]
    assert len({len(row) for row in table(now, before).splitlines()}) == 1


@pytest.fixture
def counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A benchmark that measures how often it ran."""
    module, runs = ModuleType("benchmarks.counted"), iter(range(1, 10))
    module.main = lambda: iter([Row("runs", next(runs), at_most=1)])  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "benchmarks.counted", module)
    monkeypatch.setattr(runner, "SHORT", ("counted",))
    monkeypatch.setattr(runner, "LONG", ())
    monkeypatch.setattr(runner, "keep", lambda name, rows: keep(name, rows, tmp_path))
    monkeypatch.setattr(runner, "last_time", lambda names: last_time(names, tmp_path))
    return tmp_path


def test_the_runner_keeps_what_it_measured(
    counted: Path, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
) -> None:
    assert runner.main([]) == 0
    assert said(capsys.readouterr().out.splitlines()[-1]) == snapshot
    assert runner.main(["counted", "--discard"]) == 0
    assert "| 2 × | 1 × | MISSED |" in capsys.readouterr().out
    assert runner.main(["table"]) == 0
    assert said(capsys.readouterr().out.splitlines()[-1]) == snapshot
    assert runner.main(["counted"]) == 0
    assert last_time(["counted"], counted)["counted"][0].measured == 3


def test_another_scale_is_not_kept(counted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRONTGUARD_BENCH_SCALE", "0.1")
    assert runner.main([]) == 0
    assert list(counted.iterdir()) == []


def test_what_there_is_not(capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion) -> None:
    assert runner.main(["nothing"]) == 2
    assert said(capsys.readouterr().out.partition(";")[0]) == snapshot


def test_every_benchmark_is_there_and_what_is_kept_is_of_one() -> None:
    folder = kept.FOLDER.parent
    names = runner.SHORT + runner.LONG
    assert all("\ndef main(" in (folder / f"{name}.py").read_text(encoding="utf-8") for name in names)
    kept_names = {path.stem for path in kept.FOLDER.glob("*.json")}
    assert kept_names <= set(names)
    last_time(names)  # each can be read


def test_a_fresh_process_is_waited_for(tmp_path: Path) -> None:
    busy = "import time\nwhile time.process_time() < 0.2: pass\nprint('done')"
    run = fresh([sys.executable, "-c", busy], output=tmp_path / "out")
    assert (tmp_path / "out").read_text() == "done\n"
    assert 0.2 <= run.processor < 5
    assert run.wall > 0.1
    assert run.memory > 2**20
