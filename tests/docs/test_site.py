"""The site hangs together, without a build: every page is in a table of contents, and every link leads somewhere."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, pages

HOME = ROOT / "docs" / "index.md"
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("*.md"))
OF_THE_SITE = {*pages(), *DECISIONS, ROOT / "CHANGELOG.md"} - {ROOT / "README.md"}
LINKED = sorted(OF_THE_SITE | {ROOT / "README.md"})

_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^)\s]+)\)")


def listed(page: Path) -> set[Path]:
    """The pages of its tables of contents."""
    found: set[Path] = set()
    for tree in _TOCTREE.findall(page.read_text("utf-8")):
        for line in tree.splitlines():
            entry = (re.search(r"<(.+)>", line) or [line, line.strip()])[1]
            if entry and not entry.startswith(":"):
                matching = [each.resolve() for each in page.parent.glob(f"{entry}.md")]
                assert matching, f"{page.name}: there is no {entry}"
                found |= set(matching) - {page}
    return found


@cache
def anchors(page: Path) -> set[str]:
    """The headings of a page as GitHub and MyST call them."""
    found: set[str] = set()
    for title in re.findall(r"^#{1,4} (.+)$", _FENCE.sub("", page.read_text("utf-8")), re.MULTILINE):
        slug = re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")
        count = sum(each == slug or re.fullmatch(rf"{slug}-\d+", each) is not None for each in found)
        found.add(f"{slug}-{count}" if count else slug)
    return found


def test_every_page_is_in_one_table_of_contents() -> None:
    trees = [listed(page) for page in OF_THE_SITE]
    reached, left = {HOME}, [HOME]
    while left:
        new = listed(left.pop()) - reached
        reached |= new
        left += new
    assert {page.relative_to(ROOT) for page in OF_THE_SITE - reached} == set()
    assert sum(map(len, trees)) == len(OF_THE_SITE) - 1, "a page is in two tables of contents"


@pytest.mark.parametrize("page", LINKED, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"`[^`\n]+`", "", _FENCE.sub("", page.read_text("utf-8")))
    for link in _LINK.findall(text):
        if re.match(r"https?:", link):
            continue
        place, _, anchor = link.partition("#")
        target = (page.parent / place).resolve() if place else page
        assert target.is_file(), link
        assert not anchor or anchor in anchors(target), link


MEASURED = {"theory", "gallery", "audit", "benchmarks", "certified", "reproduction"}
"""Pages of proofs, of pictures and of tables that commands write: as long as these are."""


@pytest.mark.parametrize("page", sorted(ROOT.glob("docs/*.md")), ids=lambda page: page.stem)
def test_a_page_is_read_in_one_go(page: Path) -> None:
    assert page.stem in MEASURED or len(page.read_text("utf-8").splitlines()) <= 150
