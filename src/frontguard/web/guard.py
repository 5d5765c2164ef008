"""Requests that the live page answers, and the headers with which every answer leaves.

The page shows what is measured on this machine, and a browser on it visits other sites too. What those may not do:

- *reach it under a name of theirs* (DNS rebinding): the Host of a request must be, letter by letter, one of the
  addresses that this server was started with. A browser puts there what its user sees as the site's address;
- *ask from their own pages*: an Origin, where a browser sends one, must be the very address that is asked; `null`
  (sandboxed frames, files) is nobody's. Sec-Fetch-Site must be `same-origin`, or `none` (typed, a bookmark). One thing
  is let through: following a link from elsewhere to a page, as a document of its own. It changes nothing here, and the
  site that had the link sees nothing of it (`Cross-Origin-Opener-Policy`, no frames). Data and events are not pages;
- *change anything*: there is nothing to change, and only GET and HEAD are answered.

Bound to an address that others can reach, and under names that lead here from elsewhere, a token is needed as well. It
is made anew at each start and comes once by the URL; from then on the browser has it as a cookie that no script reads
and that no other site's links carry along. A cookie is not bound to a port: its name holds ours, so that two servers on
one host do not overwrite each other's.
"""

from __future__ import annotations

import hmac
import ipaddress
import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from frontguard.errors import BadInput
from frontguard.web.parts import document, message_page

LARGEST = 16 * 1024
"""Bytes of a request's path, query and headers together."""

_NAME = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(?:\.(?!-)[a-z0-9_-]{1,63}(?<!-))*")
_PORT = re.compile(r"[1-9][0-9]{0,4}")
_log = logging.getLogger("frontguard.web")


@dataclass(frozen=True)
class Rules:
    """Requirements on a request."""

    hosts: frozenset[str]  # the values of Host that are ours
    token: str | None = field(default=None, repr=False)  # None: not needed
    cookie: str = "frontguard"
    by_address: bool = False  # bound to every address: the one at which a connection came in is ours too


def is_loopback(host: str) -> bool:
    """True if only this machine reaches a host.

    >>> [is_loopback(host) for host in ("127.0.0.1", "[::1]", "localhost", "0.0.0.0", "10.0.0.7", "localhost.org")]
    [True, True, True, False, False, False]
    """
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def allowed_host(text: str, port: int) -> str:
    """The value of Host that a name given by --allow-host stands for."""
    host, colon, said = text.lower().rpartition(":")
    if not colon or said.endswith("]"):
        host, said = text.lower(), str(port)
    if not _is_host(host) or _PORT.fullmatch(said) is None or int(said) > 65535:
        raise BadInput(
            "--allow-host: wanted a name or an address by which browsers reach this machine, such as lab.example.org "
            f"or localhost:9000; got {text!r}"
        )
    return _host_value(host, int(said))


def rules_for(address: str, port: int, allowed: Iterable[str] = (), token: str | None = None) -> Rules:
    """The rules of a server that is bound to an address and a port. `token` is ignored where none is needed."""
    named = frozenset(allowed_host(text, port) for text in allowed)
    bound = ipaddress.ip_address(address)
    hosts = named
    if not bound.is_unspecified:
        hosts |= _values(_literal(address), port)
    if bound.is_unspecified or bound.is_loopback:
        hosts |= _values("localhost", port)
    safe = bound.is_loopback and all(is_loopback(re.sub(r":[0-9]+$", "", value)) for value in named)
    return Rules(hosts, None if safe else token, f"frontguard-{port}", bound.is_unspecified)


def _is_host(host: str) -> bool:
    try:
        return host == _literal(host.strip("[]"))
    except ValueError:
        # Four numbers that are no address, and addresses in the odd ways of writing them, are no names either.
        return _NAME.fullmatch(host) is not None and re.fullmatch(r"[0-9.]+|0x.*", host) is None


def _literal(address: str) -> str:
    """An address as it stands in a URL."""
    read = ipaddress.ip_address(address)
    return f"[{read}]" if read.version == 6 else str(read)


def _host_value(host: str, port: int) -> str:
    return host if port == 80 else f"{host}:{port}"  # browsers leave out the usual port


def _values(host: str, port: int) -> set[str]:
    return {_host_value(host, port), f"{host}:{port}"}


def judged(rules: Rules, request: Request) -> HTMLResponse | None:
    """The answer to a request that may go no further; None if it may."""
    path, all_of = request.scope["path"], request.headers.getlist
    size = len(path) + len(_query(request)) + sum(len(name) + len(value) for name, value in request.headers.raw)
    if size > LARGEST:
        return plain_answer(431, "Too large", "A request like this has no need of so many words.")
    hosts = all_of("host")
    if len(hosts) != 1 or not path.startswith("/"):
        return plain_answer(400, "Bad request", "A request must name its host once, and a path on it.")
    host = hosts[0]
    if host not in rules.hosts and not (rules.by_address and _is_ours(host, request.scope.get("server"))):
        # Whoever reads this may be a page under a false name: nothing is said here of what is served, or where.
        return plain_answer(
            421,
            "Not under this name",
            "This server answers only under the addresses that it was started with. Open the one that "
            "`frontguard serve` printed, or start it with --allow-host and the name that you use.",
        )
    if request.method not in ("GET", "HEAD"):
        return plain_answer(405, "Read only", "Only GET and HEAD are answered here.", headers={"allow": "GET, HEAD"})
    if any(origin != f"http://{host}" for origin in all_of("origin")) or not _from_here(request):
        return plain_answer(403, "Not from another site", "This cannot be asked for by a page of another site.")
    return _admitted(rules, request)


