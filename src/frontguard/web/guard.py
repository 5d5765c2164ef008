"""Who may ask the live page for anything, and with what headers every answer leaves.

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
from collections.abc import Awaitable, Callable, Iterable, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from frontguard.errors import BadInput
from frontguard.markup import element

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

LARGEST = 16 * 1024
"""Bytes of a request's path, query and headers together."""

_NAME = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(?:\.(?!-)[a-z0-9_-]{1,63}(?<!-))*")
_PORT = re.compile(r"[1-9][0-9]{0,4}")
_log = logging.getLogger("frontguard.web")


# Rules ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rules:
    """What a request must show."""

    hosts: frozenset[str]  # the values of Host that are ours
    token: str | None = field(default=None, repr=False)  # None: not needed
    cookie: str = "frontguard"
    by_address: bool = False  # bound to every address: the one at which a connection came in is ours too


@dataclass(frozen=True)
class Asked:
    """What a request is judged by: names of headers are in lower case."""

    method: str
    path: str
    query: str
    headers: Sequence[tuple[bytes, bytes]]
    server: tuple[str, int] | None = None  # address and port at which the connection came in

    @property
    def size(self) -> int:
        """Bytes, about."""
        return len(self.path) + len(self.query) + sum(len(name) + len(value) for name, value in self.headers)

    def all(self, name: bytes) -> list[str]:
        """The values of a header, once for each time that it is there."""
        return [value.decode("latin-1") for found, value in self.headers if found == name]


