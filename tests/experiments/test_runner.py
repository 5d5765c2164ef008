"""A plan is run once: stopped and gone on with, extended, or run with other workers, it is the same plan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from frontguard.experiments import runner
from frontguard.experiments.results import as_record
from frontguard.experiments.runner import Campaign, RunStore
from frontguard.experiments.setup import choose, contestants_named, settings_of
from frontguard.simulation import simulate


def plan(directory: Path, *, runs: int, seed: int = 0, fresh: bool = False) -> Campaign:
    settings = settings_of(choose("diabetes", None).experiments, [0.0, 0.1])
    store = RunStore(directory, fresh=fresh)
    return Campaign(settings, contestants_named(["rpsi"]), runs=runs, seed=seed, store=store)


def records(outcome: runner.Execution) -> list[dict[str, Any]]:
    rows = [as_record(result) for result in outcome.results]
    for row in rows:
        del row["seconds"]  # measured, never the same twice
    return rows


def test_resumed_and_extended_runs_are_those_of_one_go(tmp_path: Path) -> None:
    whole = plan(tmp_path / "whole", runs=10).execute(workers=1)
    assert (whole.resumed, whole.computed) == (0, 20)
    part = plan(tmp_path / "parts", runs=3).execute(workers=2)
    rest = plan(tmp_path / "parts", runs=10).execute(workers=2)
    assert (rest.resumed, rest.computed) == (6, 14)
    assert records(rest) == records(whole)
    assert records(part) != records(whole)
    again = plan(tmp_path / "parts", runs=10).execute()
    assert (again.resumed, again.computed) == (20, 0)
    assert records(again) == records(whole)
    fewer = plan(tmp_path / "parts", runs=3).execute()
    assert (fewer.computed, records(fewer)) == (0, records(part))


def test_another_seed_is_another_plan(tmp_path: Path) -> None:
    first = plan(tmp_path, runs=3).execute()
    other = plan(tmp_path, runs=3, seed=1).execute()
    assert other.resumed == 0
    assert records(first) != records(other)


def test_fresh_computes_again_and_gets_the_same(tmp_path: Path) -> None:
    first = plan(tmp_path, runs=3).execute()
    second = plan(tmp_path, runs=3, fresh=True).execute()
    assert (second.resumed, second.computed) == (0, 6)
    assert records(first) == records(second)


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
    stopped = plan(tmp_path, runs=6)
    with pytest.raises(KeyboardInterrupt):
        stopped.execute()
    assert stopped.done == 1  # the first chunk of a policy is one run
    monkeypatch.setattr(runner, "simulate", true_simulate)
    rest = plan(tmp_path, runs=6).execute()
    assert (rest.resumed, rest.computed) == (1, 11)


def test_the_judgement_is_the_experiments_own(tmp_path: Path) -> None:
    """R-PSI on the diabetes table is Pareto accurate, at a cost of the published order of magnitude."""
    row = as_record(plan(tmp_path, runs=5).execute().results[1])
    assert (row["dataset"], row["policy"], row["contamination"], row["runs"]) == ("diabetes", "rpsi", 0.1, 5)
    assert row["rsr"] == 1.0
    assert row["published_sc"] == 5067.2
    assert 0.5 < row["sc"] / row["published_sc"] < 5.0
