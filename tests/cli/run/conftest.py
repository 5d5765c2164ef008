"""A folder with the toy spec; and nothing may go on when a test is over."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.run.toy import BEGUN, MEASURE, write_spec


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "measure.sh").write_text(MEASURE)
    write_spec(tmp_path)
    return tmp_path


@pytest.fixture(autouse=True)
def _nothing_goes_on() -> Iterator[None]:
    """End what a test that failed has left running."""
    yield
    while BEGUN:
        going = BEGUN.pop()
        if going.returncode is None:
            going.kill()
            going.communicate()
