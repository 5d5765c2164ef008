"""A real Chromium for the tests: found or fetched, driven by Playwright, and watched for all that a page must not do.

The browser is looked for on PATH and where Playwright keeps its own; where there is none, it is fetched: with apt-get
by root, with `playwright install` by anybody else. The build without windows comes first: it is the same engine, and
a new page takes it a fifth of the time. Tests that need it ask for the fixtures `browser` or `open_page`,
which the conftest of all tests makes known.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from tests.support.missing import without
from tests.support.waiting import patience

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
KEPT = ("chromium_headless_shell-*/chrome-*/*headless*shell", "chromium-*/chrome-linux*/chrome")
FLAGS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-proxy-server",
    # What is not on this machine has no address, whoever asks for it.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
)

_plain: dict[Browser, Watched] = {}  # the page without special wishes that is lent to one test after another


class NoBrowser(Exception):
    """There is no Chromium here and none could be fetched; the message says what was tried."""


# Where the program is -------------------------------------------------------------------------------------------------


def find_chromium() -> Path | None:
    """A Chromium that runs: the first on PATH, or Playwright's own."""
    candidates = [Path(found) for name in PROGRAMS if (found := shutil.which(name)) is not None]
    kept = os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or Path.home() / ".cache" / "ms-playwright"
    candidates += [program for place in KEPT for program in sorted(Path(kept).glob(place), reverse=True)]
    return next((program for program in candidates if _runs(program)), None)


def _runs(program: Path) -> bool:
    # A system may have a stub by that name that only says where to get a browser.
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0 and "Chrom" in done.stdout


def fetch_chromium() -> Path:
    """Install Chromium and say where it is."""
    tried: list[str] = []
    ways = [_fetch_with_apt] if os.geteuid() == 0 and shutil.which("apt-get") else []
    for way in [*ways, _fetch_with_playwright]:
        problem = way()
        program = find_chromium()
        if program is not None:
            return program
        tried.append(problem)
    raise NoBrowser("; ".join(tried))


def _fetch_with_apt() -> str:
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    install = ["apt-get", "install", "-y", "-q", "--no-install-recommends"]
    problem = _problem_of(["apt-get", "update", "-q"], quiet)
    for package in ("chromium-headless-shell", "chromium"):
        failed = _problem_of([*install, package], quiet)
        if not failed and find_chromium() is not None:
            return ""
        problem = failed or problem
    return problem or "apt-get install chromium brought no Chromium that runs"


def _fetch_with_playwright() -> str:
    command = [sys.executable, "-m", "playwright", "install", "--only-shell", "chromium"]
    return _problem_of(command, dict(os.environ)) or "playwright install chromium brought no Chromium that runs"


def _problem_of(command: list[str], environment: dict[str, str]) -> str:
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=900)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{' '.join(command)}: {error}"
    return "" if done.returncode == 0 else f"{' '.join(command)}: {(done.stderr or done.stdout).strip()[-200:]}"


@contextmanager
def alone(folder: Path | None = None) -> Iterator[None]:
    """One process at a time: two that install at once are in each other's way."""
    place = folder or Path(sys.prefix)
    if not os.access(place, os.W_OK):
        place = Path(tempfile.gettempdir())
    with open(place / f"frontguard-tests-chromium-{os.getuid()}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # ends with the file, also when the process is killed
        yield


@cache
def chromium() -> Path:
    """The program, fetched if need be; looked for once in a process. Raises `NoBrowser`."""
    with alone():
        return find_chromium() or fetch_chromium()


# The browser ----------------------------------------------------------------------------------------------------------


@contextmanager
def running_browser() -> Iterator[Browser]:
    """A Chromium with a profile of its own, without a window."""
    program = chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=program, headless=True, args=list(FLAGS))
        try:
            yield running
        finally:
            running.close()


# Runs before any script of a page, in all its frames: what it notes cannot be undone by the page.
_WATCH = """
(() => {
    const note = (kind, text) => { try { window.__note(kind, String(text)); } catch { /* the page is being left */ } };
    Object.defineProperty(window, '__hacked', {
        get: () => undefined,
        set: value => note('hacked', value),
    });
    document.addEventListener('securitypolicyviolation', event => note('violation',
        `${event.violatedDirective}: ${event.blockedURI} ${event.sample} ${event.sourceFile}:${event.lineNumber}`));
})();
"""