@dataclass(frozen=True)
class Refusal:
    """An answer that the guard gives itself."""

    status: int
    title: str
    words: tuple[str, ...] = ()
    headers: tuple[tuple[bytes, bytes], ...] = ()
    link: tuple[str, str] | None = None


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a host.

    >>> [is_loopback(host) for host in ("127.0.0.1", "[::1]", "localhost", "0.0.0.0", "10.0.0.7", "localhost.org")]
    [True, True, True, False, False, False]
    """
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def allowed_host(text: str, port: int) -> str:
    """The value of Host that a name given by --allow-host stands for.

    >>> allowed_host("lab.example.org", 8730), allowed_host("localhost:9000", 8730), allowed_host("lab", 80)
    ('lab.example.org:8730', 'localhost:9000', 'lab')
    """
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
    """The rules of a server that is bound to an address and a port. `token` is ignored where none is needed.

    >>> sorted(rules_for("127.0.0.1", 8730).hosts)
    ['127.0.0.1:8730', 'localhost:8730']
    """
    named = frozenset(allowed_host(text, port) for text in allowed)
    bound = ipaddress.ip_address(address)
    hosts = set(named)
    if bound.is_unspecified:
        hosts |= _values("localhost", port)
    else:
        hosts |= _values(_literal(address), port)
        if bound.is_loopback:
            hosts |= _values("localhost", port)
    safe = bound.is_loopback and all(is_loopback(_without_port(value)) for value in named)
    return Rules(frozenset(hosts), None if safe else token, f"frontguard-{port}", bound.is_unspecified)


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


def _without_port(value: str) -> str:
    return re.sub(r":[0-9]+$", "", value)


# Judging --------------------------------------------------------------------------------------------------------------


def judged(rules: Rules, asked: Asked) -> Refusal | None:
    """The answer to a request that may go no further; None if it may."""
    if asked.size > LARGEST:
        return Refusal(431, "Too large", ("A request like this has no need of so many words.",))
    hosts = asked.all(b"host")
    if len(hosts) != 1 or not asked.path.startswith("/"):
        return Refusal(400, "Bad request", ("A request must name its host once, and a path on it.",))
    host = hosts[0]
    if host not in rules.hosts and not (rules.by_address and _is_ours(host, asked.server)):
        # Whoever reads this may be a page under a false name: nothing is said here of what is served, or where.
        return Refusal(
            421,
            "Not under this name",
            (
                "This server answers only under the addresses that it was started with. Open the one that "
                "`frontguard serve` printed, or start it with --allow-host and the name that you use.",
            ),
        )
    if asked.method not in ("GET", "HEAD"):
        return Refusal(405, "Read only", ("Only GET and HEAD are answered here.",), ((b"allow", b"GET, HEAD"),))
    if any(origin != f"http://{host}" for origin in asked.all(b"origin")) or not _from_here(asked):
        return Refusal(403, "Not from another site", ("This cannot be asked for by a page of another site.",))
    return _admitted(rules, asked)


def _from_here(asked: Asked) -> bool:
    sites = asked.all(b"sec-fetch-site")
    if all(site in ("same-origin", "none") for site in sites):
        return True  # also without any: not a browser, an old one, or no secure context; then the rest must do
    followed = asked.all(b"sec-fetch-mode") == ["navigate"] and asked.all(b"sec-fetch-dest") == ["document"]
    return followed and asked.method == "GET" and sites in (["cross-site"], ["same-site"]) and is_page(asked.path)


def is_page(path: str) -> bool:
    """Whether a path leads to a page for people, not to data, events or parts of a page."""
    return not path.startswith(("/events/", "/static/")) and not path.endswith(".json")


def _is_ours(host: str, server: tuple[str, int] | None) -> bool:
    """Whether a Host is the address at which the connection came in. No name can be: so no rebinding."""
    if server is None:
        return False
    address, port = server
    try:
        read = ipaddress.ip_address(address)
    except ValueError:  # a socket that has no address
        return False
    return host in _values(_literal(str(getattr(read, "ipv4_mapped", None) or read)), port)


def _admitted(rules: Rules, asked: Asked) -> Refusal | None:
    """Whether the token was shown, where one is needed."""
    if rules.token is None:
        return None
    given = [value for name, value in parse_qsl(asked.query) if name == "token"] if asked.path == "/" else []
    if given:
        if len(given) == 1 and _same(given[0], rules.token):
            cookie = f"{rules.cookie}={rules.token}; HttpOnly; SameSite=Strict; Path=/"
            return Refusal(
                303,
                "Welcome",
                ("Go on without the token.",),
                ((b"location", b"/"), (b"set-cookie", cookie.encode())),
                ("/", "All studies"),
            )
        return _locked()
    shown = [text for text in _cookies(asked, rules.cookie) if _same(text, rules.token)]
    for text in asked.all(b"authorization"):
        scheme, _, credentials = text.partition(" ")
        if scheme.lower() == "bearer" and _same(credentials.strip(), rules.token):
            shown.append(text)
    return None if shown else _locked()


def _locked() -> Refusal:
    return Refusal(
        403,
        "A token is needed",
        (
            "Open the address that `frontguard serve` printed when it was started, with all of its token. A server "
            "that was started again has another one.",
            # A cookie that is kept from links on other sites is not sent along the redirection after such a link.
            "If you have just followed a link with a token to this page, go on here:",
        ),
        link=("/", "All studies"),
    )


def _cookies(asked: Asked, wanted: str) -> list[str]:
    pairs = (pair.strip().partition("=") for header in asked.all(b"cookie") for pair in header.split(";"))
    return [value for name, _, value in pairs if name == wanted]


def _same(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), token.encode())


# What every answer has ------------------------------------------------------------------------------------------------


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


def plain_page(title: str, *words: str, link: tuple[str, str] | None = None) -> str:
    """A page that says something in a few sentences, with a link below if there is somewhere to go.

    >>> "a &lt;b&gt;" in plain_page("Not found", "There is no a <b>.", link=("/", "All studies"))
    True
    """
    said = [element("p", None, each) for each in words]
    if link is not None:
        said.append(element("p", None, element("a", {"href": link[0]}, link[1])))
    head = element(
        "head",
        None,
        element("meta", {"charset": "utf-8"}),
        element("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
        element("title", None, f"{title} · frontguard"),
        element("link", {"rel": "stylesheet", "href": "/static/page.css"}),
        element("link", {"rel": "icon", "href": "/static/icon.svg"}),
    )
    body = element("body", {"class": "plain"}, element("main", None, element("h1", None, title), *said))
    return f"<!doctype html>\n{element('html', {'lang': 'en'}, head, body).markup()}\n"


# In front of the application ------------------------------------------------------------------------------------------


class Guard:
    """An ASGI application in front of another: refuses what may not be asked, and puts headers on all answers."""

    def __init__(self, app: App, rules: Rules) -> None:
        self.app = app
        self._rules = rules

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
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

        server = scope.get("server")
        asked = Asked(
            scope["method"],
            scope["path"],
            scope.get("query_string", b"").decode("latin-1"),
            scope["headers"],
            (server[0], server[1]) if server and server[1] else None,
        )
        refusal = judged(self._rules, asked)
        if refusal is not None:
            await _give(refusal, send_secured)
            return
        try:
            await self.app(scope, receive, send_secured)
        except Exception:
            # A fault of ours. Who runs the server sees all of it, a visitor that there was one.
            _log.exception("a request could not be answered")
            if not started:
                words = "Something went wrong here. The terminal in which the server runs says what."
                await _give(Refusal(500, "A fault", (words,), link=("/", "All studies")), send_secured)


async def _give(refusal: Refusal, send: Send) -> None:
    body = plain_page(refusal.title, *refusal.words, link=refusal.link).encode()
    kind, length = (b"content-type", b"text/html; charset=utf-8"), (b"content-length", str(len(body)).encode())
    headers = [kind, length, *refusal.headers]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
