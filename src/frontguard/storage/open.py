"""Where a study is kept, as one word: a path or an address becomes a storage."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from frontguard._common.secrets import without_password
from frontguard.errors import BadInput

if TYPE_CHECKING:  # the command line reads addresses before anything that computes is loaded
    from frontguard.storage.contract import Storage


ALLOWED = (
    "a path such as 'study.db', 'sqlite:///relative.db', 'sqlite:////absolute.db', "
    "'postgresql://USER:PASSWORD@HOST:PORT/DATABASE', or 'memory:'"
)

# "scheme://…", and our own schemes also where the slashes were forgotten; any other text with a colon may be a path.
_ADDRESS = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://|(?P<ours>sqlite|postgres|postgresql|memory):", re.I)


def open_storage(where: Storage | str | os.PathLike[str], *, read_only: bool = False) -> Storage:
    """The storage at a path or an address; a storage passes through.

    >>> open_storage("memory:").studies()
    []
    >>> open_storage("mysql://host/studies")
    Traceback (most recent call last):
    ...
    frontguard.errors.BadInput: a storage must be a path such as 'study.db', 'sqlite:///relative.db',
    'sqlite:////absolute.db', 'postgresql://USER:PASSWORD@HOST:PORT/DATABASE', or 'memory:'; got an address that begins
    with 'mysql:'
    """
    from frontguard.storage.contract import Storage

    if isinstance(where, Storage):
        return where
    if isinstance(where, os.PathLike):
        return _sqlite(Path(where), read_only)
    if not isinstance(where, str) or not where.strip() or where == ":memory:":
        raise BadInput(f"a storage must be {ALLOWED}; got {where!r}")
    address = _ADDRESS.match(where)
    if address is None and without_password(where) != where:  # it would become the name of a file
        raise BadInput(f"a storage must be {ALLOWED}; got a text with a password in it that is no address")
    if address is None:
        return _sqlite(Path(where), read_only)
    scheme = (address["scheme"] or address["ours"]).lower()
    rest = where[address.end() :]
    if scheme == "memory" and not rest:
        from frontguard.storage.memory import MemoryStorage

        return MemoryStorage()
    if scheme == "sqlite" and address["scheme"] and rest.startswith("/") and len(rest) > 1:
        return _sqlite(Path(rest[1:]), read_only)
    if scheme in ("postgresql", "postgres") and address["scheme"]:
        from frontguard.storage.postgres.storage import PostgresStorage

        return PostgresStorage(f"{scheme}://{rest}", read_only=read_only)
    # The address is not repeated: it may hold a password.
    raise BadInput(f"a storage must be {ALLOWED}; got an address that begins with '{scheme}:'")


def _sqlite(path: Path, read_only: bool) -> Storage:
    from frontguard.storage.sqlite.storage import SqliteStorage

    return SqliteStorage(path, read_only=read_only)
