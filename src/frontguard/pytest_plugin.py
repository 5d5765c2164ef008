"""A plugin of pytest for suites with pytest-benchmark: `--frontguard-gate BASELINE` fails a session that is worse.

Every session of an environment that has frontguard loads it, so nothing is imported here before the option is given.
This session's benchmarks are compared with those of the same name in the baseline's files, as `frontguard gate`
compares logs. All rounds of a session count as one observation of each benchmark: give the files of several sessions,
of both sides; or `--frontguard-cluster none`, which says that rounds do not depend on each other.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

    from frontguard.results import Answer

THIS_SESSION = "this-session.json"

OPEN = 3
"""The exit code of a session of which nothing is certain, as that of `frontguard gate`."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options."""
    group = parser.getgroup("frontguard", "frontguard: benchmarks against a baseline, with pytest-benchmark")
    group.addoption(
        "--frontguard-gate",
        metavar="BASELINE",
        help="Fail if a benchmark is certainly worse than in BASELINE: a file of --benchmark-json, a folder or a glob.",
    )
    group.addoption(
        "--frontguard-sessions",
        metavar="FILES",
        action="append",
        default=[],
        help="Further sessions of this side, to be counted with this one: a file, a folder or a glob; repeat.",
    )
    group.addoption("--frontguard-tolerance", metavar="AMOUNT", default="5%", help="By how much worse is still good.")
    group.addoption(
        "--frontguard-contamination", metavar="SHARE", help="Share of measurements that may be anything (10%)."
    )
    group.addoption(
        "--frontguard-confidence", metavar="LEVEL", default="95%", help="Probability with which all of it holds."
    )
    group.addoption(
        "--frontguard-cluster",
        choices=("process", "none"),
        default="process",
        help="none: rounds of one process count by themselves, on your word.",
    )
    group.addoption(
        "--frontguard-open",
        choices=("fail", "pass"),
        default="fail",
        help="What becomes of a session of which nothing is certain: fail (exit code 3) or pass.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Look at the baseline before anything takes long."""
    baseline = config.getoption("--frontguard-gate")
    if baseline is None or hasattr(config, "workerinput"):  # a worker of xdist, of which the controller decides
        return
    import pytest

    from frontguard.errors import BadInput
    from frontguard.logs.sources.files import find

    if not config.pluginmanager.has_plugin("benchmark"):
        raise pytest.UsageError("--frontguard-gate needs pytest-benchmark: pip install pytest-benchmark")
    try:
        for log in (baseline, *config.getoption("--frontguard-sessions")):
            find(log)
    except BadInput as error:
        raise pytest.UsageError(f"--frontguard-gate: {error}") from None
    config.pluginmanager.register(_SessionGate(config, baseline), "frontguard-gate")


class _SessionGate:
    """Compares the benchmarks of a session when it ends."""

    def __init__(self, config: pytest.Config, baseline: str) -> None:
        self._config, self._baseline = config, baseline
        self._benchmarks: list[Any] = []
        self._found: Answer | None = None
        self._trouble = ""

    def pytest_runtest_teardown(self, item: pytest.Item) -> None:
        """Keep what a test's benchmark measured, if it has one and that ran."""
        fixture = getattr(item, "funcargs", {}).get("benchmark")
        if fixture is not None and fixture.stats:
            self._benchmarks.append(fixture.stats)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail a session that passed, if a benchmark is certainly worse, or may be and nobody lets that pass."""
        import pytest

        from frontguard.comparisons.outcomes import Outcome
        from frontguard.errors import BadInput
        from frontguard.words.gate import of

        if not self._benchmarks:
            self._trouble = f"nothing was compared: {self._why_none()}"
            if session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
                session.exitstatus = pytest.ExitCode.USAGE_ERROR
            return
        try:
            self._found = self._compared()
        except BadInput as error:
            self._trouble = str(error)
            session.exitstatus = pytest.ExitCode.USAGE_ERROR
            return
        if session.exitstatus != pytest.ExitCode.OK:
            return
        outcome = of(self._found).outcome
        if outcome == Outcome.WORSE:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        elif outcome == Outcome.OPEN and self._config.getoption("--frontguard-open") == "fail":
            session.exitstatus = OPEN

    def _why_none(self) -> str:
        """Return why there are no benchmarks, and what to do."""
        option = self._config.getoption
        if option("numprocesses", None):
            return "benchmarks do not run in the processes of pytest-xdist; leave -n out"
        for name in ("disable", "skip"):
            if option(f"benchmark_{name}", False) and not option("benchmark_enable", False):
                return f"--benchmark-{name} keeps benchmarks from being measured; leave it out"
        return "no benchmark ran; select tests that use the fixture benchmark"

    def _compared(self) -> Answer:
        import json

        from frontguard.logs.sides import gate

        option = self._config.getoption
        keys = ("name", "fullname", "group", "params")
        told = [
            {key: getattr(each, key) for key in keys} | {"stats": {"data": list(each.stats.data)}}
            for each in self._benchmarks
        ]
        with TemporaryDirectory(prefix="frontguard-") as folder:
            path = Path(folder) / THIS_SESSION
            path.write_text(json.dumps({"machine_info": {}, "benchmarks": told}, default=str), encoding="utf-8")
            return gate(
                self._baseline,
                [str(path), *option("--frontguard-sessions")],
                tolerance=option("--frontguard-tolerance"),
                contamination=option("--frontguard-contamination"),
                confidence=option("--frontguard-confidence"),
                cluster="none" if option("--frontguard-cluster") == "none" else None,
                format="pytest-benchmark",
                labels=(Path(self._baseline).name, "this session"),
            )

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """A short section: the answer, a line for each benchmark, what is promised."""
        from frontguard.phrases import visible_lines

        terminalreporter.section("frontguard gate")
        if self._found is None:
            terminalreporter.line(visible_lines(self._trouble), red=True)
            return
        from frontguard.words.answers import whole
        from frontguard.words.gate import of

        colour = {"worse": "red", "open": "yellow", "not worse": "green"}[of(self._found).outcome.word]
        for place, line in enumerate(whole(self._found).splitlines()):
            terminalreporter.line(visible_lines(line), **({colour: True} if not place else {}))
