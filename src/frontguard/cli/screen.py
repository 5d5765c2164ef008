"""Where commands print: answers to stdout, messages to the person in front of the terminal."""

from __future__ import annotations

import os
import sys
from itertools import chain
from typing import TYPE_CHECKING

from frontguard.phrases import in_lines

if TYPE_CHECKING:
    from rich.console import Console

    from frontguard._common.entries import Entries
    from frontguard.words.arm_table import ArmTable


def print_answer(screen: Console, answer: str, arms: ArmTable, elsewhere: str) -> None:
    """What every answer begins with: a sentence or two, and the table of arms, all of which `elsewhere` gives."""
    from frontguard.words.arm_sheet import on_terminal

    printed = on_terminal(arms, screen.width, elsewhere)
    screen.print(answer, style="bold")
    screen.print()
    if arms.key:
        screen.print(f"Arms are {arms.key}.")
    screen.print(printed.table)
    for said in (arms.rest, printed.left_out):
        if said:
            screen.print(said)
    screen.print()


def print_json(*entries: Entries) -> None:
    """Print one object of these entries, in pieces: there may be a million arms."""
    from frontguard._common.entries import json_pieces

    sys.stdout.writelines(json_pieces(chain(*entries)))
    print(flush=True)


def say(message: str) -> None:
    """Tell the person in front of the terminal, who may have sent the output elsewhere. No word is broken there."""
    if sys.stderr.isatty():
        message = in_lines(message, os.get_terminal_size(sys.stderr.fileno()).columns)
    print(message, file=sys.stderr, flush=True)


def console(width: int = 120) -> Console:
    """Where answers are printed, as they are: no name is markup. A pipe has no width of its own."""
    from rich.console import Console as RichConsole

    return RichConsole(width=None if sys.stdout.isatty() else width, highlight=False, markup=False, emoji=False)
