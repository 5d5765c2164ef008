"""The live page over real sockets: what it answers, to whom, and how it keeps open pages up to date."""

from __future__ import annotations

import http.client
import re
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import Study
from frontguard.storage.contract import Told
from frontguard.storage.sqlite import SqliteStorage
from frontguard.web import views
from frontguard.web.guard import HEADERS, LARGEST
from tests.support.waiting import patience, until
from tests.web.serving import ARMS, Live, begin, measure, serving, words

STANDARD = {name.decode(): value.decode() for name, value in HEADERS}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "flags.db"
    measure(begin(path), 40)
    return path


@pytest.fixture(scope="module")
def live(file: Path) -> Iterator[Live]:
    with serving(file) as server:
        yield server


# What is shown --------------------------------------------------------------------------------------------------------


def test_the_pages_show_the_study(live: Live, file: Path) -> None:
    study = Study.open(SqliteStorage(file, read_only=True), "flags")
    assert "flags" in live.get("/").text
    until(lambda: ARMS[0] in live.get("/study/1").text)  # kernels that are not compiled yet take their time
    page = live.get("/study/1")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    for arm in ARMS:
        assert arm in page.text
    assert 'data-events="/events/study/1?x=1"' in live.get("/study/1?x=1").text
    assert ARMS[2] in live.get("/study/1/arm/2").text
    twin = live.get("/study/1.json").json
    assert twin["verdicts"] == study.result().verdicts
    assert twin["trouble"] is None
    assert live.get("/study/1/arm/2.json").json["name"] == ARMS[2]
    (listed,) = live.get("/studies.json").json["studies"]
    assert (listed["number"], listed["study"]) == (1, "flags")


def test_the_page_links_what_is_there(live: Live) -> None:
    links = re.findall(r'(?:href|src)="(/[^"]*)"', live.get("/study/1").text)
    assert any(link.startswith("/static/page.js?v=") for link in links)
    for link in dict.fromkeys(each.replace("&amp;", "&").partition("#")[0] for each in links):
        assert live.get(link).status == 200, link


@pytest.mark.parametrize(
    "path",
    ["/study/2", "/study/0", "/study/1/arm/3", "/study/999999999", "/study/1/arm/999999999", "/study/1/arm/3.json",
     "/study/2.json", "/events/study/2", "/study/01", "/study/1.0", "/study/-1", "/study/+1", "/study/%C2%B2",
     "/study/1/", "/study/99999999999999999999999", "/study", "/nothing", "/study/1/arm", "/study/flags",
     "/study/1.xml", "//evil.example", "/static/", "/static/app.py", "/static/../app.py", "/static/..%2fapp.py",
     "/static/%2e%2e/app.py",
     "/static//etc/passwd",
     "/static/page.js/", "/static/page.js%00", "/static/PAGE.JS", "/.well-known/x", "/events", "/events/",
     "/favicon.ico", "/static/..%5capp.py", "/static/__init__.py"],
)  # fmt: skip
def test_there_is_nothing_else(live: Live, path: str) -> None:
    said = live.get(path)
    assert said.status == 404
    assert said.headers.items() >= STANDARD.items()
    assert "location" not in said.headers


@pytest.mark.parametrize(
    "query",
    ["x=2", "x=-1", "x=a", "x=1&x=0", "view=<script>alert(1)</script>", "view=%3Cscript%3Ealert(1)%3C/script%3E", "q=1",
     "sort=m9", "sort='\"><img src=x onerror=alert(1)>", "rows=9999999", "x=" + "9" * 3000, "path=/etc/passwd",
     "url=http://evil.example", "x=%00", "x=%ff%fe", "x", "=", "token=a", "__proto__=1"],
)  # fmt: skip
@pytest.mark.parametrize("path", ["/study/1", "/study/1.json", "/study/1/arm/0", "/study/1/arm/0.json"])
def test_what_is_not_understood_is_said_and_not_reflected(live: Live, path: str, query: str) -> None:
    request = f"GET {path}?{query.replace(' ', '%20')} HTTP/1.1\r\nHost: 127.0.0.1:{live.port}\r\n\r\n"
    said = live.raw(request.encode())
    assert said.status == 400
    assert said.headers.items() >= STANDARD.items()
    assert b"Traceback" not in said.body
    if path.endswith(".json"):  # is never taken for a page
        assert said.headers["content-type"] == "application/json"
    else:
        assert said.body.count(b"<script") == 1  # the page's own
        assert b"<img" not in said.body


