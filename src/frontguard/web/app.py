"""The live page as a web application: pages, their JSON twins, their events, three static files; and its server.

No route takes a path, a name or a URL from a visitor: studies and arms are numbers, static files are a dictionary that
was read at start, and a query may hold a few known words (`parts.ViewOptions`).
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import json
import logging
import secrets
import socket
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.convertors import IntegerConvertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

import frontguard
from frontguard.errors import BadInput
from frontguard.plot.picture import style_sheet
from frontguard.web.guard import LARGEST, Guard, Rules, is_loopback, plain_answer, rules_for
from frontguard.web.parts import Address, ViewOptions, document, message_page
from frontguard.web.views import MadePage, NotThere, Views
from frontguard.web.watchers import Watchers

# Server-sent events: all regions of a page first, then those that changed, as long as a browser listens ---------------


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
    """The events of an address, until `closing` is set or the browser is `gone`: what differs from the last one."""
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
    """The site's answers. `asgi` is the application, with its guard in front."""

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


CONNECTIONS = 500
"""Connections, silent ones included, from which on requests are answered 503."""

KEEP_ALIVE = 15
"""Seconds after an answer for which its connection waits for the next request."""


@dataclass(frozen=True)
class Bound:
    """A socket that listens, the rules that go with its address, and the URL to give to people."""

    socket: socket.socket
    address: str
    port: int
    rules: Rules
    host: str  # with its port, by which it is shown

    @property
    def url(self) -> str:
        """The address of the page, with the token if one is needed."""
        return f"http://{self.host}/" + (f"?token={self.rules.token}" if self.rules.token else "")

    @property
    def others_reach_it(self) -> bool:
        """True if machines other than this one can ask."""
        return not is_loopback(self.address)


def bind(host: str, port: int, allowed: Sequence[str] = ()) -> Bound:
    """Listen at a host and a port; 0 picks a free one. `allowed` are further names by which browsers may ask."""
    if not 0 <= port <= 65535:
        raise BadInput(f"--port: wanted a number from 0 to 65535, got {port}")
    rules_for("127.0.0.1", port or 1, allowed)  # refuses what cannot be a name before anything is opened
    family, address = _resolved(host)
    both = family == socket.AF_INET6 and socket.has_dualstack_ipv6()  # addresses of the old kind too
    try:
        listening = socket.create_server((address, port), family=family, backlog=128, dualstack_ipv6=both)
    except OSError as error:
        raise BadInput(_why_not(error, host, port)) from None
    bound = listening.getsockname()[1]
    rules = rules_for(address, bound, allowed, secrets.token_urlsafe(24))
    return Bound(listening, address, bound, rules, _host_to_show(address, bound, rules, allowed))


def _resolved(host: str) -> tuple[socket.AddressFamily, str]:
    try:
        found = socket.getaddrinfo(host.strip("[]") or None, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        raise BadInput(
            f"--host: wanted an address of this machine, such as 127.0.0.1 or 0.0.0.0; got {host!r}"
        ) from None
    found.sort(key=lambda each: each[0] != socket.AF_INET)  # of several, the one that everybody understands
    family, _, _, _, where = found[0]
    return family, str(where[0])


def _why_not(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} of {host} is taken by another program: --port 0 picks a free one"
    if error.errno == errno.EACCES:
        return f"port {port} may not be used by this user: wanted one from 1024 (--port 8730)"
    if error.errno == errno.EADDRNOTAVAIL:
        return f"--host: wanted an address of this machine, such as 127.0.0.1 or 0.0.0.0; got {host!r}"
    return f"cannot listen at port {port} of {host}: {error.strerror or error}"


def _host_to_show(address: str, port: int, rules: Rules, allowed: Sequence[str]) -> str:
    if rules.by_address:
        named = rules_for("127.0.0.1", port, allowed).hosts - rules_for("127.0.0.1", port).hosts
        return min(named) if named else f"localhost:{port}"
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


_LOOK = 0.2
"""Seconds between two looks for signals: one that another thread receives does not wake this one from a longer wait."""


class LiveServer:
    """Serves the studies of a storage. `run` returns after `stop`. `options` are those of the `Site`."""

    def __init__(self, bound: Bound, watchers: Watchers, *, connections: int = CONNECTIONS, **options: Any) -> None:
        self.bound = bound
        self.site = Site(watchers, bound.rules, **options)
        self._loop = asyncio.new_event_loop()
        self._server = uvicorn.Server(
            uvicorn.Config(
                self.site.asgi,
                http="h11",
                loop="asyncio",
                ws="none",
                lifespan="on",
                log_config=None,
                log_level=logging.CRITICAL,  # the guard logs the faults of answers
                access_log=False,
                server_header=False,
                proxy_headers=False,  # nobody is to tell us where a request came from, or how
                limit_concurrency=connections,
                timeout_keep_alive=KEEP_ALIVE,
                timeout_graceful_shutdown=1,
                h11_max_incomplete_event_size=LARGEST,
            )
        )

    @property
    def started(self) -> bool:
        """True once it answers."""
        return self._server.started

    def run(self) -> None:
        """Serve until stopped. In a thread of its own, so that signals are the caller's to handle."""
        serving = threading.Thread(target=self._serve, name="frontguard-serve", daemon=True)
        serving.start()
        while serving.is_alive():
            serving.join(_LOOK)

    def stop(self) -> None:
        """End soon: event streams at once, other answers within a second. May be called from any thread."""
        self._server.should_exit = True
        with suppress(RuntimeError):  # it has ended already
            self._loop.call_soon_threadsafe(self.site.closing.set)

    def _serve(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._server.serve(sockets=[self.bound.socket]))
