"""Studies as logs: pulls under way count as failed, one answer wherever it is asked for, other questions."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom
from syrupy.assertion import SnapshotAssertion
from typer.testing import CliRunner

from frontguard import Answer, Malicious, Objective, Oblivious, Prescient, Study, Subgaussian, analyze
from frontguard.cli import application
from frontguard.errors import BadInput
from frontguard.notices import Excluded, UnderWay
from frontguard.reports.of_results import study_report
from frontguard.storage.contract import open_storage
from frontguard.studies.follow import Follower
from frontguard.words.certificate import guarantee
from tests.reports.samples import study_in
from tests.support.snapshots import refused, said

SECONDS = Objective("seconds", "minimize")


# What is under way ----------------------------------------------------------------------------------------------------


def slow_ones_out(path: Path, seed: int, pulls: int = 200) -> None:
    """Two arms: A takes 1 s with probability 0.4 and 10 s else, B 5 s; all that take 10 s are still out."""
    rng = np.random.default_rng(seed)
    with Study(["A", "B"], [SECONDS], Prescient(0.0), storage=path, seed=seed).storage as storage:
        study = Study.open(storage)
        took = [(pull, 5.0 if pull.arm == "B" else rng.choice([1.0, 10.0], p=[0.4, 0.6])) for pull in study.ask(pulls)]
        study.tell_many([(pull, [seconds + 0.01 * rng.random()]) for pull, seconds in took if seconds < 10.0])


@pytest.mark.parametrize("asked", [{}, {"contamination": 0.01}], ids=["own", "otherwise"])
def test_what_is_still_out_is_not_left_out(tmp_path: Path, asked: dict[str, Any]) -> None:
    """The median of A is 10 s. Of what has come back all is 1 s, and A would be called the best in ten of ten."""
    wrong = 0
    for seed in range(10):
        slow_ones_out(tmp_path / f"{seed}.db", seed)
        found = analyze(tmp_path / f"{seed}.db", **asked)
        assert found.intervals["A"]["seconds"][1] >= 9.99
        wrong += found.verdicts["A"] == "keep" or found.verdicts["B"] == "beaten"
    assert wrong == 0


def test_false_answers_stay_within_delta_while_slow_pulls_are_out(tmp_path: Path) -> None:
    """Arms whose slow pulls come back late or never, looked at while they are out and asked something else."""
    runs, false = 16, 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        path = tmp_path / f"{seed}.db"
        with Study(["A", "B"], [SECONDS], Prescient(0.0), confidence=0.8, storage=path, seed=seed).storage as storage:
            study = Study.open(storage)
            late: list[Any] = []
            for _ in range(3):
                took = [(pull, [rng.exponential(1.3 if pull.arm == "A" else 1.0)]) for pull in study.ask(60)]
                slow = [each for each in took if each[1][0] > 1.0]
                study.tell_many([each for each in took if each[1][0] <= 1.0] + late[: len(late) // 3])
                late = late[len(late) // 3 :] + slow
                found = analyze(path, contamination=0.02, profile=False)
                truth = {"A": 1.3 * np.log(2.0), "B": np.log(2.0)}
                inside = [found.intervals[arm]["seconds"] for arm in truth]
                if any(not low <= m <= high for (low, high), m in zip(inside, truth.values(), strict=True)):
                    false += 1
                    break
    assert false <= binom.ppf(0.99, runs, 0.2)


def test_how_many_are_out_is_said_and_counted(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    slow_ones_out(tmp_path / "s.db", 0, pulls=50)
    with open_storage(tmp_path / "s.db", read_only=True) as storage:
        out, told = len(storage.leases("study")), storage.size("study")[1]
    assert out + told == 50
    found = analyze(tmp_path / "s.db", contamination=0.05)
    assert UnderWay(out) in found.notices
    assert said(" ".join(found.warnings)) == snapshot
    assert (found.pulls, int(found.log.failed_pulls.sum())) == (50, out)
    state = analyze(tmp_path / "s.db", append=tmp_path / "log.state")
    assert (state.pulls, int(state.log.failed_pulls.sum())) == (50, out)
    assert analyze(tmp_path / "s.db").pulls == told  # as the study has it


def test_pulls_that_were_planned_and_not_handed_out_are_not_under_way(tmp_path: Path) -> None:
    with Study(["A", "B"], [SECONDS], Prescient(0.1), storage=tmp_path / "s.db").storage as storage:
        study = Study.open(storage)
        study.tell_many([(pull, [1.0]) for pull in study.ask(7)])
        assert sum(len(plan.arms) for plan in storage.plans("study")) > 7
    assert analyze(tmp_path / "s.db", contamination=0.2).pulls == 7


# The study's own answer -----------------------------------------------------------------------------------------------


def certified(path: Path) -> None:
    told(
        path,
        Study(
            ["a", "b", "c"], [SECONDS, ("quality", "maximize")], Prescient(0.1), storage=path, max_pulls=4000, seed=1
        ),
    )


def running(path: Path) -> None:
    study = Study(["a", "b", "c"], [SECONDS, ("quality", "maximize")], Malicious(0.05), storage=path, confidence=0.9)
    told(path, study, rounds=4, apart=0.01)


def with_excluded_arms(path: Path) -> None:
    study_in(path).close()


def with_a_spread_bound(path: Path) -> None:
    metrics = [Objective("seconds", "minimize", 0.3)]
    study = Study(["a", "b"], metrics, Prescient(0.25), spread=Subgaussian(0.05), storage=path, max_pulls=2000)
    told(path, study, at_once=6)


def with_coverage(path: Path) -> None:
    metrics = [Objective("seconds", "minimize", "20%")]
    told(path, Study(["a", "b", "c"], metrics, Oblivious(0.02), coverage=[0.4], storage=path, max_pulls=600, seed=3))


def told(path: Path, study: Study, rounds: int = 10_000, apart: float = 1.0, at_once: int = 30) -> None:
    rng = np.random.default_rng(2)
    for _ in range(rounds):
        pulls = study.ask(at_once)
        if not pulls:
            break
        for pull in pulls[: -2 if rounds < 100 else None]:
            centre = (1.0 + apart * pull.index, 3.0 - 0.5 * apart * pull.index)[: len(study.objectives)]
            study.tell(pull, (np.array(centre) * np.exp(rng.normal(0.0, 0.02, len(centre)))).tolist())
    study.close()


STUDIES = [certified, running, with_excluded_arms, with_a_spread_bound, with_coverage]


@pytest.fixture(params=STUDIES, ids=lambda each: each.__name__)
def study_file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    request.param(tmp_path / "s.db")
    return tmp_path / "s.db"


def same(found: Answer, own: Answer) -> None:
    assert found.verdicts == own.verdicts
    assert found.intervals == own.intervals
    assert (found.certificate, found.outlook) == (own.certificate, own.outlook)
    assert (found.status, found.notices, found.policy) == (own.status, own.notices, own.policy)
    assert found.pulls_per_arm.tolist() == own.pulls_per_arm.tolist()
    assert found.decided_by.tolist() == own.decided_by.tolist()
    assert (found.pareto_set, found.excluded, found.metrics) == (own.pareto_set, own.excluded, own.metrics)


def test_run_report_serve_and_analyze_agree(study_file: Path) -> None:
    """`run` prints `Study.result()`, `serve` and `report` what a follower sees, `analyze` an analysis."""
    with open_storage(study_file, read_only=True) as storage:
        (name,) = storage.studies()
        study = Study.open(storage, name)
        own, settings, failed = study.result(), study.settings, study.failures()
        seen = Follower(storage, name).catch_up().answer
        report = study_report(storage, name)
    found = analyze(study_file)
    same(found, own)
    same(seen, own)
    assert found.log.failed_pulls.tolist() == [sum(failed.get(arm, {}).values()) for arm in own.arms]
    assert report.status == own.status
    assert {row[0].text: row[1].text for row in report.table.rows} == own.verdicts
    assert tuple(own.warnings) == tuple(report.warnings)
    told_anew = analyze(
        study_file,
        objectives=settings.question.objectives,
        threat=settings.question.threat.name,
        contamination=settings.question.threat.eps,
        confidence=settings.question.confidence,
        anytime=True,
    )
    if settings.question.coverage is None:  # what is told as it was is not told otherwise
        same(told_anew, own)


def test_the_studies_above_are_what_they_are_called(tmp_path: Path) -> None:
    found = {}
    for make in STUDIES:
        make(tmp_path / make.__name__)
        found[make.__name__] = analyze(tmp_path / make.__name__, format="study")
    assert {name: each.status for name, each in found.items()} == {
        **{make.__name__: "certified" for make in STUDIES},
        "running": "running",
    }
    assert found["with_excluded_arms"].excluded
    assert list(found["running"].more_pulls()) == ["a", "b", "c"]
    assert "failures" not in found["running"].more_pulls().values()  # what is under way has not failed for good
    bounded = found["with_a_spread_bound"]
    assert bounded.log.profile is not None
    assert np.isnan(bounded.log.profile.per_arm).all()  # the log alone would not decide it
    assert bounded.front_changes_at is None


def test_what_analyze_prints_is_the_study(study_file: Path) -> None:
    with Study.open(study_file, read_only=True).storage as storage:
        own = Study.open(storage).result()
    shown = CliRunner().invoke(application(), ["analyze", str(study_file), "--json"])
    assert shown.exit_code == 0, shown.output
    printed = json.loads(shown.stdout)
    plain = own.to_dict()
    for key in ("status", "pareto_set", "verdicts", "certificate", "intervals", "pulls", "notices", "warnings"):
        assert printed[key] == plain[key], key
    back = Answer.from_dict(printed, "a.json")
    assert back.verdicts == own.verdicts
    assert back.log.failed_pulls.tolist() == analyze(study_file).log.failed_pulls.tolist()
    text = CliRunner().invoke(application(), ["analyze", str(study_file), "--strict"])
    assert text.exit_code == (0 if own.status == "certified" else 3)
    assert "nan" not in text.stdout
    report = study_file.with_name("r.md")
    assert CliRunner().invoke(application(), ["analyze", str(study_file), "--report", str(report)]).exit_code == 0
    assert "nan" not in report.read_text(encoding="utf-8").lower().split()


# Other questions ------------------------------------------------------------------------------------------------------


def test_what_is_not_told_is_as_in_the_study(tmp_path: Path) -> None:
    running(tmp_path / "s.db")
    other = analyze(tmp_path / "s.db", contamination=0.2)
    assert (other.certificate.threat, other.certificate.contamination) == ("malicious", 0.2)
    assert other.certificate.confidence == 0.9
    other = analyze(tmp_path / "s.db", threat="oblivious")
    assert (other.certificate.threat, other.certificate.contamination) == ("oblivious", 0.05)
    with_coverage(tmp_path / "c.db")
    own, other = analyze(tmp_path / "c.db"), analyze(tmp_path / "c.db", confidence=0.99)
    assert other.metrics == own.metrics == (Objective("seconds", "minimize", "20%"),)
    assert other.policy == "analysis"
    named = analyze(tmp_path / "c.db", minimize="seconds")
    same(named, own)
    assert analyze(tmp_path / "c.db", objectives=["seconds"], quantile=0.6).metrics == (
        Objective("seconds", "minimize", "20%", quantile=0.6),
    )
    assert analyze(tmp_path / "c.db", objectives=[SECONDS]).metrics == (SECONDS,)


def test_coverage_is_the_studys_while_its_tolerances_are(tmp_path: Path) -> None:
    """With tolerance 0 no arm near another is covered; with the study's coverage of half the value, they are."""
    metrics = [Objective("x", "maximize", tolerance=0.0)]
    with Study(["a", "b"], metrics, Prescient(0.0), coverage=[5.0], storage=tmp_path / "s.db").storage as storage:
        study = Study.open(storage)
        rng = np.random.default_rng(0)
        study.tell_many([(pull, [float(pull.index + rng.normal(0.0, 0.3))]) for pull in study.ask(60)])
    wide = analyze(tmp_path / "s.db", contamination=0.01)
    narrow = analyze(tmp_path / "s.db", contamination=0.01, tolerance=0.0)
    assert wide.certificate.coverage[0] >= narrow.certificate.coverage[0]  # type: ignore[index]
    assert analyze(tmp_path / "s.db").verdicts == Study.open(tmp_path / "s.db", read_only=True).result().verdicts


