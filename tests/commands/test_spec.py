"""Specs: what is read, every mistake with its line, and what may change when a study is resumed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from frontguard import Objective
from frontguard.commands.spec import (
    BadPlaceholder,
    MetricSource,
    Spec,
    escaped,
    filled,
    filled_command,
    grid_arms,
    placeholders,
    read_spec,
    spec_from_arms,
)
from frontguard.errors import BadInput
from frontguard.theory.threats import Malicious, Prescient, threat_of
from tests.commands.spec_mistakes import MISTAKES, MISTAKES_IN_ARMS
from tests.support.snapshots import refused, said

IN_SHORT = """\
[study]
name = "flags"
threat = "prescient"
contamination = 0.1
confidence = 0.95
[[objective]]
name = "seconds"
direction = "minimize"
tolerance = "2%"            # or an absolute number; quantile = 0.5
[run]
prepare = ["gcc", "{opt}", "{unroll}", "-o", "{workdir}/prog", "prog.c"]
command = ["{workdir}/prog"]
workers = 2
timeout = 10
[arms.grid]                 # or [[arm]] name = "...", with parameters
opt = ["-O1", "-O2"]
unroll = ["-fno-unroll-loops", "-funroll-loops"]
"""

LEAST = """\
[[objective]]
name = "seconds"
tolerance = "2%"

[run]
command = ["prog", "{x}"]

