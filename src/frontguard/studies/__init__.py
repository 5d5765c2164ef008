"""Studies: measure for real, with many workers, and go on after a crash as if nothing had happened.

A `Study` hands out pulls and takes what they measured; its `Storage` keeps the log; the policy's state is a replay of
that. Names are imported on first use: a process that only evaluates a function needs none of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from frontguard._late import late_names

_WHERE = {
    "Pull": "frontguard.studies.study",
    "Storage": "frontguard.storage.contract",
    "Study": "frontguard.studies.study",
    "open_storage": "frontguard.storage.open",
}

if TYPE_CHECKING:
    from frontguard.storage.contract import Storage
    from frontguard.storage.open import open_storage
    from frontguard.studies.study import Pull, Study

__all__ = ["Pull", "Storage", "Study", "open_storage"]


__getattr__ = late_names(__name__, _WHERE)