def test_arms_that_were_set_aside_are_no_part_of_another_answer(tmp_path: Path) -> None:
    with_excluded_arms(tmp_path / "s.db")
    own, other = analyze(tmp_path / "s.db"), analyze(tmp_path / "s.db", contamination=0.12)
    assert own.excluded
    assert other.excluded == own.excluded
    assert other.arms == own.arms
    assert other.certificate.excluded == tuple(own.excluded)
    assert other.certificate.arms == len(own.arms) - len(own.excluded)
    assert not set(other.pareto_set) & set(own.excluded)
    assert {notice.arm for notice in other.notices if isinstance(notice, Excluded)} == set(own.excluded)
    assert other.pulls_per_arm.tolist() == own.pulls_per_arm.tolist()
    assert other.log.failed_pulls.tolist() == own.log.failed_pulls.tolist()
    for arm in own.excluded:
        assert other.intervals[arm]["seconds"] == [-np.inf, np.inf] or other.intervals[arm]["seconds"] == [0.0, np.inf]
        assert arm not in other.holds_up_to
    assert "excluded" in guarantee(other) or other.warnings
    without = log_without(tmp_path / "s.db", own.excluded, len(own.arms))
    assert {arm: word for arm, word in other.verdicts.items() if arm not in own.excluded} == without.verdicts
    assert {arm: interval for arm, interval in other.intervals.items() if arm not in own.excluded} == without.intervals
    assert other.holds_up_to == pytest.approx(without.holds_up_to)


