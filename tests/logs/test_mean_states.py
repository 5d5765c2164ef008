"""States of logs whose means count: appended, merged, sketched, and refused where they do not fit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import BadInput, Malicious, Objective, Prescient, Share, analyze
from frontguard.logs.state import LogState
from frontguard.notices import TakenAsRate
from tests.support.snapshots import refused

SOLVED = Objective("solved", "maximize", statistic="mean", bounds=(0, 1))
STARS = Objective("stars", "minimize", statistic="mean", bounds=(1, 5))
SIZE = Objective("size", "minimize", exact=True)
ASKED: dict[str, Any] = {"objectives": [SOLVED, STARS, SIZE], "contamination": 0.03}


def part(folder: Path, seed: int, rows: int = 200) -> Path:
    rng = np.random.default_rng(seed)
    arm = rng.integers(0, 3, rows)
    columns = {
        "arm": np.array(["a", "b", "c"])[arm],
        "solved": (rng.random(rows) < 0.3 + 0.2 * arm).astype(int),
        "stars": np.clip(rng.normal(3 + 0.2 * arm, 1, rows), 1, 5),
        "size": 10.0 + arm,
    }
    path = folder / f"{seed}.csv"
    pd.DataFrame(columns).to_csv(path, index=False)
    return path


def same(first: Any, second: Any, *, within: float = 0.0) -> None:
    assert first.verdicts == second.verdicts
    for name in ("lower", "upper"):
        np.testing.assert_allclose(getattr(first, name), getattr(second, name), rtol=within, atol=within)


def test_appended_parts_answer_as_one_log(tmp_path: Path) -> None:
    parts = [part(tmp_path, seed) for seed in range(3)]
    state = tmp_path / "state"
    for path in parts:
        found = analyze(path, append=state, **ASKED)
    whole = analyze(parts, **ASKED, anytime=True)
    same(found, whole)
    same(analyze(state, **ASKED), whole)
    assert LogState.load(state).about["bounds"] == {"solved": [0.0, 1.0], "stars": [1.0, 5.0]}


def test_a_state_of_other_bounds_is_not_merged_and_its_own_are_taken(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    state, other = tmp_path / "state", part(tmp_path, 2)
    analyze(part(tmp_path, 1), append=state, objectives=[SOLVED, STARS], contamination=0.0)
    for changed in (replace(STARS, bounds=(0, 5)), Objective("stars", "minimize", quantile=0.5)):
        with refused(BadInput, snapshot):
            analyze(other, append=state, objectives=[SOLVED, changed], contamination=0.0)
    asked = analyze(state, maximize="solved", minimize="stars", contamination=0.0)
    assert [each.bounds for each in asked.metrics] == [(0.0, 1.0), (1.0, 5.0)]
    with refused(BadInput, snapshot):
        analyze(state, objectives=[replace(STARS, bounds=(2, 4))])


def test_truths_stay_a_rate_in_a_state(tmp_path: Path) -> None:
    columns = {"arm": ["a", "b"] * 50, "ok": [True, False, True, True] * 25}
    state = tmp_path / "state"
    first = analyze(columns, maximize="ok", append=state, contamination=0.0)
    again = analyze(state, maximize="ok", contamination=0.0)
    assert TakenAsRate("ok") in first.notices
    assert again.metrics == first.metrics
    same(first, again)


@pytest.mark.parametrize("threat", [Prescient(0.03), Malicious(0.03), Share(0.03)], ids=str)
@pytest.mark.parametrize("anytime", [False, True])
def test_sketches_keep_the_sums_of_means_exactly(tmp_path: Path, threat: Any, anytime: bool) -> None:
    parts = [part(tmp_path, seed, 1500) for seed in range(3)]
    asked = {**ASKED, "threat": threat, "contamination": None, "anytime": anytime, "profile": False}
    state = tmp_path / "state"
    for path in parts:
        found = analyze(path, append=state, sketch=100, **asked)
    same(found, analyze(state, **asked))
    share = 0.9 if anytime or _compacted(state) else 1.0  # sketches have a part of δ, whatever is asked of them
    whole = analyze(parts, **{**asked, "confidence": 1.0 - 0.05 * share})
    assert (found.lower <= whole.lower + 1e-9).all()
    assert (found.upper >= whole.upper - 1e-9).all()
    if not threat.taken:  # which are the smallest is not known of sketches: what is taken counts twice
        assert found.verdicts == whole.verdicts
        # One look at a rate is narrower where it is seen that all values are 0 or 1, which a compacted sketch, whose
        # values stand for others, does not show: there bets alone bound it, and its interval holds the other.
        alike = slice(1, None) if _compacted(state) and not anytime else slice(None)
        for name in ("lower", "upper"):
            of_sketches, of_values = getattr(found, name)[:, alike], getattr(whole, name)[:, alike]
            np.testing.assert_allclose(of_sketches, of_values, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.estimates, whole.estimates, rtol=1e-9)


def _compacted(state: Path) -> bool:
    _, delta = LogState.load(state).readable(0.05)
    return delta < 0.05


def test_sketches_that_were_merged_are_those_of_one(tmp_path: Path) -> None:
    states = []
    for seed in range(2):
        states.append(tmp_path / f"state{seed}")
        analyze(part(tmp_path, seed, 1500), append=states[-1], sketch=100, profile=False, **ASKED)
    both = analyze(states, profile=False, **ASKED)
    one = analyze([tmp_path / "0.csv", tmp_path / "1.csv"], append=tmp_path / "one", sketch=100, profile=False, **ASKED)
    np.testing.assert_allclose(both.lower, one.lower, rtol=1e-9)


def test_a_mean_that_sketches_were_not_begun_with_is_refused(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    state = tmp_path / "state"
    analyze(part(tmp_path, 1, 1500), append=state, sketch=100, objectives=[replace(STARS, bounds=None, statistic=None)])
    with refused(BadInput, snapshot):
        analyze(state, objectives=[STARS])


def test_wealth_that_no_sketch_has_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    state = tmp_path / "state"
    analyze(part(tmp_path, 1, 1500), append=state, sketch=100, **ASKED)
    loaded = LogState.load(state)
    for wrong in (-1e9, 1.0, np.nan):
        sketches = loaded.data._sketches  # type: ignore[union-attr]
        for which, each in list(sketches.items()):
            if each.wealth is not None:
                sketches[which] = replace(each, wealth=np.full_like(each.wealth, wrong))
        loaded.save(state)
        with refused(BadInput, snapshot):
            LogState.load(state)
