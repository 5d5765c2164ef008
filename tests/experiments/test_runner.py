"""A plan is run once: stopped and gone on with, extended, or run with other workers, it is the same plan."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from frontguard.experiments import runner
from frontguard.experiments.results import Row
from frontguard.experiments.runner import Campaign, RunStore
from frontguard.experiments.setup import choose, contestants_named, settings_of
from frontguard.simulation import simulate


def plan(directory: Path, *, runs: int, seed: int = 0, fresh: bool = False) -> Campaign:
    settings = settings_of(choose("diabetes", None).experiments, [0.0, 0.1])
    store = RunStore(directory, fresh=fresh)
    return Campaign(settings, contestants_named(["rpsi"]), runs=runs, seed=seed, store=store)


def records(rows: list[Row]) -> list[dict[str, Any]]:
    return [asdict(row) | {"seconds": 0.0} for row in rows]  # measured, never the same twice


def test_resumed_and_extended_runs_are_those_of_one_go(tmp_path: Path) -> None:
    whole = plan(tmp_path / "whole", runs=10).execute(workers=1)
    part = plan(tmp_path / "parts", runs=3).execute(workers=2)
    begun = plan(tmp_path / "parts", runs=10)
    assert (begun.done, begun.total) == (6, 20)
    rest = begun.execute(workers=2)
    assert records(rest) == records(whole)
    assert records(part) != records(whole)
    again = plan(tmp_path / "parts", runs=10)
    assert again.done == 20
    assert again.execute() == rest  # even the seconds are the stored ones
    fewer = plan(tmp_path / "parts", runs=3)
    assert (fewer.done, records(fewer.execute())) == (6, records(part))


def test_another_seed_is_another_plan(tmp_path: Path) -> None:
    first = plan(tmp_path, runs=3).execute()
    other = plan(tmp_path, runs=3, seed=1)
    assert other.done == 0
    assert records(first) != records(other.execute())


def test_fresh_computes_again_and_gets_the_same(tmp_path: Path) -> None:
    first = plan(tmp_path, runs=3).execute()
    second = plan(tmp_path, runs=3, fresh=True)
    assert second.done == 0
    assert records(first) == records(second.execute())


def test_an_interruption_keeps_finished_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    true_simulate = simulate
    calls = 0

    def interrupted(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise KeyboardInterrupt
        return true_simulate(*arguments, **options)

    monkeypatch.setattr(runner, "simulate", interrupted)
    monkeypatch.setattr(runner, "CHUNK", 4)
    stopped = plan(tmp_path, runs=6)
    with pytest.raises(KeyboardInterrupt):
        stopped.execute()
    assert stopped.done == 4
    monkeypatch.setattr(runner, "simulate", true_simulate)
    rest = plan(tmp_path, runs=6)
    assert rest.done == 4
    assert [row.runs for row in rest.execute()] == [6, 6]


def test_the_judgement_is_the_experiments_own(tmp_path: Path) -> None:
    """R-PSI on the diabetes table is Pareto accurate, at a cost of the published order of magnitude."""
    row = asdict(plan(tmp_path, runs=5).execute()[1])
    assert (row["dataset"], row["policy"], row["contamination"], row["runs"]) == ("diabetes", "rpsi", 0.1, 5)
    assert row["rsr"] == 1.0
    assert row["published_sc"] == 5067.2
    assert 0.5 < row["sc"] / row["published_sc"] < 5.0
