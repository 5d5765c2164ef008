"""Tools that a machine may lack: pytest lists the tests that were skipped for it, and none is under CI."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def without(tool: str, why: str) -> NoReturn:
    """Skip a test that needs a tool, or fail where a skip would go unnoticed."""
    told = f"NOT TESTED without {tool}: {why}"
    if os.environ.get("CI", "").lower() == "true":
        pytest.fail(told, pytrace=False)
    pytest.skip(told)
