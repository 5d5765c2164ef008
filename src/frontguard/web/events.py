"""Server-sent events: all regions of a page first, then those that changed, as long as a browser listens."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping

from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.types import Receive, Scope, Send

from frontguard.errors import BadInput
from frontguard.web.addresses import Address
from frontguard.web.pages import message_page
from frontguard.web.views import MadePage, NotThere, Views

STREAMS = 100
"""Pages that may be open at a time."""

RETRY_AFTER = "5"
"""Seconds after which somebody who found all streams taken may ask again."""

HEARTBEAT = 10.0
"""Seconds after which a comment is sent when there is nothing else: whoever is gone is noticed, proxies stay awake."""

FIRST = 1.0
"""Seconds for which the first event waits for a log to be read."""

PACE = 1.0
"""Seconds between two events of the list, of which any study may change at any time."""


async def region_events(
    views: Views,
    address: Address,
    version: str,
    closing: asyncio.Event,
    gone: Callable[[], Awaitable[bool]],
    *,
    heartbeat: float = HEARTBEAT,
) -> AsyncGenerator[bytes, None]:
    """The events of an address, until `closing` is set or the browser is `gone`.

    `version` is that of script and style sheet.

    What a browser was not ready for is skipped: it is sent what differs from what it has, not how that came about.
    """
    sent: dict[str, str] = {}
    title: str | None = None
    with views.looking(address):
        yield b"retry: 1000\n\n"
        # A page that has waited for a server to be started again is not to go back to "being read" for a moment.
        await views.settled(address, FIRST)
        while not closing.is_set() and not await gone():
            bell = views.bell(address)
            heard = bell.version
            made = await _shown(views, address)
            now, regions = made.page.title, made.regions
            changed: dict[str, str] = {name: text for name, text in regions.items() if sent.get(name) != text}
            changed |= {name: "null" for name in sent if name not in regions}
            if changed or now != title:
                yield event(version, now, changed)
                title, sent = now, regions
            if address.study is None:
                await _either(PACE, closing.wait())
            while bell.version == heard and not closing.is_set():
                if await _either(heartbeat, bell.news(heard), closing.wait()):
                    continue
                if await gone():
                    return
                views.touch(address)
                if views.bell(address) is not bell:  # the storage is another one than it was
                    break
                yield b": still here\n\n"


def event(version: str, title: str, regions: dict[str, str]) -> bytes:
    """An event with regions that are JSON already.

    >>> event("1", "a", {"head": '["p",{},["b"]]', "gone": "null"})
    b'event: regions\\ndata: {"version":"1","title":"a","regions":{"head":["p",{},["b"]],"gone":null}}\\n\\n'
    """
    inner = ",".join(f"{json.dumps(name)}:{text}" for name, text in regions.items())
    said = f'{{"version":{json.dumps(version)},"title":{json.dumps(title)},"regions":{{{inner}}}}}'
    return f"event: regions\ndata: {said}\n\n".encode("utf-8", "replace")


async def _shown(views: Views, address: Address) -> MadePage:
    """The page as it is; in words, what stands against it (the study turned out to lack an arm)."""
    try:
        return await views.shown(address)
    except (BadInput, NotThere) as error:
        return MadePage.of(message_page("There is no such view", str(error)))


async def _either(seconds: float, *waits: Awaitable[object]) -> bool:
    """Wait for the first of several things up to so long; whether one has happened."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        done, _ = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        return bool(done)
    finally:
        for task in tasks:
            task.cancel()


class EventStream(StreamingResponse):
    """A stream of events. `free` counts those that may still be opened; where none may, the answer is 503."""

    media_type = "text/event-stream"

    def __init__(
        self, events: AsyncGenerator[bytes, None], free: asyncio.Semaphore, headers: Mapping[str, str]
    ) -> None:
        super().__init__(events, headers=headers)
        self._events, self._free = events, free

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until the events or the browser end."""
        if self._free.locked():
            taken = PlainTextResponse("Too many pages are open.", 503, {"Retry-After": RETRY_AFTER})
            return await taken(scope, receive, send)
        async with self._free:
            try:
                await super().__call__(scope, receive, send)
            finally:
                await self._events.aclose()  # at once, not when it is collected
