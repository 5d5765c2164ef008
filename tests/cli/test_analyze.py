"""`frontguard analyze` as a user runs it: real processes, their output and exit codes."""

from __future__ import annotations

import csv
import io
import json
import re
import signal
import subprocess
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard.cli.options import size_of
from frontguard.errors import BadInput
from tests.cli import commands
from tests.cli.terminal import Terminal
from tests.support import warm
from tests.support.printed import as_published
from tests.support.snapshots import said

process = partial(commands.process, "analyze")
run = partial(commands.run, "analyze")

TWO = ("--arm", "flags", "--maximize", "quality", "--minimize", "seconds")


def write_log(path: Path, pulls: int = 200, *, bombed: bool = True) -> None:
    """-O1 and -O3 are the front; a neighbour made a tenth of -O3's runs slow, and two runs crashed."""
    rng = np.random.default_rng(0)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["flags", "seconds", "quality"])
        for name, seconds, quality in (("-O1", 1.0, 0.7), ("-O2", 1.6, 0.8), ("-O3", 1.5, 0.9), ("007", 2.0, 0.5)):
            for pull in range(pulls):
                slow = 30.0 if bombed and name == "-O3" and pull % 12 == 0 else 1.0
                time_taken = "" if name == "-O2" and pull < 2 else seconds * slow * np.exp(rng.normal(0, 0.02))
                writer.writerow([name, time_taken, quality + rng.normal(0, 0.08)])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_log(tmp_path / "log.csv")
    return tmp_path


def test_the_answer_is_a_sentence_a_table_and_what_it_is_worth(folder: Path, snapshot: SnapshotAssertion) -> None:
    ran = process("log.csv", *TWO, cwd=folder)
    assert ran.returncode == 0, ran.stderr
    assert said(ran.stdout) == snapshot
    rows = {line.split()[0]: line.split() for line in ran.stdout.splitlines() if line.startswith(("-O", "007"))}
    assert [rows[arm][-1] for arm in ("-O1", "-O3")] == ["keep", "keep"]
    assert [rows[arm][-3:-1] for arm in ("-O2", "007")] == [["beaten", "by"]] * 2
    assert rows["-O2"][-1] in ("-O1", "-O3")
    lines = [line.split()[0] for line in ran.stdout.splitlines() if line.startswith(("-O", "007"))]
    assert lines == ["-O3", "-O1", "007", "-O2"]


