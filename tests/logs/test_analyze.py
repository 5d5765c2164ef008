"""`frontguard.analyze` as a whole: against a naive twin over frames of every shape, and what else it promises."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from syrupy.assertion import SnapshotAssertion

import frontguard as fg
from frontguard import BadInput, Objective, Prescient, Question, Study, analyze
from frontguard._common.entries import json_pieces
from frontguard.errors import BadArgument
from frontguard.experiments.datasets import bundled_recording
from frontguard.logs.sort import LogProgress
from frontguard.logs.state import LogState
from frontguard.notices import NotPositive
from frontguard.results import Answer, Certificate
from frontguard.theory.spread import Gaussian
from frontguard.theory.threats import threat_of
from tests.conftest import ROOT
from tests.logs.naive_analysis import Naive
from tests.support.snapshots import refused, said

NAMES = ["a", "b", "NA", "007", "1e5", "-O2", "ä ö"]
KINDS = ("dict", "pandas", "polars", "lazy", "arrow")


# Frames ---------------------------------------------------------------------------------------------------------------


def frame_of(kind: str, columns: dict[str, list[Any]]) -> Any:
    if kind == "pandas":
        return pd.DataFrame(columns)
    if kind in ("polars", "lazy"):
        frame = pl.DataFrame(columns, strict=False)
        return frame.lazy() if kind == "lazy" else frame
    return pa.table(columns) if kind == "arrow" else columns


def wide(rows: list[tuple[str, list[float | None]]], names: list[str]) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {"arm": [arm for arm, _ in rows]}
    return columns | {name: [None if v[d] is None else float(v[d]) for _, v in rows] for d, name in enumerate(names)}


def long(rows: list[tuple[str, list[float | None]]], names: list[str]) -> dict[str, list[Any]]:
    parts = [(arm, name, v[d]) for d, name in enumerate(names) for arm, v in rows]
    return {
        "arm": [part[0] for part in parts],
        "metric": [part[1] for part in parts],
        "value": [None if part[2] is None else float(part[2]) for part in parts],
    }


# Halves, so that sums are exact in any order and ties are frequent.
VALUES = st.one_of(
    st.integers(-4, 40).map(lambda k: k / 2),
    st.integers(1, 12).map(float),
    st.sampled_from([None, math.nan, math.inf, -math.inf]),
)


@st.composite
def logs(draw: st.DrawFn) -> tuple[list[tuple[str, list[float | None]]], list[Objective]]:
    M = draw(st.integers(1, 3))
    near = draw(st.booleans())  # large samples that lie near each other: there all verdicts come up
    objectives = [
        Objective(
            f"metric {d}",
            draw(st.sampled_from(["maximize", "minimize"])),
            draw(st.sampled_from([1.0, 3.0, "30%"] if near else [0.0, 0.5, 3.0, "10%", "100%"])),
            draw(st.sampled_from([0.5, 0.5, 0.25, 0.9])),
        )
        for d in range(M)
    ]
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows: list[tuple[str, list[float | None]]] = []
    for arm in draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=6, unique=True)):
        if near or draw(st.booleans()):
            count = int(rng.integers(150, 300) if near else rng.integers(20, 120))
            centre = 12 + 2 * rng.integers(-1, 2) + rng.integers(-1, 2, M)
            values = np.round(2 * rng.normal(centre, 2.0 if near else rng.choice([0.0, 0.6, 3.0]), (count, M))) / 2
            rows += [(arm, row) for row in values.tolist()]
        scraps = draw(st.lists(st.lists(VALUES, min_size=M, max_size=M), max_size=4))
        rows += [(arm, row) for row in scraps or [[1.0] * M]]
    order = rng.permutation(len(rows)).tolist()
    return [rows[i] for i in order], objectives


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(
    logs(),
    st.sampled_from(KINDS),
    st.booleans(),
    st.sampled_from(["oblivious", "prescient", "malicious", "share"]),
    st.sampled_from([0.0, 0.05, 0.2]),
    st.sampled_from([0.5, 0.95]),
    st.sampled_from(["front", "list"]),
)
def test_the_whole_answer_is_that_of_the_naive_twin(
    log: Any, kind: str, in_long: bool, threat: str, eps: float, confidence: float, goal: str
) -> None:
    rows, objectives = log
    names = [objective.name for objective in objectives]
    by_arm: dict[str, list[list[float | None]]] = {}
    for arm, values in rows:
        by_arm.setdefault(arm, []).append(values)
    twin = Naive(by_arm, objectives, threat_of(threat, eps), confidence, goal)
    frame = frame_of(kind, long(rows, names) if in_long else wide(rows, names))
    low = [
        sum(values[d] is not None and -np.inf < values[d] <= 0.0 for _, values in rows)  # type: ignore[operator]
        for d, objective in enumerate(objectives)
        if objective.relative
    ]
    asked: dict[str, Any] = {"arm": "arm", "objectives": objectives, "layout": "long" if in_long else None}
    asked |= {"threat": threat, "contamination": eps, "confidence": confidence, "goal": goal}
    if 2 * max(low, default=0) > len(rows) and not in_long:
        with pytest.raises(BadInput):
            analyze(frame, **asked)
        return
    try:
        found = analyze(frame, **asked)
    except BadInput as error:
        assert in_long and max(low) > 0 and "needs positive values" in str(error)  # noqa: PT017, PT018
        return
    assert list(found.arms) == twin.arms
    assert found.verdicts == twin.verdicts
    assert found.inner.lower.tolist() == [twin.low[arm] for arm in twin.arms]
    assert found.inner.upper.tolist() == [twin.high[arm] for arm in twin.arms]
    assert found.log.failed.tolist() == [twin.failed[arm] for arm in twin.arms]
    if in_long:  # rows of one value each: where rows are missing, which values belong together is not known
        assert all(
            max(twin.failed[arm]) <= lacking <= sum(twin.failed[arm])
            for arm, lacking in zip(twin.arms, found.log.failed_pulls.tolist(), strict=True)
        )
    else:
        assert found.log.failed_pulls.tolist() == [twin.failed_pulls[arm] for arm in twin.arms]
    assert found.pulls_per_arm.tolist() == [len(by_arm[arm]) for arm in twin.arms]
    wanted = [[math.nan if v == -math.inf else v for v in twin.estimate[arm]] for arm in twin.arms]
    np.testing.assert_array_equal(found.inner.estimates, wanted)
    certificate = Certificate(tuple(twin.accuracy), tuple(twin.coverage), confidence, threat, eps, arms=len(twin.arms))
    assert found.certificate == certificate.in_units(objectives)
    assert found.mean_set == twin.mean_set()
    opened = [arm for arm, word in twin.verdicts.items() if word == "undecided"]
    assert (found.status == "certified") == (not opened)
    assert list(found.more_pulls()) == opened
    check_profile(found, by_arm, objectives, threat, confidence, goal)
    printed = json.loads("".join(json_pieces(found.entries())))
    assert printed == json.loads(json.dumps(found.to_dict()))


def check_profile(
    found: Answer, by_arm: dict[str, Any], objectives: list[Objective], threat: str, confidence: float, goal: str
) -> None:
    """At the ε where the front changes it is another one, and just before it is the same; so for the first verdict."""
    profile = found.log.profile
    assert profile is not None

    def at(eps: float) -> dict[str, str]:
        return Naive(by_arm, objectives, threat_of(threat, eps), confidence, goal).verdicts

    def certain(eps: float) -> bool:
        """Whether those kept are as now, and of all others as much is known."""
        then, now = at(eps), found.verdicts
        return all((then[arm] == "keep") == (now[arm] == "keep") for arm in now) and not any(
            then[arm] == "undecided" != now[arm] for arm in now
        )

    if profile.front < 0.5:
        assert not certain(profile.front)
        assert certain(max(found.certificate.contamination, profile.front - profile.resolution))
    stands = found.holds_up_to
    if stands:
        arm = min(stands, key=lambda each: stands[each])
        assert at(stands[arm])[arm] == found.verdicts[arm]
        if (beyond := stands[arm] + profile.resolution) < 0.5:
            assert at(beyond)[arm] != found.verdicts[arm]


# Everything else ------------------------------------------------------------------------------------------------------


def frame(seed: int = 0, arms: int = 5, pulls: int = 150) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    names = np.repeat([f"arm {i}" for i in range(arms)], pulls)
    speed = rng.normal(np.repeat(np.arange(arms), pulls), 1.0)
    size = np.exp(rng.normal(np.repeat(np.arange(arms) * 0.7, pulls), 0.3))
    return pd.DataFrame({"arm": names, "speed": speed, "size": size})


ASKED: dict[str, Any] = {"arm": "arm", "maximize": "speed", "minimize": "size", "tolerance": {"size": "5%"}}


def same(first: Answer, second: Answer) -> bool:
    return first.to_dict() == second.to_dict()


@pytest.mark.parametrize("kind", KINDS)
def test_the_answer_comes_in_the_kind_of_frame_that_was_given(kind: str) -> None:
    found = analyze(frame_of(kind, frame().to_dict("list")), **ASKED)
    table = found.to_frame()
    kinds = {"dict": dict, "pandas": pd.DataFrame, "polars": pl.DataFrame, "lazy": pl.LazyFrame, "arrow": pa.Table}
    assert isinstance(table, kinds[kind])
    plain = pd.DataFrame(table.collect().to_dict(as_series=False) if kind == "lazy" else analyze_columns(table, kind))
    assert plain["verdict"].tolist() == list(found.verdicts.values())
    assert {"size mean", "size failed", "stands up to", "more pulls", "decided by"} <= set(plain)


def analyze_columns(table: Any, kind: str) -> Any:
    if kind == "arrow":
        return table.to_pydict()
    return table.to_dict(as_series=False) if kind == "polars" else table


def test_files_and_frames_out_of_core_and_in_memory_give_one_answer(tmp_path: Path) -> None:
    whole = frame()
    expected = analyze(whole, **ASKED)
    whole.to_csv(tmp_path / "log.csv", index=False)
    pq.write_table(pa.Table.from_pandas(whole), tmp_path / "log.parquet")
    whole.to_json(tmp_path / "log.jsonl", orient="records", lines=True, double_precision=15)
    assert same(analyze(tmp_path / "log.csv", **ASKED), expected)
    assert same(analyze(str(tmp_path / "log.parquet"), **ASKED, memory=2**20), expected)
    near = analyze(tmp_path / "log.jsonl", **ASKED)
    assert near.verdicts == expected.verdicts


def test_appending_and_merging_states_is_one_log(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    whole = frame()
    expected = analyze(whole, **ASKED, anytime=True)
    for part in range(3):
        whole[part::3].to_csv(tmp_path / f"{part}.csv", index=False)
        found = analyze(tmp_path / f"{part}.csv", **ASKED, append=tmp_path / "log.state")
        analyze(tmp_path / f"{part}.csv", **ASKED, append=tmp_path / f"{part}.state")
    assert same(found, expected)
    assert same(analyze(tmp_path / "log.state", **ASKED), expected)
    assert same(analyze([tmp_path / f"{part}.state" for part in range(3)], **ASKED), expected)
    assert same(analyze(f"{tmp_path}/[0-2].state", **ASKED, append=tmp_path / "merged.state"), expected)
    assert len(LogState.load(tmp_path / "merged.state").sources) == 3
    for again in (tmp_path / "1.csv", tmp_path / "1.state"):
        with refused(BadInput, snapshot):
            analyze(again, **ASKED, append=tmp_path / "log.state")
    twice = analyze(tmp_path / "1.csv", **ASKED, append=tmp_path / "log.state", again=True)
    assert twice.pulls == expected.pulls + len(whole[1::3])


def test_a_file_that_grew_is_not_counted_from_its_beginning(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    log = tmp_path / "log.csv"
    frame().to_csv(log, index=False)
    analyze(log, **ASKED, append=tmp_path / "state")
    before = (tmp_path / "state").read_bytes()
    with log.open("a") as file:
        file.write("arm 1,3.0,1.0\n")
    with refused(BadInput, snapshot):
        analyze(log, **ASKED, append=tmp_path / "state")
    assert (tmp_path / "state").read_bytes() == before


def test_a_sketched_state_holds_less_and_promises_no_more(tmp_path: Path) -> None:
    whole = frame(pulls=3000)
    exact = analyze(whole, **ASKED)
    found = analyze(whole, **ASKED, sketch=200)
    assert (found.inner.lower <= exact.inner.lower).all()
    assert (found.inner.upper >= exact.inner.upper).all()
    assert (found.inner.lower < exact.inner.lower).any()
    np.testing.assert_allclose(found.log.means, exact.log.means)
    assert found.certificate.confidence == 0.95


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"tolerance": {"sped": 1.0}}, "'sped' is not one of the metrics (did you mean 'speed'?)"),
        ({"quantile": {"x": 0.5}}, "quantile: 'x' is not one of the metrics"),
        ({"confidence": 1.0}, "confidence must be a probability"),
        ({"confidence": "much"}, "confidence"),
        ({"contamination": 0.5}, "contamination must be a probability from 0 to below 1/2"),
        ({"threat": "presient"}, "threat must be one of oblivious, prescient, malicious, share"),
        ({"objectives": ["speed"]}, "give them one way"),
        ({"maximize": ["speed", "speed"]}, "different names"),
        ({"minimize": "sized"}, "did you mean 'size'?"),
        ({"maximize": (), "minimize": ()}, "say which columns are the metrics"),
        ({"quantile": 1.5}, "strictly between 0 and 1"),
    ],
)
def test_what_is_wrong_is_said(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(BadInput) as caught:
        analyze(frame(), **{**ASKED, "tolerance": None, **options})
    assert complaint in str(caught.value)


def test_shares_are_read_as_they_are_written(snapshot: SnapshotAssertion) -> None:
    written = analyze(frame(), **{**ASKED, "threat": None, "contamination": "5 %", "confidence": "90%"})
    given = analyze(frame(), **{**ASKED, "threat": fg.Prescient(0.05), "contamination": 0.05, "confidence": 0.9})
    assert written.certificate == given.certificate
    assert (written.certificate.contamination, written.certificate.confidence) == (0.05, 0.9)
    with refused(BadInput, snapshot):
        analyze(frame(), **{**ASKED, "threat": fg.Prescient(0.05), "contamination": 0.1})


@pytest.mark.parametrize(
    ("name", "meant"),
    [("minimise", "minimize"), ("maximise", "maximize"), ("layuot", "layout"), ("contaminaton", "contamination")],
)
def test_an_unknown_argument_is_told_what_may_be_meant(name: str, meant: str, snapshot: SnapshotAssertion) -> None:
    with refused(TypeError, snapshot):
        analyze(frame(), **{**ASKED, name: "speed"})


def test_what_is_wrong_with_a_state_is_said(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    state, log = tmp_path / "log.state", tmp_path / "log.csv"
    frame().to_csv(log, index=False)
    analyze(log, arm="arm", maximize=["speed", "size"], append=state)
    for options, complaint in (
        ({}, "say which of them to maximize"),
        ({"minimize": "seize"}, "no column is called 'seize' (did you mean 'size'?)"),
        ({"minimize": "size", "arm": "flag"}, "its arm is 'arm'; got 'flag'"),
        ({"minimize": "speed", "tolerance": "5%"}, "has values of 'speed' that are not positive, such as "),
    ):
        with pytest.raises(BadInput) as caught:
            analyze(state, **options)
        assert complaint in str(caught.value)
    with refused(BadInput, snapshot):
        analyze([state, log], **ASKED)
    assert analyze(state, minimize="size", tolerance="5%").arms == tuple(f"arm {i}" for i in range(5))


def test_a_tolerance_for_all_applies_where_the_log_brings_its_own_metrics(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    times = np.random.default_rng(0).normal(1.0, 0.01, 60).tolist()
    results = [{"command": name, "times": [each * s for each in times]} for name, s in (("one", 1.0), ("two", 1.001))]
    path.write_text(json.dumps({"results": results}))
    assert analyze(path, contamination=0.05).status != "certified"
    found = analyze(path, contamination=0.05, tolerance="5%")
    assert found.metrics == (Objective("seconds", "minimize", "5%"),)
    assert found.status == "certified"
    assert "one" in found.pareto_set


def test_studies_chose_their_pulls_by_what_they_saw(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    study = fg.Study(
        ["a", "b"], [Objective("x", "maximize", tolerance="5%")], fg.Prescient(0.1), storage=str(tmp_path / "s.db")
    )
    rng = np.random.default_rng(0)
    pulls = study.ask(40)
    study.tell_many([(pull, [float(5 + (pull.arm == "a") + rng.normal(0, 0.3))]) for pull in pulls])
    found = analyze(tmp_path / "s.db")
    assert found.anytime
    assert found.metrics == (Objective("x", "maximize", tolerance="5%"),)
    with refused(BadInput, snapshot):
        analyze(tmp_path / "s.db", anytime=False)
    assert analyze(tmp_path / "s.db", append=tmp_path / "state").anytime
    assert analyze(tmp_path / "state", maximize="x").anytime
    with refused(BadInput, snapshot):
        analyze(tmp_path / "state", maximize="x", anytime=False)
    assert not analyze(frame(), **ASKED).anytime


def test_progress_knows_how_much_is_left_where_only_bytes_are_known(tmp_path: Path) -> None:
    whole = frame(pulls=60_000)
    whole.to_csv(tmp_path / "log.csv", index=False)
    told: list[LogProgress] = []
    analyze(tmp_path / "log.csv", **ASKED, progress=told.append)
    reading = [each for each in told if each.stage == "reading"]
    assert told[-1].stage == "sorting"
    assert told[-1].rows == told[-1].total == len(whole)
    assert reading[-1].rows == len(whole)
    assert all(each.total is not None and each.seconds_left is not None for each in reading)
    assert all(abs(each.total - len(whole)) < 0.5 * len(whole) for each in reading if each.rows > len(whole) / 3)  # type: ignore[operator]


def test_an_analysis_is_shown_in_short_whatever_its_size(snapshot: SnapshotAssertion) -> None:
    found = analyze(frame(), **ASKED)
    assert said(repr(found)) == snapshot
    assert found._repr_html_().count("<tr>") == 6
    many = analyze({"arm": [str(i) for i in range(1000)], "x": np.arange(1000.0)}, maximize="x")
    assert 100 <= many._repr_html_().count("<tr>") < 150
    assert "900 undecided" in many._repr_html_()


def test_the_twin_meets_every_verdict() -> None:
    """Or the comparison with it would show less than it seems to."""
    seen: set[str] = set()
    for seed in range(40):
        rng = np.random.default_rng(seed)
        by_arm: dict[str, list[list[float | None]]] = {
            name: (np.round(2 * rng.normal(rng.integers(0, 3, 2), 0.4, (60, 2))) / 2).tolist() for name in NAMES[:4]
        }
        objectives = [Objective("x", "maximize", tolerance=0.5), Objective("y", "maximize", tolerance=0.5)]
        eps = 0.05 if seed % 2 else 0.3
        seen |= set(Naive(by_arm, objectives, threat_of("prescient", eps), 0.9).verdicts.values())
    assert seen == {"keep", "beaten", "matched", "undecided"}


def test_what_the_page_shows_by_hand_is_what_the_log_says() -> None:
    recording = bundled_recording()
    busy = recording.neighbour
    frame = {
        "arm": [recording.arms[i] for i in recording.arm_of_row[busy]],
        "time": recording.metrics[busy, 0],
        "bytes": recording.metrics[busy, 1],
    }
    asked: dict[str, Any] = {"minimize": ["time", "bytes"], "tolerance": {"time": "2%"}, "contamination": 0.1}
    found = analyze(frame, **asked)
    arm, rival = "-O2 -funroll-loops", "-O2 -march=native"
    assert found.verdicts[arm] == "beaten"
    assert found.to_dict()["decided_by"][arm] == rival
    rank = max(k for k in range(1, 220) if binom.cdf(k - 1, 220, 0.45) <= 0.05 / 80)
    page = (ROOT / "docs" / "by-hand.md").read_text()
    assert f"The rank is {rank}." in page
    for name in (arm, rival):
        times = sorted(recording.pulls_of(name, neighbour=True)[:, 0].tolist())
        low, high = times[rank - 1], times[-rank]
        assert found.intervals[name]["time"] == pytest.approx([low, high], rel=1e-12)
        bytes_ = int(recording.pulls_of(name)[0, 1])
        row = f"| `{name}` | {low:.5f} | {high:.5f} | {bytes_} | {np.median(times):.4f} | {np.mean(times):.4f} |"
        assert row in page
    quiet = {
        "arm": [recording.arms[i] for i in recording.arm_of_row[~busy]],
        "time": recording.metrics[~busy, 0],
        "bytes": recording.metrics[~busy, 1],
    }
    assert analyze(quiet, **asked).verdicts == found.verdicts
    assert found.holds_up_to[arm] == 0.499


# A tolerance in percent on values that are not positive ---------------------------------------------------------------


def profits(low: int) -> dict[str, Any]:
    """Four arms with 20 rows each, of which the first `low` have no positive profit."""
    return {"arm": list("abcd") * 20, "profit": [-1.0 - i if i < low else 5.0 + i % 4 for i in range(80)]}


def test_values_that_a_tolerance_in_percent_cannot_use_are_named() -> None:
    found = analyze(profits(3), maximize="profit", tolerance="5%")
    (notice,) = [each for each in found.notices if isinstance(each, NotPositive)]
    assert notice == NotPositive("profit", "a", 3, 80, -1.0, "5%")
    assert found.log.failed.sum() == 3
    absolute = analyze(profits(3), maximize="profit", tolerance=0.5)
    assert (absolute.notices, absolute.log.failed.sum()) == ((), 0)


def test_a_tolerance_in_percent_is_refused_where_most_values_are_not_positive(snapshot: SnapshotAssertion) -> None:
    assert analyze(profits(40), maximize="profit", tolerance="5%").notices
    with pytest.raises(BadInput) as refused:
        analyze(profits(41), maximize="profit", tolerance="5%")
    assert said(refused.value) == snapshot


def test_a_study_asked_in_percent_names_them_too(tmp_path: Path) -> None:
    study = Study(
        ["a", "b"], [Objective("profit", "maximize", tolerance=0.5)], Prescient(0.1), storage=tmp_path / "s.db"
    )
    for _ in range(6):
        study.tell_many([(pull, 5.0 if pull.id > 2 else -3.0) for pull in study.ask(2)])
    study.close()
    found = analyze(tmp_path / "s.db", tolerance="5%")
    (notice,) = [each for each in found.notices if isinstance(each, NotPositive)]
    assert (notice.count, notice.of, notice.example) == (2, 12, -3.0)


@pytest.mark.parametrize("name", ["cost", "max_pulls", "max_pulls_per_arm", "polish", "spread"])
def test_what_is_asked_of_measuring_is_refused_by_keyword_and_in_a_question(
    name: str, snapshot: SnapshotAssertion
) -> None:
    values: dict[str, Any] = {"cost": "x", "polish": True, "spread": Gaussian(0.2)}
    asked: dict[str, Any] = {"minimize": "x", name: values.get(name, 3)}
    said_by = []
    for given_as in (asked, {"question": Question.of(**asked)}):
        with pytest.raises(BadArgument) as refusal:
            analyze({"arm": ["a", "b"], "x": [1.0, 2.0]}, **given_as)
        said_by.append(said(refusal.value))
    assert refusal.value.argument == name
    assert said_by[0] == said_by[1] == snapshot
