"""`frontguard run`: the usual course, from the first pull to the certificate."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import Malicious
from frontguard.cli.run import spec_of
from frontguard.errors import BadInput
from frontguard.storage import End, open_storage
from tests.cli.run.toy import (
    found,
    run,
    told,
)
from tests.support.servers import PostgresServer
from tests.support.snapshots import refused, said


def test_it_certifies_the_front_and_says_so_again_at_once(folder: Path, snapshot: SnapshotAssertion) -> None:
    ran = run(folder, "toy.toml", "--json", "--workers", "2")
    assert ran.returncode == 0, ran.stderr
    answer = found(ran)
    assert answer["status"] == "certified"
    assert answer["pareto_set"] == ["small", "fast"]
    assert answer["verdicts"] == {"small": "keep", "fast": "keep", "poor": "beaten"}
    assert set(answer["certificate"]) == {"accuracy", "coverage", "confidence", "threat", "contamination"} | {
        "void",
        "arms",
        "by_column",
        "excluded",
        "limits",
    }
    assert answer["certificate"]["contamination"] == 0.02
    stored = told(folder / "toy.db")
    assert answer["pulls"] == sum(answer["pulls_per_arm"].values())
    assert answer["pulls"] <= stored <= answer["pulls"] + 1  # the other worker was under way when it was decided
    for arm, cost, size in (("small", 3000, 1000), ("fast", 2000, 1200), ("poor", 4000, 1400)):
        (cost_low, cost_high), (size_low, size_high) = (answer["intervals"][arm][metric] for metric in ("cost", "size"))
        assert cost_low <= cost <= cost_high
        assert size_low <= size <= size_high
        assert cost_low <= answer["estimates"][arm]["cost"] <= cost_high
    assert answer["study"]["failures"] == {}
    assert [each["tolerance"] for each in answer["objectives"]] == ["10%", 10.0]
    assert said(ran.stderr.splitlines()[0]) == snapshot(name="what begins")
    assert "SQLite" not in ran.stderr  # all is well with it

    again = run(folder, "toy.toml")  # nothing is left to do: the answer for people
    assert again.returncode == 0
    assert f"going on with {stored} pulls" in again.stderr
    printed = " ".join(again.stdout.split())
    assert answer["answer"] == snapshot(name="the answer")
    assert printed.startswith(answer["answer"])
    assert re.search(r"poor .*\[.* beaten by ", again.stdout)
    assert re.search(r"95%.* 2%", printed)  # the confidence and the contamination
    assert f"{answer['pulls']:,} runs in" in printed
    assert f"frontguard report {folder / 'toy.db'}" in printed
    assert f"frontguard serve {folder / 'toy.db'}" in printed
    assert told(folder / "toy.db") == stored


def test_a_quick_comparison_without_a_file(folder: Path, snapshot: SnapshotAssertion) -> None:
    arms = ["--arm", "short=sleep 0.001", "--arm", "long=sleep 0.2", "--tolerance", "50%", "--contamination", "0"]
    ran = run(folder, *arms, "--json")
    assert ran.returncode == 0, ran.stderr
    answer = found(ran)
    assert answer["pareto_set"] == ["short"]
    assert [each["tolerance"] for each in answer["objectives"]] == ["50%"]
    assert answer["intervals"]["long"]["seconds"][0] >= 0.2
    assert answer["storage"] == "frontguard-run.db"
    others = run(folder, "--arm", "a=sh measure.sh 1 2 {seed} 0", "--arm", "b=sh measure.sh 9 2 {seed} 0",
                 "--minimize", "cost", "--json")  # fmt: skip
    assert found(others)["pareto_set"] == ["a"]  # another study in the same file
    assert found(others)["study"]["name"] != answer["study"]["name"]
    with open_storage(folder / "frontguard-run.db", read_only=True) as storage:
        assert len(storage.studies()) == 2
    same = run(folder, *arms)
    assert f"going on with {answer['pulls']} pulls" in same.stderr
    assert same.stdout.splitlines()[0] == snapshot


def test_a_budget_ends_it_and_a_larger_one_goes_on(folder: Path) -> None:
    asked = ["toy.toml", "--tolerance", "size=3", "--tolerance", "cost=4%"]
    ran = run(folder, *asked, "--max-pulls", "20")
    assert ran.returncode == 3, ran.stderr
    suggested = re.search(r"To decide: .*--max-pulls ([0-9]+)\.", " ".join(ran.stdout.split()))
    assert suggested is not None, ran.stdout
    assert int(suggested[1]) > 20
    more = run(folder, *asked, "--max-pulls", "5000", "--json")
    assert more.returncode == 0
    assert "going on with 20 pulls" in more.stderr
    assert found(more)["pulls"] > 20


def test_when_the_time_is_over_what_is_under_way_is_waited_for_again_and_again(
    folder: Path, snapshot: SnapshotAssertion
) -> None:
    """Stopped short, a slow pull would never end: only the fast arm would be measured, and look best."""
    arms = ("--arm=a=sleep 1.5", "--arm=b=sleep 1.6")
    for call in (1, 2, 3):
        ran = run(folder, *arms, "--max-time", "0.2 s", "--json")
        assert ran.returncode == 3
        answer = found(ran)
        assert answer["status"] == "budget"
        assert [line for line in ran.stderr.splitlines() if "waiting" in line] == snapshot(name="waiting")
        assert answer["pulls"] == call
    with open_storage(folder / "frontguard-run.db", read_only=True) as storage:
        log = storage.told(storage.studies()[0])
    assert log.pulls.tolist() == [1, 2, 3]
    assert log.ends.tolist() == [End.TOLD] * 3
    assert (log.values >= 1.5).all()


def test_what_cannot_be_reached_is_said_with_what_could_be(folder: Path, snapshot: SnapshotAssertion) -> None:
    equal = [f"--arm={name}=sh measure.sh 30 1 {{seed}} 0" for name in "ab"]
    # One worker, so that the pulls are the same each time: near what could be reached, others take ten times as many.
    asked = [*equal, "--minimize", "cost", "--contamination", "0.4", "--workers=1"]
    ran = run(folder, *asked, "--tolerance", "1%")
    assert ran.returncode == 3, ran.stderr
    assert said(ran.stdout) == snapshot
    suggested = re.search(r"To decide: .*--tolerance ([0-9.]+%)", " ".join(ran.stdout.split()))
    assert suggested is not None, ran.stdout
    again = run(folder, *asked, "--tolerance", "1%", "--json")
    assert again.returncode == 3
    assert found(again)["status"] == "unreachable"
    looser = run(folder, *asked, "--tolerance", suggested[1], "--json")
    assert looser.returncode == 0, looser.stderr + looser.stdout
    assert "going on with" in looser.stderr
    assert found(looser)["status"] == "certified"


def gains(**gain: int) -> list[str]:
    """Arms that always print this gain, in percent."""
    arms = [f"--arm={name}=echo '{json.dumps({'gain': value})}'" for name, value in gain.items()]
    return [*arms, "--maximize", "gain", "--tolerance", "5%"]


LOW = gains(low=-3, high=4, mid=2)


def test_with_a_tolerance_in_units_the_same_study_goes_on(folder: Path) -> None:
    assert run(folder, *LOW).returncode == 3
    again = run(folder, *LOW[:-1], "0.5", "--json")
    assert "going on with" in again.stderr
    assert found(again)["verdicts"] == {"low": "beaten", "high": "keep", "mid": "beaten"}
    assert found(again)["study"]["failures"] == {}


def test_a_tolerance_in_percent_is_refused_at_once_where_most_values_are_not_positive(
    folder: Path, snapshot: SnapshotAssertion
) -> None:
    ran = run(folder, *gains(low=-3, high=-4, mid=2))
    assert ran.returncode == 2
    example = re.compile(r"-[34] of arm '(low|high)'")
    assert said(example.sub("VALUE of an arm", ran.stderr.splitlines()[-1])) == snapshot


def test_options_take_the_place_of_what_the_spec_says(folder: Path) -> None:
    given = {
        "tolerance": ["size=5%"], "threat": "malicious", "contamination": ["5%"], "confidence": "90%", "max_pulls": 70,
        "max_time": "2 min", "workers": 3, "timeout": "1 h", "seed": 4, "study": "other",
    }  # fmt: skip
    spec = spec_of(folder / "toy.toml", (), given)
    question = spec.question
    assert [objective.tolerance for objective in question.objectives] == ["10%", "5%"]
    assert [source.objective for source in spec.sources] == list(question.objectives)  # its logarithm will be taken
    assert (question.threat, question.confidence, spec.seed, spec.name) == (Malicious(0.05), 0.9, 4, "other")
    assert (question.max_pulls, spec.max_time, spec.workers, spec.timeout) == (70, 120.0, 3, 3600.0)
    assert spec.lease > 3600.0  # a pull that is still allowed to run is not given to another worker


@pytest.mark.parametrize(
    "options",
    [
        {"threat": "none"},
        {"confidence": "1.0"},
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        spec_of(None, ("a=true", "b=x"), options)


def test_a_study_on_a_server(folder: Path, postgres: PostgresServer) -> None:
    address = postgres.new_database()
    ran = run(folder, "toy.toml", "--storage", address, "--max-pulls", "10")
    assert ran.returncode == 3, ran.stderr
    assert "PostgreSQL" not in ran.stderr  # all is well with it
    assert postgres.password not in ran.stderr + ran.stdout
    more = run(folder, "toy.toml", "--storage", address, "--json")
    assert more.returncode == 0, more.stderr
    assert "going on with 10 pulls" in more.stderr
    assert found(more)["pareto_set"] == ["small", "fast"]
    assert postgres.password not in more.stderr + more.stdout
    assert not list(folder.glob("*.db"))
