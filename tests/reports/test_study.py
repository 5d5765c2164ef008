"""The report on a study: what it says is what the study says, and what the log says where only that can."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import Objective, Prescient, Study, Subgaussian
from frontguard._common.typing import Floats, Ints
from frontguard.evidence.measurements import Ordered
from frontguard.logs.answer import answer
from frontguard.logs.of_study import Differing, own_answer, read_study
from frontguard.logs.sort import sorted_pulls
from frontguard.plot.picture import Points
from frontguard.question import Question
from frontguard.reports.of_results import robustness_part, study_report, where_they_differ
from frontguard.reports.report import ASSUMED, COURSE, FAILED, OPEN, ROBUST, Report
from frontguard.reports.write import report_on
from frontguard.results import Answer, Profile
from frontguard.studies.follow import Follower
from frontguard.studies.settings import Settings
from frontguard.verdicts import Verdict
from tests.reports.samples import ARMS, OBJECTIVES, study_in
from tests.support.snapshots import said


@pytest.fixture(scope="module")
def study() -> Study:
    return study_in(None)


@pytest.fixture(scope="module")
def report(study: Study) -> Report:
    return report_on(study)


def test_the_table_is_the_result(study: Study, report: Report, snapshot: SnapshotAssertion) -> None:
    result, failures = study.result(), study.failures()
    headings = [column.heading for column in report.table.columns]
    assert headings[:6] == ["arm", "verdict", "seconds", "quality", "pulls", "failed"]
    assert said("\n".join(headings[6:])) == snapshot
    for row in report.table.rows:
        found = result.replacement(row[0].text)
        assert row[6].text in ("", None if found is None else found.by)
        i = ARMS.index(row[0].text)
        assert row[1].text == ("excluded" if row[0].text == "broken" else result.verdicts[row[0].text])
        assert row[4].order == result.pulls_per_arm[i]
        assert row[5].order == sum(failures.get(row[0].text, {}).values())
        if row[0].text != "broken":
            assert row[2].order == pytest.approx(result.estimates[i, 0])
            assert row[3].order == pytest.approx(result.estimates[i, 1])


def log_of(study: Study) -> tuple[Ints, Floats]:
    follower = Follower(study.storage, study.name)
    follower.catch_up()
    arms, values, *_ = follower.values()
    return arms, values


def test_the_log_is_read_and_sorted(study: Study) -> None:
    """Against a plain collection of all told pulls."""
    frame = study.to_frame()
    ordered = sorted_pulls(study.settings.arms, study.settings.question.objectives, *log_of(study))
    for i, arm in enumerate(ARMS):
        mine = frame[frame["arm"] == arm]
        assert ordered.pulls[i] == len(mine)
        for d, name in enumerate(("seconds", "quality")):
            start, end = ordered.starts[d, i], ordered.starts[d, i + 1]
            assert ordered.values[d][start:end].tolist() == sorted(mine[name].dropna().tolist())


def naive_stands(study: Study, arms: list[str]) -> dict[str, float]:
    """Up to which ε each verdict stands: the log of the arms that are measured, judged anew at every level."""
    frame = study.to_frame()
    frame = frame[frame["arm"].isin(arms)]
    delta = 0.05 * len(arms) / len(study.arms)
    parts = [
        [np.sort(frame.loc[frame["arm"] == arm, name].dropna()) for arm in arms] for name in ("seconds", "quality")
    ]
    starts = np.array([[0, *np.cumsum([len(part) for part in each])] for each in parts])
    pulls = np.array([(frame["arm"] == arm).sum() for arm in arms])
    log = Ordered(arms, ("seconds", "quality"), pulls, starts, tuple(np.concatenate(each) for each in parts))

    def codes(eps: float) -> list[int]:
        asked = Question(OBJECTIVES, Prescient(eps), confidence=1.0 - delta, anytime=True)
        found: list[int] = answer(log, asked, delta=delta, profiled=False).verdict_codes.tolist()
        return found

    before, stands = codes(0.1), {}
    for step in range(1, 400):
        eps = round(0.1 + 0.001 * step, 12)
        for arm, was, now in zip(arms, before, codes(eps), strict=True):
            if was != now and arm not in stands:
                stands[arm] = round(eps - 0.001, 12)
        if len(stands) == len(arms):
            break
    own = study.result().verdicts
    words = ["undecided", "keep", "beaten", "matched"]
    return {arm: stands.get(arm, 0.499) for arm, code in zip(arms, before, strict=True) if words[code] == own[arm]}


def test_robustness_is_read_from_the_log_without_arms_that_were_set_aside(study: Study, report: Report) -> None:
    measured = [arm for arm in ARMS if arm != "broken"]
    wanted = naive_stands(study, measured)
    shown = {row[0].text: row[-1].order for row in report.table.rows if row[-1].text}
    assert shown == pytest.approx(wanted)
    assert len(shown) >= 3


def test_where_the_log_would_decide_otherwise_no_figure_is_given(snapshot: SnapshotAssertion) -> None:
    """With a spread bound a study decides what the log alone leaves open."""
    rng = np.random.default_rng(1)
    metrics = [Objective("speed", "maximize", tolerance=0.3)]
    study = Study(["a", "b"], metrics, Prescient(0.25), spread=Subgaussian(0.05), max_pulls=2000)
    while pulls := study.ask(6):
        study.tell_many([(pull, [1.0 + 1.0 * pull.index + rng.normal(0.0, 0.05)]) for pull in pulls])
    result = study.result()
    assert result.verdicts == {"a": "beaten", "b": "keep"}
    assert result.pulls < 40
    found, differing = own_answer(read_study(study))
    assert found.log.profile is not None
    assert np.isnan(found.log.profile.per_arm).all()
    assert differing == Differing(2, front=True, spread=True)
    assert said(where_they_differ(differing)) == snapshot
    report = report_on(study)
    assert [row[-1].text for row in report.table.rows] == ["", ""]
    assert not report.part(ROBUST).shown
    assert any("Subgaussian(sigma=0.05)" in said for said in report.part(ASSUMED).listed)


def test_the_rest_of_it(report: Report, snapshot: SnapshotAssertion) -> None:
    assert report.kind == "study"
    assert report.status == "certified"
    assert said("\n".join(report.warnings)) == snapshot
    (table,) = report.part(FAILED).tables
    reasons = {row[0].text: row[1].text for row in table.rows}
    assert reasons == {"broken": "exit code 3", "weak": "timeout | after `10` s"}
    assert said("\n".join(report.part(ASSUMED).listed)) == snapshot
    assert said("\n".join(shown.heading for shown in report.part(COURSE).shown)) == snapshot
    steps = {step.label: step.value for step in report.reproduce}
    assert steps["Seed"].startswith("4")
    assert Settings.from_json(steps["Settings"]).question.threat == Prescient(0.1)


def test_a_study_that_nobody_pulled_has_a_report(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    study = Study(["a", "b"], [("x", "maximize"), ("y", "minimize")], Prescient(0.1), storage=tmp_path / "s.db")
    report = study_report(study.storage, study.name, where="s.db")
    assert report.status == "running"
    assert said(report.answer) == snapshot
    for ending in ("html", "md", "csv"):
        assert study.report(tmp_path / f"r.{ending}").stat().st_size > 50
    study.close()


def test_a_study_on_its_way_says_what_would_settle_it(snapshot: SnapshotAssertion) -> None:
    study = Study(["a", "b", "c"], [Objective("x", "maximize", tolerance=0.01)], Prescient(0.1))
    rng = np.random.default_rng(0)
    study.tell_many([(pull, [pull.index + rng.normal()]) for pull in study.ask(60)])
    report = report_on(study)
    assert report.status == "running"
    assert report.part(OPEN).listed
    assert report.part(OPEN).words  # how many more pulls, at a rate that no two runs share
    assert said("\n".join(report.part(OPEN).listed)) == snapshot


def judged_otherwise(study: Study, verdict: Verdict) -> tuple[int, Profile, Answer, str]:
    """A beaten arm and gets another verdict, the profile before, and what is found and said then."""
    result, log = study.result(), read_study(study)
    before = own_answer(log)[0].log.profile
    assert before is not None
    codes = result.verdict_codes.copy()
    arm = next(i for i in range(len(ARMS)) if codes[i] == Verdict.BEATEN and not np.isnan(before.per_arm[i]))
    codes[arm] = verdict
    found, differing = own_answer(replace(log, result=replace(result, verdict_codes=codes)))
    return arm, before, found, where_they_differ(differing)


def test_an_arm_with_another_verdict_than_the_log_gives_has_no_figure(
    study: Study, snapshot: SnapshotAssertion
) -> None:
    arm, before, after, note = judged_otherwise(study, Verdict.MATCHED)
    assert after.log.profile is not None
    assert np.isnan(after.log.profile.per_arm[arm])
    others = np.arange(len(ARMS)) != arm
    np.testing.assert_array_equal(after.log.profile.per_arm[others], before.per_arm[others])
    assert said(note) == snapshot


def test_arms_that_have_a_figure_are_shown_where_the_front_as_a_whole_has_none(
    study: Study, snapshot: SnapshotAssertion
) -> None:
    """One arm is in for the study and not for the log: the others keep their bars, and nothing is said of the front."""
    arm, before, after, note = judged_otherwise(study, Verdict.KEEP)
    part = robustness_part(after, note)
    assert part.words[-1] == note
    (picture,) = (each.picture for each in part.shown)
    assert said(f"{note}\n{picture.description}\n{picture.caption}") == snapshot
    (panel,) = picture.panels
    stands = before.per_arm
    known = [ARMS[i] for i in range(len(ARMS)) if i != arm and not np.isnan(stands[i])]
    assert sorted(panel.y.names) == sorted(known)
    assert len(known) >= 2
    ends = {
        panel.y.names[round(y)]: x
        for layer in panel.layers
        if isinstance(layer, Points)
        for x, y in zip(layer.x.tolist(), layer.y.tolist(), strict=True)
    }
    assert ends == pytest.approx({name: stands[ARMS.index(name)] for name in known})


def test_the_profile_tells_how_far_it_is(study: Study) -> None:
    told: list[tuple[str, int, int]] = []
    study_report(study.storage, study.name, progress=lambda what, done, total: told.append((what, done, total)))
    tried = [(done, total) for what, done, total in told if what == "shares of lies tried"]
    assert {total for _, total in tried} == {400}  # from 10% to 50% in thousandths
    assert [done for done, _ in tried] == sorted(done for done, _ in tried)
    assert 0 < tried[0][0] < tried[-1][0] <= 400


def test_the_log_is_read_once(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer, course, robustness and suspects all come from one reading."""
    asked: list[int] = []
    told = type(study.storage).told

    def counted(storage: Any, *arguments: Any, **more: Any) -> Any:
        found = told(storage, *arguments, **more)
        asked.append(len(found))
        return found

    monkeypatch.setattr(type(study.storage), "told", counted)
    report_on(study)
    assert sum(asked) == study.storage.size(study.name)[1]
