"""Gates on logs: which arms are compared, by which intervals, what is said of one process, and up to which ε."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import Prescient, analyze, gate
from frontguard.comparisons.outcomes import Outcome
from frontguard.errors import BadInput
from frontguard.evidence.differences.two_sample import largest_difference
from frontguard.notices import ExactDiffers, TooFewClusters, TooFewPulls
from frontguard.results import Answer
from frontguard.words import gate as words
from tests.support.snapshots import refused, said

SAMPLES = Path(__file__).parent / "sources" / "samples"


def frame(seed: int, **means: float) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    parts = [pd.DataFrame({"arm": arm, "ms": rng.normal(mean, 0.02 * mean, 200)}) for arm, mean in means.items()]
    return pd.concat(parts)


def outcomes(found: Any) -> dict[str, str]:
    return {pair.name: pair.outcome.word for pair in found.gate.pairs}


def hyperfine(path: Path, **times: list[float]) -> Path:
    results = [{"command": name, "times": values, "exit_codes": [0] * len(values)} for name, values in times.items()]
    path.write_text(json.dumps({"results": results}))
    return path


def benchmark_file(path: Path, **data: list[float]) -> Path:
    """As pytest-benchmark writes it."""
    made = [{"name": name, "fullname": f"test_suite.py::{name}", "params": None, "stats": {"data": values}}
            for name, values in data.items()]  # fmt: skip
    path.write_text(json.dumps({"machine_info": {}, "benchmarks": made}))
    return path


def test_arms_of_the_same_name_are_compared() -> None:
    found = gate(frame(0, sort=10, hash=5, gone=1), frame(1, sort=11, hash=5, new=1), minimize="ms")
    assert outcomes(found) == {"hash": "not worse", "sort": "worse"}
    assert (found.gate.only_baseline, found.gate.only_candidate) == (("gone",), ("new",))
    assert (found.gate.outcome.word, found.gate.status) == ("worse", "decided")
    assert found.pulls == 800  # of what is compared


def test_what_is_not_exact_is_an_alarm_and_what_is_true_or_false_a_rate_and_both_are_said(
    snapshot: SnapshotAssertion,
) -> None:
    def log(seed: int) -> pd.DataFrame:
        rng = np.random.default_rng(seed)
        return pd.DataFrame({"arm": "a", "bytes": [10.0] * 99 + [11.0 + seed], "solved": rng.random(100) < 0.5})

    found = gate(log(1), log(2), minimize="bytes", exact="bytes", tolerance=0)
    assert found.gate.outcome.word == "open"
    differ = [each for each in found.notices if isinstance(each, ExactDiffers)]
    assert differ == [ExactDiffers("bytes", "a (frame (log 1))", 2, 10.0, 12.0)]
    assert said(words.promise(found)) == snapshot
    assert "More measurements" not in words.answer(found)
    assert "--exact" in str(words.next_step(found))
    rates = gate(log(1), log(2), maximize="solved")
    assert said(words.promise(rates)) == snapshot
    assert said(words.remarks(rates, explain=True)) == snapshot
    assert "several files" in str(words.next_step(rates))


def test_intervals_are_those_of_two_samples_each_by_itself() -> None:
    main, pr = frame(0, sort=10, hash=5, gone=1), frame(1, sort=11, hash=5)
    found = gate(main, pr, minimize="ms")
    for pair in found.gate.pairs:
        its, mine = (np.sort(-np.log(side[side.arm == pair.name].ms.to_numpy())) for side in (main, pr))
        ratio = pair.checks[0].effect.ratio
        assert ratio is not None
        bounds = [largest_difference(*two, Prescient(0.1), 0.5, 0.025) for two in ((mine, its), (its, mine))]
        assert (-np.log(ratio.low), np.log(ratio.high)) == (pytest.approx(bounds[0]), pytest.approx(bounds[1]))


# With pairs, lists, independent arms and limits -----------------------------------------------------------------------

RATE: dict[str, Any] = {
    "arm": "arm", "maximize": "right", "statistic": "mean", "bounds": (0, 1), "tolerance": 0.05, "contamination": 0.02,
}  # fmt: skip


def answers(seed: int, lag: float, questions: int = 400) -> pd.DataFrame:
    """Right and wrong answers of a model to questions that are easy or hard for every model."""
    rng = np.random.default_rng(seed)
    chance = np.where(np.random.default_rng(9).random(questions) < 0.5, 0.95, 0.05 + lag)
    names = [f"question {n}" for n in range(questions)]
    return pd.DataFrame({"arm": "model", "question": names, "right": rng.random(questions) < chance - lag})


@pytest.mark.parametrize("asked", [{"pair": "question"}, {"pair": "question", "items": 400}, {"independent": True}])
def test_differences_are_those_of_one_log_with_both_sides(asked: dict[str, Any]) -> None:
    """Whichever way the questions come in each of the logs."""
    old, new = answers(0, 0.0), answers(1, 0.2).sample(frac=1.0, random_state=0)
    found = gate(old, new, **RATE, **asked)
    whole = analyze(pd.concat([old.assign(arm="old"), new.assign(arm="new")]), **RATE, **asked)
    difference, wanted = (
        found.gate.pairs[0].checks[0].effect.difference,
        whole.compare("new", "old")["right"].difference,
    )
    if "pair" in asked and "items" not in asked:  # a gate spends less on all that it may say
        assert wanted.low < difference.low < difference.estimate < difference.high < wanted.high
    else:
        assert (difference.low, difference.high) == pytest.approx((wanted.low, wanted.high), abs=1e-12)
    plain = gate(old, new, **RATE).gate.pairs[0].checks[0].effect.difference
    assert difference.high - difference.low < plain.high - plain.low


def test_a_model_that_is_worse_on_the_same_questions_is_found() -> None:
    old, new = answers(0, 0.0), answers(1, 0.4)
    assert gate(old, new, **RATE).gate.outcome == Outcome.OPEN
    found = gate(old, new, **RATE, pair="question")
    assert found.gate.outcome == Outcome.WORSE
    assert found.gate.holds_up_to is not None
    assert found.gate.holds_up_to >= 0.02


def test_only_pairs_that_are_compared_pay_for_differences() -> None:
    old, new = (pd.concat([answers(seed, 0.1).assign(arm=f"model {n}") for n in range(6)]) for seed in (0, 1))
    found = gate(old, new, **RATE, pair="question")
    both = pd.concat([old.assign(arm="old " + old.arm), new.assign(arm="new " + new.arm)])
    whole = analyze(both, **RATE, pair="question")
    for pair in found.gate.pairs:
        difference, all_pairs = pair.checks[0].effect.difference, whole.compare(f"new {pair.name}", f"old {pair.name}")
        assert difference.high < all_pairs["right"].difference.high


def lines_of(found: Answer) -> list[str]:
    return [str(line) for line in words.table(found, 120).renderables]


@pytest.mark.parametrize(("most", "outcome"), [(13.0, "not worse"), (10.1, "worse"), (10.26, "open")])
def test_candidates_have_to_keep_to_limits(most: float, outcome: str, snapshot: SnapshotAssertion) -> None:
    main, pr = frame(0, sort=20), frame(1, sort=10)
    found = gate(main, pr, minimize="ms", limits=[f"p90(ms)<={most}"], contamination=0.02)
    (pair,) = found.gate.pairs
    assert (pair.checks[0].outcome.word, pair.limits[0].outcome.word, pair.outcome.word) == (
        "not worse", outcome, outcome,
    )  # fmt: skip
    assert said("\n".join([words.answer(found), *lines_of(found)])) == snapshot


def test_up_to_which_contamination_it_stands() -> None:
    main, pr = frame(0, sort=10, hash=5), frame(1, sort=11, hash=5)
    found = gate(main, pr, minimize="ms")
    for pair in found.gate.pairs:
        (check,) = pair.checks
        last = check.holds_up_to
        assert last is not None
        for eps, same in ((last, True), (round(last + 0.01, 3), False)):
            if eps >= 0.5:
                continue  # it stands wherever anything can
            again = gate(main, pr, minimize="ms", contamination=eps)
            assert (outcomes(again)[pair.name] == pair.outcome.word) is same, (pair.name, eps)
    assert found.gate.holds_up_to == max(
        pair.checks[0].holds_up_to for pair in found.gate.pairs if pair.outcome.word == "worse"
    )


def test_a_single_arm_in_each_log_needs_no_common_name(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    main = hyperfine(tmp_path / "main.json", **{"./main --bench": rng.normal(1.0, 0.01, 60).tolist()})
    pr = hyperfine(tmp_path / "pr.json", **{"./pr --bench": rng.normal(1.2, 0.01, 60).tolist()})
    found = gate(str(main), str(pr))
    assert outcomes(found) == {"pr.json": "worse"}
    assert found.gate.pairs[0].baseline == "main.json"


def test_one_log_that_has_both() -> None:
    found = gate(frame(0, main=10, pr=11, other=10), baseline_arm="main", minimize="ms")
    assert outcomes(found) == {"other": "not worse", "pr": "worse"}


def test_lines_of_several_candidates_share_one_error_probability_and_intervals_stand_by_themselves() -> None:
    main, pr = frame(0, sort=10).head(12), frame(1, sort=11).head(12)
    others = [frame(s, sort=10) for s in range(2, 12)]
    alone, beside = gate(main, pr, minimize="ms"), gate(main, pr, *others, minimize="ms")
    checks = [found.gate.pairs[0].checks[0] for found in (alone, beside)]
    assert checks[0].effect.ratio == checks[1].effect.ratio
    assert checks[0].holds_up_to > checks[1].holds_up_to
    assert len({pair.name for pair in beside.gate.pairs}) == 11


def test_a_gate_of_many_tests_passes_if_the_one_that_may_be_worst_does() -> None:
    """No line could be certain by itself at so few sessions, and all of them together are."""
    rng = np.random.default_rng(0)
    sides = [
        pd.DataFrame({"arm": np.repeat([f"test {i:02}" for i in range(50)], 8), "ms": rng.lognormal(0.0, 0.01, 400)})
        for _ in range(2)
    ]
    found = gate(*sides, minimize="ms", tolerance="5%", contamination=0)
    assert found.gate.outcome == Outcome.NOT_WORSE
    assert 0.0 < found.gate.at_worst[0] <= np.log(1.05)
    assert found.gate.at_worst[0] == pytest.approx(
        max(np.log(pair.checks[0].effect.ratio.high) for pair in found.gate.pairs)
    )
    assert gate(*sides, minimize="ms", tolerance="2%", contamination=0).gate.outcome == Outcome.OPEN


def suite(seed: int, *, tests: int = 12, sessions: int = 9, slow: float = 1.0, all_slower: float = 1.0) -> pd.DataFrame:
    """Tests of which the second may be slow, three rounds a session; sessions shift all tests alike."""
    rng = np.random.default_rng(seed)
    values = rng.lognormal(0.0, 0.01, (tests, sessions, 3)) * rng.lognormal(0.0, 0.005, (1, sessions, 1)) * all_slower
    values[1] *= slow
    names = [f"test {i:02}" for i in range(tests)]
    index = pd.MultiIndex.from_product([names, range(sessions), range(3)], names=["arm", "session", "round"])
    return pd.DataFrame({"seconds": values.ravel()}, index).reset_index()


ASKED: dict[str, Any] = {"minimize": "seconds", "tolerance": "5%", "cluster": "session", "profile": False}


def test_a_suite_passes_fails_and_stays_open_in_few_lines(snapshot: SnapshotAssertion) -> None:
    passed, failed = gate(suite(0), suite(1), **ASKED), gate(suite(0), suite(1, slow=1.1), **ASKED)
    still = gate(suite(0), suite(1), **ASKED | {"tolerance": "1%"})
    assert [each.gate.outcome.word for each in (passed, failed, still)] == ["not worse", "worse", "open"]
    assert [pair.name for pair in failed.gate.pairs if pair.outcome == Outcome.WORSE] == ["test 01"]
    for found in (passed, failed, still):
        assert (
            said(
                "\n".join(
                    [
                        words.answer(found),
                        *lines_of(found),
                        *words.remarks(found),
                    ]
                )
            )
            == snapshot
        )
    assert len(passed.arms) == 24  # a suite is no arm
    again = Answer.from_dict(failed.to_dict())
    assert again.gate.pairs == failed.gate.pairs
    assert said(words.remarks(failed, explain=True)) == snapshot


def test_a_slowdown_of_everything_shows_in_the_suite_alone() -> None:
    """Noise of single tests hides it."""
    sides = [suite(seed, sessions=12, all_slower=factor) for seed, factor in ((0, 1.0), (1, 1.02))]
    for seed, log in enumerate(sides):
        log["seconds"] *= np.random.default_rng(5 + seed).lognormal(0.0, 0.03, len(log) // 3).repeat(3)
    found = gate(*sides, **ASKED | {"tolerance": "0.1%"})
    assert [pair.tests for pair in found.gate.pairs if pair.outcome == Outcome.WORSE] == [12]


def test_estimates_of_sessions_are_those_of_what_is_compared() -> None:
    sides = suite(0, sessions=20), suite(1, sessions=20)
    found = gate(*sides, **ASKED)
    medians = [log.groupby(["arm", "session"]).seconds.median().groupby("arm").median() for log in sides]
    for pair in found.gate.pairs[:-1]:
        ratio = pair.checks[0].effect.ratio
        assert ratio.estimate == pytest.approx(medians[1][pair.name] / medians[0][pair.name])
        assert ratio.low <= ratio.estimate <= ratio.high


def test_an_open_check_says_up_to_which_contamination_it_would_be_certain() -> None:
    main, pr = frame(0, sort=10).head(5), frame(1, sort=12).head(5)
    found = gate(main, pr, minimize="ms", contamination=0.3)
    (check,) = found.gate.pairs[0].checks
    assert found.gate.outcome == Outcome.OPEN
    outcome, eps = check.if_cleaner
    assert outcome == Outcome.WORSE
    assert 0.0 < eps < 0.3
    assert gate(main, pr, minimize="ms", contamination=eps).gate.outcome == Outcome.WORSE
    assert Answer.from_dict(found.to_dict()).gate.pairs[0].checks[0].if_cleaner == (outcome, eps)


def test_metrics_have_tolerances_of_their_own() -> None:
    rng = np.random.default_rng(0)

    def log(factor: float) -> pd.DataFrame:
        return pd.DataFrame({"arm": "x", "ms": rng.normal(10 * factor, 0.1, 200), "kb": [100 * factor] * 200})

    found = gate(log(1.0), log(1.03), minimize=["ms", "kb"], exact="kb", tolerance={"ms": "10%", "kb": "1%"})
    assert [check.outcome.word for check in found.gate.pairs[0].checks] == ["not worse", "worse"]


def test_rates_have_a_tolerance_of_their_own_too() -> None:
    rng = np.random.default_rng(0)
    main, pr = (pd.DataFrame({"arm": "x", "solved": rng.random(4000) < p}) for p in (0.9, 0.5))
    found = gate(main, pr, maximize="solved", contamination=0.0)
    assert found.metrics[0].statistic_word == "mean"
    assert found.metrics[0].tolerance == 0.05
    assert found.gate.outcome == Outcome.WORSE


def test_one_process_is_one_observation_and_the_way_out(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)

    def session(side: str, number: int, mean: float) -> Path:
        shift = rng.normal(0.0, 0.02)  # of this process
        values = (mean + shift + rng.normal(0.0, 0.01, 50)).tolist()
        return benchmark_file(tmp_path / f"{side}-{number:02}.json", test_sort=values, test_hash=values)

    for number in range(24):
        session("main", number, 1.0)
        session("pr", number, 1.3)
    alone = gate(str(tmp_path / "main-00.json"), str(tmp_path / "pr-00.json"))
    assert alone.gate.outcome == Outcome.OPEN
    (few,) = [notice for notice in alone.notices if isinstance(notice, TooFewClusters)]
    assert (few.arms, few.of, few.most) == (4, 4, 1)
    whole = gate(str(tmp_path / "main-*.json"), str(tmp_path / "pr-*.json"))
    assert outcomes(whole) == {"test_hash": "worse", "test_sort": "worse", "geometric mean of 2": "worse"}
    assert not whole.gate.every_row
    vouched = gate(str(tmp_path / "main-00.json"), str(tmp_path / "pr-00.json"), cluster="none")
    assert vouched.gate.outcome == Outcome.WORSE
    assert vouched.gate.every_row


def test_equal_programs_in_sessions_that_differ_are_not_told_apart(tmp_path: Path) -> None:
    """By rows, as --cluster none would have it, they are: sessions shift by more than the tolerance."""
    wrong = {"process": 0, "rows": 0}
    for run in range(12):
        rng = np.random.default_rng(run)
        for side in ("main", "pr"):
            for number in range(14):
                values = (1.0 + rng.normal(0.0, 0.1) + rng.normal(0.0, 0.005, 20)).tolist()
                benchmark_file(tmp_path / f"{side}-{number:02}.json", test_sort=values)
        logs = [str(tmp_path / f"{side}-*.json") for side in ("main", "pr")]
        wrong["process"] += gate(*logs, tolerance="1%", contamination=0).gate.outcome == Outcome.WORSE
        wrong["rows"] += gate(*logs, tolerance="1%", contamination=0, cluster="none").gate.outcome == Outcome.WORSE
    assert wrong["process"] <= 2
    assert wrong["rows"] > 2


def test_real_results_of_pyperf(tmp_path: Path) -> None:
    """Each worker process of pyperf is a cluster."""
    for name, seconds in (("main", 0.001), ("pr", 0.2)):  # a busy machine makes nothing shorter
        subprocess.run(
            [sys.executable, "-m", "pyperf", "timeit", "-s", "import time", f"time.sleep({seconds})", "--name", "sum",
             "-p", "9", "-n", "2", "-l", "1", "-w", "1", "-o", str(tmp_path / f"{name}.json"), "--quiet"],
            check=True, capture_output=True,
        )  # fmt: skip
    found = gate(str(tmp_path / "main.json"), str(tmp_path / "pr.json"), tolerance="20%", contamination=0)
    assert outcomes(found) == {"sum": "worse"}
    assert found.gate.pairs[0].pulls == 18


def test_real_results_of_hyperfine() -> None:
    """The same file on both sides: four runs of each command, which are too few to be certain of anything."""
    path = str(SAMPLES / "hyperfine_parameters.json")
    found = gate(path, path)
    assert found.gate.outcome == Outcome.OPEN
    assert any(isinstance(notice, TooFewPulls) for notice in found.notices)
    assert len({pair.candidate for pair in found.gate.pairs} | {pair.baseline for pair in found.gate.pairs}) == 2


def test_a_test_that_is_new_elsewhere_hides_no_other(tmp_path: Path) -> None:
    """In short both would be called test_sort on one side, and so by their full names there alone."""
    rng = np.random.default_rng(0)

    def written(path: Path, mean: float, *modules: str) -> str:
        data = {"data": rng.normal(mean, 0.01, 50).tolist()}
        made = [{"name": "test_sort", "fullname": f"{module}::test_sort", "stats": data} for module in modules]
        path.write_text(json.dumps({"machine_info": {}, "benchmarks": made}))
        return str(path)

    logs = (
        written(tmp_path / "main.json", 1.0, "a.py", "c.py"),
        written(tmp_path / "pr.json", 1.5, "a.py", "b.py", "c.py"),
    )
    found = gate(*logs, cluster="none")
    assert outcomes(found) == {"a.py::test_sort": "worse", "c.py::test_sort": "worse"}
    assert found.gate.only_candidate == ("b.py::test_sort",)


@pytest.mark.parametrize(
    (
        "logs",
        "given",
    ),
    [
        (1, {}),
        (2, {"baseline_arm": "x"}),
        (1, {"baseline_arm": "srot"}),
        (2, {"tolerance": "lots"}),
        (2, {"minimize": "seconds"}),
        (2, {"confidence": 2}),
        (2, {"quantile": {"kb": 0.9}}),
    ],
)
def test_wrong_inputs(logs: int, given: dict[str, Any], snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        gate(*[frame(seed, sort=10, hash=5) for seed in range(logs)], **{"minimize": "ms", **given})


@pytest.mark.parametrize("asked", [{"paired": True}, {"items": 400}])
def test_pairs_without_a_column_are_refused(asked: dict[str, Any], snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        gate(answers(0, 0.0), answers(1, 0.0), **RATE, **asked)


def test_nothing_in_common_and_a_lonely_arm(snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        gate(frame(0, a=1, b=1), frame(1, c=1, d=1), minimize="ms")
    with refused(BadInput, snapshot):
        gate(frame(0, a=1), baseline_arm="a", minimize="ms")


def test_a_study_is_no_log_of_a_gate(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    from frontguard import Objective, Study

    study = Study(["a", "b"], [Objective("ms", "minimize")], storage=tmp_path / "s.db")
    study.tell_many([(pull, {"ms": 1.0}) for pull in study.ask(4)])
    study.close()
    with refused(BadInput, snapshot):
        gate(str(tmp_path / "s.db"), str(tmp_path / "s.db"))
