"""What tests of the live page only look at, made once for all of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.measuring import Machine, advance, begin
from tests.support.serving import Served, served
from tests.web.examples import Example


@pytest.fixture(scope="session")
def certified() -> Example:
    """A study of four arms that came to its end; nobody may measure on."""
    return Example().go(5000)


@pytest.fixture(scope="session")
def half_way(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server of a study with verdicts of several kinds and failures, which is not going on."""
    path = tmp_path_factory.mktemp("live") / "study.db"
    study = begin(path)
    advance(study, Machine(), 240)
    study.close()
    with served(path) as running:
        running.wait_until_read()
        yield running
