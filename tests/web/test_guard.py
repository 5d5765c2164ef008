"""The guard: which requests may go on. Pure judgements here; over real sockets in test_app.py."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import MutableMapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request
from syrupy.assertion import SnapshotAssertion

from frontguard.errors import BadInput
from frontguard.web.guard import (
    HEADERS,
    Guard,
    Rules,
    allowed_host,
    is_page,
    judged,
    plain_answer,
    rules_for,
    secured,
)
from tests.support.snapshots import refused

TOKEN = "k0Zr7Vx3b2m9Q1c5"  # a word for tests
HERE = rules_for("127.0.0.1", 8730)
BEHIND_TOKEN = rules_for("192.168.1.7", 8730, ["lab.example.org"], TOKEN)


def asked(
    method: str, path: str, query: str, headers: list[tuple[bytes, bytes]], server: tuple[str, int] | None = None
) -> Request:
    """A request as the guard is given it."""
    sent = {"query_string": query.encode("latin-1"), "headers": headers, "server": server}
    return Request({"type": "http", "method": method, "path": path, **sent})


def ask(
    rules: Rules = HERE,
    path: str = "/",
    query: str = "",
    method: str = "GET",
    server: tuple[str, int] | None = None,
    host: str | None = "127.0.0.1:8730",
    **headers: str,
) -> int:
    """The status of the guard's answer, 200 if the request may go on; a_b=… is a header a-b."""
    sent = [] if host is None else [(b"host", host.encode("latin-1"))]
    sent += [(name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in headers.items()]
    answer = judged(rules, asked(method, path, query, sent, server))
    return 200 if answer is None else answer.status_code


# Host -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["127.0.0.1:8730", "localhost:8730"])
def test_our_own_addresses_are_answered(host: str) -> None:
    assert ask(host=host) == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:8730", "evil.example", "localhost", "127.0.0.1", "localhost:80", "localhost:8731",
        "localhost:08730",
        "localhost:8730.", "localhost.:8730", "LOCALHOST:8730", "Localhost:8730", "localhost:8730 ", " localhost:8730",
        "localhost:8730,evil.example", "localhost:8730@evil.example", "evil.example@localhost:8730",
        "a:b@localhost:8730",
        "x.localhost:8730", "localhost.evil.example:8730", "127.0.0.1.evil.example:8730", "127.0.0.1.nip.io:8730",
        "127.1:8730", "127.0.0.2:8730", "2130706433:8730", "0x7f000001:8730", "0177.0.0.1:8730", "0.0.0.0:8730",
        "[::1]:8730", "::1:8730", "[::ffff:127.0.0.1]:8730", "localhost:8730/", "localhost:8730#", "http://localhost:8730",
        "", "*", "*:8730", "null", "localhost\t:8730", "localhost:８７３０".encode().decode("latin-1"),
        "lоcalhost:8730".encode().decode("latin-1"),  # with a Cyrillic o
    ],
)  # fmt: skip
def test_any_other_host_is_refused(host: str) -> None:
    assert ask(host=host) == 421


def test_a_request_names_its_host_once() -> None:
    assert ask(host=None) == 400
    twice = [(b"host", b"localhost:8730"), (b"host", b"localhost:8730")]
    answer = judged(HERE, asked("GET", "/", "", twice))
    assert answer is not None
    assert answer.status_code == 400


@pytest.mark.parametrize("path", ["", "*", "http://127.0.0.1:8730/", "study/1", "evil.example:443"])
def test_a_request_names_a_path(path: str) -> None:
    assert ask(path=path) == 400


@given(st.text(st.characters(max_codepoint=255), max_size=40))
def test_no_text_but_ours_passes_as_a_host(text: str) -> None:
    assert ask(host=text) == (200 if text in ("127.0.0.1:8730", "localhost:8730") else 421)


