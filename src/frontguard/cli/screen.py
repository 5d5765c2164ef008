"""Printing and writing of all commands, and the signals that end them: answers go to stdout, messages to stderr."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from frontguard._common.secrets import without_password
from frontguard.errors import BadInput
from frontguard.phrases import did_you_mean, in_lines, quoted, shown
from frontguard.words import terminal

if TYPE_CHECKING:
    from rich.console import Console

    from frontguard._common.entries import Entries
    from frontguard.comparisons.picks import Beside, BesideQuestion
    from frontguard.objectives import Objective
    from frontguard.reports.report import Report
    from frontguard.results import Answer, Origin


def print_json(*entries: Entries) -> None:
    """Print one object of these entries, in pieces: there may be a million arms."""
    from frontguard._common.entries import json_pieces

    # "##[" is a command to some runners of continuous integration, wherever it stands in a line.
    sys.stdout.writelines(piece.replace("##", r"#\u0023") for piece in json_pieces(chain(*entries)))
    print(flush=True)


def say(message: str) -> None:
    """Tell the person in front of the terminal, who may have sent the output elsewhere. No word is broken there."""
    if sys.stderr.isatty():
        message = in_lines(message, os.get_terminal_size(sys.stderr.fileno()).columns)
    terminal.write_line(message)


def console(width: int = terminal.COLUMNS) -> Console:
    """The console for answers. A pipe has no width of its own: it gets that of the smallest terminals."""
    return terminal.console(width=None if sys.stdout.isatty() else width)


def check_asked(asked: BesideQuestion, arms: Sequence[str], objectives: Iterable[Objective]) -> None:
    """Refuse what could not be answered in the end before anything takes long."""
    if asked.baseline is not None and asked.baseline not in arms:
        hint = did_you_mean(asked.baseline, arms)
        raise BadInput(f"--baseline: wanted one of the arms {quoted(arms)}{hint}; got {shown(asked.baseline)}")
    if asked.wish is not None:
        from frontguard.comparisons.picks import wish_of

        try:
            wish_of(tuple(objectives), *asked.wish)
        except BadInput as error:
            raise BadInput(f"--pick: {error}") from None


def print_beside(screen: Console, result: Answer, beside: Beside, most: int, elsewhere: str) -> None:
    """Print the choice, and the tables of what it gives up and of all arms against the baseline."""
    from frontguard.words.comparisons import (
        beside_in_words,
        choice_in_words,
        comparison_in_words,
        left_in_words,
        on_terminal,
        rows_of,
    )

    if beside.pick is not None:
        screen.print(choice_in_words(beside.pick), style="bold")
        if beside.pick.others is not None and len(beside.pick.others):
            rows = rows_of(result, beside.pick.others, most)
            screen.print(on_terminal(beside.pick.others, rows, screen.width, elsewhere))
        screen.print()
    if beside.compared is not None:
        rows = rows_of(result, beside.compared, most)
        if len(beside.compared) == 1:
            screen.print(comparison_in_words(beside.compared.of(0)))
        elif len(rows):
            screen.print(on_terminal(beside.compared, rows, screen.width, elsewhere))
        for said in (left_in_words(beside.compared, rows), beside_in_words(beside.compared)):
            if said:
                screen.print(said)
        screen.print()


def checked_target(path: str | Path, format: str | None = None) -> None:
    """Refuse what could not be written in the end before anything takes long."""
    from frontguard.reports.write import format_of

    format_of(path, format)
    if str(path) != "-":
        checked_folder(path)


def checked_folder(path: str | Path) -> None:
    """Refuse a file whose folder is not there."""
    folder = Path(path).parent
    if not folder.is_dir():
        raise BadInput(f"{path}: wanted a file in a folder that is there; got {folder}, which is not")


def keep(made: Report, path: Path) -> None:
    """Write the report that --report asks for, and say so."""
    from frontguard.reports.write import save

    save(made, path)
    say(f"report: {path}")


def origin(source: str | list[str] | None = None, **more: Any) -> Origin:
    """Return the origin of what a command prints or writes: its version, how it was called, of what, and when."""
    from frontguard import __version__
    from frontguard.results import Origin

    now = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"
    command = shlex.join(["frontguard", *map(without_password, sys.argv[1:])])
    return Origin(version=__version__, command=command, source=source, at=now, **more)


STOPS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Ctrl-C, a request to end, and a terminal that is lost."""


@contextmanager
def stopped_by(stop: Callable[[int], None]) -> Iterator[None]:
    """Call `stop` with the number of each signal of `STOPS`, except those that are ignored, as under nohup."""

    def handle(number: int, frame: FrameType | None) -> None:
        del frame
        stop(number)

    before = {number: signal.signal(number, handle) for number in STOPS if signal.getsignal(number) != signal.SIG_IGN}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
