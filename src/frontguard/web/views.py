"""What can be looked at, and how it is shown now: made once for all who look at the same, in threads."""

from __future__ import annotations

import asyncio
import json
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from frontguard.studies.overview import Measurements, Overview
from frontguard.web.pages import (
    Options,
    Page,
    Unread,
    arm_page,
    message_page,
    reading_page,
    studies_page,
    study_page,
    with_trouble,
)
from frontguard.web.threads import Threads
from frontguard.web.twins import arm_twin, reading_twin, studies_twin, study_twin
from frontguard.web.watchers import Bell, Seen, StudyWatch, Watchers, within

__all__ = ["NotThere", "Place", "Shown", "Views"]

Answer = TypeVar("Answer")

KEPT = 64
"""Pages that are kept for those who ask next. A page of a thousand arms takes a megabyte or two."""

MEASUREMENTS = 2000
"""Pulls of an arm that its page draws at most."""


class NotThere(Exception):
    """There is no such study, or no such arm of it. The message is a sentence."""


@dataclass(frozen=True)
class Place:
    """What a URL leads to: the list, a study, or an arm of it. Numbers and known words only."""

    study: int | None = None
    arm: int | None = None
    options: Options = field(default_factory=Options)

    @property
    def events(self) -> str:
        """Where the events of it are.

        >>> Place().events, Place(1).events, Place(2, 7, Options(x=1)).events
        ('/events/studies', '/events/study/1', '/events/study/2/arm/7?x=1')
        """
        if self.study is None:
            return "/events/studies"
        arm = "" if self.arm is None else f"/arm/{self.arm}"
        return f"/events/study/{self.study}{arm}{self.options.query()}"


@dataclass(frozen=True)
class Shown:
    """A page, and its regions as they are sent to browsers: as JSON texts."""

    page: Page
    regions: dict[str, str]


