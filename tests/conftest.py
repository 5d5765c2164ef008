"""Shared by all tests: reproducible hypothesis, signals as a terminal gives them, and where the data are that may not
be shipped.
"""

from __future__ import annotations

import gc
import os
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from frontguard._common.machine import usable_cores
from tests.support.browsers import browser, open_page
from tests.support.servers import postgres
from tests.support.signals import signals_of_a_terminal
from tests.support.storages import place, shared_place, storage

__all__ = ["browser", "open_page", "place", "postgres", "shared_place", "storage"]  # fixtures

settings.register_profile(
    "frontguard",
    derandomize=True,
    deadline=None,  # the first call of a kernel compiles it
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    max_examples=25,
)
settings.load_profile("frontguard")

ROOT = Path(__file__).resolve().parents[1]
SHARED_DATA = Path(os.environ.get("FRONTGUARD_SHARED_DATA", ROOT.parent / "shared" / "data"))


gc.disable()  # until all tests are collected: what they bring along stays to the end


def pytest_collection_finish() -> None:
    """Leave modules and tests out of every search for garbage, which would look at all of them each time."""
    gc.freeze()
    gc.enable()


def pytest_configure(config: pytest.Config) -> None:
    signals = ExitStack()
    signals.enter_context(signals_of_a_terminal())
    config.add_cleanup(signals.close)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return two workers more than cores: tests wait a quarter of their time, for browsers, servers and clocks."""
    return usable_cores() + 2


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Data sets that a user supplies (not part of the package); absent from an ordinary clone."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the data sets that may not be shipped are not beside this clone")
    return SHARED_DATA
