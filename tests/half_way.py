"""A served study that is half way: for tests of what a visitor sees and does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.measuring import Machine, advance, begin
from tests.serving import Served, served

__all__ = ["half_way"]


@pytest.fixture(scope="module")
def half_way(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server of a study with verdicts of several kinds and failures."""
    path = tmp_path_factory.mktemp("live") / "study.db"
    study = begin(path)
    advance(study, Machine(), 240)
    study.close()
    with served(path) as running:
        yield running
