"""Every command and every block of Python in README and docs runs as it is written, from the top of its page down."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import OF_THE_SITE, ROOT, RUN, SHOWN, Block, blocks, indented_blocks, pages
from tests.support import warm
from tests.support.servers import NoServer, shared_server
from tests.support.waiting import patience

LONGEST = 120.0  # seconds for a block on a quiet machine ...
LONGEST_OF_LONG = 7200.0  # ... and for one that `make audit` alone runs

NOT_RUN = {
    "sets up a machine",  # pip, apt, make: what `make test` itself is part of
    "another machine",
    "needs a quiet machine",
    "needs data that may not be shipped",
    "writes this page",
}
"""Reasons for which a block may be left out."""

OF_A_SERVER = "postgresql://host/studies"
"""The address that pages write; the test's own server stands there."""


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


WITH_BLOCKS = [page for page in pages() if any(block.language in RUN for block in blocks(page.read_text("utf-8")))]


@pytest.mark.parametrize("page", pages(), ids=_name)
def test_blocks_say_what_they_are(page: Path) -> None:
    text = page.read_text("utf-8")
    assert not indented_blocks(text), "wanted a fence with a language"
    for block in blocks(text):
        known = (*RUN, *SHOWN, *OF_THE_SITE)
        assert block.language in known, f"line {block.line}: wanted one of these, got {block.language!r}"
        if block.said == "not run":
            assert block.what in NOT_RUN, f"line {block.line}"
        if block.language in RUN:
            assert "…" not in block.text, f"line {block.line}: a reader cannot type that"


@pytest.mark.parametrize("page", WITH_BLOCKS, ids=_name)
def test_a_page_runs_as_it_is_written(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_page(page, tmp_path, monkeypatch, long=False)


@pytest.mark.audit
@pytest.mark.parametrize("page", WITH_BLOCKS, ids=_name)
def test_a_page_runs_whole(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_page(page, tmp_path, monkeypatch, long=True)


def run_page(page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, *, long: bool) -> None:
    """Run the blocks of a page one after another in one folder; those of an example in a copy of its own."""
    if page.parent.parent.name == "examples":
        subprocess.run(["cp", "-r", f"{page.parent}/.", str(folder)], check=True)
    monkeypatch.chdir(folder)
    programs = (warm.folder_with_programs(), Path(sys.executable).parent, os.environ["PATH"])
    monkeypatch.setenv("PATH", os.pathsep.join(map(str, programs)))
    monkeypatch.setenv("COLUMNS", "80")
    for name in [name for name in os.environ if name.startswith("PYTEST_")]:  # a page's own pytest is no part of ours
        monkeypatch.delenv(name)
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(page.read_text("utf-8")):
        if block.said == "not run" or (block.said == "long" and not long):
            continue
        try:
            run_block(block, names)
        except BaseException as error:
            raise AssertionError(f"{_name(page)}, line {block.line}: {error}\n{block.text}") from error


def run_block(block: Block, names: dict[str, Any]) -> None:
    """Run a block in the current folder; `names` are those of the page's Python."""
    text = block.text
    if block.said == "file":
        path = Path(block.what)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return
    if block.language in RUN and OF_A_SERVER in text:
        try:
            text = text.replace(OF_A_SERVER, shared_server().url())
        except NoServer as error:
            pytest.skip(str(error))
    if block.language == "python":
        exec(compile(text, f"line {block.line}", "exec"), names)
    elif block.language == "sh" and block.said == "until":
        run_until_interrupted(text)
    elif block.language == "sh":
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", text],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=patience(LONGEST_OF_LONG if block.said == "long" else LONGEST),
        )
        wanted = int(block.what) if block.said == "exit" else 0
        assert done.returncode == wanted, (
            f"exit code {done.returncode}, wanted {wanted}\n{done.stderr.decode()[-2000:]}"
        )


def run_until_interrupted(text: str) -> None:
    """Start what goes on for ever, wait until it has said something, and press Ctrl-C."""
    with subprocess.Popen(
        ["bash", "-c", f"trap - INT; exec {text}"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        start_new_session=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as running:  # fmt: skip
        try:
            assert running.stdout is not None
            said = running.stdout.readline()
            time.sleep(0.2)
            os.killpg(running.pid, signal.SIGINT)
            rest, _ = running.communicate(timeout=patience(LONGEST))
        finally:
            if running.poll() is None:
                os.killpg(running.pid, signal.SIGKILL)
    assert running.returncode in (130, -signal.SIGINT), (said + rest).decode()