def test_rows_of_a_cluster_are_one_observation(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    rng = np.random.default_rng(1)
    with (tmp_path / "log.csv").open("w") as file:
        file.write("arm,host,day,ms\n")
        for n in range(600):
            file.write(f"{'ab'[n % 2]},{n % 10},{n % 6 // 2},{n % 2 + rng.normal(0, 0.1)}\n")
    ran = run("log.csv", "--minimize", "ms", "--cluster", "host", "--cluster", "day", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert said(ran.stdout) == snapshot
    few = run("log.csv", "--minimize", "ms", "--cluster", "host", cwd=tmp_path)
    assert few.returncode == 0, few.stderr
    assert said(few.stdout) == snapshot


def test_independent_arms_are_compared_in_pairs(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    rng = np.random.default_rng(5)
    rows = [f"{arm},{rng.random() < chance:d}" for arm, chance in (("a", 0.5), ("b", 0.6)) for _ in range(400)]
    (tmp_path / "log.csv").write_text("\n".join(["arm,solved", *rows, ""]))
    asked = ["log.csv", "--maximize", "solved", "--mean", "solved=0,1", "--contamination", "0", "--independent"]
    ran = run(*asked, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert said(ran.stdout) == snapshot
    answer = as_published("analyze", run(*asked, "--json", cwd=tmp_path).stdout)
    assert {"kind": "independent_arms", "arms": 2}.items() <= answer["notices"][0].items()
    refused = run(*asked, "--pair", "arm", cwd=tmp_path)
    assert refused.returncode == 2
    assert said(refused.stderr) == snapshot


def test_any_share_of_the_rows_instead_of_a_probability(folder: Path) -> None:
    """Wider than against each row with that probability: ranks lose ⌊εn⌋ afterwards."""
    found = {}
    for threat in ("malicious", "share"):
        ran = run("log.csv", *TWO, "--json", "--threat", threat, "--contamination", "0.3", cwd=folder)
        assert ran.returncode == 0, ran.stderr
        found[threat] = as_published("analyze", ran.stdout)
        assert found[threat]["certificate"]["threat"] == threat
    (low, high), (lower, higher) = (found[threat]["intervals"]["-O3"]["seconds"] for threat in ("malicious", "share"))
    assert lower <= low < high <= higher
    assert (lower, higher) != (low, high)
    assert found["share"]["log"]["front_changes_at"] > 0.3


def test_the_answer_for_machines_has_the_keys_of_the_contract(folder: Path, snapshot: SnapshotAssertion) -> None:
    ran = run("log.csv", *TWO, "--json", "--confidence", "0.9", "--threat", "malicious", cwd=folder)
    assert ran.returncode == 0, ran.stderr
    found = as_published("analyze", ran.stdout)
    assert found["status"] == "certified"
    assert found["pareto_set"] == ["-O1", "-O3"]
    assert found["verdicts"] == {"-O1": "keep", "-O2": "beaten", "-O3": "keep", "007": "beaten"}
    assert found["certificate"]["confidence"] == 0.9
    assert found["certificate"]["threat"] == "malicious"
    assert found["certificate"]["contamination"] == 0.1
    assert found["pulls"] == 800
    low, high = found["intervals"]["-O3"]["seconds"]
    assert 1.4 < low < 1.5 < high < 1.6
    assert found["log"]["failed"] == {"-O2": {"quality": 0, "seconds": 2}}
    assert set(found) >= {"log", "counts", "answer"}
    assert set(found["log"]) >= {"holds_up_to", "front_changes_at", "mean_set", "means", "more_pulls"}
    assert found["log"]["front_changes_at"] > 0.1
    assert said(found["answer"]) == snapshot


def test_means_are_shown_where_they_differ(folder: Path, snapshot: SnapshotAssertion) -> None:
    ran = run("log.csv", "--arm", "flags", "--minimize", "seconds", "--maximize", "quality", "--json", cwd=folder)
    assert json.loads(ran.stdout)["log"]["mean_set"] == ["-O1", "-O2", "-O3"]
    assert said(run("log.csv", *TWO, cwd=folder).stdout) == snapshot


def test_strict_is_for_scripts(folder: Path, snapshot: SnapshotAssertion) -> None:
    few = folder / "few.csv"
    write_log(few, pulls=15)
    assert run("log.csv", *TWO, "--strict", cwd=folder).returncode == 0
    ran = run("few.csv", *TWO, "--strict", cwd=folder)
    assert ran.returncode == 3
    assert said(ran.stdout) == snapshot
    assert run("few.csv", *TWO, cwd=folder).returncode == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["log.csv", "--arm", "flag", "--minimize", "seconds"],
        ["log.csv", "--arm", "flags", "--minimize", "secs"],
        ["log.csv", "--arm", "flags", "--minimize", "flags"],
        ["log.csv", "--arm", "flags"],
        ["nowhere.csv", *TWO],
        ["*.pq", *TWO],
        ["empty.csv", *TWO],
        ["cut.parquet", *TWO],
        ["log.csv", *TWO, "--tolerance", "2 percent"],
        ["log.csv", *TWO, "--tolerance", "1", "--tolerance", "seconds=2"],
        ["log.csv", *TWO, "--tolerance", "second=2%"],
        ["log.csv", *TWO, "--quantile", "seconds=x"],
        ["log.csv", *TWO, "--quantile", "seconds=2"],
        ["log.csv", *TWO, "--contamination", "0.6"],
        ["log.csv", *TWO, "--threat", "nice"],
        ["log.csv", *TWO, "--memory", "much"],
        ["log.csv", *TWO, "--items", "0"],
        ["log.csv", *TWO, "--format", "xml"],
        ["log.csv", *TWO, "--csv", "no/where.csv"],
        ["log.csv", *TWO, "--append", "log.csv"],
        ["log.csv", *TWO, "--executor", "dask://127.0.0.1:1", "--append", "x"],
        ["log.csv", *TWO, "--cluster", "procs"],
        ["log.csv", *TWO, "--items", "3"],
        ["log.csv", *TWO, "--limit", "p9(nope)<=1"],
        [],
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments: list[str], folder: Path, snapshot: SnapshotAssertion) -> None:
    (folder / "empty.csv").write_text("")
    (folder / "cut.parquet").write_bytes(b"PAR1 and then no more")
    ran = run(*arguments, cwd=folder)
    assert ran.returncode == 2, ran.stdout
    assert ran.stdout == ""
    assert len(ran.stderr.splitlines()) == 1
    assert ran.stderr.startswith("frontguard: ")
    assert said(ran.stderr) == snapshot


def answered(ran: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The answer for machines, without what says how it was asked for."""
    return {
        key: value
        for key, value in as_published("analyze", ran.stdout).items()
        if key not in ("command", "source", "at")
    }


def test_a_log_that_grows_is_appended_and_states_of_shards_merge(folder: Path, snapshot: SnapshotAssertion) -> None:
    lines = (folder / "log.csv").read_text().splitlines(keepends=True)
    for shard in range(2):
        (folder / f"{shard}.csv").write_text("".join([lines[0], *lines[1 + shard :: 2]]))
        ran = run(f"{shard}.csv", *TWO, "--append", "log.state", "--json", cwd=folder)
        run(f"{shard}.csv", *TWO, "--append", f"{shard}.state", "--json", cwd=folder)
    whole = answered(run("log.csv", *TWO, "--anytime", "--json", cwd=folder))
    assert answered(ran) == whole
    assert answered(run("log.state", *TWO, "--json", cwd=folder)) == whole
    assert answered(run("0.state", "1.state", *TWO, "--json", cwd=folder)) == whole
    again = run("1.csv", *TWO, "--append", "log.state", cwd=folder)
    assert again.returncode == 2
    assert said(again.stderr) == snapshot
    twice = run("1.csv", *TWO, "--append", "log.state", "--again", "--json", cwd=folder)
    assert json.loads(twice.stdout)["pulls"] == 1200


def test_standard_input_the_long_layout_and_a_table_of_all_arms(folder: Path) -> None:
    with (folder / "log.csv").open() as file:
        rows = list(csv.DictReader(file))
    long = ["flags,what,number"]
    long += [f"{row['flags']},{name},{row[name]}" for row in rows for name in ("seconds", "quality")]
    options = ("--layout", "long", "--metric-column", "what", "--value-column", "number", "--csv", "all.csv", "--json")
    ran = run("-", *TWO, *options, cwd=folder, given=("\n".join(long) + "\n").encode())
    assert ran.returncode == 0, ran.stderr
    assert (
        json.loads(ran.stdout)["intervals"]
        == json.loads(run("log.csv", *TWO, "--json", cwd=folder).stdout)["intervals"]
    )
    with (folder / "all.csv").open() as file:
        written = list(csv.DictReader(file))
    assert [(row["arm"], row["verdict"]) for row in written] == [
        ("'-O1", "keep"), ("'-O2", "beaten"), ("'-O3", "keep"), ("007", "beaten"),
    ]  # fmt: skip
    low = json.loads(ran.stdout)["intervals"]["-O3"]["seconds"][0]
    assert float(written[2]["seconds low"]) == pytest.approx(low, rel=1e-11)


def test_no_name_in_the_table_is_a_formula_and_numbers_are_numbers(tmp_path: Path) -> None:
    names = ["=1+1", "+a", "-O2", "@b", "\tc", "\rd", "'e", "plain"]
    rows = [{"arm": name, "-x": 1.0 + i, "=y": -2.5} for i, name in enumerate(names) for _ in range(9)]
    (tmp_path / "l.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    ran = run("l.jsonl", "--maximize=-x", "--minimize", "=y", "--csv", "all.csv", "--report", "r.csv", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    text = (tmp_path / "all.csv").read_bytes().decode()
    assert text == (tmp_path / "r.csv").read_bytes().decode()
    header, *table = csv.reader(io.StringIO(text, newline=""))
    assert header[2:4] == ["'-x", "'-x low"]
    assert sorted(row[0] for row in table) == sorted([*(f"'{name}" for name in names[:-1]), "plain"])
    assert {row[header.index("'=y")] for row in table} == {"-2.5"}
    assert ",-2.5," in text


def test_a_quantile_and_tolerances_by_name(folder: Path) -> None:
    options = ("--quantile", "seconds=0.9", "--tolerance", "seconds=5%", "--tolerance", "quality=0.01", "--json")
    found = json.loads(run("log.csv", *TWO, *options, "--contamination", "0.02", cwd=folder).stdout)
    nothing_else = {"statistic": "quantile", "bounds": None, "sigma": None, "exact": False, "contamination": None}
    assert found["objectives"] == [
        {"name": "quality", "direction": "maximize", "tolerance": 0.01, "quantile": 0.5} | nothing_else,
        {"name": "seconds", "direction": "minimize", "tolerance": "5%", "quantile": 0.9} | nothing_else,
    ]
    with (folder / "log.csv").open() as file:
        slow = sorted(float(row["seconds"]) for row in csv.DictReader(file) if row["flags"] == "-O1")
    low, high = found["intervals"]["-O1"]["seconds"]
    assert low <= slow[179] <= high
    assert low > slow[150]


def test_many_arms_stay_short_and_quick(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    rng = np.random.default_rng(1)
    arms = 25_000
    with (tmp_path / "log.csv").open("w") as file:
        file.write("arm,x,y\n")
        for values in rng.normal(size=(2, arms, 2)).tolist():
            file.write("".join(f"arm{i},{x:.6f},{y:.6f}\n" for i, (x, y) in enumerate(values)))
    ran = run("log.csv", "--maximize", "x", "--maximize", "y", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert len(ran.stdout.splitlines()) < 70
    assert len(ran.stdout) < 10_000
    assert said(ran.stdout) == snapshot
    found = json.loads(run("log.csv", "--maximize", "x", "--maximize", "y", "--json", cwd=tmp_path).stdout)
    assert len(found["verdicts"]) == arms
    assert found["intervals"]["arm7"] == {"x": [None, None], "y": [None, None]}
    assert found["log"]["holds_up_to"] is None


def test_interrupted_is_130_and_leaves_the_state_as_it_was(tmp_path: Path) -> None:
    command = warm.frontguard("analyze", "-", "--maximize", "x", "--append", "log.state")
    with subprocess.Popen(
        command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as reader:
        assert reader.stdin is not None
        reader.stdin.write("arm,x\n" + "a,1\n" * 200_000)
        reader.stdin.flush()
        time.sleep(0.3)
        reader.send_signal(signal.SIGINT)
        _, complaint = reader.communicate()
    assert reader.returncode == 130
    assert "Traceback" not in complaint
    assert not (tmp_path / "log.state").exists()


def test_the_page_on_a_terminal(folder: Path, snapshot: SnapshotAssertion) -> None:
    terminal = Terminal(warm.frontguard("analyze", "log.csv", *TWO), folder, columns=110, rows=40)
    assert terminal.finish() == 0
    assert said(terminal.lines[0]) == snapshot
    assert "\x1b[" in terminal.raw  # colours


def test_arms_of_several_columns_on_a_narrow_terminal(tmp_path: Path) -> None:
    """40 arms and a metric of a long name: no row is anonymous, and a line says what the names are made of."""
    metric = "seconds_of_wall_clock_time_of_the_whole_pipeline"
    rng = np.random.default_rng(0)
    rows = [
        (lang, arch, 2**size, 1.0 + place + rng.normal(0.0, 0.01))
        for place, lang in enumerate(("rust", "c++"))
        for arch in ("x86_64", "aarch64")
        for size in range(6, 16)
        for _ in range(12)
    ]
    with (tmp_path / "log.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("lang", "arch", "size", metric), *rows])
    columns = [word for name in ("lang", "arch", "size") for word in ("--arm", name)]
    options = (*columns, "--minimize", metric, "--all", "--contamination", "0")
    terminal = Terminal(warm.frontguard("analyze", "log.csv", *options), tmp_path, columns=60, rows=200)
    assert terminal.finish() == 0
    lines = terminal.lines
    start = next(place for place, line in enumerate(lines) if line.startswith("lang/arch/size "))
    table = lines[start : lines.index("", start)]
    shown = [line.split()[0] for line in table if re.match(r"(rust|c\+\+)/", line)]
    assert len(set(shown)) == len(shown) == 40
    out = [line.split()[0] for line in table if re.match(r"c\+\+/aarch64/\d+ .* beaten", line)]
    assert out == [f"c++/aarch64/{2**size}" for size in range(6, 16)]


def test_sizes_of_memory() -> None:
    assert size_of("2g") == 2 * 2**30
    for wrong in ("", "G", "-1G", "4X"):
        with pytest.raises(BadInput):
            size_of(wrong)
