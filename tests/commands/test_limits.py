"""Limits in specs and options: where their metrics come from, what is refused, and runs that keep to them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion
from typer.testing import CliRunner

from frontguard import BadInput, Limit
from frontguard.cli import application
from frontguard.commands.spec import MetricSource, Spec, read_spec
from frontguard.limits import with_limits
from frontguard.results import Answer
from tests.support.snapshots import said

PROGRAM = """
# arm, seed: hundredths of work and memory, with noise of the seed
case $1 in fast) work=100 memory=500 ;; good) work=300 memory=200 ;; slow) work=500 memory=300 ;; esac
echo "{\\"work\\": $(( work + $2 % 61 - 30 ))e-2, \\"memory\\": $(( memory + $2 / 61 % 61 - 30 ))e-2}"
echo "peak: $(( memory + $2 / 3721 % 61 - 30 ))e-2" >&2
"""

SPEC = """
[study]
contamination = 0

[[objective]]
name = "work"
direction = "minimize"
tolerance = 0.5

[[limit]]
metric = "memory"
at_most = 4
{more}
[run]
command = ["sh", "measure.sh", "{{arm}}", "{{seed}}"]

[[arm]]
name = "fast"
[[arm]]
name = "good"
[[arm]]
name = "slow"
"""


def spec_in(folder: Path, more: str = "") -> Path:
    (folder / "measure.sh").write_text(PROGRAM)
    file = folder / "spec.toml"
    file.write_text(SPEC.format(more=more))
    return file


def read(folder: Path, more: str = "") -> Spec:
    return read_spec(spec_in(folder, more))


def test_limits_of_a_spec(tmp_path: Path) -> None:
    more = """
[[limit]]
metric = "peak"
at_most = 6.5
quantile = 0.75
tolerance = "10%"
source = "regex"
pattern = 'peak: (\\S+)'
stream = "stderr"

[[limit]]
metric = "work"
at_least = 0
statistic = "mean"
bounds = [0, 10]
"""
    spec = read(tmp_path, more)
    assert spec.question.limits == (
        Limit("memory", at_most=4),
        Limit("peak", at_most=6.5, quantile=0.75, tolerance="10%"),
        Limit("work", at_least=0, statistic="mean", bounds=(0, 10)),
    )
    assert [source.objective.name for source in spec.sources if source.objective] == ["work", "memory", "peak"]
    assert tuple(replace(source, objective=None) for source in spec.sources) == (
        MetricSource("work"),
        MetricSource("memory"),
        MetricSource("peak", "regex", pattern=r"peak: (\S+)", stream="stderr"),
    )
    limits = with_limits(spec.question.limits, [Limit("memory", at_most=9), Limit("seconds", at_most=2)])
    assert [limit.value for limit in limits] == [9, 6.5, 0, 2]
    looser = spec.asking(spec.question.but(limits=limits))
    assert replace(looser.sources[-1], objective=None) == MetricSource("seconds", "seconds")


@pytest.mark.parametrize(
    "more",
    [
        '[[limit]]\nat_most = 3\n',
        '[[limit]]\nmetric = "x"\n',
        '[[limit]]\nmetric = "x"\nat_most = "3"\n',
        '[[limit]]\nmetric = "x"\natmost = 3\n',
        '[[limit]]\nmetric = "x"\nat_most = 3\nquantile = 95\n',
        '[[limit]]\nmetric = "x"\nat_most = 3\nstatistic = "max"\n',
        '[[limit]]\nmetric = "x"\nat_most = 3\nbounds = [1]\n',
        '[[limit]]\nmetric = "work"\nat_most = 3\nkey = "w"\n',
        '[[limit]]\nmetric = "x"\nat_most = 3\npattern = "w"\n',
    ],
)  # fmt: skip
def test_limits_that_a_spec_cannot_have(tmp_path: Path, more: str, snapshot: SnapshotAssertion) -> None:
    with pytest.raises(BadInput) as error:
        read(tmp_path, more)
    assert said(str(error.value)) == snapshot
    assert "line" in str(error.value)


def test_run_with_a_limit_on_a_metric_that_is_no_objective(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    file = spec_in(tmp_path)
    ran = CliRunner().invoke(application(), ["run", str(file), "--json", "--max-pulls", "400"])
    assert ran.exit_code == 0, ran.output
    told = json.loads(ran.stdout)
    assert told["verdicts"] == {"fast": "beaten", "good": "keep", "slow": "beaten"}
    assert told["certificate"]["limits"] == ["median(memory) ≤ 4"]
    assert told["limits"][0]["at_most"] == 4.0
    assert told["keeping"]["fast"][0]["keeping"] == "infeasible"
    assert told["keeping"]["fast"][0]["interval"][0] > 4.0
    assert said(told["answer"]) == snapshot

    back = Answer.from_dict(told, "it")
    assert said(back.explain("fast")) == snapshot
    assert said(back.explain("good")) == snapshot

    again = CliRunner().invoke(application(), ["run", str(file), "--limit", "memory<=6", "--max-pulls", "400"])
    assert again.exit_code == 0, again.output
    assert said(again.stdout.splitlines()[0]) == snapshot
    other = CliRunner().invoke(application(), ["run", str(file), "--limit", "disk<=6"])
    assert other.exit_code != 0


def test_quick_comparison_with_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    spec_in(tmp_path)
    arms = [f"--arm={arm}=sh measure.sh {arm} {{seed}}" for arm in ("fast", "good")]
    ran = CliRunner().invoke(
        application(),
        ["run", *arms, "--minimize", "work", "--limit", "p90(memory)<=4", "--contamination", "0", "--json",
         "--max-pulls", "300", "--tolerance", "20%"],
    )  # fmt: skip
    assert json.loads(ran.stdout)["pareto_set"] == ["good"], ran.output


def test_what_is_no_limit_is_refused_in_a_line(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    for command in (["run", str(spec_in(tmp_path))], ["analyze", "x.csv"]):
        ran = CliRunner().invoke(application(), [*command, "--limit", "p95(latency)"])
        told = ran.output + str(ran.exception)
        assert said(told) == snapshot


def test_log_with_limits_on_the_command_line(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    log = tmp_path / "log.csv"
    rows = [f"{arm},{work + i % 7 / 10},{memory + i % 5 / 10}" for arm, work, memory in
            (("fast", 1, 5), ("good", 3, 2), ("slow", 5, 3)) for i in range(100)]  # fmt: skip
    log.write_text("arm,work,memory\n" + "\n".join(rows) + "\n")
    arguments = ["analyze", str(log), "--minimize", "work", "--limit", "memory<=4", "--limit", "mean(memory,0,9)>=0"]
    shown = CliRunner().invoke(application(), arguments[:-2])
    assert shown.exit_code == 0, shown.output
    assert said(shown.stdout) == snapshot
    assert "infeasible" in shown.stdout
    told = json.loads(CliRunner().invoke(application(), [*arguments[:-2], "--json"]).stdout)
    assert told["keeping"]["good"][0]["keeping"] == "feasible"

    back = Answer.from_dict(told, "it")
    assert said(back.explain("fast")) == snapshot