def test_events_of_a_view_that_is_none(live: Live, snapshot: SnapshotAssertion) -> None:
    assert live.get("/events/study/1?view=x").status == 400
    stream = live.events("/events/study/1?x=5")  # is known only once the study has been read: said on the page
    assert words(stream.next()["regions"]["message"]) == snapshot


def test_the_list_takes_no_query(live: Live) -> None:
    assert live.get("/?x=1").status == 400
    assert live.get("/studies.json?x=1").status == 400


def test_entity_tags(live: Live) -> None:
    for path in ("/study/1.json", "/studies.json", "/study/1/arm/0.json", "/static/page.js"):
        tag = live.get(path).headers["etag"]
        again = live.get(path, If_None_Match=tag)
        assert (again.status, again.body) == (304, b"")
        assert again.headers.items() >= STANDARD.items()
        assert live.get(path, If_None_Match='"other"').status == 200


def test_static_files_are_kept_under_their_version_only(live: Live) -> None:
    assert live.get("/static/page.js").headers["cache-control"] == "no-cache"
    linked = re.search(r'"(/static/page\.js\?v=[^"]+)"', live.get("/").text)
    assert linked is not None
    assert "immutable" in live.get(linked[1]).headers["cache-control"]
    assert live.get("/static/page.js?v=old").headers["cache-control"] == "no-cache"


# To whom --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["/", "/study/1", "/study/1.json", "/static/page.js", "/nothing", "/study/1?x=9", "/?token=x"]
)
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "OPTIONS"])
@pytest.mark.parametrize("host", ["", "evil.example"])
def test_every_answer_is_secured(live: Live, path: str, method: str, host: str) -> None:
    said = live.get(path, method, **({"Host": host} if host else {}))
    assert said.headers.items() >= STANDARD.items()
    assert "server" not in said.headers
    assert "cache-control" in said.headers
    assert not {name for name in said.headers if name.startswith("access-control")}
    if host:
        assert said.status == 421
    elif method not in ("GET", "HEAD"):
        assert said.status == 405
    if method == "HEAD":
        assert said.body == b""


def test_heads_of_events_do_not_stream(live: Live) -> None:
    said = live.get("/events/study/1", "HEAD")
    assert (said.status, said.body) == (200, b"")
    assert said.headers["content-type"].startswith("text/event-stream")


@pytest.mark.parametrize(
    ("head", "status"),
    [
        ("GET / HTTP/1.1\r\nHost: localhost:{port}\r\n", 200),
        ("GET / HTTP/1.1\r\nhOsT: localhost:{port}\r\n", 200),
        ("GET / HTTP/1.1\r\nHost: LOCALHOST:{port}\r\n", 421),
        ("GET / HTTP/1.1\r\nHost: localhost.:{port}\r\n", 421),
        ("GET / HTTP/1.1\r\nHost: localhost\r\n", 421),
        ("GET / HTTP/1.1\r\nHost: rebound.example:{port}\r\n", 421),
        ("GET / HTTP/1.1\r\nHost: rebound.example\r\nX-Forwarded-Host: localhost:{port}\r\n", 421),
        ("GET / HTTP/1.1\r\nHost: rebound.example\r\nForwarded: host=localhost:{port}\r\n", 421),
        ("GET / HTTP/1.1\r\nHost: \r\n", 421),
        ("GET / HTTP/1.1\r\n", 400),
        ("GET / HTTP/1.0\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: localhost:{port}\r\nHost: rebound.example\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: rebound.example\r\nHost: localhost:{port}\r\n", 400),
        ("GET http://localhost:{port}/ HTTP/1.1\r\nHost: localhost:{port}\r\n", 400),
        ("GET http://rebound.example/ HTTP/1.1\r\nHost: localhost:{port}\r\n", 400),
        ("GET @rebound.example/ HTTP/1.1\r\nHost: localhost:{port}\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: localhost:{port}\r\nOrigin: null\r\n", 403),
        ("GET / HTTP/1.1\r\nHost: localhost:{port}\r\nOrigin: http://localhost:{port}\r\n", 200),
        ("GET / HTTP/1.1\r\nHost: localhost:{port}\r\nOrigin: http://127.0.0.1:{port}\r\n", 403),
        ("GET / HTTP/1.1\r\nHost: localhost:{port}\r\nOrigin: https://localhost:{port}\r\n", 403),
        ("GET /study/1.json HTTP/1.1\r\nHost: localhost:{port}\r\nSec-Fetch-Site: cross-site\r\n", 403),
        ("GET /events/study/1 HTTP/1.1\r\nHost: localhost:{port}\r\nSec-Fetch-Site: same-site\r\n", 403),
        ("GET /study/1%2Ejson HTTP/1.1\r\nHost: localhost:{port}\r\nSec-Fetch-Site: cross-site\r\n"
         "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n", 403),
        ("GET /study/1 HTTP/1.1\r\nHost: localhost:{port}\r\nSec-Fetch-Site: cross-site\r\n"
         "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n", 200),
        ("GET /study/1 HTTP/1.1\r\nHost: localhost:{port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
         "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", 200),  # as if not asked to
        ("get / HTTP/1.1\r\nHost: localhost:{port}\r\n", 405),
        ("nonsense\r\n", 400),
        ("GET / HTTP/1.1\r\nHost : localhost:{port}\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: localhost:{port}\r\nTransfer-Encoding: x\r\n", 400),
    ],
)  # fmt: skip
def test_raw_requests(live: Live, head: str, status: int) -> None:
    said = live.raw((head.replace("{port}", str(live.port)) + "\r\n").encode())
    assert said.status == status
    if status != 400:  # uvicorn itself answers what is no HTTP, with nothing of ours in it
        assert said.headers.items() >= STANDARD.items()
    assert "rebound.example" not in said.text