def log_without(path: Path, excluded: list[str], arms: int) -> Answer:
    """The told rows of the other arms as a plain log, at the δ that all arms share."""
    with Study.open(path, read_only=True).storage as storage:
        study = Study.open(storage)
        frame, settings = study.to_frame(), study.settings
    kept = frame[~frame["arm"].isin(excluded)]
    left = 1.0 - settings.question.confidence
    return analyze(
        kept,
        objectives=settings.question.objectives,
        threat=replace(settings.question.threat, eps=0.12),
        confidence=1.0 - left * (arms - len(excluded)) / arms,
        anytime=True,
    )


def test_a_study_whose_arms_were_all_set_aside_has_its_own_answer_only(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    with Study(["a", "b"], [SECONDS], Prescient(0.1), storage=tmp_path / "s.db").storage as storage:
        study = Study.open(storage)
        while pulls := study.ask(5):
            study.tell_many([(pull, "broken") for pull in pulls], failed=True)
    assert analyze(tmp_path / "s.db").verdicts == {"a": "excluded", "b": "excluded"}
    with refused(BadInput, snapshot):
        analyze(tmp_path / "s.db", contamination=0.2)


def test_arms_that_nobody_pulled_are_open_and_have_their_share_of_delta(tmp_path: Path) -> None:
    names = [f"arm {number:03}" for number in range(200)]
    with Study(names, [SECONDS], Prescient(0.1), storage=tmp_path / "s.db").storage as storage:
        study = Study.open(storage)
        study.tell_many([(pull, [1.0]) for pull in study.ask(50)])
    found = analyze(tmp_path / "s.db", contamination=0.05)
    assert len(found.arms) == 200
    assert set(found.verdicts.values()) == {"undecided"}


# Failed pulls ---------------------------------------------------------------------------------------------------------


def test_a_pull_that_failed_in_every_metric_is_one_failed_pull(tmp_path: Path) -> None:
    from frontguard.words.answers import failures

    with Study(["a"], [SECONDS, ("quality", "maximize")], Prescient(0.1), storage=tmp_path / "s.db").storage as storage:
        study = Study.open(storage)
        first, second, *others = study.ask(10)
        study.fail(first, "timeout")
        study.tell(second, [1.0, None], "no quality")
        study.tell_many([(pull, [1.0, 2.0]) for pull in others])
    for found in (analyze(tmp_path / "s.db"), analyze(tmp_path / "s.db", contamination=0.2)):
        assert found.log.failed.tolist() == [[1, 2]]
        assert found.log.failed_pulls.tolist() == [2]
        assert failures(found).startswith("2 measurements of 10 failed")
        assert found.to_dict()["log"]["failed_pulls"] == {"a": 2}


def test_failed_pulls_are_counted_alike_in_memory_on_disk_and_in_states(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    values = np.where(rng.random((4000, 2)) < 0.2, np.nan, 1.0 + rng.random((4000, 2)))
    arms = rng.integers(0, 7, 4000)
    columns = {"arm": [f"arm {arm}" for arm in arms.tolist()], "x": values[:, 0], "y": values[:, 1]}
    wanted = np.bincount(arms, np.isnan(values).any(axis=1), 7).astype(int).tolist()
    asked: dict[str, Any] = {"maximize": ["x", "y"], "profile": False}
    assert analyze(columns, **asked).log.failed_pulls.tolist() == wanted
    halves = [{name: column[part] for name, column in columns.items()} for part in (slice(0, 2500), slice(2500, 4000))]
    for number, half in enumerate(halves):
        found = analyze(half, **asked, append=tmp_path / "log.state")
        small = analyze(half, **asked, append=tmp_path / "small.state", sketch=8 if number == 0 else None)
    assert found.log.failed_pulls.tolist() == wanted
    assert small.log.failed_pulls.tolist() == wanted
    assert analyze(tmp_path / "log.state", **asked).log.failed_pulls.tolist() == wanted
    assert analyze(tmp_path / "small.state", **asked).log.failed_pulls.tolist() == wanted