def _query(request: Request) -> str:
    return bytes(request.scope.get("query_string", b"")).decode("latin-1")


def _from_here(request: Request) -> bool:
    all_of = request.headers.getlist
    sites = all_of("sec-fetch-site")
    if all(site in ("same-origin", "none") for site in sites):
        return True  # also without any: not a browser, an old one, or no secure context; then the rest must do
    followed = all_of("sec-fetch-mode") == ["navigate"] and all_of("sec-fetch-dest") == ["document"]
    from_elsewhere = sites in (["cross-site"], ["same-site"])
    return followed and from_elsewhere and request.method == "GET" and is_page(request.scope["path"])


def is_page(path: str) -> bool:
    """True if a path leads to a page for people, not to data, events or parts of a page."""
    return not path.startswith(("/events/", "/static/")) and not path.endswith(".json")


def _is_ours(host: str, server: tuple[str, int | None] | None) -> bool:
    """True if a Host is the address at which the connection came in. No name can be: so no rebinding."""
    address, port = server or ("", None)
    try:
        read = ipaddress.ip_address(address)
    except ValueError:  # a socket that has no address
        return False
    return port is not None and host in _values(_literal(str(getattr(read, "ipv4_mapped", None) or read)), port)


def _admitted(rules: Rules, request: Request) -> HTMLResponse | None:
    """Refuse a request without the token, where one is needed; greet one that brings it by the URL."""
    if rules.token is None:
        return None
    given = [value for name, value in parse_qsl(_query(request)) if name == "token"]
    if given and request.scope["path"] == "/":
        if len(given) == 1 and _same(given[0], rules.token):
            cookie = f"{rules.cookie}={rules.token}; HttpOnly; SameSite=Strict; Path=/"
            headers = {"location": "/", "set-cookie": cookie}
            return plain_answer(303, "Welcome", "Go on without the token.", headers=headers)
        return _locked()
    if any(_same(text, rules.token) for text in _cookies(request, rules.cookie)):
        return None
    for text in request.headers.getlist("authorization"):
        scheme, _, credentials = text.partition(" ")
        if scheme.lower() == "bearer" and _same(credentials.strip(), rules.token):
            return None
    return _locked()


def _locked() -> HTMLResponse:
    return plain_answer(
        403,
        "A token is needed",
        "Open the address that `frontguard serve` printed when it was started, with all of its token. A server "
        "that was started again has another one.",
        # A cookie that is kept from links on other sites is not sent along the redirection after such a link.
        "If you have just followed a link with a token to this page, go on here:",
    )


def _cookies(request: Request, wanted: str) -> list[str]:
    headers = request.headers.getlist("cookie")
    pairs = (pair.strip().partition("=") for header in headers for pair in header.split(";"))
    return [value for name, _, value in pairs if name == wanted]


def _same(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), token.encode())


HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        b"base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
)
"""On every answer: nothing runs that is not ours, nobody frames us, reads us from elsewhere, or learns our address."""

_OURS = frozenset(name for name, _ in HEADERS) | {b"server"}


def secured(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The headers of an answer with `HEADERS`; not to be stored unless the answer says otherwise."""
    kept = [(name.lower(), value) for name, value in headers if name.lower() not in _OURS]
    if all(name != b"cache-control" for name, _ in kept):
        kept.append((b"cache-control", b"no-store"))
    return [*kept, *HEADERS]


def plain_answer(status: int, title: str, *words: str, headers: Mapping[str, str] | None = None) -> HTMLResponse:
    """An answer other than what was asked for: a page with a few sentences.

    >>> b"a &lt;b&gt;" in plain_answer(404, "Not found", "There is no a <b>.").body
    True
    """
    return HTMLResponse(document(message_page(title, *words)), status, headers)


class Guard:
    """An ASGI application in front of another: refuses what may not be asked, and puts headers on all answers."""

    def __init__(self, app: ASGIApp, rules: Rules) -> None:
        self.app = app
        self._rules = rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Judge a request and pass it on, or answer it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # no sockets of other kinds here
            await receive()
            await send({"type": "websocket.close", "code": 1008})
            return
        started = False

        async def send_secured(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message["headers"] = secured(message.get("headers", ()))
            await send(message)

        refused = judged(self._rules, Request(scope))
        if refused is not None:
            await refused(scope, receive, send_secured)
            return
        try:
            await self.app(scope, receive, send_secured)
        except Exception:
            # A fault of ours. Who runs the server sees all of it, a visitor that there was one.
            _log.exception("a request could not be answered")
            if not started:
                words = "Something went wrong here. The terminal in which the server runs says what."
                await plain_answer(500, "A fault", words)(scope, receive, send_secured)
