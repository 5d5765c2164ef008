"""The view at an address, as a page or as JSON: made once for all who look at the same, in threads."""

from __future__ import annotations

import asyncio
import json
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from frontguard._common.entries import finite, gathered
from frontguard.studies.follow import Measurements, Overview
from frontguard.web import pages, parts
from frontguard.web.pages import order_of, rivals_of
from frontguard.web.parts import Address, Page
from frontguard.web.watchers import Bell, Seen, StudyWatcher, Threads, Watchers, within
from frontguard.words.answers import answer, more_to_come, why
from frontguard.words.certificate import guarantee

# JSON: the entries of a study's state, with the addresses of its arms beside ------------------------------------------


def studies_twin(studies: Sequence[Seen]) -> dict[str, Any]:
    """The list of studies, each with its answer."""
    return {"studies": [_listed(seen) for seen in studies]}


def reading_twin(seen: Seen) -> dict[str, Any]:
    """A study whose log is being read for the first time."""
    where = Address(seen.number)
    return {
        "study": seen.name,
        "number": seen.number,
        "url": where.page,
        "twin": where.twin,
        "status": "reading",
        "read": seen.told,
        "told": seen.total,
        "trouble": seen.trouble or None,
    }


def _listed(seen: Seen) -> dict[str, Any]:
    listed = reading_twin(seen)
    if seen.overview is None:
        return listed | ({"status": "trouble"} if seen.trouble else {})
    result = seen.overview.answer
    return listed | {
        "status": result.status,
        "answer": answer(result),
        "arms": len(result.arms),
        "pulls": result.pulls,
        "counts": {verdict.word: count for verdict, count in result.tally().items()},
        "certificate": result.certificate.to_dict(),
    }


def study_twin(overview: Overview, address: Address) -> dict[str, Any]:
    """A study with all its arms, these in the order that the options want."""
    arms = overview.answer.arms
    return {
        **_said(overview),
        "number": address.study,
        "url": address.page,
        **gathered(overview.entries()),
        "arms": [
            {"arm": arm, "name": arms[arm], "url": Address(address.study, arm).page}
            for arm in order_of(overview, address.options.sort)
        ],
    }


def arm_twin(
    overview: Overview, address: Address, measurements: Measurements, baseline: str | None = None
) -> dict[str, Any]:
    """An arm: the entries of its study, of this arm alone; why, how it compares, what was measured."""
    result, arm = overview.answer, measurements.arm
    rivals = rivals_of(result, arm, baseline) if result.pulls_per_arm[arm] else ()
    return {
        **_said(overview),
        "number": address.study,
        "url": address.page,
        "study_url": address.to(),
        "arm": arm,
        "name": measurements.name,
        "why": why(result, arm),
        **gathered(overview.entries(arm), measurements.name),
        "compared": [result.compare(result.arms[arm], result.arms[rival]).to_dict() for rival in rivals],
        "measurements": {
            "total": measurements.total,
            "pulls": measurements.pulls.tolist(),
            "values": finite(measurements.values),
            "reasons": list(measurements.reasons),
            "workers": list(measurements.workers),
            "at": finite(measurements.at),
        },
    }


def _said(overview: Overview) -> dict[str, Any]:
    found = overview.answer
    return {
        "answer": answer(found),
        "guarantee": guarantee(found),
        "forecast": more_to_come(found) if found.status == "running" else None,
    }


def with_trouble(twin: dict[str, Any], said: str) -> dict[str, Any]:
    """Return the twin with what keeps the storage from being read at the moment; None if nothing does."""
    return twin | {"trouble": said or None}


KEPT = 64
"""Pages that are kept for those who ask next. A page of a thousand arms takes a megabyte or two."""

MEASUREMENTS = 2000
"""Pulls of an arm that its page draws at most."""

Made = TypeVar("Made")


@dataclass(frozen=True)
class Form(Generic[Made]):
    """A form in which everything can be shown: how each kind of address is made in it."""

    studies: Callable[[Sequence[Seen]], Made]
    reading: Callable[[Seen], Made]
    study: Callable[[Overview, Address], Made]
    arm: Callable[[Overview, Address, Measurements, str | None], Made]
    with_trouble: Callable[[Made, str], Made]


PAGE = Form(pages.studies_page, pages.reading_page, pages.study_page, pages.arm_page, parts.with_trouble)
TWIN = Form(studies_twin, reading_twin, study_twin, arm_twin, with_trouble)


class NotThere(Exception):
    """There is no such study, or no such arm of it. The message is a sentence."""


