"""Files that we make are private to their user, whatever the umask; those that are there keep their mode."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from frontguard import Objective, Prescient, Study, write_report
from frontguard._common.secrets import private
from tests.cli.commands import run

LOG = "arm,x\n" + "".join(f"{arm},{value}\n" for arm in "ab" for value in range(30))


@pytest.fixture(autouse=True, params=[0o000, 0o022, 0o277], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "log.csv").write_text(LOG)
    (tmp_path / "log.csv").chmod(0o644)
    return tmp_path


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def study_in(path: Path) -> Study:
    study = Study(["a", "b"], [Objective("x", "maximize", tolerance=1.0)], Prescient(0.1), storage=path)
    study.tell_many([(pull, 1.0) for pull in study.ask(4)])
    return study


def test_a_study_and_the_files_beside_it(folder: Path) -> None:
    study = study_in(folder / "study.db")
    beside = sorted(path.name for path in folder.glob("study.db*"))
    assert beside == ["study.db", "study.db-shm", "study.db-wal"]
    assert {mode(folder / name) for name in beside} == {0o600}
    study.close()
    study.storage.close()


def test_a_study_file_that_is_there_keeps_its_mode(folder: Path) -> None:
    path = folder / "study.db"
    study_in(path).storage.close()
    path.chmod(0o664)
    with study_in(path).storage:
        assert {mode(file) for file in folder.glob("study.db*")} == {0o664}


def test_reports(folder: Path) -> None:
    study = study_in(folder / "study.db")
    for name in ("report.html", "report.csv"):
        path = folder / name
        write_report(study, path)
        assert mode(path) == 0o600
        path.chmod(0o644)
        write_report(study, path)
        assert mode(path) == 0o644
    study.storage.close()


def test_tables_and_states_of_logs(folder: Path) -> None:
    (folder / "more.csv").write_text(LOG.replace("x\n", "x\na,7\n"))
    (folder / "more.csv").chmod(0o644)
    for option, file in (("--csv", "arms.csv"), ("--append", "state.fgl")):
        for log, wanted in (("log.csv", 0o600), ("more.csv", 0o640)):
            assert run("analyze", log, "--arm", "arm", "--maximize", "x", option, file, cwd=folder).returncode == 0
            assert mode(folder / file) == wanted
            (folder / file).chmod(0o640)


def test_an_opener_takes_what_is_there_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "x"
    with open(path, "w", opener=private) as file:
        file.write("long")
    with open(path, "w", opener=private) as file:
        file.write("new")
    assert path.read_text() == "new"
    with pytest.raises(FileExistsError), open(path, "x", opener=private):
        pass
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with open(tmp_path / "link", "w", opener=private):
        assert mode(tmp_path / "target") & 0o177 == 0
