"""Cores that are ours: by affinity and by the limit of a container."""

from __future__ import annotations

from pathlib import Path

import pytest

from frontguard._common import machine as _machine


@pytest.fixture
def quota(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(_machine, "_QUOTA", tmp_path / "cpu.max")
    monkeypatch.setattr(_machine.os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    _machine._allowed.cache_clear()
    return tmp_path / "cpu.max"


@pytest.mark.parametrize(
    ("written", "cores"),
    [(None, 8), ("max 100000", 8), ("250000 100000", 3), ("5000 100000", 1), ("9900000 100000", 8), ("nonsense", 8)],
)
def test_cores(quota: Path, written: str | None, cores: int) -> None:
    if written is not None:
        quota.write_text(written)
    assert _machine.usable_cores() == cores
    _machine._allowed.cache_clear()
