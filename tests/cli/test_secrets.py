"""Secrets are planted in a spec, in output of commands and in addresses, and looked for in all that comes of them."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard.cli.run import _about
from frontguard.storage.contract import Storage, open_storage
from frontguard.studies.settings import Settings
from tests.cli.commands import run
from tests.support.servers import PostgresServer
from tests.support.snapshots import said
from tests.web.serving import serving

TOKEN, KEY, SHORT = "tok-5ecret/val+ue", 'q"uoted\\5ecret', "1"
PEM = "-----BEGIN-----\nMIIE5ecretline\n-----END-----"
PASSWORD = "pa5ecretword"
PLANTED = [TOKEN, KEY, "MIIE5ecretline", PASSWORD, "5ecret"]

SPEC = f"""
[study]
storage = STORAGE  # not postgresql://ann:{PASSWORD}@old-host/db, nor {TOKEN}
contamination = 0.1
[[objective]]
name = "seconds"
tolerance = "1%"
[[objective]]
name = "size"
direction = "minimize"
tolerance = 1
[run]
command = ["sh", "measure.sh", "{{n}}"]
env.TOKEN = "{TOKEN}"
env.PEM = '''{PEM}'''
env."THREADS" = {SHORT}
[[arm]]
name = "exits"
n = 1
env = {{KEY = '{KEY}', "OTHER" = "x"}}
[[arm]]
name = "prints"
n = 2
[arm.env]
KEY = {json.dumps(KEY)}
[[arm]]
name = "works"
command = ["echo", '{{{{"size": 3}}}}']
"""


MEASURE = """
printf '%s ' "$TOKEN" "$KEY" "$PEM" >&2
test $1 = 2 || exit 3
printf '{"no %s": 1}' "$TOKEN"
"""


def planted_in(text: str | bytes) -> list[str]:
    seen = text if isinstance(text, str) else text.decode("utf-8", "replace")
    return [secret for secret in PLANTED if secret in seen]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_spec(tmp_path)
    return tmp_path


def write_spec(folder: Path, storage: str = "study.db") -> None:
    (folder / "spec.toml").write_text(SPEC.replace("STORAGE", json.dumps(storage)))
    (folder / "measure.sh").write_text(MEASURE)


def artefacts(folder: Path, where: str) -> Iterator[tuple[str, str]]:
    """Everything that is printed, written and served of a study."""
    for number, ending in enumerate(("html", "md", "csv")):
        ended = run(
            "run", "spec.toml", "--max-pulls", str(20 + number), "--json", "--report", f"r.{ending}", cwd=folder
        )
        assert ended.returncode == 3, ended.stderr
        if number == 0:  # the later runs see no arm fail
            (folder / "result.json").write_text(ended.stdout)
        yield f"run {ending}: stdout", ended.stdout
        yield f"run {ending}: stderr", ended.stderr
        yield f"run {ending}", (folder / f"r.{ending}").read_text()
    plain = run("run", "spec.toml", "--max-pulls", "23", cwd=folder)
    yield "run: plain", plain.stdout + plain.stderr
    for source in (where, "result.json"):
        for ending in ("html", "md", "csv"):
            reported = run("report", source, "-o", f"again.{ending}", cwd=folder)
            assert reported.returncode == 0, reported.stderr
            yield f"report {ending}", (folder / f"again.{ending}").read_text()
            yield f"report {ending}: said", reported.stdout + reported.stderr
    analyzed = run("analyze", where, "--json", cwd=folder)
    yield "analyze", analyzed.stdout + analyzed.stderr
    with serving(str(folder / where) if "://" not in where else where) as server:
        limit = time.monotonic() + 120.0
        while "[run]" not in server.get("/study/1.json").text:  # it reads the log first
            assert time.monotonic() < limit
            time.sleep(0.05)
        for page in ("/study/1", "/study/1/arm/0", "/study/1/arm/1"):
            for path in (page, f"{page}.json"):
                answer = server.get(path)
                assert answer.status == 200
                yield path, answer.text
        yield "/", server.get("/").text + server.get("/studies.json").text


def test_no_secret_is_in_anything_that_is_made_of_a_study(folder: Path, snapshot: SnapshotAssertion) -> None:
    found = {name: planted_in(text) for name, text in artefacts(folder, "study.db")}
    assert not any(found.values()), {name: secrets for name, secrets in found.items() if secrets}
    for file in folder.iterdir():
        if file.name != "spec.toml":
            assert planted_in(file.read_bytes()) == [], file.name
    shown = json.loads((folder / "result.json").read_text())
    assert 'env.TOKEN = "***"' in shown["spec"]
    assert said(shown["spec"]) == snapshot
    (excluded,) = (each for each in shown["notices"] if each.get("arm") == "exits" and each["kind"] == "excluded")
    assert excluded["last"].startswith("exit code 3: *** ***")  # what it echoed, without what it must not


def test_not_even_of_one_on_a_server(tmp_path: Path, postgres: PostgresServer) -> None:
    address = postgres.new_database()
    PLANTED.append(postgres.password)
    try:
        write_spec(tmp_path, address)
        found = {name: planted_in(text) for name, text in artefacts(tmp_path, address)}
        with psycopg.connect(address) as connection:
            tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'frontguard'").fetchall()
            assert tables
            for (table,) in tables:
                rows = connection.execute(f"SELECT t::text FROM frontguard.{table} t").fetchall()
                found[table] = planted_in(str(rows))
        assert not any(found.values()), {name: secrets for name, secrets in found.items() if secrets}
        for file in tmp_path.iterdir():
            if file.name != "spec.toml":
                assert planted_in(file.read_bytes()) == [], file.name
    finally:
        PLANTED.remove(postgres.password)


def test_a_changed_value_is_noticed_and_not_told(folder: Path, snapshot: SnapshotAssertion) -> None:
    assert run("run", "spec.toml", "--max-pulls", "6", cwd=folder).returncode == 3
    text = (folder / "spec.toml").read_text()
    (folder / "spec.toml").write_text(text.replace(TOKEN, f"{TOKEN}2"))
    other = run("run", "spec.toml", "--max-pulls", "8", cwd=folder)
    assert other.returncode == 2
    assert said(other.stderr) == snapshot
    assert planted_in(other.stderr) == []
    (folder / "spec.toml").write_text(text.replace("env.TOKEN", "env.TOKEN2"))
    other = run("run", "spec.toml", "--max-pulls", "8", cwd=folder)
    assert other.returncode == 2
    assert said(other.stderr) == snapshot
    (folder / "spec.toml").write_text(text.replace(f'"{TOKEN}"', f"'''{TOKEN}'''"))  # the same, written otherwise
    assert " 6 pulls " in run("run", "spec.toml", "--max-pulls", "8", cwd=folder).stderr


def test_studies_have_salts_of_their_own(folder: Path) -> None:
    kept = []
    for name in ("one", "other"):
        run("run", "spec.toml", "--max-pulls", "3", "--study", name, cwd=folder)
        with open_storage(folder / "study.db", read_only=True) as storage:
            kept.append(Settings.from_json(storage.settings(name)).about["identity"]["env"])
    assert kept[0]["salt"] != kept[1]["salt"]
    assert all(len(each["salt"]) == 32 and len(each["fingerprint"]) == 4 for each in kept)


def test_two_runs_that_begin_at_once_share_one_salt(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("run", "spec.toml", "--max-pulls", "3", cwd=folder).returncode == 3
    looks = []

    def as_if_it_had_just_been_begun(storage: Storage, name: str) -> dict[str, Any] | None:
        looks.append(name)
        return None if len(looks) == 1 else _about(storage, name)

    monkeypatch.setattr("frontguard.cli.run._about", as_if_it_had_just_been_begun)
    ended = run("run", "spec.toml", "--max-pulls", "4", cwd=folder)
    assert ended.returncode == 3, ended.stderr
    assert len(looks) == 3


@pytest.mark.parametrize(
    "instead",
    [
        f'env = "TOKEN={TOKEN}"',
        f'env = ["{TOKEN}"]',
        f'env = {{TOKEN = ["{TOKEN}"]}}',
        f'env.TOKEN = "a{{{TOKEN}}}"',
        'env.TOKEN = "5ecret{"',
        f'env.TOKEN = "{TOKEN}',
        f'enviroment = {{TOKEN = "{TOKEN}"}}',
        f'\n[study]\nstorage = "postgresql://ann:{PASSWORD}@host/db\\n"',
        f'\n[study]\nstorage = "mysql://ann:{PASSWORD}@host/db"',
        f'\n[study]\nstorage = "host=x password={PASSWORD}"',
    ],
)
def test_no_complaint_repeats_one(instead: str, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    objective = '[[objective]]\nname = "seconds"\ntolerance = 1'
    run_and_arms = f'[run]\ncommand = ["true", "{{n}}"]\n{instead}\n[arms.grid]\nn = [1, 2]'
    (tmp_path / "spec.toml").write_text(f"{objective}\n{run_and_arms}")
    ended = run("run", "spec.toml", cwd=tmp_path)
    assert ended.returncode == 2
    assert "not TOML" in ended.stderr or said(ended.stderr) == snapshot
    assert planted_in(ended.stderr) == []
    assert [each.name for each in tmp_path.iterdir()] == ["spec.toml"]


def test_a_password_on_the_command_line_is_not_repeated(tmp_path: Path) -> None:
    arms = ["--arm", "a=true", "--arm", "b=true"]
    for storage in (
        f"postgresql://ann:{PASSWORD}@127.0.0.1:1/db",
        f"postgresql://ann:%70{PASSWORD}@127.0.0.1:1/db",
        f"postgresql://ann@127.0.0.1:1/db?password={PASSWORD}&sslpassword={PASSWORD}",
        f"postgresql://ann@127.0.0.1:1/db?pass%77ord={PASSWORD}",
        f"host=127.0.0.1 password = '{PASSWORD}'",
        f"postgresql://ann:{PASSWORD}/@127.0.0.1:1/db",
        f"postgresql://ann:x@{PASSWORD}@127.0.0.1:1/db",
    ):
        for command in (["run", *arms, "--storage", storage], ["report", storage], ["analyze", storage]):
            ended = run(*command, cwd=tmp_path)
            assert ended.returncode == 2, command
            assert planted_in(ended.stdout + ended.stderr) == [], command
            assert len(ended.stderr.splitlines()) == 1


def test_the_database_is_read_by_an_independent_reader(folder: Path) -> None:
    """What the test above greps in the file may be compressed or split over pages: rows, too, are looked at."""
    run("run", "spec.toml", "--max-pulls", "6", cwd=folder)
    with sqlite3.connect(f"file:{folder / 'study.db'}?mode=ro", uri=True) as db:
        dumped = "\n".join(db.iterdump())
    assert "***" in dumped
    assert planted_in(dumped) == []
    db.close()