[arms.grid]
x = [1, 2]
"""


def test_shares_and_times_are_read_as_they_are_written(tmp_path: Path) -> None:
    told = '[study]\ncontamination = "5%"\nconfidence = "90 %"\n'
    spec = spec_of(tmp_path, told + LEAST.replace("[run]", '[run]\ntimeout = "2 min"\nlease = "1 h"'))
    assert (spec.question.threat, spec.question.confidence, spec.timeout, spec.lease) == (
        Prescient(0.05),
        0.9,
        120.0,
        3600.0,
    )


def spec_of(folder: Path, text: str):
    (folder / "flags.toml").write_text(text, encoding="utf-8")
    return read_spec(folder / "flags.toml")


def refusal_of(folder: Path, text: str) -> str:
    with pytest.raises(BadInput) as caught:
        spec_of(folder, text)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(str(folder / "flags.toml"))
    return message.removeprefix(str(folder / "flags.toml"))


# What is read ---------------------------------------------------------------------------------------------------------


def test_the_spec_of_the_design_is_read(tmp_path):
    spec = spec_of(tmp_path, IN_SHORT)
    assert spec.name == "flags"
    assert spec.question.threat == Prescient(0.1)
    assert (spec.question.confidence, spec.workers, spec.timeout, spec.seed) == (0.95, 2, 10.0, 0)
    (objective,) = spec.question.objectives
    assert (objective.name, objective.direction, objective.tolerance, objective.quantile) == (
        "seconds",
        "minimize",
        "2%",
        None,
    )
    assert spec.sources == (MetricSource("seconds", "seconds", objective=objective),)
    assert [arm.name for arm in spec.arms] == [
        "-O1/-fno-unroll-loops",
        "-O1/-funroll-loops",
        "-O2/-fno-unroll-loops",
        "-O2/-funroll-loops",
    ]
    assert spec.arm_parts() == {
        "arm_columns": ["opt", "unroll"],
        "arm_parts": [[opt, unroll] for opt in ("-O1", "-O2") for unroll in ("-fno-unroll-loops", "-funroll-loops")],
    }
    assert spec.arms[1].parameters == {"opt": "-O1", "unroll": "-funroll-loops"}
    assert spec.arms[1].command == ("{workdir}/prog",)
    assert spec.storage == str(tmp_path / "flags.db")
    assert spec.lease > spec.timeout + spec.prepare_timeout
    assert spec.cwd == tmp_path
    assert spec.source_text == IN_SHORT


def budget_of(spec: Spec) -> dict[str, float]:
    question = spec.question
    found = {"max_pulls": question.max_pulls, "max_pulls_per_arm": question.max_pulls_per_arm}
    return {key: value for key, value in (found | {"max_time": spec.max_time}).items() if value is not None}


def test_everything_but_objectives_arms_and_command_has_a_default(tmp_path):
    spec = spec_of(tmp_path, LEAST)
    assert (spec.name, spec.question.threat, spec.question.confidence, spec.seed) == ("flags", Prescient(0.1), 0.95, 0)
    assert (spec.workers, spec.timeout, budget_of(spec)) == (1, 600.0, {})
    assert spec.lease > spec.timeout
    assert spec.question.objectives[0].direction == "minimize"
    assert spec.arms[0].prepare is None


@pytest.mark.parametrize("name", ["oblivious", "prescient", "malicious", "share"])
def test_every_threat_can_be_asked_for(tmp_path, name):
    text = f"[study]\nthreat = '{name}'\ncontamination = 0.05\n{LEAST}"
    assert spec_of(tmp_path, text).question.threat == threat_of(name, 0.05)


def test_every_key_is_read(tmp_path):
    (tmp_path / "sub").mkdir()
    spec = spec_of(
        tmp_path,
        """
        [study]
        name = "all"
        threat = "malicious"
        contamination = 0
        confidence = 0.9
        seed = 7
        storage = "postgresql://host/base"
        [budget]
        max_pulls = 100
        max_pulls_per_arm = 20
        max_time = "1.5 h"
        [[objective]]
        name = "size"
        direction = "maximize"
        tolerance = 3
        quantile = 0.9
        key = "result.size"
        [[objective]]
        name = "loss"
        direction = "minimize"
        tolerance = 0.5
        source = "regex"
        pattern = 'loss=([0-9.]+)'
        stream = "stderr"
        [[objective]]
        name = "memory"
        tolerance = "10 %"
        source = "max_rss"
        [run]
        command = "./measure {flag} | tail -1"
        shell = true
        workers = 3
        timeout = "2 min"
        prepare_timeout = 30
        lease = 99
        cwd = "sub"
        env = {SEED = "{seed}", N = 4}
        [[arm]]
        name = "plain"
        flag = ""
        [[arm]]
        name = "special"
        command = ["./other", "{level}"]
        prepare = ["make"]
        env = {SEED = "0"}
        level = 3
        """,
    )
    assert (spec.name, spec.question.threat, spec.question.confidence, spec.seed) == ("all", Malicious(0.0), 0.9, 7)
    assert spec.storage == "postgresql://host/base"
    assert budget_of(spec) == {"max_pulls": 100, "max_pulls_per_arm": 20, "max_time": 5400.0}
    assert [(each.direction, each.quantile) for each in spec.question.objectives] == [
        ("maximize", 0.9),
        ("minimize", None),
        ("minimize", None),
    ]
    size, loss, memory = spec.question.objectives
    assert spec.sources == (
        MetricSource("size", "json", key="result.size", objective=size),
        MetricSource("loss", "regex", pattern="loss=([0-9.]+)", stream="stderr", objective=loss),
        MetricSource("memory", "max_rss", objective=memory),
    )
    assert (spec.workers, spec.timeout, spec.prepare_timeout, spec.lease) == (3, 120.0, 30.0, 99.0)
    assert spec.cwd == tmp_path / "sub"
    plain, special = spec.arms
    assert (plain.command, plain.prepare, plain.env) == (
        "./measure {flag} | tail -1",
        None,
        {"SEED": "{seed}", "N": "4"},
    )
    assert (special.command, special.prepare, special.env) == (
        ("./other", "{level}"),
        ("make",),
        {"SEED": "0", "N": "4"},
    )
    assert special.parameters == {"level": 3}


@pytest.mark.parametrize(
    ("written", "limits"),
    [
        ("[study]\nbudget = 500\n", {"max_pulls": 500}),
        ('[study]\nbudget = "30 min"\n', {"max_time": 1800.0}),
        ("[study]\nbudget = {max_pulls_per_arm = 9}\n", {"max_pulls_per_arm": 9}),
        ("budget = 500\n", {"max_pulls": 500}),
        ("[budget]\nmax_time = 90\n", {"max_time": 90.0}),
        ('[budget]\nmax_time = "2h"\n', {"max_time": 7200.0}),
    ],
)
def test_budgets_may_be_short(tmp_path, written, limits):
    assert budget_of(spec_of(tmp_path, written + LEAST)) == limits


def test_line_ends_and_marks_of_other_systems_are_no_trouble(tmp_path):
    (tmp_path / "flags.toml").write_bytes(b"\xef\xbb\xbf" + LEAST.replace("\n", "\r\n").encode())
    assert len(read_spec(tmp_path / "flags.toml").arms) == 2


# Mistakes -------------------------------------------------------------------------------------------------------------

WITH_ARMS = LEAST.partition("[arms.grid]")[0]


def line_of(found: str) -> int | None:
    """The line that a refusal names."""
    named = re.match(r", line (\d+)", found)
    return int(named[1]) if named else None


@pytest.mark.parametrize(("old", "new", "line"), MISTAKES)
def test_a_mistake_is_one_line_that_says_where_and_what(tmp_path, old, new, line, snapshot: SnapshotAssertion):
    assert old in LEAST
    found = refusal_of(tmp_path, LEAST.replace(old, new))
    assert line_of(found) == line
    assert "\n" not in found
    assert "not TOML" in found or found == snapshot  # how a TOML reader complains is its own matter


@pytest.mark.parametrize(("arms", "line"), MISTAKES_IN_ARMS)
def test_a_mistake_in_listed_arms_too(tmp_path, arms, line, snapshot: SnapshotAssertion):
    found = refusal_of(tmp_path, WITH_ARMS + arms)
    assert line_of(found) == line
    assert found == snapshot


def test_of_several_mistakes_the_first_in_the_file_is_told(tmp_path):
    text = LEAST.replace("x = [1, 2]", "x = 1").replace('tolerance = "2%"', "tolerance = -1")
    assert refusal_of(tmp_path, text).startswith(", line 3: ")


def test_files_that_cannot_be_read(tmp_path, snapshot: SnapshotAssertion):
    with refused(BadInput, snapshot):
        read_spec(tmp_path / "none.toml")
    with refused(BadInput, snapshot):
        read_spec(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b"\n\nname = '\xe9'\n")
    with refused(BadInput, snapshot):
        read_spec(tmp_path / "latin.toml")
    with refused(BadInput, snapshot):
        read_spec("a\0b")
    os.mkfifo(tmp_path / "pipe.toml")
    with refused(BadInput, snapshot):
        read_spec(tmp_path / "pipe.toml")
    (tmp_path / "large.toml").touch()
    os.truncate(tmp_path / "large.toml", 10**8)
    with refused(BadInput, snapshot):
        read_spec(tmp_path / "large.toml")
    assert said(refusal_of(tmp_path, "")) == snapshot
    assert said(refusal_of(tmp_path, "x = " + "9" * 5000)) == snapshot
    assert said(refusal_of(tmp_path, "x = " + "[" * 100_000)) == snapshot


@given(st.text(max_size=60), st.integers(0, 400))
def test_whatever_is_written_is_a_spec_or_a_one_line_error(tmp_path_factory, text, at):
    """A mangled spec never ends in a traceback."""
    file = tmp_path_factory.getbasetemp() / "mangled.toml"
    file.write_text(IN_SHORT[:at] + text + IN_SHORT[at + len(text) :], encoding="utf-8", errors="replace")
    message = ""
    try:
        read_spec(file)
    except BadInput as problem:
        message = str(problem)
    assert "\n" not in message


# Identity -------------------------------------------------------------------------------------------------------------


def identity(folder: Path, text: str):
    found = spec_of(folder, text).identity()
    assert json.loads(json.dumps(found)) == found
    return found


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ('"2%"', '"5%"', True),
        ("[run]", "[run]\nworkers = 4\ntimeout = 3\nlease = 5", True),
        ("[[objective]]", "budget = 4\n[study]\nname = 'x'\nseed = 4\nstorage = 'y.db'\n[[objective]]", True),
        ("x = [1, 2]", "x = [1, 2] # with a remark", True),
        ("x = [1, 2]", "x = [1, 3]", False),
        ("x = [1, 2]", 'x = ["1", "2"]', False),
        ('"prog"', '"other"', False),
        ("[run]", '[run]\nprepare = ["make"]', False),
        ("[run]", '[run]\nenv = {A = "1"}', False),
        ('"seconds"', '"seconds"\nsource = "json"\ndirection = "minimize"', False),
    ],
)
def test_what_may_change_when_a_study_is_resumed(tmp_path, old, new, same):
    assert old in LEAST
    assert (identity(tmp_path, LEAST.replace(old, new, 1)) == identity(tmp_path, LEAST)) == same


def test_the_folder_of_a_spec_may_change(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    assert identity(tmp_path / "a", LEAST) == identity(tmp_path / "b", LEAST)


# Without a file -------------------------------------------------------------------------------------------------------


def test_arms_from_the_command_line():
    spec = spec_from_arms(
        ["sort=sort -n 'my file'", "awk=awk '{print $1}' a=b {workdir}"], minimize=["max_rss"], maximize=["quality"]
    )
    assert [arm.name for arm in spec.arms] == ["sort", "awk"]
    assert spec.arms[0].command == ("sort", "-n", "my file")
    values = {"workdir": "/w", "arm": "awk", "seed": "1", "pull": "2"}
    assert filled_command(spec.arms[1].command, values) == ("awk", "{print $1}", "a=b", "/w")
    assert [(each.name, each.direction, each.tolerance) for each in spec.question.objectives] == [
        ("max_rss", "minimize", "5%"),
        ("quality", "maximize", "5%"),
    ]
    assert [source.kind for source in spec.sources] == ["max_rss", "json"]
    assert spec.cwd == Path.cwd()
    assert spec.storage is None
    assert json.dumps(spec.identity())


@pytest.mark.parametrize(
    (
        "arms",
        "options",
    ),
    [
        (["a=true"], {}),
        (["a=true", "a=false"], {}),
        (["a=true", "false"], {}),
        (["a=true", "=false"], {}),
        (["a=true", "b= "], {}),
        (["a=true", "b='x"], {}),
        (["a=true", "b=x"], {"minimize": ["s"], "maximize": ["s"]}),
        (["a=true", "b=x"], {"minimize": ["s", "s"]}),
    ],
)
def test_mistakes_on_the_command_line(arms, options, snapshot: SnapshotAssertion):
    with refused(BadInput, snapshot):
        spec_from_arms(arms, **options)


def test_pydantic_is_not_needed_until_a_file_is_read():
    code = "import sys, frontguard.commands.spec, frontguard.commands.arm; print('pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


# Grids and placeholders -----------------------------------------------------------------------------------------------


def test_names_of_a_grid_are_short_and_different():
    long = "-x" * 30
    arms = dict(grid_arms({"a": [long + "1", long + "2", ""], "b": [True, 1.5]}))
    assert len(arms) == 6
    assert max(map(len, arms)) < 50
    assert list(arms)[-1] == "none/1.5"
    assert arms["none/true"] == {"a": "", "b": True}


def test_a_grid_that_is_far_too_large_is_refused_before_it_is_built(tmp_path, snapshot: SnapshotAssertion):
    values = json.dumps(list(range(100)))
    text = WITH_ARMS.replace('"{x}"', '"{x}{y}{z}"') + f"[arms.grid]\nx = {values}\ny = {values}\nz = {values}"
    assert said(refusal_of(tmp_path, text)) == snapshot


@given(st.text(alphabet='{}ab "$', max_size=20))
def test_escaped_texts_come_back_as_they_were(text):
    assert filled(escaped(text), {}) == text


def test_placeholders_are_filled(snapshot: SnapshotAssertion):
    values = {"a": "1", "none": "", "a-b": "2"}
    assert filled("{a}{{a}}{a-b}", values) == "1{a}2"
    assert filled_command(["x", "{none}", "{none}{none}", "", "-{none}"], values) == ("x", "", "-")
    for wrong in ("{", "}", "{}", "{a b}", "{a", "{1}", "{{{", "x}"):
        with refused(BadPlaceholder, snapshot):
            placeholders(wrong)


def test_what_counts_may_be_a_mean_or_the_value_itself(tmp_path):
    spec = spec_of(
        tmp_path,
        """
        [study]
        contamination = 0
        [[objective]]
        name = "solved"
        direction = "maximize"
        tolerance = 0.05
        statistic = "mean"
        bounds = [0, 1]
        [[objective]]
        name = "bytes"
        direction = "minimize"
        exact = true
        [[objective]]
        name = "seconds"
        tolerance = 0.1
        statistic = "mean"
        sigma = 0.2
        [run]
        command = ["./measure", "{arm}"]
        [[arm]]
        name = "a"
        [[arm]]
        name = "b"
        """,
    )
    assert spec.question.objectives == (
        Objective("solved", "maximize", tolerance=0.05, statistic="mean", bounds=(0, 1)),
        Objective("bytes", "minimize", exact=True),
        Objective("seconds", "minimize", 0.1, statistic="mean", sigma=0.2),
    )
