"""A machine without a tool of the tests: nothing is skipped in silence."""

from __future__ import annotations

from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.support.missing import without
from tests.support.snapshots import refused


@pytest.mark.parametrize(("ci", "outcome"), [("", pytest.skip.Exception), ("true", pytest.fail.Exception)])
def test_without_a_tool_tests_are_skipped_and_fail_under_continuous_integration(
    ci: str, outcome: Any, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.setenv("CI", ci)
    with refused(outcome, snapshot(name="told")):
        without("Chromium", "no program")
