"""Shared by all tests: reproducible hypothesis, signals as a terminal gives them, and where the data are that may not
be shipped.
"""

from __future__ import annotations

import gc
import os
import warnings
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, suppress
from importlib import import_module
from itertools import accumulate
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
    "web/test_hostile.py",
    "logs/sources",
    "cli/run",
    "web/test_live.py",
)
"""What is begun first: where nothing is compiled yet, kernels are compiled meanwhile, and these need few, or none."""

WAITING = {
    "docs/test_pages.py": 60,
    "logs/dask/test_cluster.py": 50,
    "measure": 10,
    "web": 10,
    "cli/test_demo.py": 10,
    "examples": 5,
    "docs": 5,
    "test_pytest_plugin.py": 10,
    "commands/test_arm.py": 10,
}
"""What waits most of its time, for browsers, servers and clocks, with the seconds that a module takes, about.

These are spread over all that comes after the first, the long ones early: workers that all wait leave cores idle.
"""

OTHERS = {
    "policies": 4,
    "audit": 10,
    "test_guarantee.py": 15,
    "studies": 4,
    "logs": 5,
    "pareto": 4,
    "plot": 3,
    "evidence": 4,
    "cli": 4,
    "_common": 4,
    "planning": 4,
    "": 0.4,
}
"""All others, likewise, the long ones first: a worker that got one of these last would keep all waiting."""


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
    order = in_good_order({item.path: None for item in items})
    items.sort(key=lambda item: order[item.path])


def in_good_order(modules: Iterable[Path]) -> dict[Path, int]:
    """The place of each module, so that workers who take one after another are done soon."""
    tests = Path(__file__).parent
    names = {path: path.relative_to(tests).as_posix() if path.is_relative_to(tests) else "" for path in modules}

    def begins_with(among: Iterable[str], path: Path) -> str | None:
        return next((name for name in among if names[path].startswith(name)), None)

    def taken(among: Iterable[str]) -> list[Path]:
        """Modules that begin so and are not taken yet, in this order."""
        order = list(among)
        found = {path: name for path in left if (name := begins_with(order, path)) is not None}
        left[:] = [path for path in left if path not in found]
        return sorted(found, key=lambda path: order.index(found[path]))

    def begun(paths: list[Path], seconds: Mapping[str, float]) -> dict[Path, float]:
        """The share of their time after which each begins, if they are run one after another."""
        ends = list(accumulate((seconds[begins_with(seconds, path) or ""] for path in paths), initial=0.0))
        return dict(zip(paths, (end / ends[-1] for end in ends), strict=False))

    left = list(names)
    first, waiting, others = taken(FIRST), taken(WAITING), taken(OTHERS)
    shares = begun(waiting, WAITING) | begun(others, OTHERS)
    return {path: place for place, path in enumerate([*first, *sorted(shares, key=lambda path: shares[path])])}


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Data sets that a user supplies (not part of the package); absent from an ordinary clone."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the data sets that may not be shipped are not beside this clone")
    return SHARED_DATA


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in (*browsers.summary_lines(), *servers.summary_lines()):
        terminalreporter.write_line(line, red=True, bold=True)
