"""Shots: what is photographed, how it is called, and the studio in which that is done."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from tests.support.browsers import Watched, watched_page
from tests.support.serving import Served, serve

if TYPE_CHECKING:
    from playwright.sync_api import Browser

WIDE, PHONE = (1200, 800), (380, 760)
COLOURS = 128
"""Of a picture: pages have few, and a palette makes files a third as large."""

Take = Callable[["Studio"], bytes]


@dataclass(frozen=True)
class Shot:
    """One screenshot: its name, where it belongs, what one sees on it, and how it is taken."""

    name: str
    section: str
    caption: str
    take: Take

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{self.name}.png"


SECTIONS = (
    "Pictures",
    "Reports",
    "Notebooks",
    "The live page",
    "On paper (matplotlib)",
    "On the screen (plotly)",
)
"""The order of the gallery."""

SHOTS: list[Shot] = []
"""All shots, as their modules add them."""


def in_order() -> list[Shot]:
    """All shots, section by section."""
    return sorted(SHOTS, key=lambda each: SECTIONS.index(each.section))


def shot(name: str, section: str, caption: str) -> Callable[[Take], Take]:
    """Make a function that takes a shot known."""

    def add(take: Take) -> Take:
        SHOTS.append(Shot(name, section, caption, take))
        return take

    return add


class Studio:
    """A browser, a folder for studies, and servers that end with it."""

    def __init__(self, browser: Browser, folder: Path, images: Path) -> None:
        self.browser, self.folder, self.images = browser, folder, images
        self._servers: dict[str, Served] = {}
        self._made: dict[str, Any] = {}
        self._closing = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.close()
        for server in self._servers.values():
            if server.process.poll() is None:
                server.kill()

    def take(self, wanted: Shot) -> None:
        """Take a shot and keep it."""
        (self.images / wanted.file).write_bytes(with_palette(wanted.take(self)))
        self._closing.close()  # pages of this shot

    def once(self, name: str, make: Callable[[], Any]) -> Any:
        """What several shots share, made by the first."""
        if name not in self._made:
            self._made[name] = make()
        return self._made[name]

    def page(self, size: tuple[int, int] = WIDE, *, dark: bool = False) -> Watched:
        """A page to be photographed; closed after the shot. It may not complain."""
        opened = watched_page(
            self.browser,
            viewport={"width": size[0], "height": size[1]},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
        )
        self._closing.callback(opened.context.close)
        return opened

    def server(self, storage: Path) -> Served:
        """A server of a storage, the same for all who ask."""
        if str(storage) not in self._servers:
            self._servers[str(storage)] = serve(storage)
        return self._servers[str(storage)]

    def photograph(self, opened: Watched, *, full: bool = False, most: int = 1600) -> bytes:
        """What the window shows, or the whole page down to `most` pixels."""
        complaints = opened.complaints()
        if complaints:
            raise RuntimeError(f"a page complains: {complaints}")
        return bytes(opened.page.screenshot(full_page=full, **_clipped(opened, most) if full else {}))


def _clipped(opened: Watched, most: int) -> dict[str, Any]:
    width, height = opened.page.evaluate("[innerWidth, document.documentElement.scrollHeight]")
    return {"clip": {"x": 0, "y": 0, "width": width, "height": min(height, most)}}


def with_palette(png: bytes) -> bytes:
    """The same picture with few colours, as small as can be."""
    from PIL import Image

    small = io.BytesIO()
    with Image.open(io.BytesIO(png)) as picture:
        few = picture.convert("RGB").quantize(COLOURS, Image.Quantize.MAXCOVERAGE, kmeans=2, dither=Image.Dither.NONE)
        few.save(small, "PNG", optimize=True)
    return small.getvalue()
