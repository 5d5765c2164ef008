"""The text of a spec without its secrets: the values of `env`, and the password in `storage`.

A spec is masked where it is read, so that nothing that keeps or shows it has to think of them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, MutableMapping
from functools import lru_cache
from typing import Any

from frontguard._common.secrets import MASK, hidden, without_password


@lru_cache(maxsize=16)
def masked_spec(text: str) -> str:
    """The text of a spec with the values of `env` and the password in `storage` masked; nothing of it if in doubt.

    >>> print(masked_spec('[run]\\nenv = {TOKEN = "hunter2"}  # not hunter2\\n[study]\\nstorage = "pg://a:b@c/d"'))
    [run]
    env = {TOKEN = "***"}  # not ***
    [study]
    storage = "pg://a:***@c/d"
    """
    if not any(sign in text for sign in ("env", "://", "password")):
        return text
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document = tomlkit.parse(text)
        secrets = [value for table in _with_variables(document) for value in _mask_variables(table)]
        study = document.get("study", {})
        if isinstance(study, MutableMapping) and isinstance(study.get("storage"), str):
            shown = without_password(str(study["storage"]))
            if shown != study["storage"]:
                study["storage"] = shown
        masked = without_password(hidden(tomlkit.dumps(document), secrets))  # comments too
        tomllib.loads(masked)
    except (TOMLKitError, ValueError, RecursionError, TypeError):
        return "# The text of the spec is not shown: its secrets could not be told from the rest.\n"
    return masked


def _with_variables(document: MutableMapping[str, Any]) -> Iterator[MutableMapping[str, Any]]:
    """The tables that may have an `env`."""
    tables = document.get("arm", [])
    for table in [document.get("run"), *(tables if isinstance(tables, list) else [tables])]:
        if isinstance(table, MutableMapping):
            yield table


def _mask_variables(table: MutableMapping[str, Any]) -> Iterator[str]:
    """Mask the values of the table's `env` in place, and give them."""
    variables = table.get("env", {})
    if not isinstance(variables, MutableMapping):
        raise TypeError("env is no table")
    for name, value in list(variables.items()):
        if isinstance(value, (MutableMapping, list)):
            raise TypeError("a variable has one value")
        if value != MASK:
            variables[name] = MASK
            yield str(value)
