"""The audit: every cell keeps to δ, and each fault that was found once is found again when it is planted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from frontguard.audit import cells
from frontguard.audit.cells import CELLS, DELTA, Rng
from frontguard.audit.runner import audit, lower_limit, upper_limit
from frontguard.errors import BadInput
from tests.cli.commands import run
from tests.documents.printed import as_published

FEW = (2, 6)
"""Runs that are enough to see a fault that shows in most of them: five false ones of six refute δ, and once two were
true there will be no five."""


@pytest.mark.parametrize("name", CELLS)
def test_what_is_printed_is_false_no_more_often_than_promised(name: str) -> None:
    for runs in FEW:
        (outcome,) = audit([name], runs=runs)
        assert outcome.answers >= runs
        if not outcome.false:
            return
    assert not outcome.refuted, outcome.kinds


def test_two_true_runs_decide_over_six() -> None:
    first, most = FEW
    assert lower_limit(most - first, most) < DELTA < lower_limit(most - first + 1, most)


@pytest.mark.audit
@pytest.mark.parametrize("name", CELLS)
def test_a_thousand_runs_of_each_cell(name: str) -> None:
    (outcome,) = audit([name], runs=1000, seed=1)
    assert not outcome.refuted, outcome.kinds


def test_limits_are_exact() -> None:
    from scipy.stats import binom

    for hits, runs in ((0, 16), (3, 16), (9, 16), (40, 200)):
        assert binom.cdf(hits, runs, upper_limit(hits, runs)) == pytest.approx(0.001)
        if hits:
            assert binom.sf(hits - 1, runs, lower_limit(hits, runs)) == pytest.approx(1e-4)


def test_the_same_seed_is_the_same_run() -> None:
    first, again, other = (audit(["budget-over"], runs=2, seed=seed)[0].answers for seed in (3, 3, 4))
    assert first == again != other


def test_the_command_answers_and_says_what_it_does_not_know(tmp_path: Path) -> None:
    ran = run("audit", "atoms", "ties", "--runs", "2", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("In 2 cells of 2 runs each, false statements are not more frequent than promised")
    printed = as_published("audit", run("audit", "atoms", "--runs", "1", "--json", cwd=tmp_path).stdout)
    assert (printed["kept"], printed["delta"]) == (True, 0.1)
    assert [cell["cell"] for cell in printed["cells"]] == ["atoms"]
    assert "| atoms |" in run("audit", "atoms", "--runs", "1", "--markdown", cwd=tmp_path).stdout
    wrong = run("audit", "tie", cwd=tmp_path)
    assert wrong.returncode == 2
    assert "'tie' is none of the audit's (did you mean 'ties'?)" in wrong.stderr
    with pytest.raises(BadInput, match="runs"):
        audit(["ties"], runs=0)


def test_a_refuted_promise_is_said_and_gives_another_exit_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lies(rng: Rng) -> Iterator[object]:
        for truth, result in CELLS["atoms"].answers(rng):
            result.inner.lower[:] = np.inf
            yield truth, result

    monkeypatch.setitem(CELLS, "lies", cells.Cell("lies", "Everything is false", lies))  # type: ignore[arg-type]
    ran = run("audit", "lies", "--runs", "5", cwd=tmp_path)
    assert ran.returncode == 1
    assert "more often than promised in 1 of 1 cell (5 runs each): lies" in " ".join(ran.stdout.split())