class Views:
    """Makes pages and their twins out of what the watchers know."""

    def __init__(self, watchers: Watchers, threads: int = 2) -> None:
        self.watchers = watchers
        self._threads = Threads(threads, "frontguard-view")
        self._kept: OrderedDict[tuple[Any, ...], asyncio.Task[Shown]] = OrderedDict()

    # Looking ----------------------------------------------------------------------------------------------------------

    async def find(self, place: Place) -> None:
        """Put to work those who watch a place. Raises `NotThere` if there is no such study."""
        if place.study is None:
            await self.watchers.listing.first_answer(self.watchers.patience)
            self.touch(place)
        elif await self.watchers.study(place.study) is None:
            raise NotThere(f"There is no study with the number {place.study} here.")

    def touch(self, place: Place) -> None:
        """Keep those who watch a place at work for a while."""
        self.watchers.listing.look()
        watch = self._watch(place)
        for each in self.watchers.all() if place.study is None else [watch] if watch else []:
            each.look()

    async def settled(self, place: Place, seconds: float) -> None:
        """Wait up to so long until the logs that a place needs have been read."""

        def read() -> bool:
            watch = self._watch(place)
            needed = self.watchers.all() if watch is None else [watch]
            return all(each.seen.overview is not None or each.trouble for each in needed)

        await within(seconds, self.watchers.bell, read)

    def bell(self, place: Place) -> Bell:
        """What rings when something may have changed at a place."""
        watch = self._watch(place)
        return self.watchers.bell if watch is None else watch.bell

    @contextmanager
    def looking(self, place: Place) -> Iterator[None]:
        """Keep those who watch a place at work for as long as this lasts."""
        with ExitStack() as stack:
            stack.enter_context(self.watchers.listing.looking())
            watch = self._watch(place)
            if watch is not None:
                stack.enter_context(watch.looking())
            yield

    def stamp(self, place: Place) -> tuple[int, ...]:
        """Numbers that differ whenever what is shown at a place may differ."""
        listing = self.watchers.listing
        if place.study is None:
            return (listing.bell.version, *(watch.bell.version for watch in self.watchers.all()))
        watch = self._watch(place)
        return (0, 0) if watch is None else (watch.serial, watch.bell.version)

    # Showing ----------------------------------------------------------------------------------------------------------

    async def shown(self, place: Place) -> Shown:
        """The page at a place as it is now. Raises `BadInput` or `NotThere` where the study has no such view."""
        key = (place, *self.stamp(place))
        task = self._kept.get(key)
        if task is None:
            task = self._kept[key] = asyncio.get_running_loop().create_task(self._made(self._page_maker(place), place))
            task.add_done_callback(lambda done: self._forget(key, done))
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return await asyncio.shield(task)  # whoever asked first may go away: the others still wait

    async def twin(self, place: Place) -> dict[str, Any]:
        """The same as plain values."""
        watch = self._watch(place)
        if watch is None:
            unread, numbers = self._listed()
            trouble = self.watchers.listing.trouble
            return await self._threads.run(lambda: studies_twin(unread, numbers) | {"trouble": trouble or None})
        seen, trouble, number, name = watch.seen, watch.trouble, watch.number, watch.name

        def make() -> dict[str, Any]:
            if seen.overview is None:
                said = reading_twin(name, number, seen.told, seen.total)
            elif place.arm is None:
                said = study_twin(seen.overview, place.options, number)
            else:
                measured = _measurements(seen, place.arm)
                said = arm_twin(seen.overview, place.arm, measured, place.options, number)
            return said | {"trouble": trouble or None}

        return await self._threads.run(make)

    def close(self) -> None:
        """Stop making pages."""
        self._threads.close()

    async def _made(self, make: Callable[[], Page], place: Place) -> Shown:
        def work() -> tuple[Shown, float]:
            began = time.thread_time()
            page = make()
            regions = {name: _json(region.plain()) for name, region in page.regions.items()}
            return Shown(page, regions), time.thread_time() - began

        shown, cost = await self._threads.run(work)
        watch = self._watch(place)
        if watch is not None:
            watch.charge(cost)
        return shown

    def _forget(self, key: tuple[Any, ...], done: asyncio.Task[Shown]) -> None:
        if done.cancelled() or done.exception() is not None:
            self._kept.pop(key, None)

    def _page_maker(self, place: Place) -> Callable[[], Page]:
        """How the page is made: by a function that may run in a thread, of what is known now."""
        if place.study is None:
            studies, numbers = self._listed()
            trouble = self.watchers.listing.trouble
            return lambda: with_trouble(studies_page(studies, numbers), trouble)
        watch = self._watch(place)
        if watch is None:
            return lambda: message_page("No such study", "It is no longer in the storage.")
        seen, trouble, number, name = watch.seen, watch.trouble, watch.number, watch.name

        def make() -> Page:
            if seen.overview is None:
                page = reading_page(name, number, seen.told, seen.total)
            elif place.arm is None:
                page = study_page(seen.overview, number, place.options)
            else:
                page = arm_page(seen.overview, number, place.arm, _measurements(seen, place.arm), place.options)
            return with_trouble(page, trouble)

        return make

    def _watch(self, place: Place) -> StudyWatch | None:
        return None if place.study is None else self.watchers.known(place.study)

    def _listed(self) -> tuple[list[Overview | Unread], list[int]]:
        watches = self.watchers.all()
        return [_or_unread(watch) for watch in watches], [watch.number for watch in watches]


def _or_unread(watch: StudyWatch) -> Overview | Unread:
    seen = watch.seen
    return seen.overview or Unread(watch.name, seen.told, seen.total, watch.trouble)


def _measurements(seen: Seen, arm: int) -> Measurements:
    assert seen.overview is not None
    assert seen.follower is not None
    arms = len(seen.overview.settings.arms)
    if arm >= arms:
        raise NotThere(f"This study has {arms:,} arms, numbered from 0; there is no arm {arm}.")
    return seen.follower.measurements(arm, MEASUREMENTS)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
