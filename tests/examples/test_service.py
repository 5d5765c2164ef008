"""The example of a service: several processes, PostgreSQL, one worker killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from frontguard import Study
from tests.servers import PostgresServer

SERVICE = Path(__file__).resolve().parents[2] / "examples" / "service" / "service.py"


@pytest.mark.parametrize("where", ["postgres", "sqlite"])
def test_workers_share_a_study_and_a_killed_one_is_not_missed(
    where: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    if where == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres")
        url = server.new_database()
    else:
        url = str(tmp_path / "compressors.db")
    ended = subprocess.run([sys.executable, SERVICE, "demo", url], capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stderr
    assert "killed a worker after" in ended.stdout
    study = Study.open(url, "compressors")
    told = study.storage.told("compressors")
    assert study.status == "certified"
    assert len(set(told.pulls.tolist())) == len(told)
    assert len(set(told.workers)) >= 2
    # By far the smallest: one of the two is on the front however slow it is, and the other may be covered by it.
    assert {"bz2 1", "bz2 9"} & set(study.result().pareto_set)
    assert f"certified after {study.result().pulls} pulls" in ended.stdout
    study.close()