@pytest.mark.parametrize("size", [LARGEST, 4 * LARGEST, 64 * LARGEST])
@pytest.mark.parametrize("shape", ["path", "query", "header", "headers"])
def test_requests_of_absurd_size_are_refused(live: Live, size: int, shape: str) -> None:
    target = {"path": "/" + "x" * size, "query": "/?x=" + "x" * size}.get(shape, "/")
    extra = {"header": f"X: {'x' * size}\r\n", "headers": "X: xxxxx\r\n" * (size // 6)}.get(shape, "")
    said = live.raw(f"GET {target} HTTP/1.1\r\nHost: localhost:{live.port}\r\n{extra}\r\n".encode())
    assert said.status in (0, 400, 431)  # cut off while it is being sent, or answered
    assert not said.status or said.headers.items() >= STANDARD.items()
    assert live.get("/").status == 200


def test_a_page_after_a_body_that_nobody_reads(live: Live) -> None:
    request = f"GET / HTTP/1.1\r\nHost: localhost:{live.port}\r\nContent-Length: 100000\r\n\r\n"
    assert live.raw(request.encode() + b"x" * 100000).status == 200


# The token ------------------------------------------------------------------------------------------------------------


def test_bound_to_every_address_a_token_opens_the_page(file: Path) -> None:
    with serving(file, host="0.0.0.0", allowed=["lab.example.org"]) as live:
        token = live.server.bound.rules.token
        assert token is not None
        assert live.server.bound.url == f"http://lab.example.org:{live.port}/?token={token}"
        for path in ("/", "/study/1", "/study/1.json", "/events/study/1", "/static/page.js", "/?token=wrong"):
            said = live.get(path)
            assert said.status == 403
            assert "flags" not in said.text
            assert token not in said.text
        welcome = live.get(f"/?token={token}")
        assert (welcome.status, welcome.headers["location"]) == (303, "/")
        assert welcome.headers.items() >= STANDARD.items()
        cookie = welcome.headers["set-cookie"].partition(";")[0]
        assert "flags" in live.get("/", Cookie=cookie).text
        assert live.get("/study/1.json", Cookie=cookie).json["study"]["name"] == "flags"
        assert live.get("/study/1.json", Authorization=f"Bearer {token}").json["study"]["name"] == "flags"
        assert live.events("/events/study/1", Cookie=cookie).next()["title"]
        # By address, by the name that was allowed, by no other.
        assert live.get("/", Cookie=cookie, Host=f"lab.example.org:{live.port}").status == 200
        assert live.get("/", Cookie=cookie, Host=f"0.0.0.0:{live.port}").status == 421
        assert live.get("/", Cookie=cookie, Host=f"rebound.example:{live.port}").status == 421
    with serving(file, host="0.0.0.0", port=live.port) as live:  # another start, another token
        assert live.get("/", Cookie=cookie).status == 403


# Events ---------------------------------------------------------------------------------------------------------------


def test_events_bring_all_regions_first_and_then_those_that_changed(tmp_path: Path) -> None:
    study = begin(tmp_path / "flags.db")
    measure(study, 24)
    with serving(tmp_path / "flags.db") as live:
        until(lambda: live.get("/study/1.json").status == 200)  # the first time, kernels may be compiled
        stream = live.events("/events/study/1")
        assert stream.headers["content-type"].startswith("text/event-stream")
        assert stream.headers["x-accel-buffering"] == "no"
        assert stream.headers.items() >= STANDARD.items()
        hello = stream.next()
        assert stream.retry == 1000
        assert re.fullmatch(r"[0-9a-f]{16}", hello["version"])
        page = live.get("/study/1").text
        assert set(hello["regions"]) == set(re.findall(r'id="(\w+)" class="region"', page))
        told = study.result().pulls
        measure(study, 8, seed=2)
        event = stream.next()
        assert "facts" in event["regions"]
        assert 0 < len(event["regions"]) < len(hello["regions"]), "what did not change was sent again"
        assert not set(event["regions"]) & {"reproduce"}
        for name, tree in event["regions"].items():
            assert tree != hello["regions"][name]
        # Another browser that comes now has all of it at once, and both show the same in the end.
        late = live.events("/events/study/1").next()["regions"]
        assert set(late) == set(hello["regions"])
        assert study.result().pulls > told
        until(lambda: live.get("/study/1.json").json["pulls"] == study.result().pulls)


def test_events_of_an_arm_and_of_the_list(tmp_path: Path) -> None:
    study = begin(tmp_path / "flags.db")
    measure(study, 24)
    with serving(tmp_path / "flags.db") as live:
        arm, many = live.events("/events/study/1/arm/1"), live.events("/events/studies")
        arm.until(lambda regions: ARMS[1] in words(regions["head"]))
        many.until(lambda regions: "flags" in words(regions["studies"]))
        measure(study, 24, seed=3)
        assert arm.until(lambda regions: "latest" in regions)
        begin(tmp_path / "flags.db", "another")
        many.until(lambda regions: "another" in words(regions["studies"]))


def test_a_storage_and_its_studies_may_come_later(tmp_path: Path) -> None:
    path = tmp_path / "later.db"
    with serving(path) as live:
        assert "No study yet" in live.get("/").text
        assert live.get("/studies.json").json == {"studies": [], "trouble": None}
        assert live.get("/study/1").status == 404
        stream = live.events("/events/studies")
        assert "No study yet" in words(stream.next()["regions"]["studies"])
        assert not path.exists(), "a reader made a file"
        study = begin(path)
        stream.until(lambda regions: "flags" in words(regions["studies"]))
        assert live.get("/study/1").status == 200
        page = live.events("/events/study/1")
        page.next()
        measure(study, 8)
        page.until(lambda regions: "facts" in regions and "8" in words(regions["facts"]))


def test_only_the_studies_that_were_asked_for(tmp_path: Path) -> None:
    for name in ("first", "second", "third"):
        begin(tmp_path / "many.db", name)
    with serving(tmp_path / "many.db", ["second", "fourth"]) as live:
        assert [each["study"] for each in live.get("/studies.json").json["studies"]] == ["second"]
        assert [live.get(f"/study/{number}").status for number in (1, 2, 3)] == [404, 200, 404]
        begin(tmp_path / "many.db", "fourth")
        assert live.get("/study/4").status == 200  # also before the list has been looked at again


class Slow(SqliteStorage):
    """A storage whose log takes as long to read as a test wants."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, read_only=True)
        self.go = threading.Event()

    def told(self, study: str, after: int = 0, up_to: int | None = None) -> Told:
        assert self.go.wait(patience())
        return super().told(study, after, up_to)


def test_while_a_log_is_read_the_page_says_so(file: Path) -> None:
    storage = Slow(file)
    with serving(storage) as live:
        page = live.get("/study/1")
        assert page.status == 200
        assert "being read" in page.text
        assert 'data-page="reading"' in page.text
        assert "being read" in live.get("/").text
        stream = live.events("/events/study/1")
        assert "reading" in stream.next()["regions"]
        storage.go.set()
        shown = stream.until(lambda regions: "facts" in regions)
        assert "reading" not in shown, "the region was not taken away"


def test_the_same_view_is_made_once_for_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = begin(tmp_path / "flags.db")
    measure(study, 24)
    made: list[tuple[Any, ...]] = []
    make = views.PAGE.study
    noted = replace(views.PAGE, study=lambda *given: made.append(given) or make(*given))
    monkeypatch.setattr(views, "PAGE", noted)
    with serving(tmp_path / "flags.db") as live:
        live.get("/study/1")
        streams = [live.events("/events/study/1") for _ in range(4)]
        for stream in streams:
            stream.until(lambda regions: "facts" in regions)
        other = live.events("/events/study/1?view=pairs")
        other.next()
        assert len(made) == len({(given[0].version, given[1]) for given in made})
        measure(study, 8, seed=2)
        for stream in [*streams, other]:
            stream.next()
        assert len(made) == len({(given[0].version, given[1]) for given in made})
        assert len({given[1] for given in made}) == 2


def test_streams_are_counted_and_those_who_left_make_room(file: Path) -> None:
    with serving(file, streams=2, heartbeat=0.1) as live:
        first, second = live.events("/events/study/1"), live.events("/events/studies")
        first.next(), second.next()
        refused = live.get("/events/study/1")
        assert (refused.status, refused.headers["retry-after"]) == (503, "5")
        assert live.get("/study/1").status == 200
        first.close()
        until(lambda: live.server.site.watchers.listing.streams == 1)
        third = live.events("/events/study/1")
        third.next()
        second.close(), third.close()
        until(lambda: live.server.site.watchers.listing.streams == 0)


def test_a_heartbeat_when_nothing_happens(file: Path) -> None:
    with serving(file, heartbeat=0.05) as live:
        stream = live.events("/events/study/1")
        stream.until(lambda regions: "facts" in regions)
        assert stream.beats(3)


def test_who_does_not_read_is_skipped_over_and_holds_up_nobody(tmp_path: Path) -> None:
    study = begin(tmp_path / "flags.db")
    measure(study, 8)
    with serving(tmp_path / "flags.db") as live:
        idle = [live.events("/events/study/1") for _ in range(3)]
        reader = live.events("/events/study/1")
        for seed in range(5):
            measure(study, 8, seed)
            reader.next()
        assert live.get("/study/1.json").status == 200
        for stream in idle:
            stream.close()


# Beginnings and ends --------------------------------------------------------------------------------------------------


def test_a_server_ends_with_streams_open_and_another_takes_its_place(tmp_path: Path) -> None:
    study = begin(tmp_path / "flags.db")
    measure(study, 8)
    with serving(tmp_path / "flags.db") as live:
        streams = [live.events(path) for path in ("/events/study/1", "/events/studies", "/events/study/1/arm/0")]
        for stream in streams:
            stream.next()
        kept = http.client.HTTPConnection("127.0.0.1", live.port, timeout=patience())  # a connection that is kept open
        kept.request("GET", "/study/1.json")
        kept.getresponse().read()
        idle = socket.create_connection(("127.0.0.1", live.port))  # and one that never says a word
    assert all(stream.clean for stream in streams), "cut off, not ended"
    measure(study, 8, seed=2)
    with serving(tmp_path / "flags.db", port=live.port) as again:
        assert again.port == live.port
        again.events("/events/study/1").until(lambda regions: "16" in words(regions.get("facts", "")))
    kept.close(), idle.close()


def test_a_server_ends_while_its_storage_does_not_answer(file: Path) -> None:
    storage = Slow(file)
    with serving(storage) as live:
        live.get("/study/1")
    storage.go.set()


def test_a_storage_that_is_lost_and_another_in_its_place(tmp_path: Path) -> None:
    path = tmp_path / "flags.db"
    measure(begin(path), 24)
    with serving(path) as live:
        stream = live.events("/events/study/1")
        stream.until(lambda regions: "facts" in regions)
        for beside in tmp_path.glob("flags.db*"):
            beside.unlink()
        lost = stream.until(lambda regions: "trouble" in regions and "cannot be read" in words(regions["trouble"]))
        assert "flags.db" in words(lost["trouble"])
        page = live.get("/study/1")
        assert (page.status, "-O2" in page.text, "cannot be read" in page.text) == (200, True, True)
        twin = live.get("/study/1.json").json
        assert twin["trouble"]
        assert len(twin["arms"]) == 3
        # Another study of the same name, with other arms.
        measure(begin(path, arms=("gcc", "clang")), 16)
        stream.until(lambda regions: "table" in regions and "clang" in words(regions["table"]))
        until(lambda: live.get("/study/1.json").json["trouble"] is None)
        assert [each["name"] for each in live.get("/study/1.json").json["arms"]] == [
            "clang",
            "gcc",
        ]  # of one verdict by name


def test_a_damaged_storage_is_said_in_words(tmp_path: Path) -> None:
    path = tmp_path / "flags.db"
    study = begin(path)
    measure(study, 24)
    study.storage.close()
    with serving(path) as live:
        assert "cannot be read" not in live.get("/study/1").text
        whole = path.read_bytes()
        path.write_bytes(whole[:4096] + bytes(len(whole) - 4096))
        page = until(lambda: (said := live.get("/study/1").text) and "flags.db is damaged" in said and said)
        assert "storage cannot be read" in page
        assert "-O2" in page, "what was last known is shown still"
        path.write_bytes(whole)
        until(lambda: "cannot be read" not in live.get("/study/1").text)
