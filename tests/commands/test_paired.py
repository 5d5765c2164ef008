"""Commands on the same items or seeds: what stands for {rep}, {item} and {seed}, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard.commands.spec import read_spec, spec_from_arms
from frontguard.errors import BadInput
from tests.cli.commands import run
from tests.support.snapshots import refused

SPEC = """
[study]
contamination = 0
EXTRA

[run]
command = ["sh", "-c", 'echo "{{\\"score\\": 0.$(( (WORD * 37 + 11) % 40 + 10 + {gain} ))}}"']

[[objective]]
name = "score"
direction = "maximize"
tolerance = 0.02
statistic = "mean"
bounds = [0, 1]

[[arm]]
name = "old"
gain = 0

[[arm]]
name = "new"
gain = 30
"""


def written(folder: Path, extra: str, word: str) -> Path:
    file = folder / "pairs.toml"
    file.write_text(SPEC.replace("EXTRA", extra).replace("WORD", word))
    return file


@pytest.mark.parametrize(
    ("extra", "word"), [("paired = true", "{rep}"), ("items = 60", "{item}"), ("paired = true", "{seed}")]
)
def test_run(tmp_path: Path, extra: str, word: str) -> None:
    ran = run("run", str(written(tmp_path, extra, word)), "--json", "--max-pulls", "120", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    printed = json.loads(ran.stdout)
    assert printed["pareto_set"] == ["new"]
    assert any(notice["kind"] == "in_pairs" for notice in printed["notices"])
    # 0.3 apart on every repeat, whose own values spread over 0.4: what pairs say of it is sharper than intervals.
    low, high = printed["differences"]["old"]["score"]
    assert low <= -0.3 <= high
    ends = printed["intervals"]
    assert high - low < ends["old"]["score"][1] - ends["new"]["score"][0] - (
        ends["old"]["score"][0] - ends["new"]["score"][1]
    )
    assert high <= 0.02  # which is tolerated


def test_refused(snapshot: SnapshotAssertion) -> None:
    for command, changes in (
        ("./ask {item}", {}),
        ("./ask {rep}", {"items": 5, "paired": True}),
        ("./ask {pull}", {"paired": True}),
    ):
        with refused(BadInput, snapshot):
            spec_from_arms([f"a={command}", f"b={command} x"], **changes).check_commands()  # type: ignore[arg-type]


def test_a_spec_says_it(tmp_path: Path) -> None:
    spec = read_spec(written(tmp_path, "items = 40", "{item}"))
    assert (spec.question.paired, spec.question.items) == (True, 40)
