"""Pages of documentation as what they have to run: blocks of commands, of Python, of files, in the order of the page.

A fenced block says in its first line what it is. `sh` is given to bash, `python` to one interpreter for the whole page,
`text` and `json` show what is printed, `yaml` is for others to run.
A comment right above a block says what a reader would know without it:

    <!-- file flags.toml -->            the block is this file
    <!-- exit 3 -->                     so the command ends
    <!-- until Ctrl-C -->               the command goes on until it is interrupted
    <!-- long -->                       takes minutes: run by `make audit`
    <!-- not run: another machine -->   why it cannot be run here

A comment that begins with `given` has commands that make what a page takes for granted: the reader's own files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

RUN, SHOWN = ("sh", "python"), ("text", "json", "toml", "csv", "yaml")
OF_THE_SITE = ("{toctree}", "{eval-rst}")  # for Sphinx: tables of contents, and the reference

_COMMENT = re.compile(r"<!-- (?P<said>file|exit|until|long|not run)(?::? (?P<what>.*?))? -->")


@dataclass(frozen=True)
class Block:
    """A block of a page: what it is, its text, and what was said of it."""

    line: int
    language: str
    text: str
    said: str = ""  # file, exit, until, long, not run, given
    what: str = ""


def pages() -> list[Path]:
    """README and all that it leads to, but for what is written by commands."""
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/*.md"), *ROOT.glob("examples/*/README.md")]
    return sorted(found)


def blocks(text: str) -> Iterator[Block]:
    """The fenced blocks of a page, and what is given to it."""
    lines = text.split("\n")
    place, above = 0, ""
    while place < len(lines):
        line = lines[place]
        if line.startswith("<!-- given"):
            end = next(k for k in range(place, len(lines)) if lines[k].endswith("-->"))
            yield Block(place + 1, "sh", "\n".join(lines[place + 1 : end]), "given")
            place, above = end + 1, ""
            continue
        if not line.startswith("```"):
            place, above = place + 1, line if line.strip() else above
            continue
        end = next(k for k in range(place + 1, len(lines)) if lines[k].rstrip() == "```")
        comment = _COMMENT.fullmatch(above.strip())
        said, what = (comment["said"], comment["what"] or "") if comment else ("", "")
        yield Block(place + 1, line[3:].strip(), "\n".join(lines[place + 1 : end]) + "\n", said, what)
        place, above = end + 1, ""


def indented_blocks(text: str) -> list[int]:
    """Lines at which a block begins that is one by its indentation alone: nobody could say what it is."""
    found, fenced, blank, listed = [], False, True, False
    for number, line in enumerate(text.split("\n"), start=1):
        fenced ^= line.startswith("```")
        if not fenced and blank and not listed and line.startswith("    ") and line.strip():
            found.append(number)
        if line.strip() and not line.startswith(" "):
            listed = bool(re.match(r"[-*] |\d+\. ", line))
        blank = not line.strip()
    return found
