"""What a live page costs: 1,000 arms with 10⁶ pulls beside the same arms with 10³, in a real Chromium.

Both studies are served by `frontguard serve` as a person starts it, and opened in one browser. Then pulls are told, a
hundred at a time, and it is measured what each update costs the server (processor time) and the browser (time in
tasks, the longest of them, the largest gap between two frames), and how many bytes it takes. Needs a Chromium, which
the tests find or fetch: see tests/support/browsers.py.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from tests.support.browsers import running_browser, watched_page
from tests.support.serving import Served, served

from benchmarks.tables import Row, heading
from frontguard import Objective, Prescient, Study
from frontguard.storage.contract import Plan, Storage, Tell
from frontguard.storage.sqlite import SqliteStorage

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ARMS = 1_000
SMALL, LARGE = 10**3, 10**6
UPDATES = 8
BATCH = 100  # pulls told for an update
NAME = "wide"
OBJECTIVES = (Objective("milliseconds", "minimize", "0.1%"), Objective("megabytes", "minimize", "0.1%"))


# A study that goes on -------------------------------------------------------------------------------------------------


class Wide:
    """A study of many arms, whose log is written as its policy would, a few percent more in each plan."""

    def __init__(self, storage: Storage, arms: int = ARMS, name: str = NAME) -> None:
        self._storage, self._arms, self._name = storage, arms, name
        self._rng = np.random.default_rng(5)
        spread = self._rng.uniform(size=(arms, 2))
        trade = np.linspace(0.0, 1.0, arms)
        # Most arms lie well behind a curved front, some on it.
        behind = 1.0 + spread.max(axis=1) * (np.arange(arms) % 25 != 0)
        self._medians = np.stack([20.0 * np.exp(trade), 300.0 * np.exp(-trade)], axis=1) * behind[:, None]
        self.planned = self.told = self._plans = 0

    @classmethod
    def begin(cls, path: Path, arms: int = ARMS) -> Wide:
        names = [f"candidate {number:04d}" for number in range(arms)]
        Study(names, OBJECTIVES, Prescient(0.05), storage=path, name=NAME, seed=0).close()
        return cls(SqliteStorage(path), arms)

    def grow(self, pulls: int) -> None:
        """Plan and tell until so many pulls are told."""
        while self.told < pulls:
            if self.told == self.planned:
                self._plan(max(self._arms, self.planned // 20))
            self.tell(min(pulls, self.planned) - self.told)

    def tell(self, count: int) -> None:
        """Tell the next pulls, in one step."""
        if self.told + count > self.planned:
            self._plan(max(self._arms, count))
        first = self.told + 1
        arms = (np.arange(first, first + count) - 1) % self._arms
        values = self._medians[arms] * np.exp(0.2 * self._rng.normal(size=(count, 2)))
        begun = time.time() - 3600.0
        self._storage.tell(
            self._name,
            [
                Tell(pull, (x, y), worker=f"worker {pull % 8}", at=begun + 3600.0 * min(1.0, pull / LARGE))
                for pull, (x, y) in enumerate(values.tolist(), start=first)
            ],
        )
        self.told += count

    def _plan(self, count: int) -> None:
        arms = (np.arange(self.planned, self.planned + count)) % self._arms
        self._plans += 1
        assert self._storage.add_plan(self._name, Plan(self._plans, self.told, self.planned + 1, arms))
        self.planned += count

    def close(self) -> None:
        self._storage.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


# What is measured -----------------------------------------------------------------------------------------------------


@dataclass
class Cost:
    """What a study of so many pulls costs to look at."""

    pulls: int
    document: int  # bytes of the page as it is first answered
    nodes: int  # of the page when all is there
    update_bytes: float  # of an event
    server: float  # seconds of processor time an update
    browser: float  # seconds that the page's process was at work, for an update
    longest_task: float  # seconds
    longest_gap: float  # seconds between two frames while updates come in
    first_paint: float = math.nan  # seconds from the request
    full: float = math.nan  # seconds until the picture and the table are there


# Notes long tasks and gaps between frames from the beginning; whoever measures an update starts them anew.
_NOTES = """
window.tasks = []; window.gaps = []; let last = 0;
new PerformanceObserver(list => window.tasks.push(...list.getEntries().map(each => each.duration)))
    .observe({type: 'longtask', buffered: true});