@pytest.mark.parametrize(
    ("address", "port", "allowed", "hosts"),
    [
        ("127.0.0.1", 8730, [], {"127.0.0.1:8730", "localhost:8730"}),
        ("127.0.0.1", 80, [], {"127.0.0.1", "localhost", "127.0.0.1:80", "localhost:80"}),
        ("::1", 9000, [], {"[::1]:9000", "localhost:9000"}),
        ("127.0.0.1", 8730, ["localhost:9999"], {"127.0.0.1:8730", "localhost:8730", "localhost:9999"}),
        ("192.168.1.7", 8730, [], {"192.168.1.7:8730"}),
        ("192.168.1.7", 8730, ["Lab.Example.org"], {"192.168.1.7:8730", "lab.example.org:8730"}),
        ("0.0.0.0", 8730, ["lab"], {"localhost:8730", "lab:8730"}),
        ("fe80::1", 8730, [], {"[fe80::1]:8730"}),
    ],
)
def test_the_hosts_of_an_address(address: str, port: int, allowed: list[str], hosts: set[str]) -> None:
    assert rules_for(address, port, allowed).hosts == hosts


@pytest.mark.parametrize(
    ("address", "allowed", "needed"),
    [
        ("127.0.0.1", [], False),
        ("127.0.0.5", [], False),
        ("::1", [], False),
        ("127.0.0.1", ["localhost:9999", "[::1]:9999", "127.0.0.1:1"], False),
        ("127.0.0.1", ["lab.example.org"], True),  # a name that leads here from elsewhere: by a proxy or a tunnel
        ("0.0.0.0", [], True),
        ("::", [], True),
        ("192.168.1.7", [], True),
        ("169.254.1.1", [], True),
        ("::ffff:10.0.0.1", [], True),
    ],
)
def test_a_token_is_needed_wherever_others_can_ask(address: str, allowed: list[str], needed: bool) -> None:
    assert (rules_for(address, 8730, allowed, TOKEN).token is not None) == needed


