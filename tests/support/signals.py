"""Signals as a terminal gives them, whoever has started the tests; and as nohup gives them, where a test wants that.

`nohup` ignores SIGHUP, and `&` in a script SIGINT and SIGQUIT, and what is ignored stays ignored in every program that
is started. Commands that tests start and then interrupt would go on for ever.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

IGNORED_BY_STARTERS = (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM)


@contextmanager
def signals_of_a_terminal() -> Iterator[None]:
    """Whatever this process inherited, what it starts begins with the defaults, and Ctrl-C interrupts this process.

    The other signals that are ignored here stay without effect here: a handler that does nothing, unlike one that is
    ignored, ends with the start of another program.
    """
    inherited = {number: signal.getsignal(number) for number in IGNORED_BY_STARTERS}
    ignored = [number for number, handler in inherited.items() if handler is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else lambda *_: None)
    try:
        yield
    finally:
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)


def ignoring_signal(name: str) -> list[str]:
    """What a command is to begin with so that it ignores a signal, as under nohup: `ignoring_signal("HUP")`."""
    return ["sh", "-c", f"trap '' {name}; exec \"$@\"", "sh"]
