"""Server-sent events: all regions of a page first, then those that changed, as long as a browser listens."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable
from contextlib import suppress

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from frontguard.errors import BadInput
from frontguard.web.pages import message_page
from frontguard.web.views import NotThere, Place, Views

__all__ = ["HEARTBEAT", "EventStream", "event", "region_events"]

HEARTBEAT = 10.0
"""Seconds after which a comment is sent when there is nothing else: whoever is gone is noticed, proxies stay awake."""

FIRST = 1.0
"""Seconds for which the first event waits for a log to be read."""

PACE = 1.0
"""Seconds between two events of the list, of which any study may change at any time."""


async def region_events(
    views: Views, place: Place, version: str, closing: asyncio.Event, *, heartbeat: float = HEARTBEAT
) -> AsyncGenerator[bytes, None]:
    """The events of a place, until `closing` is set. `version` is that of script and style sheet.

    What a browser was not ready for is skipped: it is sent what differs from what it has, not how that came about.
    """
    yield b"retry: 1000\n\n"
    sent: dict[str, str] = {}
    title: str | None = None
    with views.looking(place):
        # A page that has waited for a server to be started again is not to go back to "being read" for a moment.
        await views.settled(place, FIRST)
        while not closing.is_set():
            bell = views.bell(place)
            heard = bell.version
            now, regions = await _regions(views, place)
            changed: dict[str, str] = {name: text for name, text in regions.items() if sent.get(name) != text}
            changed |= {name: "null" for name in sent if name not in regions}
            if changed or now != title:
                yield event(version, now, changed)
                title, sent = now, regions
            if place.study is None:
                await _rest(PACE, closing)
            while bell.version == heard and not closing.is_set():
                if await _either(heartbeat, bell.news(heard), closing.wait()):
                    continue
                views.touch(place)
                if views.bell(place) is not bell:  # the storage is another one than it was
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


async def _regions(views: Views, place: Place) -> tuple[str, dict[str, str]]:
    """The title and the regions as they are; in words, what stands against it (the study turned out to lack an arm)."""
    try:
        shown = await views.shown(place)
    except (BadInput, NotThere) as error:
        page = message_page("There is no such view", str(error))
        return page.title, {name: json.dumps(region.plain()) for name, region in page.regions.items()}
    return shown.page.title, shown.regions


async def _rest(seconds: float, closing: asyncio.Event) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(closing.wait(), seconds)


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
    """A stream of events that ends as soon as the browser is gone, whatever the server says of its abilities.

    (Starlette relies on `send` to fail for servers of a newer specification; uvicorn lets it pass in silence.)
    """

    media_type = "text/event-stream"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until the events or the browser end."""
        if scope["method"] == "HEAD":
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            await send({"type": "http.response.body", "body": b""})
            return
        tasks = [
            asyncio.ensure_future(self.stream_response(send)),
            asyncio.ensure_future(self.listen_for_disconnect(receive)),
        ]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
            if isinstance(self.body_iterator, AsyncGenerator):
                await self.body_iterator.aclose()  # at once, not when it is collected
        for error in ended:
            if isinstance(error, Exception):
                raise error