@pytest.mark.parametrize(
    "text",
    ["", "*", "*.example.org", "a b", "http://lab", "lab/", "lab:0", "lab:65536", "lab:x", "a@b", "-a", "a..b",
     "a.", ".a",
     "127.1", "300.1.1.1", "0x7f000001", "::1", "[::1", "[::1]x", "lab:80:80", "лаб", "a\nb"],
)  # fmt: skip
def test_what_cannot_be_a_host_is_refused_in_words(text: str, snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        allowed_host(text, 8730)


def test_allowed_hosts_with_and_without_ports() -> None:
    assert allowed_host("[::1]", 8730) == "[::1]:8730"
    assert allowed_host("[::1]:99", 8730) == "[::1]:99"
    assert allowed_host("LAB", 8730) == "lab:8730"


def test_bound_to_every_address_the_one_that_was_asked_is_ours() -> None:
    rules = rules_for("0.0.0.0", 8730, [], TOKEN)
    cookie = f"frontguard-8730={TOKEN}"
    for server, host, status in [
        (("10.0.0.5", 8730), "10.0.0.5:8730", 200),
        (("10.0.0.5", 8730), "10.0.0.6:8730", 421),
        (("10.0.0.5", 8730), "10.0.0.5", 421),
        (("10.0.0.5", 8730), "10.0.0.5:80", 421),
        (("10.0.0.5", 8730), "evil.example:8730", 421),
        (("::ffff:10.0.0.5", 8730), "10.0.0.5:8730", 200),
        (("fd00::5", 8730), "[fd00::5]:8730", 200),
        (("127.0.0.1", 8730), "0.0.0.0:8730", 421),
        (None, "10.0.0.5:8730", 421),
        (("/tmp/socket", 0), "10.0.0.5:8730", 421),
    ]:
        assert ask(rules, host=host, server=server, cookie=cookie) == status, (server, host)
    # Bound to one address, that one alone is ours, whatever the connection says.
    assert ask(HERE, host="10.0.0.5:8730", server=("10.0.0.5", 8730)) == 421


# Methods --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "get", "PROPFIND"])
def test_nothing_but_reading(method: str) -> None:
    answer = judged(HERE, asked(method, "/", "", [(b"host", b"localhost:8730")]))
    assert answer is not None
    assert answer.status_code == 405
    assert (b"allow", b"GET, HEAD") in answer.raw_headers


def test_heads_may_be_asked_for() -> None:
    assert ask(method="HEAD") == 200


# Origin ---------------------------------------------------------------------------------------------------------------


def test_our_own_origin() -> None:
    assert ask(origin="http://127.0.0.1:8730") == 200
    assert ask(host="localhost:8730", origin="http://localhost:8730") == 200
    assert ask(rules_for("127.0.0.1", 80), host="localhost", origin="http://localhost") == 200


@pytest.mark.parametrize(
    "origin",
    [
        "null", "", "http://evil.example", "http://evil.example:8730", "https://127.0.0.1:8730", "http://127.0.0.1",
        "http://127.0.0.1:80", "http://127.0.0.1:8731", "http://127.0.0.1:87300", "http://localhost:8730",
        "http://127.0.0.1.:8730", "http://127.0.0.1:8730.evil.example", "http://x.127.0.0.1:8730",
        "http://a@127.0.0.1:8730", "http://127.0.0.1:8730@evil.example", "HTTP://127.0.0.1:8730", "http://127.0.0.1:8730/",
        "http://127.0.0.1:8730 ", "http://127.0.0.1:8730, http://evil.example", "http:127.0.0.1:8730",
        "//127.0.0.1:8730",
        "127.0.0.1:8730", "file://", "chrome-extension://abc", "ws://127.0.0.1:8730", "http://127.0.0.1:08730",
        "http://[::1]:8730", "http://[::ffff:7f00:1]:8730", "http://2130706433:8730", "*",
    ],
)  # fmt: skip
def test_any_other_origin_is_refused(origin: str) -> None:
    paths = ("/", "/study/1.json", "/events/study/1", "/static/page.js")
    assert [ask(path=path, origin=origin) for path in paths] == [403] * 4


def test_one_wrong_origin_among_several_is_one_too_many() -> None:
    headers = [(b"host", b"localhost:8730"), (b"origin", b"http://localhost:8730"), (b"origin", b"null")]
    answer = judged(HERE, asked("GET", "/", "", headers))
    assert answer is not None
    assert answer.status_code == 403


# Sec-Fetch-Site -------------------------------------------------------------------------------------------------------

DATA = [
    "/studies.json",
    "/study/1.json",
    "/study/1/arm/7.json",
    "/events/studies",
    "/events/study/1",
    "/static/page.js",
]
PAGES = ["/", "/study/1", "/study/1/arm/7"]


def test_which_paths_are_pages() -> None:
    assert all(is_page(path) for path in PAGES)
    assert not any(is_page(path) for path in DATA)


@pytest.mark.parametrize("path", PAGES + DATA)
@pytest.mark.parametrize("site", ["same-origin", "none"])
def test_what_our_page_and_its_user_ask_for(path: str, site: str) -> None:
    assert ask(path=path, sec_fetch_site=site, sec_fetch_mode="cors", sec_fetch_dest="empty") == 200


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_link_from_elsewhere_leads_to_a_page(path: str, site: str) -> None:
    assert ask(path=path, sec_fetch_site=site, sec_fetch_mode="navigate", sec_fetch_dest="document") == 200


@pytest.mark.parametrize("path", DATA)
@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_link_from_elsewhere_does_not_lead_to_data(path: str, site: str) -> None:
    assert ask(path=path, sec_fetch_site=site, sec_fetch_mode="navigate", sec_fetch_dest="document") == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site", "Same-Origin", "", "same-origin, cross-site", "elsewhere"])
@pytest.mark.parametrize(
    ("mode", "dest"),
    [("navigate", "iframe"), ("navigate", "frame"), ("navigate", "embed"), ("navigate", "object"),
     ("no-cors", "script"),
     ("no-cors", "image"), ("no-cors", "empty"), ("cors", "empty"), ("websocket", "websocket"), ("cors", "document"),
     ("navigate", ""), ("", "document")],
)  # fmt: skip
def test_other_sites_may_not_embed_or_fetch_anything(site: str, mode: str, dest: str) -> None:
    headers = {"sec_fetch_site": site, "sec_fetch_mode": mode, "sec_fetch_dest": dest}
    assert {path: ask(path=path, **headers) for path in PAGES + DATA} == dict.fromkeys(PAGES + DATA, 403)


def test_a_link_from_elsewhere_is_a_get() -> None:
    followed = {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate", "sec_fetch_dest": "document"}
    assert ask(method="HEAD", **followed) == 403


# The token ------------------------------------------------------------------------------------------------------------

AT = "192.168.1.7:8730"


def test_without_its_token_nothing_is_shown() -> None:
    for path in (*PAGES, *DATA, "/nothing"):
        assert ask(BEHIND_TOKEN, path=path, host=AT) == 403


def test_the_token_in_the_url_becomes_a_cookie() -> None:
    answer = judged(BEHIND_TOKEN, asked("GET", "/", f"token={TOKEN}", [(b"host", AT.encode())]))
    assert answer is not None
    assert answer.status_code == 303
    headers = dict(answer.raw_headers)
    assert headers[b"location"] == b"/"
    cookie, *attributes = headers[b"set-cookie"].decode().split("; ")
    assert set(attributes) == {"HttpOnly", "SameSite=Strict", "Path=/"}
    assert cookie == f"frontguard-8730={TOKEN}"
    for path in PAGES + DATA:
        assert ask(BEHIND_TOKEN, path=path, host=AT, cookie=cookie) == 200
        assert ask(BEHIND_TOKEN, path=path, host=AT, cookie=f"other=1; {cookie}; third=x=y") == 200


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/", "token="),
        ("/", f"token={TOKEN}x"),
        ("/", f"token={TOKEN[:-1]}"),
        ("/", f"token={TOKEN.lower()}"),
        ("/", f"token={TOKEN}&token=x"),
        ("/", f"token=x&token={TOKEN}"),
        ("/", f"Token={TOKEN}"),
        ("/", "token=%ff%00"),
        ("/study/1", f"token={TOKEN}"),
        ("/study/1.json", f"token={TOKEN}"),
        ("/events/study/1", f"token={TOKEN}"),
    ],
)
def test_a_wrong_token_or_one_in_the_wrong_place(path: str, query: str) -> None:
    assert ask(BEHIND_TOKEN, path=path, query=query, host=AT) == 403