@dataclass(eq=False)
class Watched:
    """A page, and what went wrong on it or tried to. All lists are empty on a page that behaves."""

    page: Page
    context: BrowserContext
    hacked: list[str] = field(default_factory=list)  # somebody set window.__hacked
    dialogs: list[str] = field(default_factory=list)  # alert, confirm, prompt
    violations: list[str] = field(default_factory=list)  # of the content security policy
    errors: list[str] = field(default_factory=list)  # exceptions that nobody caught
    console: list[str] = field(default_factory=list)  # errors and warnings
    elsewhere: list[str] = field(default_factory=list)  # requests that leave this machine
    requests: list[str] = field(default_factory=list)  # all of them
    popups: list[str] = field(default_factory=list)  # windows that were opened

    def complaints(self, *, but: tuple[str, ...] = ()) -> list[str]:
        """All that went wrong; `but` are pieces of console messages that were to be expected.

        What a browser has to say of what is under way still comes later, how much later depends on the machine.
        """
        self.page.evaluate("0")  # events that wait are delivered by then
        return self.noted(but=but)

    def noted(self, *, but: tuple[str, ...] = ()) -> list[str]:
        """The same of what was delivered so far; the browser is not asked, so that nothing is delivered by this."""
        said = [line for line in self.console if not any(piece in line for piece in but)]
        groups = {
            "ran": self.hacked,
            "dialog": self.dialogs,
            "violation": self.violations,
            "error": self.errors,
            "console": said,
            "request elsewhere": self.elsewhere,
            "window": self.popups,
        }
        return [f"{what}: {line}" for what, lines in groups.items() for line in lines]

    def leave(self) -> None:
        """Close the page and the windows that it opened: by then, they have nothing more to say."""
        for page in self.context.pages:
            page.close()

    def begin_anew(self) -> None:
        """Another page in the same context, of which nothing is known yet."""
        self.context.clear_cookies()
        self.forget()
        self.page = self.context.new_page()
        self.page.on("popup", lambda opened: self.popups.append(opened.url))

    def forget(self) -> None:
        """Empty all lists."""
        for each in (
            self.hacked,
            self.dialogs,
            self.violations,
            self.errors,
            self.console,
            self.elsewhere,
            self.requests,
            self.popups,
        ):
            each.clear()


def watched_page(running: Browser, **options: Any) -> Watched:
    """A new page in a context of its own (no cookies, no cache), watched from its beginning.

    `options` are those of Playwright's `new_context`: viewport, color_scheme, java_script_enabled and so on.
    """
    context = running.new_context(**{"locale": "en-GB", "timezone_id": "UTC", **options})
    context.set_default_timeout(1000.0 * patience())
    seen = Watched(context.new_page(), context)
    notes = {"hacked": seen.hacked, "violation": seen.violations}
    context.expose_binding("__note", lambda source, kind, text: notes[kind].append(text))
    context.add_init_script(_WATCH)

    def dialog(shown: Any) -> None:
        seen.dialogs.append(f"{shown.type} {shown.message}")
        shown.dismiss()

    def request(made: Any) -> None:
        seen.requests.append(made.url)
        if not stays_here(made.url):
            seen.elsewhere.append(made.url)

    def response(given: Any) -> None:
        if given.status == 500:
            seen.errors.append(f"{given.url} answers 500")
            print(seen.errors[-1])  # beside the timeout of a test that waits for what will not come

    def console(message: Any) -> None:
        if message.type in ("error", "warning"):
            where = message.location
            seen.console.append(f"{message.text} ({where.get('url')}:{where.get('lineNumber')})")

    context.on("dialog", dialog)
    context.on("request", request)
    context.on("response", response)
    context.on("console", console)
    context.on("weberror", lambda error: seen.errors.append(str(error.error)))
    seen.page.on("popup", lambda opened: seen.popups.append(opened.url))
    return seen


def until(page: Page, holds: Callable[[], object], what: str) -> None:
    """Wait until something holds, while the browser delivers what it has to say."""
    began = time.monotonic()
    while not holds():
        if time.monotonic() - began > patience():
            pytest.fail(f"{what} did not come about; the page says: {page.inner_text('body')[:2000]}")
        page.wait_for_timeout(20)


def stays_here(url: str) -> bool:
    """Whether a request is to this machine, or none at all.

    >>> [stays_here(url) for url in ("http://127.0.0.1:80/x", "data:,x", "https://example.org/", "//example.org/")]
    [True, True, False, False]
    """
    parts = urlsplit(url)
    if parts.scheme in ("data", "blob", "about", "file"):
        return parts.netloc == ""
    return parts.scheme in ("http", "ws") and parts.hostname == "127.0.0.1"


# For pytest -----------------------------------------------------------------------------------------------------------

OpenPage = Callable[..., Watched]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A running Chromium. Where none can be had the test is skipped, loudly, and fails under continuous integration.

    One for each file of tests: while Playwright drives it, no other test in this process could run an event loop.
    """
    try:
        with running_browser() as running:
            yield running
            _plain.pop(running, None)
    except NoBrowser as error:
        without("Chromium", str(error))


@pytest.fixture
def open_page(browser: Browser) -> Iterator[OpenPage]:
    """A function that opens a new watched page; they are closed after the test. Arguments as for `watched_page`.

    A context costs more than all that most tests do in it. The first page of a test without special wishes has the one
    that other such tests had before it; its cookies are gone, what a site stored is not.
    """
    opened: list[Watched] = []

    def new(**options: Any) -> Watched:
        if not options and browser not in _plain:
            opened.append(_plain.setdefault(browser, watched_page(browser)))
        elif not options and _plain[browser] not in opened:
            _plain[browser].begin_anew()
            opened.append(_plain[browser])
        else:
            opened.append(watched_page(browser, **options))
        return opened[-1]

    yield new
    for each in opened:
        if each is _plain.get(browser):
            each.leave()
        else:
            each.context.close()
