"""The live page as a web application: pages, their JSON twins, their events, and three static files.

No route takes a path, a name or a URL from a visitor: studies and arms are numbers, static files are a dictionary that
was read at start, and a query may hold a few known words (`addresses.ViewOptions`).
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import secrets
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import cache
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.convertors import IntegerConvertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

import frontguard
from frontguard.errors import BadInput
from frontguard.plot.looks import style_sheet
from frontguard.web.addresses import Address, ViewOptions
from frontguard.web.events import HEARTBEAT, STREAMS, EventStream, region_events
from frontguard.web.guard import Guard, Rules, plain_answer
from frontguard.web.pages import document
from frontguard.web.views import NotThere, Views
from frontguard.web.watchers import Watchers

PATIENCE = 0.4
"""Seconds for which a page waits for a log to be read; most are read by then. Later, the page says how far it is."""

TWIN_PATIENCE = 20.0
"""The same for JSON, whose readers would rather wait than ask again."""

_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}

Answer = Coroutine[Any, Any, Response]


class _Number(IntegerConvertor):
    """A number as our own URLs write it."""

    regex = "0|[1-9][0-9]{0,8}"


register_url_convertor("number", _Number())


@cache
def static_files() -> tuple[dict[str, bytes], str]:
    """The static files by name, and a version that differs whenever one of them does."""
    folder = files("frontguard.web") / "static"
    found = {each.name: each.read_bytes() for each in folder.iterdir() if each.name.rpartition(".")[2] in _TYPES}
    # The words of verdicts have the colours that pictures give them.
    found["page.css"] = style_sheet().encode() + found["page.css"]
    said = hashlib.sha256(frontguard.__version__.encode())
    for name in sorted(found):
        said.update(name.encode() + b"\0" + found[name])
    return found, said.hexdigest()[:16]


class Site:
    """What is answered to whom. `asgi` is the application, with its guard in front."""

    def __init__(
        self,
        watchers: Watchers,
        rules: Rules,
        *,
        streams: int = STREAMS,
        heartbeat: float = HEARTBEAT,
        baseline: str | None = None,
    ) -> None:
        self.watchers = watchers
        self._streams = asyncio.Semaphore(streams)
        self._heartbeat = heartbeat
        self.views = Views(watchers, baseline=baseline)
        self.closing = asyncio.Event()
        self._static_files, self._version = static_files()
        self._start = secrets.token_hex(4)  # entity tags of another start mean something else
        routes = []
        for path in ("", "/study/{study:number}", "/study/{study:number}/arm/{arm:number}"):
            routes += [
                Route(path or "/", self._checked(self._page)),
                Route(f"{path or '/studies'}.json", self._checked(self._twin)),
                Route(f"/events{path or '/studies'}", self._checked(self._events)),
            ]
        app = Starlette(
            routes=[*routes, Route("/static/{name}", self._static)],
            lifespan=self._lifespan,
            exception_handlers={HTTPException: _refused},
        )
        app.router.redirect_slashes = False
        self.asgi = Guard(app, rules)

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        yield
        self.closing.set()
        self.watchers.close()

    def _checked(self, endpoint: Callable[[Request, Address], Answer]) -> Callable[[Request], Answer]:
        """An endpoint that is given an address; refuses what is none."""

        async def answer(request: Request) -> Response:
            study, arm = request.path_params.get("study"), request.path_params.get("arm")
            query = request.query_params.multi_items()
            try:
                if study is None and query:
                    raise BadInput("the list of studies takes no query")
                address = Address(study, arm, ViewOptions.read(query))
                await self.views.find(address)
                return await endpoint(request, address)
            except BadInput as error:
                raise HTTPException(400, f"{error}.") from None
            except NotThere as error:
                listing = self.watchers.listing
                trouble = listing.trouble or ("" if listing.polled else "the storage has not answered yet")
                if trouble:  # it may well be there: a browser without script tries again as well
                    raise HTTPException(503, f"{trouble.rstrip('.')}.", {"Retry-After": "2", "Refresh": "2"}) from None
                raise HTTPException(404, str(error)) from None

        return answer

    # Answers ----------------------------------------------------------------------------------------------------------

    async def _page(self, request: Request, address: Address) -> Response:
        del request
        await self.views.settled(address, PATIENCE)
        made = await self.views.shown(address)
        return HTMLResponse(document(made.page, events=address.events, version=self._version))

    async def _twin(self, request: Request, address: Address) -> Response:
        await self.views.settled(address, TWIN_PATIENCE)
        stamp = "-".join(map(str, self.views.stamp(address)))
        tag = f'"{self._start}-{hashlib.sha256(stamp.encode()).hexdigest()[:16]}"'
        if tag in [each.strip() for each in request.headers.get("if-none-match", "").split(",")]:
            return Response(status_code=304, headers={"ETag": tag})
        said = await self.views.twin(address)
        reading = said.get("status") == "reading"
        return Response(
            json.dumps(said, allow_nan=False),
            status_code=503 if reading else 200,
            headers={"Retry-After": "1"} if reading else {"ETag": tag},
            media_type="application/json",
        )

    async def _events(self, request: Request, address: Address) -> Response:
        headers = {"X-Accel-Buffering": "no"}
        if request.method == "HEAD":
            return Response(headers=headers, media_type=EventStream.media_type)
        events = region_events(
            self.views, address, self._version, self.closing, request.is_disconnected, heartbeat=self._heartbeat
        )
        return EventStream(events, self._streams, headers=headers)

    async def _static(self, request: Request) -> Response:
        name = request.path_params["name"]
        content = self._static_files.get(name)
        if content is None:
            raise HTTPException(404, "There is no such file here.")
        tag = f'"{self._version}"'
        fresh = request.query_params.get("v") == self._version
        headers = {
            # Under its version a file never changes; without, a browser asks whether it has.
            "Cache-Control": "private, max-age=31536000, immutable" if fresh else "no-cache",
            "ETag": tag,
        }
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(content, headers=headers, media_type=f"{_TYPES[name.rpartition('.')[2]]}; charset=utf-8")


async def _refused(request: Request, error: Exception) -> Response:
    """An error for whoever asked: a page, or JSON for those who asked for that. What they sent is quoted as text."""
    assert isinstance(error, HTTPException)
    titles = {400: "Not understood", 404: "Not found", 503: "The storage cannot be read"}
    said = error.detail if error.status_code != 404 or error.detail != "Not Found" else "There is no such page here."
    if request.url.path.endswith(".json"):
        body = json.dumps({"error": said})
        return Response(body, error.status_code, error.headers, media_type="application/json")
    title = titles.get(error.status_code, "Refused")
    return plain_answer(error.status_code, title, said[:1].upper() + said[1:], headers=error.headers)