@dataclass(frozen=True)
class MadePage:
    """A page, and its regions as they are sent to browsers: as JSON texts."""

    page: Page
    regions: dict[str, str]

    @classmethod
    def of(cls, page: Page) -> MadePage:
        """The page with its regions written out."""
        write = partial(json.dumps, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return cls(page, {name: write(region.plain()) for name, region in page.regions.items()})


class Views:
    """Makes pages and their twins out of what the watchers know."""

    def __init__(self, watchers: Watchers, threads: int = 2, *, baseline: str | None = None) -> None:
        self.watchers = watchers
        self.baseline = baseline  # the arm that others are compared with, where a study has one of that name
        self._threads = Threads(threads, "frontguard-view")
        self._kept: OrderedDict[tuple[Any, ...], asyncio.Task[MadePage]] = OrderedDict()

    async def find(self, address: Address) -> None:
        """Put to work those who watch an address. Raises `NotThere` if there is no such study."""
        if address.study is None:
            await self.watchers.listing.first_answer(self.watchers.patience)
            self.touch(address)
        elif await self.watchers.study(address.study) is None:
            raise NotThere(f"There is no study with the number {address.study} here.")

    def touch(self, address: Address) -> None:
        """Keep those who watch an address at work for a while."""
        self.watchers.listing.look()
        for watcher in self._needed(address):
            watcher.look()

    async def settled(self, address: Address, seconds: float) -> None:
        """Wait up to so long until the logs that an address needs have been read."""

        def read() -> bool:
            return all(each.seen.overview is not None or each.trouble for each in self._needed(address))

        await within(seconds, self.watchers.bell, read)

    def bell(self, address: Address) -> Bell:
        """The bell that rings when something may have changed at an address."""
        watcher = self._watcher(address)
        return self.watchers.bell if watcher is None else watcher.bell

    @contextmanager
    def looking(self, address: Address) -> Iterator[None]:
        """Keep those who watch an address at work for as long as this lasts."""
        watcher = self._watcher(address)
        with self.watchers.listing.looking(), nullcontext() if watcher is None else watcher.looking():
            yield

    def stamp(self, address: Address) -> tuple[int, ...]:
        """Numbers that differ whenever what is shown at an address may differ."""
        if address.study is None:
            return (self.watchers.listing.bell.version, *(each.bell.version for each in self.watchers.all()))
        watcher = self._watcher(address)
        return (0, 0) if watcher is None else (watcher.serial, watcher.bell.version)

    async def shown(self, address: Address) -> MadePage:
        """The page at an address as it is now. Raises `BadInput` or `NotThere` where the study has no such view."""
        key = (address, *self.stamp(address))
        task = self._kept.get(key)
        if task is None:
            task = self._kept[key] = asyncio.get_running_loop().create_task(self._made(address))
            task.add_done_callback(lambda done: self._forget(key, done))
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return await asyncio.shield(task)  # whoever asked first may go away: the others still wait

    async def twin(self, address: Address) -> dict[str, Any]:
        """Return the view as plain values."""
        return await self._threads.run(self._maker(address, TWIN))

    async def _made(self, address: Address) -> MadePage:
        make = self._maker(address, PAGE)

        def work() -> tuple[MadePage, float]:
            began = time.thread_time()
            return MadePage.of(make()), time.thread_time() - began

        made, cost = await self._threads.run(work)
        watcher = self._watcher(address)
        if watcher is not None:
            watcher.charge(cost)
        return made

    def _forget(self, key: tuple[Any, ...], done: asyncio.Task[MadePage]) -> None:
        if done.cancelled() or done.exception() is not None:
            self._kept.pop(key, None)

    def _maker(self, address: Address, form: Form[Made]) -> Callable[[], Made]:
        """A function that may run in a thread: makes what is at an address of what is known now."""
        if address.study is None:
            studies, trouble = [watcher.seen for watcher in self.watchers.all()], self.watchers.listing.trouble
            return lambda: form.with_trouble(form.studies(studies), trouble)
        watcher = self._watcher(address)
        if watcher is None:
            raise NotThere("It is no longer in the storage.")
        seen = watcher.seen

        def make() -> Made:
            if seen.overview is None or seen.follower is None:
                return form.with_trouble(form.reading(seen), seen.trouble)
            arms = len(seen.overview.settings.arms)
            address.options.within(len(seen.overview.settings.question.objectives))
            if address.arm is None:
                made = form.study(seen.overview, address)
            elif address.arm < arms:
                measured = seen.follower.measurements(address.arm, MEASUREMENTS)
                made = form.arm(seen.overview, address, measured, self.baseline)
            else:
                raise NotThere(f"This study has {arms:,} arms, numbered from 0; there is no arm {address.arm}.")
            return form.with_trouble(made, seen.trouble)

        return make

    def _watcher(self, address: Address) -> StudyWatcher | None:
        return None if address.study is None else self.watchers.known(address.study)

    def _needed(self, address: Address) -> list[StudyWatcher]:
        watcher = self._watcher(address)
        if watcher is not None:
            return [watcher]
        return self.watchers.all() if address.study is None else []