const frame = now => { if (last) window.gaps.push(now - last); last = now; requestAnimationFrame(frame); };
requestAnimationFrame(frame);
"""


@contextmanager
def looked_at(browser: Browser, server: Served) -> Iterator[Page]:
    """The page of the study, when all of it is there."""
    watched = watched_page(browser, viewport={"width": 1200, "height": 900})
    watched.context.add_init_script(_NOTES)
    watched.page.goto(f"{server.url}/study/1")
    watched.page.wait_for_selector("#arms tbody tr", timeout=120_000)
    watched.page.wait_for_selector("#picture svg")
    watched.page.wait_for_selector("#connection[data-state=live]")
    try:
        yield watched.page
        complaints = watched.complaints()
        assert not complaints, complaints
    finally:
        watched.context.close()


def opened(browser: Browser, server: Served) -> tuple[float, float]:
    """Seconds from the request until the first paint, and until all is there."""
    with looked_at(browser, server) as page:
        paint, full = page.evaluate(
            """(() => {
                const [load] = performance.getEntriesByType('navigation');
                const paint = performance.getEntriesByName('first-contentful-paint')[0].startTime;
                return [paint - load.requestStart, load.domContentLoadedEventEnd - load.requestStart];
            })()"""
        )
    return paint / 1000.0, full / 1000.0


def cost_of(browser: Browser, server: Served, study: Wide, updates: int = UPDATES) -> Cost:
    """Look at a study, then tell it more and see what the updates cost. The log must have been read before."""
    document = len(server.bytes("/study/1"))
    with looked_at(browser, server) as page:
        nodes = int(page.evaluate("document.querySelectorAll('*').length"))
        page.evaluate("window.tasks = [], window.gaps = []")
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable")
        session.send("Network.enable")
        received: list[int] = []
        session.on("Network.eventSourceMessageReceived", lambda event: received.append(len(event["data"].encode())))
        busy, worked = processor_seconds(server.process.pid), _task_seconds(session)
        for _ in range(updates):
            study.tell(BATCH)
            _until_told(page, study.told)
        spent, used = processor_seconds(server.process.pid) - busy, _task_seconds(session) - worked
        tasks, gaps = page.evaluate("[window.tasks, window.gaps]")
    assert len(received) >= updates // 2, received
    return Cost(
        pulls=study.told,
        document=document,
        nodes=nodes,
        update_bytes=median(received),
        server=spent / updates,
        browser=used / updates,
        longest_task=max(tasks, default=0.0) / 1000.0,
        longest_gap=max(gaps, default=0.0) / 1000.0,
    )


def _until_told(page: Page, told: int) -> None:
    page.wait_for_function(
        "told => document.querySelector('#facts dd').textContent.replace(/\\D/g, '') === String(told)", arg=told
    )


def _task_seconds(session: Any) -> float:
    metrics = {each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]}
    return float(metrics["TaskDuration"])


def processor_seconds(process: int) -> float:
    """Processor time that a process has used so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def costs(sizes: Sequence[int], arms: int = ARMS, updates: int = UPDATES, *, openings: bool = True) -> list[Cost]:
    """The same arms with so many pulls each time; what is timed takes turns, because the speed of a machine changes.

    Without `openings` it is not timed how the page is opened.
    """
    with TemporaryDirectory(prefix="benchmark-") as folder, running_browser() as browser, ExitStack() as closing:
        both = []
        for pulls in sizes:
            path = Path(folder) / f"{pulls}.db"
            study = closing.enter_context(Wide.begin(path, arms))
            study.grow(pulls)
            both.append((closing.enter_context(served(path)), study))
            both[-1][0].wait_until_read()
            cost_of(browser, *both[-1], updates=2)  # the first time, much is imported and compiled
        found = [cost_of(browser, server, study, updates) for server, study in both]
        times = [[opened(browser, server) for server, _ in both] for _ in range(updates if openings else 0)]
        for place, cost in enumerate(found if times else ()):
            cost.first_paint = median(each[place][0] for each in times)
            cost.full = median(each[place][1] for each in times)
    return found


def main() -> list[Row]:
    heading(f"the live page of {ARMS:,} arms: {LARGE:,} pulls beside {SMALL:,}, {BATCH} pulls an update")
    small, large = costs((SMALL, LARGE))
    for cost in (small, large):
        print(
            f"  {cost.pulls:9,} pulls: first paint {1000 * cost.first_paint:.0f} ms, "
            f"all there {1000 * cost.full:.0f} ms, {cost.document / 1000:.0f} kB, {cost.nodes:,} elements; "
            f"an update {cost.update_bytes / 1000:.0f} kB, {1000 * cost.server:.0f} ms of the server, "
            f"{1000 * cost.browser:.0f} ms of the browser, longest task {1000 * cost.longest_task:.0f} ms, "
            f"longest gap between frames {1000 * cost.longest_gap:.0f} ms",
            flush=True,
        )
    return [
        Row("first paint", large.first_paint / small.first_paint, at_most=1.5),
        Row("time until all is there", large.full / small.full, at_most=1.5),
        Row("bytes of the page", large.document / small.document, at_most=1.5),
        Row("elements of the page", large.nodes / small.nodes, at_most=1.5),
        Row("bytes of an update", large.update_bytes / small.update_bytes, at_most=2.0),
        Row("the server's time for an update", large.server / small.server, at_most=2.0),
        Row("the browser's time for an update", large.browser / small.browser, at_most=1.5),
    ]
