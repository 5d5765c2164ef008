"""Polishing: pulls after the certificate, until estimates are steady; what was certified stays."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import BadInput, Certified, Objective, Prescient, Study
from frontguard.notices import Polished
from frontguard.pareto.relations import CERTIFIED
from frontguard.pareto.rule import decide
from frontguard.pareto.sampling import POLISH
from frontguard.policies import certified
from frontguard.policies.forecast import forecast
from frontguard.simulation import simulate_one
from frontguard.simulation.environments import gaussian
from tests.support.snapshots import refused, said

TRUTH = {"a": 1.0, "b": 1.02, "c": 1.4}
LOSS = Objective("loss", "minimize", "10%")


def polished(study: Study, most: int = 10**6) -> Study:
    while study.result().pulls < most and (pulls := study.ask(4)):
        study.tell_many(
            [(p, TRUTH[p.arm] * math.exp(np.random.default_rng([p.index, p.rep]).normal(0, 0.1))) for p in pulls]
        )
    return study


def a_study(**settings: Any) -> Study:
    return Study(list(TRUTH), [LOSS], Prescient(0.1), **{"polish": True, **settings})


def test_a_study_goes_on_until_no_estimate_moves_by_more_than_a_share_of_its_tolerance(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    plain = polished(a_study(polish=False)).result()
    study = polished(a_study(storage=tmp_path / "s.db"))
    found = study.result()
    assert found.status == plain.status == "certified"
    assert study.done
    assert found.pulls > 1.5 * plain.pulls
    assert found.verdicts == plain.verdicts
    (notice,) = [each for each in found.notices if isinstance(each, Polished)]
    assert (notice.unsteady, notice.over) == (0, True)
    assert said(notice) == snapshot
    # By a naive reading of the log: at some pull of an arm that is not out its estimate is that of half as many, about.
    frame = study.to_frame()
    for arm, verdict in found.verdicts.items():
        values = np.log(frame.loc[frame["arm"] == arm, "loss"].to_numpy())
        if verdict != "beaten":
            moves = [abs(np.median(values[:n]) - np.median(values[: n // 2])) for n in range(20, len(values) + 1)]
            assert min(moves) <= POLISH * math.log1p(0.1)
    assert Study.open(tmp_path / "s.db").status == "certified"


def test_a_budget_ends_the_polishing_and_the_certificate_stays() -> None:
    plain = polished(a_study(polish=False)).result()
    study = polished(a_study(max_pulls=plain.pulls + 5))
    found = study.result()
    assert study.done
    assert found.status == study.status == "certified"
    assert found.pulls <= plain.pulls + 5
    (notice,) = [each for each in found.notices if isinstance(each, Polished)]
    assert notice.unsteady > 0
    assert notice.over


def test_while_it_is_polished_the_status_is_certified_and_nothing_is_foreseen() -> None:
    plain = polished(a_study(polish=False)).result()
    study = polished(a_study(), most=plain.pulls + 8)
    assert not study.done
    assert study.status == "certified"
    result = study.result()
    assert result.status == "certified"
    assert result.verdicts == plain.verdicts
    assert forecast(study.state().policy).outlook == "certified"
    assert not next(each for each in result.notices if isinstance(each, Polished)).over


def test_a_study_that_was_certified_may_be_polished_later(tmp_path: Path) -> None:
    before = polished(a_study(polish=False, storage=tmp_path / "s.db")).result()
    after = polished(a_study(storage=tmp_path / "s.db")).result()
    assert after.pulls > before.pulls
    assert after.status == "certified"


def test_what_was_certified_stays_until_another_set_is_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    """In this world the rule would take its certificate back now and then, as estimates choose other candidates."""
    found: list[int] = []

    def noted(standing: Any, goal: Any) -> None:
        decide(standing, goal)
        found.append(int(standing.control["stop"][0]))

    monkeypatch.setattr(certified, "decide", noted)
    rng = np.random.default_rng(3)
    medians = rng.uniform(0, 1, (5, 2))
    policy = Certified(5, 2, threat=Prescient(0.1), accuracy=0.3, polish=0.03)
    taken_back = 0
    for _ in range(3):
        policy, seen = policy.fresh(), 0
        while not policy.done:
            arms = policy.ask()
            policy.tell(arms, rng.normal(medians[arms], 0.2))
            taken_back += seen > 0 and found[-1] != CERTIFIED
            seen += policy.status == "certified"
            assert policy.status == "certified" or not seen
            if seen:
                promised = policy.certificate()
                assert np.max(promised.accuracy) <= 0.3 + 1e-12
                assert np.max(promised.coverage) <= 0.3 + 1e-12
        assert not len(policy.unsteady)
    assert taken_back
    again = policy.copy()
    assert again.done
    assert again.status == "certified"


def test_simulated_runs_are_polished_too() -> None:
    environment = gaussian([[0.0, 1.0], [1.0, 0.0]], 0.2)
    plain, fine = (
        simulate_one(Certified(2, 2, threat=Prescient(0.1), accuracy=0.3, polish=share), environment)
        for share in (0.0, 0.02)
    )
    assert fine.pulls_per_arm.min() >= 2 * plain.pulls_per_arm.min()
    assert fine.verdict_codes.tolist() == plain.verdict_codes.tolist()


def test_what_cannot_be_polished_is_refused(snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        Certified(2, 1, threat=Prescient(0.1), accuracy=0.1, polish=2.0)