@pytest.mark.parametrize(
    "cookie",
    ["", "frontguard-8730", "frontguard-8730=", f"frontguard={TOKEN}", f"frontguard-8731={TOKEN}", f"{TOKEN}",
     f"frontguard-8730={TOKEN}x", f"xfrontguard-8730={TOKEN}", f"Frontguard-8730={TOKEN}",
     f"frontguard-8730={TOKEN[:-1]}",
     "frontguard-8730=é", f'frontguard-8730="{TOKEN}"'],
)  # fmt: skip
def test_other_cookies(cookie: str) -> None:
    assert ask(BEHIND_TOKEN, host=AT, cookie=cookie) == 403


def test_programs_may_show_the_token_in_a_header() -> None:
    assert ask(BEHIND_TOKEN, path="/study/1.json", host=AT, authorization=f"Bearer {TOKEN}") == 200
    for wrong in (TOKEN, f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer", ""):
        assert ask(BEHIND_TOKEN, path="/study/1.json", host=AT, authorization=wrong) == 403


def test_the_token_does_not_outweigh_the_other_rules() -> None:
    cookie = f"frontguard-8730={TOKEN}"
    assert ask(BEHIND_TOKEN, host="evil.example:8730", cookie=cookie) == 421
    assert ask(BEHIND_TOKEN, host=AT, cookie=cookie, origin="http://evil.example") == 403
    assert ask(BEHIND_TOKEN, host=AT, cookie=cookie, method="POST") == 405
    assert ask(BEHIND_TOKEN, host=AT, path="/events/study/1", cookie=cookie, sec_fetch_site="same-site") == 403
    assert ask(BEHIND_TOKEN, host=AT, query=f"token={TOKEN}", origin="null") == 403


def test_rules_do_not_show_the_token_where_they_are_printed() -> None:
    assert TOKEN not in repr(BEHIND_TOKEN)


@given(st.text(max_size=30))
def test_no_other_text_is_the_token(text: str) -> None:
    from urllib.parse import quote

    status = ask(BEHIND_TOKEN, host=AT, query=f"token={quote(text, errors='surrogatepass')}")
    assert status == (303 if text == TOKEN else 403)


# Answers --------------------------------------------------------------------------------------------------------------


def answered(app: Any, scope: dict[str, Any]) -> list[MutableMapping[str, Any]]:
    sent: list[MutableMapping[str, Any]] = []

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.disconnect"}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    asyncio.run(Guard(app, HERE)(scope, receive, send))
    return sent


def request(**changed: Any) -> dict[str, Any]:
    headers = [(b"host", b"localhost:8730")]
    return {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": headers} | changed


async def careless(scope: Any, receive: Any, send: Any) -> None:
    headers = [(b"Server", b"x/1.0"), (b"X-Frame-Options", b"ALLOWALL"), (b"content-type", b"text/plain")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"hello"})


def test_every_answer_has_the_headers() -> None:
    expected = dict(HEADERS) | {b"cache-control": b"no-store"}
    for changed in ({}, {"headers": [(b"host", b"evil")]}, {"method": "POST"}, {"path": "x"}):
        start = answered(careless, request(**changed))[0]
        names = [name for name, _ in start["headers"]]
        assert len(names) == len(set(names)), "a header is there twice"
        assert dict(start["headers"]).items() >= expected.items()
        assert b"server" not in names


def test_the_policy_lets_no_script_in_but_ours() -> None:
    policy = dict(HEADERS)[b"content-security-policy"].decode()
    assert "unsafe" not in policy
    assert policy.startswith("default-src 'none'; script-src 'self';")
    assert {"base-uri 'none'", "form-action 'self'", "frame-ancestors 'none'"} <= set(policy.split("; "))


def test_what_says_how_it_may_be_stored_is_believed() -> None:
    assert dict(secured([(b"Cache-Control", b"no-cache")]))[b"cache-control"] == b"no-cache"


def test_a_fault_is_told_to_who_runs_the_server_and_not_to_the_visitor(caplog: pytest.LogCaptureFixture) -> None:
    async def broken(scope: Any, receive: Any, send: Any) -> None:
        raise RuntimeError("the secret")

    with caplog.at_level(logging.ERROR, "frontguard.web"):
        start, body = answered(broken, request())
    assert start["status"] == 500
    assert b"secret" not in body["body"]
    assert dict(start["headers"]).items() >= dict(HEADERS).items()
    assert "the secret" in caplog.text


def test_other_kinds_of_connections_are_closed() -> None:
    assert answered(careless, {"type": "websocket"}) == [{"type": "websocket.close", "code": 1008}]


def test_the_refusal_of_a_false_name_says_nothing_of_what_is_served() -> None:
    answer = judged(BEHIND_TOKEN, asked("GET", "/", "", [(b"host", b"evil.example")]))
    assert answer is not None
    page = bytes(answer.body).decode()
    assert "192.168" not in page
    assert "lab.example.org" not in page
    assert "evil.example" not in page


def test_what_a_page_says_is_text() -> None:
    page = bytes(plain_answer(404, "<script>alert(1)</script>", "<img src=x onerror=alert(1)>").body).decode()
    assert "<script>" not in page
    assert "<img" not in page
    assert "&lt;img src=x onerror=alert(1)&gt;" in page
