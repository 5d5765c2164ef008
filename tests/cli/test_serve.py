"""`frontguard serve` as a user runs it: a real process, what it prints, how it ends."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard.cli.serve import serve
from frontguard.errors import BadInput
from tests.cli.commands import FRONTGUARD
from tests.support.signals import ignoring_signal
from tests.support.snapshots import refused
from tests.support.waiting import patience, until
from tests.web.serving import begin, measure

# What is awaited here is what the process says, not the clock.


@contextmanager
def started(*arguments: str, cwd: Path, ignoring: str = "") -> Iterator[subprocess.Popen[str]]:
    before = ignoring_signal(ignoring) if ignoring else []
    process = subprocess.Popen(
        [*before, *FRONTGUARD, "serve", *arguments],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        with process:
            try:
                yield process
            finally:
                if process.poll() is None:
                    process.kill()
    finally:
        process.wait()


def served(process: subprocess.Popen[str]) -> dict[str, str | None]:
    """What --json says, which is where the page is."""
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, process.communicate()[1]
    read: dict[str, str | None] = json.loads(line)
    return read


def get(url: str, path: str = "/") -> tuple[int, str]:
    where = urlsplit(url)
    connection = http.client.HTTPConnection("127.0.0.1", where.port or 80, timeout=patience())
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def frontguard(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*FRONTGUARD, *arguments], cwd=cwd, capture_output=True, text=True, check=False, timeout=patience()
    )


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_it_serves_until_it_is_interrupted_and_ends_at_once(number: signal.Signals, code: int, tmp_path: Path) -> None:
    measure(begin(tmp_path / "flags.db"), 8)
    with started("flags.db", "--port", "0", "--json", cwd=tmp_path) as process:
        said = served(process)
        assert said["token"] is None
        url = str(said["url"])
        assert url.startswith("http://127.0.0.1:")
        status, page = get(url)
        assert (status, "flags" in page) == (200, True)
        # Two that listen, one that never asked for anything, one that asked and does not read.
        port = urlsplit(url).port
        open_ones = [socket.create_connection(("127.0.0.1", port or 0), timeout=patience()) for _ in range(4)]
        for each, path in zip(open_ones[1:], ("/events/study/1", "/events/studies", "/study/1"), strict=True):
            each.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        assert open_ones[1].recv(1000).startswith(b"HTTP/1.1 200 OK")
        assert open_ones[2].recv(1000).startswith(b"HTTP/1.1 200 OK")
        process.send_signal(number)
        assert process.wait(patience()) == code
        out, err = process.communicate()
        assert out == ""
        assert f"flags.db is shown at {url} (Ctrl-C ends it)" in err
        assert "Traceback" not in err
        assert "rror" not in err
        for each in open_ones:
            each.close()


def test_under_nohup_it_outlives_its_terminal(tmp_path: Path) -> None:
    begin(tmp_path / "flags.db")
    with started("flags.db", "--port", "0", "--json", cwd=tmp_path, ignoring="HUP") as process:
        url = str(served(process)["url"])
        process.send_signal(signal.SIGHUP)
        assert get(url)[0] == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(patience()) == 0


def test_another_takes_the_port_of_one_that_ended(tmp_path: Path) -> None:
    begin(tmp_path / "flags.db")
    with started("flags.db", "--port", "0", "--json", cwd=tmp_path) as process:
        url = str(served(process)["url"])
        port = urlsplit(url).port
        listening = socket.create_connection(("127.0.0.1", port or 0), timeout=patience())
        listening.sendall(f"GET /events/study/1 HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        assert listening.recv(1000)
        os.kill(process.pid, signal.SIGKILL)
    with started("flags.db", "--port", str(port), "--json", cwd=tmp_path) as process:
        assert served(process)["url"] == url
        assert get(url, "/study/1")[0] == 200
    listening.close()


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    begin(tmp_path / "flags.db")
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        ran = frontguard("serve", "flags.db", "--port", str(port), cwd=tmp_path)
    assert ran.returncode == 2
    assert ran.stderr.startswith(f"frontguard: port {port} of 127.0.0.1 is taken by another program: ")
    assert ran.stderr.rstrip().endswith("--port 0 picks a free one")


def test_what_is_not_there_yet_is_waited_for(tmp_path: Path) -> None:
    with started("later.db", "--port", "0", "--json", "--study", "flags", cwd=tmp_path) as process:
        url = str(served(process)["url"])
        assert "No study yet" in get(url)[1]
        assert not (tmp_path / "later.db").exists()
        measure(begin(tmp_path / "later.db"), 8)
        until(lambda: get(url, "/study/1.json")[0] == 200)
        process.send_signal(signal.SIGINT)
        assert "later.db holds no study" in process.communicate()[1]


def test_elsewhere_than_on_this_machine_there_is_a_token(tmp_path: Path) -> None:
    begin(tmp_path / "flags.db")
    with started("flags.db", "--host", "0.0.0.0", "--port", "0", "--json", cwd=tmp_path) as process:
        said = served(process)
        url, token = str(said["url"]), said["token"]
        assert token
        assert len(token) >= 32
        assert url.startswith("http://localhost:")
        assert url.endswith(f"/?token={token}")
        assert get(url)[0] == 403
        assert get(url, f"/?token={token}")[0] == 303
        process.send_signal(signal.SIGTERM)
        err = process.communicate()[1]
    assert "without encryption" in err
    assert "--allow-host NAME" in err


@pytest.mark.parametrize(
    "arguments",
    [
        {"storage": "other.txt"},
        {"storage": "folder"},
        {"storage": "nowhere/study.db"},
        {"storage": "memory:"},
        {"storage": "mysql://ann:secret@host/x"},
        {"storage": "postgresql://ann:secret@127.0.0.1:1/x"},
        {"port": 99999},
        {"port": -1},
        {"host": "no.such.host.invalid"},
        {"host": "192.0.2.1"},
        {"allow_host": ["http://lab/"]},
    ],
)
def test_bad_input_is_said_in_words(
    arguments: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.chdir(tmp_path)
    begin("flags.db").storage.close()
    Path("other.txt").write_text("a file of another kind " * 50)
    Path("folder").mkdir()
    with refused(BadInput, snapshot) as caught:
        rest = {"study": None, "allow_host": None, "baseline": None, "open": False, "json": False}
        serve(**{**rest, "storage": "flags.db", "host": "127.0.0.1", "port": 0, **arguments})
    assert "secret" not in str(caught.value)


def test_a_storage_must_be_named(tmp_path: Path) -> None:
    ran = frontguard("serve", cwd=tmp_path)
    assert ran.returncode == 2
    assert "STORAGE" in ran.stderr
    assert len(ran.stderr.strip().splitlines()) == 1
    assert ran.stdout == ""


def test_without_the_web_extra_it_says_what_to_install(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['uvicorn'] = None; sys.argv = ['frontguard', 'serve', 'flags.db'];"
        "from frontguard.__main__ import main; main()"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert ran.stderr.endswith('is not installed: pip install "frontguard[web]"\n')


def test_help_does_not_load_what_serves(tmp_path: Path) -> None:
    code = (
        "import sys; from frontguard.cli import application; application();"
        "assert not {'uvicorn', 'starlette', 'h11', 'numba'} & set(sys.modules), 'loaded too early'"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    assert "STORAGE" in frontguard("serve", "--help", cwd=tmp_path).stdout
