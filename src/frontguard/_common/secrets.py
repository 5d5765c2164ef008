"""Files that only their user can read, and passwords and values masked in texts.

Files are private whatever the umask; one that is there already keeps its mode. Values are masked where they come in, so
that nothing that is stored, printed or sent has to think of them.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from io import BufferedRandom
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

PRIVATE = 0o600
LEFTOVER = ".part"
"""How names of files end that were not written to their end."""


def private(path: str | os.PathLike[str], flags: int) -> int:
    """Open a file as `os.open` does, and make it private if this makes it. For `open(path, "w", opener=private)`.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "report.md"
    >>> with open(path, "w", opener=private) as file:
    ...     oct(path.stat().st_mode & 0o777)
    '0o600'
    """
    if not flags & os.O_CREAT:
        return os.open(path, flags)
    try:
        descriptor = os.open(path, flags | os.O_EXCL, PRIVATE)
    except FileExistsError:
        if flags & os.O_EXCL:
            raise
        return os.open(path, flags, PRIVATE)
    os.chmod(path, PRIVATE)  # the umask may have taken bits away
    return descriptor


def is_ours(folder: Path) -> bool:
    """True if a folder is this user's, and nobody else can write into it, as far as the system tells."""
    status = folder.stat()
    return not hasattr(os, "geteuid") or (status.st_uid == os.geteuid() and not status.st_mode & 0o022)


def make_private(path: str | os.PathLike[str]) -> None:
    """Make an empty private file, unless there is a file, or it cannot be made."""
    with suppress(OSError):
        os.close(private(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))


@contextmanager
def replacing(place: Path, opener: Callable[[str, int], int] | None = private) -> Iterator[BufferedRandom]:
    """A new file that takes this place once it is on the disk: private, or with the old mode, or by `opener`."""
    beside = place.with_name(f".{place.name[:200]}.{secrets.token_hex(6)}{LEFTOVER}")
    try:
        with open(beside, "x+b", opener=opener) as file:
            if place.exists():
                shutil.copymode(place, beside)
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, place)
        with suppress(OSError):  # the move itself is made durable, where folders can be synced
            folder = os.open(place.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
    finally:
        beside.unlink(missing_ok=True)


MASK = "***"

SECRET_KEYS = ("password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key")
"""Parameters of a connection to PostgreSQL that nobody else may know."""

_SHORTEST = 4  # characters of a value that is looked for in texts: "1" is in many of them, and is no secret


_ADDRESS = re.compile(r"""(?:(?<![A-Za-z0-9+.-])[A-Za-z0-9+.-]+:|)//(?:[^\s"`<>]{0,1000}@)?[^\s'"`<>]*""")
"""Looked for once in a run of letters. A password may have a single quote; one that is longer has none."""

_USER = re.compile(r"([^/]*//[^/@:?]*):(.*)@", re.DOTALL)
_TOKEN = re.compile(r"((?:[^/]*https?:)?//)[^/@?]+@", re.IGNORECASE)
"""Whom a server of pages lets in: often a token alone, or one in place of the name."""
_PORT = re.compile(r"(?!postgres)[^/]*//[^/@]*:[0-9]{1,5}[/?]", re.IGNORECASE)  # of a server whose path has an @
_PAIR = re.compile(
    rf"((?<!\w)(?:{'|'.join(SECRET_KEYS)})\s*=\s*)(?:'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|[^\s&'\"]+)", re.IGNORECASE
)


def without_password(text: str) -> str:
    """An address that may be shown, or any text with the passwords of the addresses in it masked.

    >>> without_password("postgresql://ann:secret@host/studies")
    'postgresql://ann:***@host/studies'
    >>> without_password("postgresql://host/studies?user=ann&pass%77ord=secret&sslpassword=more")
    'postgresql://host/studies?user=ann&pass%77ord=***&sslpassword=***'
    >>> without_password("no answer from host=db password='it\\\\'s' user=ann")
    'no answer from host=db password=*** user=ann'
    """
    if _ADDRESS.match(text) and not text.startswith(("file:", "//")):
        text = _masked_address(text)  # all of it: who does not know of %-codes writes any character into a password
    return without_passwords(text)


def without_passwords(text: str) -> str:
    """A text with the passwords of all addresses in it masked.

    >>> without_passwords("fatal: https://ann:secret@host:8443/x refused")
    'fatal: https://***@host:8443/x refused'
    """
    return _PAIR.sub(rf"\1{MASK}", _ADDRESS.sub(lambda found: _masked_address(found[0]), text))


def _masked_address(address: str) -> str:
    head, mark, query = address.partition("?")
    if "@" in query and not all("=" in part for part in query.split("&")):  # the question mark is the password's own
        head, mark, query = address, "", ""
    written = _USER.match(head)
    if written is not None and not _PORT.match(head):
        head = f"{written[1]}:{MASK}@{head[written.end() :]}"
    if token := _TOKEN.match(head):
        head = f"{token[1]}{MASK}@{head[token.end() :]}"
    parts = (part.partition("=") for part in query.split("&"))
    shown = (
        f"{name}={MASK}" if equals and unquote(name).lower() in SECRET_KEYS else name + equals + value
        for name, equals, value in parts
    )
    return head + mark + "&".join(shown)


def forms(value: str) -> set[str]:
    """A secret as it may stand in a text: as it is, quoted as JSON or Python do it, in %-codes; its lines alone."""
    lines = [line for line in value.splitlines() if len(line.strip()) >= 2 * _SHORTEST]
    found = {
        form for each in (value, *lines) for form in (each, each.strip(), json.dumps(each)[1:-1], repr(each)[1:-1])
    }
    return {form for form in found | {quote(value, safe=""), quote(value)} if len(form) >= _SHORTEST}


def hidden(text: str, values: Iterable[str]) -> str:
    """The text with these values masked, cut ones too, but for very short ones; and passwords of addresses.

    >>> hidden("login with hunter22 failed, hunt…", ["hunter22", "in"])
    'login with *** failed, ***…'
    """
    for secret in sorted({form for value in values for form in forms(value)}, key=len, reverse=True):
        text = text.replace(secret, MASK)
        if text.endswith("…"):
            longest = max((n for n in range(_SHORTEST, len(secret)) if text[:-1].endswith(secret[:n])), default=0)
            text = text[: -1 - longest] + MASK + "…" if longest else text
    return without_passwords(text)


def fingerprint(values: Any, salt: str) -> str:
    """Two bytes of a slow hash of values: enough to notice that they changed, too few to tell which they are.

    Of a million guesses, each of which takes a tenth of a second, some fifteen fit. A change is overlooked with a
    probability of 1 in 65,536.

    >>> fingerprint({"TOKEN": "hunter2"}, "salt") == fingerprint({"TOKEN": "hunter3"}, "salt")
    False
    """
    text = json.dumps(values, sort_keys=True).encode()
    return hashlib.scrypt(text, salt=salt.encode(), n=2**15, r=8, p=1, maxmem=2**26, dklen=2).hex()
