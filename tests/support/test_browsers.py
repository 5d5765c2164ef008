"""The browser of the tests: it must notice everything that a page may not do, or its silence would mean nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.support import browsers
from tests.support.browsers import OpenPage, Watched, until
from tests.support.forks import fork
from tests.support.snapshots import refused


class Answers(BaseHTTPRequestHandler):
    """Any path is a page; its body is what the class was given, its policy allows scripts of the site alone."""

    status = 200
    body = "<p>hello</p>"
    policy = ""

    def do_GET(self) -> None:
        content = self.body.encode()
        self.send_response(self.status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        if self.policy:
            self.send_header("Content-Security-Policy", self.policy)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def site() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def opened(open_page: OpenPage, site: str, body: str, policy: str = "") -> Watched:
    Answers.body, Answers.policy = f"<link rel=icon href=data:,>{body}", policy
    watched = open_page()
    watched.page.goto(site)
    return watched


def test_a_page_that_behaves_has_no_complaints(open_page: OpenPage, site: str) -> None:
    watched = opened(open_page, site, "<p>hello</p>")
    assert watched.page.text_content("p") == "hello"
    assert watched.complaints() == []
    assert watched.requests == [f"{site}/", "data:,"] or watched.requests == [f"{site}/"]


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("<script>window.__hacked = 7</script>", "ran: 7"),
        ("<script>__hacked = 7; __hacked = undefined</script>", "ran: 7"),
        ("<img src=/nowhere?onerror onload=__hacked=1><svg onload=__hacked=2>", "ran: 2"),
        ("<iframe srcdoc='<script>window.__hacked = 8</script>'></iframe>", "ran: 8"),
        ("<script>alert('boo')</script>", "dialog: alert boo"),
        ("<script>throw new Error('broken')</script>", "error: broken"),
        ("<script>Promise.reject(new Error('unheard'))</script>", "error: unheard"),
        ("<script>console.error('bad')</script>", "console: bad"),
        ("<img src=http://example.org/pixel.png>", "request elsewhere: http://example.org/pixel.png"),
        ("<link rel=stylesheet href=//example.org/a.css>", "request elsewhere: http://example.org/a.css"),
        ("<script>fetch('http://localhost:9/x').catch(() => 0)</script>", "request elsewhere: http://localhost:9/x"),
        ("<script>if (location.pathname === '/') window.open('/other')</script>", "window: "),
    ],
)
def test_everything_that_a_page_may_not_do_is_noticed(
    open_page: OpenPage, site: str, body: str, complaint: str
) -> None:
    watched = opened(open_page, site, body)
    until(watched.page, lambda: any(complaint in line for line in watched.complaints()), complaint)
    watched.forget()
    assert watched.noted() == []
    # A page that loads something elsewhere is told of its failure some time later: that is forgotten too.
    until(watched.page, lambda: not watched.complaints() or watched.forget(), "silence")


@pytest.mark.parametrize(
    "body", ["<script>window.__hacked = 1</script>", "<p onclick=x>a</p>", "<p style='color: red'>a</p>"]
)
def test_what_the_policy_stops_is_noticed_too(open_page: OpenPage, site: str, body: str) -> None:
    watched = opened(open_page, site, body, "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:")
    until(watched.page, lambda: any(line.startswith("violation: ") for line in watched.complaints()), "a violation")
    assert watched.hacked == []


def test_a_page_that_answers_500_is_an_error(open_page: OpenPage, site: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Answers, "status", 500)
    watched = opened(open_page, site, "<p>Internal Server Error</p>")
    assert watched.errors == [f"{site}/ answers 500"]


# Without a browser ----------------------------------------------------------------------------------------------------


def test_a_stub_that_is_no_browser_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, script in (("chromium", "echo get it from a shop; exit 1"), ("google-chrome", "echo Chromium 999")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin" if not Path("/usr/bin/chromium").exists() else str(tmp_path))
    monkeypatch.setattr(browsers, "PROGRAMS", ("chromium", "google-chrome"))
    assert browsers.find_chromium() == tmp_path / "google-chrome"
    (tmp_path / "google-chrome").write_text("#!/bin/sh\nexit 3\n")
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path / "none"))
    assert browsers.find_chromium() is None


def test_all_that_was_tried_is_said(monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion) -> None:
    monkeypatch.setattr(browsers, "find_chromium", lambda: None)
    monkeypatch.setattr(browsers, "_fetch_with_apt", lambda: "no packages")
    monkeypatch.setattr(browsers, "_fetch_with_playwright", lambda: "no network")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    with refused(browsers.NoBrowser, snapshot):
        browsers.fetch_chromium()


def _hold(folder: Path) -> None:
    with browsers.alone(folder), (folder / "notes").open("a") as notes:
        for word in ("keep", "beaten"):
            print(word, file=notes, flush=True)
            time.sleep(0.05)


def test_two_processes_do_not_install_at_once(tmp_path: Path) -> None:
    children = [fork(lambda: _hold(tmp_path)) for _ in range(3)]
    for child in children:
        child.result()
    said = (tmp_path / "notes").read_text().split()
    assert said == ["keep", "beaten"] * 3
