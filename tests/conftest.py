"""Shared by all tests: reproducible hypothesis, signals as a terminal gives them, and where the data are that may not
be shipped.
"""

from __future__ import annotations

import gc
import os
import warnings
from contextlib import ExitStack, suppress
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from frontguard._common.machine import usable_cores
from tests import browsers, servers
from tests.browsers import browser, open_page
from tests.servers import postgres
from tests.signals import signals_of_a_terminal
from tests.storages import place, shared_place, storage

__all__ = ["browser", "open_page", "place", "postgres", "shared_place", "storage"]  # fixtures

settings.register_profile(
    "frontguard",
    derandomize=True,
    deadline=None,  # the first call of a kernel compiles it
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    max_examples=60,
)
settings.load_profile("frontguard")

ROOT = Path(__file__).resolve().parents[1]
SHARED_DATA = Path(os.environ.get("FRONTGUARD_SHARED_DATA", ROOT.parent / "shared" / "data"))

FIRST = (
    "storage/test_contract_processes.py",
    "storage",
    "logs/sources",
    "web/test_hostile.py",
    "cli/run",
    "web/test_live.py",
    "logs/dask/test_cluster.py",
    "cli/test_demo.py",
    "docs",
    "examples",
    "measure",
    "web/test_fluid.py",
    "web",
    "cli",
    "policies",
    "audit",
    "test_guarantee.py",
    "studies",
    "logs",
    "pareto",
    "reports",
    "commands",
)
"""What is begun first, in this order.

Where nothing is compiled yet, kernels are compiled meanwhile, which takes a minute and a half: what needs none begins.
Then comes what takes long: a worker that got one of these last would keep all waiting.
"""


def pytest_configure(config: pytest.Config) -> None:
    signals = ExitStack()
    signals.enter_context(signals_of_a_terminal())
    config.add_cleanup(signals.close)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One worker more than cores: a quarter of their time, tests wait for a browser, a server or a clock."""
    return usable_cores() + 1


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Have each worker begin with other modules, of all that it will import.

    What pytest makes of a module, and Python of a library, is kept for others; workers that go through all modules in
    step would each do all of it. An import that fails is left to pytest, which does it again and says so.
    """
    gc.disable()  # nearly all that is made now stays
    worker = getattr(session.config, "workerinput", None)
    if worker is None or session.config.args != session.config.getini("testpaths"):  # only some are asked for
        return
    modules = [path.relative_to(ROOT) for path in sorted((ROOT / "tests").rglob("test_*.py"))]
    modules += [path.relative_to(ROOT / "src") for path in sorted((ROOT / "src").rglob("[!_]*.py"))]
    with warnings.catch_warnings(action="error"):
        for module in modules[int(worker["workerid"].removeprefix("gw")) :: worker["workercount"]]:
            with suppress(Exception, pytest.skip.Exception):
                import_module(".".join(module.with_suffix("").parts))


def pytest_collection_finish() -> None:
    gc.freeze()  # each full collection would go through all of it again, and so would Python when it ends
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    tests = Path(__file__).parent

    @cache
    def place(path: Path) -> int:
        where = path.relative_to(tests).as_posix() if path.is_relative_to(tests) else ""
        return next((i for i, name in enumerate(FIRST) if where.startswith(name)), len(FIRST))

    items.sort(key=lambda item: place(item.path))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Data sets that a user supplies (not part of the package); absent from an ordinary clone."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the data sets that may not be shipped are not beside this clone")
    return SHARED_DATA


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in (*browsers.summary_lines(), *servers.summary_lines()):
        terminalreporter.write_line(line, red=True, bold=True)
