"""The live page in all its states, served by `frontguard serve` and opened in a browser."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from tests.support.browsers import Watched

from gallery import studies
from gallery.shots import PHONE, WIDE, Studio, shot

SECTION = "The live page"
LOST = ("ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_EMPTY_RESPONSE", "Failed to load resource")


def _storage(studio: Studio, name: str, fill: Callable[[Path], object]) -> Path:
    def make() -> Path:
        path = studio.folder / f"{name}.db"
        fill(path)
        return path

    path: Path = studio.once(f"storage {name}", make)
    return path


def _running(studio: Studio) -> Path:
    def fill(path: Path) -> None:
        studies.machines(path, pulls=330, begun=time.time() - 1000.0).close()

    return _storage(studio, "running", fill)


def _certified(studio: Studio) -> Path:
    return _storage(studio, "certified", lambda path: studies.machines(path, begun=time.time() - 3000.0).close())


def _three(studio: Studio) -> Path:
    def fill(path: Path) -> None:
        studies.machines(path, objectives=3, pulls=500, begun=time.time() - 1500.0).close()

    return _storage(studio, "three", fill)


def _many(studio: Studio) -> Path:
    return _storage(studio, "many", lambda path: studies.many(path, begun=time.time() - 12_000.0).close())


def _opened(
    studio: Studio, storage: Path, where: str, size: tuple[int, int] = WIDE, *, dark: bool = False, until: str = ""
) -> Watched:
    opened = studio.page(size, dark=dark)
    opened.page.goto(studio.server(storage).url + where)
    if until:
        opened.page.wait_for_selector(until)
    opened.page.wait_for_selector("#connection[data-state=live]")
    return opened


def _view(
    studio: Studio,
    storage: Path,
    where: str = "/study/1",
    size: tuple[int, int] = WIDE,
    *,
    dark: bool = False,
    most: int | None = None,
) -> bytes:
    opened = _opened(studio, storage, where, size, dark=dark, until="#picture svg")
    return studio.photograph(opened, full=True, most=most or (2200 if size == WIDE else 1600))


@shot("page-no-study", SECTION, "Before there is any study: the page waits for it.")
def no_study(studio: Studio) -> bytes:
    from frontguard.storage.sqlite import SqliteStorage

    storage = _storage(studio, "empty", lambda path: SqliteStorage(path).close())
    return studio.photograph(_opened(studio, storage, "/", (1200, 420)))


@shot("page-studies", SECTION, "Several studies in one storage.")
def several(studio: Studio) -> bytes:
    def fill(path: Path) -> None:
        studies.machines(path, begun=time.time() - 4000.0).close()
        studies.machines(path, objectives=3, pulls=200, name="with energy", begun=time.time() - 700.0).close()
        studies.machines(path, objectives=1, pulls=40, name="cost alone", begun=time.time() - 100.0).close()

    storage = _storage(studio, "several", fill)
    return studio.photograph(_opened(studio, storage, "/", (1200, 420), until="tbody tr:nth-child(3) .chip.running"))


@shot("page-running", SECTION, "A study while it runs: the answer so far, how far it is, the front with its boxes.")
def running(studio: Studio) -> bytes:
    return _view(studio, _running(studio), most=1120)  # the readme shows it: what one sees first


@shot("page-certified", SECTION, "The same study at its end.")
def certified(studio: Studio) -> bytes:
    return _view(studio, _certified(studio))


@shot("page-dark", SECTION, "Where the system is dark.")
def dark(studio: Studio) -> bytes:
    return _view(studio, _running(studio), dark=True)


@shot("page-phone", SECTION, "On a telephone.")
def phone(studio: Studio) -> bytes:
    return _view(studio, _running(studio), size=PHONE)


@shot("page-failures", SECTION, "Failures with their reasons, and how the study was made.")
def failures(studio: Studio) -> bytes:
    opened = _opened(studio, _certified(studio), "/study/1", until="#failures table")
    opened.page.locator("#failures").scroll_into_view_if_needed()
    return studio.photograph(opened)


@shot("page-arm", SECTION, "An arm: its verdict and why, how its box shrank, what was measured.")
def arm(studio: Studio) -> bytes:
    opened = _opened(studio, _certified(studio), "/study/1/arm/12", until="#values svg")
    return studio.photograph(opened, full=True, most=2200)


@shot("page-arm-phone", SECTION, "The same on a telephone, dark.")
def arm_phone(studio: Studio) -> bytes:
    opened = _opened(studio, _certified(studio), "/study/1/arm/12", PHONE, dark=True, until="#values svg")
    return studio.photograph(opened, full=True, most=1600)


@shot("page-3-objectives", SECTION, "Three objectives: two of them on the axes, by choice.")
def three(studio: Studio) -> bytes:
    return _view(studio, _three(studio), "/study/1?x=0&y=2")


@shot("page-pairs", SECTION, "Three objectives, all pairs.")
def pairs(studio: Studio) -> bytes:
    return _view(studio, _three(studio), "/study/1?view=pairs")


@shot("page-parallel", SECTION, "Three objectives side by side.")
def parallel(studio: Studio) -> bytes:
    return _view(studio, _three(studio), "/study/1?view=parallel")


@shot("page-1000-arms", SECTION, "A thousand arms.")
def many(studio: Studio) -> bytes:
    return _view(studio, _many(studio))


@shot("page-reading", SECTION, "A long log, while it is read for the first time.")
def reading(studio: Studio) -> bytes:
    from benchmarks.page import Wide

    def fill(path: Path) -> None:
        wide = Wide.begin(path)
        wide.grow(500_000)
        wide.close()

    opened = studio.page((1200, 420))
    server = studio.server(_storage(studio, "long", fill))
    opened.page.goto(f"{server.url}/study/1")
    opened.page.wait_for_selector("#reading .answer:has-text(' of ')")
    return studio.photograph(opened)


@shot("page-lost-connection", SECTION, "The server is gone: the page says so, and goes on when it is back.")
def lost(studio: Studio) -> bytes:
    storage = _storage(
        studio, "lost", lambda path: studies.machines(path, pulls=330, begun=time.time() - 1000.0).close()
    )
    opened = _opened(studio, storage, "/study/1", until="#picture svg")
    studio.server(storage).kill()
    opened.page.wait_for_selector("#connection:not([data-state=live])")
    opened.console[:] = [line for line in opened.console if not any(piece in line for piece in LOST)]
    return studio.photograph(opened)


@shot("page-storage-gone", SECTION, "The storage cannot be read: what is shown is the last that could be.")
def storage_gone(studio: Studio) -> bytes:
    storage = _storage(
        studio, "gone", lambda path: studies.machines(path, pulls=330, begun=time.time() - 900.0).close()
    )
    opened = _opened(studio, storage, "/study/1", until="#picture svg")
    storage.write_bytes(b"this is no study any more")
    opened.page.wait_for_selector("#trouble:not([hidden])")
    return studio.photograph(opened)
