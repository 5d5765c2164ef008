"""--cost and --max-cost: what a spec and options make of them, and what is said of what was spent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from syrupy.assertion import SnapshotAssertion

from frontguard.cli.run import spec_of
from frontguard.errors import BadInput
from frontguard.question import Cost
from tests.cli.commands import run
from tests.support.snapshots import refused

SPEC = """
[study]
cost = {cost}
[budget]
max_cost = {budget}
[[objective]]
name = "loss"
direction = "minimize"
tolerance = "5%"
[run]
command = ["true"]
[[arm]]
name = "a"
[[arm]]
name = "b"
"""


def cost_of(tmp_path: Path, *, cost: str, budget: str = "5", **options: Any) -> Cost | None:
    (tmp_path / "s.toml").write_text(SPEC.format(cost=cost, budget=budget))
    return spec_of(tmp_path / "s.toml", (), options).question.cost


def test_a_spec_says_what_pulls_cost_and_an_option_overrules_it(tmp_path: Path) -> None:
    assert cost_of(tmp_path, cost='"joules"') == Cost("joules", unit="joules")
    assert cost_of(tmp_path, cost='{a = 3, b = "2 dollars"}') == Cost(by_arm={"a": 3.0, "b": 2.0}, unit="dollars")
    assert cost_of(tmp_path, cost="1") == Cost(amount=1.0)
    (tmp_path / "s.toml").write_text(SPEC.format(cost="{a = 3, b = 1}", budget="5"))
    changed = spec_of(tmp_path / "s.toml", (), {"cost": "seconds", "max_cost": "2 min"})
    assert changed.question.cost == Cost("seconds", unit="seconds")
    assert changed.question.max_cost == 120.0
    assert changed.cost_source is not None
    assert changed.cost_source.kind == "seconds"


def test_costs_that_do_not_agree_are_refused(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    for given in (
        {"cost": '"2 dollars"', "budget": '"3 euros"'},
        {"cost": '{a = 3, b = "joules"}'},
        {"cost": "{a = 3}"},
        {"cost": "-1"},
        {"cost": '"joules"', "budget": '"soon"'},
    ):
        with refused(BadInput, snapshot):
            cost_of(tmp_path, **given)
    with refused(BadInput, snapshot):
        spec_of(None, ["a=true", "b=true"], {"max_cost": "3"})


def test_a_run_counts_what_its_pulls_cost_and_stops_before_its_budget(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    say = """{name}=printf '{{"loss": 1, "joules": {joules}}}'"""
    arms = [word for name, joules in (("a", 2), ("b", 30)) for word in ("--arm", say.format(name=name, joules=joules))]
    asked = ["run", *arms, "--minimize", "loss", "--storage", "s.db", "--cost", "joules"]
    ended = run(*asked, "--max-cost", "150 joules", "--json", cwd=tmp_path)
    assert ended.returncode == 3
    found = json.loads(ended.stdout)
    assert found["status"] == "budget"
    assert found["study"]["max_cost"] == 150.0
    assert found["cost"]["unit"] == "joules"
    assert 100.0 < found["cost"]["spent"] <= 150.0
    assert {arm: each["a_pull"] for arm, each in found["cost"]["by_arm"].items()} == {"a": 2.0, "b": 30.0}
    assert {"kind": "budget_over", "budget": "max_cost", "limit": 150.0, "unit": "joules"}.items() <= dict(
        next(each for each in found["notices"] if each["kind"] == "budget_over")
    ).items()
    shown = run(*asked, "--max-cost", "150 joules", cwd=tmp_path)
    assert "of 150 joules allowed" in shown.stdout
    assert "--max-cost" in shown.stdout.split("To decide: ")[1]
