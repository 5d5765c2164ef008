"""The audit: every cell keeps to δ, and each fault that was found once is found again when it is planted."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from audit.__main__ import REFUTED, main
from audit.cells import CELLS, DELTA, Cell, Rng
from audit.runner import lower_limit, run_cell, upper_limit

FEW = (2, 6)
"""Runs that are enough to see a fault that shows in most of them: five false ones of six refute δ, and once two were
true there will be no five."""


@pytest.mark.parametrize("name", CELLS)
def test_what_is_printed_is_false_no_more_often_than_promised(name: str) -> None:
    for runs in FEW:
        outcome = run_cell(CELLS[name], runs)
        assert outcome.answers >= runs
        if not outcome.false:
            return
    assert not outcome.refuted, outcome.kinds


def test_two_true_runs_decide_over_six() -> None:
    first, most = FEW
    assert lower_limit(most - first, most) < DELTA < lower_limit(most - first + 1, most)


def test_limits_are_exact() -> None:
    from scipy.stats import binom

    for hits, runs in ((0, 16), (3, 16), (9, 16), (40, 200)):
        assert binom.cdf(hits, runs, upper_limit(hits, runs)) == pytest.approx(0.001)
        if hits:
            assert binom.sf(hits - 1, runs, lower_limit(hits, runs)) == pytest.approx(1e-4)


def test_the_same_seed_is_the_same_run() -> None:
    first, again, other = (run_cell(CELLS["budget-over"], 2, seed).answers for seed in (3, 3, 4))
    assert first == again != other


def test_the_command_prints_a_row_of_each_cell(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["atoms", "ties", "--runs", "2"]) == 0
    rows = [line.split(" | ") for line in capsys.readouterr().out.splitlines()]
    assert [(row[0], row[2]) for row in rows[2:]] == [("| atoms", "2"), ("| ties", "2")]


@pytest.mark.parametrize("wrong", [["tie"], ["ties", "--runs", "0"]])
def test_the_command_refuses_what_it_does_not_know(wrong: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(wrong)
    assert ended.value.code == 2


def test_a_refuted_promise_gives_another_exit_code(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def lies(rng: Rng) -> Iterator[object]:
        for truth, result in CELLS["atoms"].answers(rng):
            result.inner.lower[:] = np.inf
            yield truth, result

    monkeypatch.setitem(CELLS, "lies", Cell("lies", "Everything is false", lies))  # type: ignore[arg-type]
    assert main(["lies", "--runs", "5"]) == REFUTED
    out, err = capsys.readouterr()
    assert out.splitlines()[-1].split(" | ")[2:4] == ["5", "5"]
    assert "lies: " in err
    assert "interval in 5 runs" in err
