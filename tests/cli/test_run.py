"""`frontguard run` as a user runs it: real commands, real files, a real terminal, real signals."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from frontguard import Malicious
from frontguard.cli.run import spec_of, with_options
from frontguard.commands.arm import seed_of_pull
from frontguard.errors import BadInput
from frontguard.storage import End, open_storage
from frontguard.studies import Study
from tests import warm
from tests.cli import commands
from tests.cli.commands import FRONTGUARD
from tests.cli.terminal import Terminal
from tests.documents.printed import as_published
from tests.servers import PostgresServer
from tests.signals import ignoring_signal

MEASURE = """
# cost, size, seed, seconds: a measurement with noise of its seed
sleep $4
echo "measuring" >&2
echo "{\\"cost\\": $(( $1 * 100 + $1 * ($3 % 21 - 10) )), \\"size\\": $(( $2 + $3 / 21 % 21 - 10 ))}"
"""

SPEC = """
[study]
contamination = 0.02
[[objective]]
name = "cost"
direction = "minimize"
tolerance = "10%"
[[objective]]
name = "size"
direction = "minimize"
tolerance = 10
[run]
command = ["sh", "measure.sh", "{cost}", "{size}", "{seed}", "SLEEP"]
timeout = 20
[[arm]]
name = "small"
cost = 30
size = 1000
[[arm]]
name = "fast"
cost = 20
size = 1200
[[arm]]
name = "poor"
cost = 40
size = 1400
"""

TWIN = """
[[arm]]
name = "twin"
cost = 30
size = 1000
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "measure.sh").write_text(MEASURE)
    write_spec(tmp_path)
    return tmp_path


def write_spec(folder: Path, more: str = "", sleep: float = 0.0, name: str = "toy.toml") -> None:
    (folder / name).write_text(SPEC.replace("SLEEP", str(sleep)) + more)


def run(folder: Path, *arguments: str, command: str = "run") -> subprocess.CompletedProcess[str]:
    """The command in this process; what it measures with are processes all the same."""
    return commands.run(command, *arguments, cwd=folder)


def found(ran: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert "Traceback" not in ran.stderr
    answer: dict[str, Any] = as_published("run", ran.stdout)
    return answer


_begun: list[subprocess.Popen[str]] = []


def begin(folder: Path, *arguments: str, ignoring: str = "") -> subprocess.Popen[str]:
    """Begin a run in a process group of its own, as a shell does; `ignoring="HUP"` as nohup does."""
    going = subprocess.Popen(
        [*(ignoring_signal(ignoring) if ignoring else []), *warm.frontguard("run", *arguments)],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0,
    )  # fmt: skip
    _begun.append(going)
    return going


@pytest.fixture(autouse=True)
def _nothing_goes_on() -> Iterator[None]:
    """End what a test that failed has left running."""
    yield
    while _begun:
        going = _begun.pop()
        if going.returncode is None:
            going.kill()
            going.communicate()


def told(file: Path) -> int:
    """How many pulls a study file holds; 0 if there is none yet."""
    try:
        with open_storage(file, read_only=True) as storage:
            names = storage.studies()
            return storage.size(names[0])[1] if names else 0
    except BadInput:
        return 0


def wait_until(condition: Callable[[], bool], seconds: float = 240.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def alive_with(text: str) -> list[int]:
    """Processes whose command line has this text."""
    pids = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if text.encode() in path.read_bytes():
                pids.append(int(path.parent.name))
        except OSError:
            continue
    return pids


def without_times(answer: dict[str, Any]) -> dict[str, Any]:
    told = ("seconds", "storage", "answer", "command", "source", "at", "spec")
    return {key: value for key, value in answer.items() if key not in told}


# The usual course -----------------------------------------------------------------------------------------------------


def test_it_certifies_the_front_and_says_so_again_at_once(folder: Path) -> None:
    ran = run(folder, "toy.toml", "--json", "--workers", "2")
    assert ran.returncode == 0, ran.stderr
    answer = found(ran)
    assert answer["status"] == "certified"
    assert answer["pareto_set"] == ["small", "fast"]
    assert answer["verdicts"] == {"small": "in", "fast": "in", "poor": "out"}
    assert set(answer["certificate"]) == {"accuracy", "coverage", "confidence", "threat", "contamination"} | {
        "void",
        "arms",
        "aside",
        "limits",
    }
    assert answer["certificate"]["contamination"] == 0.02
    stored = told(folder / "toy.db")
    assert answer["pulls"] == sum(answer["pulls_per_arm"].values())
    assert answer["pulls"] <= stored <= answer["pulls"] + 1  # the other worker was under way when it was decided
    for arm, cost, size in (("small", 3000, 1000), ("fast", 2000, 1200), ("poor", 4000, 1400)):
        (cost_low, cost_high), (size_low, size_high) = (answer["intervals"][arm][metric] for metric in ("cost", "size"))
        assert cost_low <= cost <= cost_high
        assert size_low <= size <= size_high
        assert cost_low <= answer["estimates"][arm]["cost"] <= cost_high
    assert answer["failures"] == {}
    assert answer["goal"] == {"cost": "10%", "size": 10.0}
    assert ran.stderr.startswith(f"beginning study 'toy' in {folder / 'toy.db'}\ncomparing 3 arms at a confidence of ")
    said = ran.stderr.splitlines()
    assert said[2:4] == [
        "  by median of cost, lower is better, differences up to 10% do not matter",
        "  by median of size, lower is better, differences up to 10 do not matter",
    ]
    assert said[4].startswith("until that is certified or out of reach, without a budget (--max-pulls, --max-time); ")
    assert "SQLite" not in ran.stderr  # all is well with it

    again = run(folder, "toy.toml")  # nothing is left to do: the answer for people
    assert again.returncode == 0
    assert f"going on with {stored} pulls of study 'toy' in {folder / 'toy.db'}" in again.stderr
    said = " ".join(again.stdout.split())
    assert said.startswith("These 2 of 3 arms are enough: fast, small. For every other one, one of these is as good")
    assert re.search(r"poor +out .*\[", again.stdout)
    assert "With probability 95%, even if each measurement of an arm is replaced with probability up to 2% by" in said
    assert f"{answer['pulls']} pulls;" in said
    assert f"Next: `frontguard report {folder / 'toy.db'}` writes a report to send" in said
    assert f"`frontguard serve {folder / 'toy.db'}` shows it in a browser" in said
    assert "`frontguard run toy.toml --json` prints this for machines" in said
    assert told(folder / "toy.db") == stored


def test_a_quick_comparison_without_a_file(folder: Path) -> None:
    arms = ["--arm", "short=sleep 0.001", "--arm", "long=sleep 0.2", "--tolerance", "50%", "--contamination", "0"]
    ran = run(folder, *arms, "--json")
    assert ran.returncode == 0, ran.stderr
    answer = found(ran)
    assert answer["pareto_set"] == ["short"]
    assert answer["goal"] == {"seconds": "50%"}
    assert answer["intervals"]["long"]["seconds"][0] >= 0.2
    assert answer["storage"] == "frontguard-run.db"
    others = run(folder, "--arm", "a=sh measure.sh 1 2 {seed} 0", "--arm", "b=sh measure.sh 9 2 {seed} 0",
                 "--minimize", "cost", "--json")  # fmt: skip
    assert found(others)["pareto_set"] == ["a"]  # another study in the same file
    assert found(others)["study"] != answer["study"]
    with open_storage(folder / "frontguard-run.db", read_only=True) as storage:
        assert len(storage.studies()) == 2
    same = run(folder, *arms)
    assert f"going on with {answer['pulls']} pulls" in same.stderr
    assert same.stdout.startswith("Of 2 arms, short is the fastest, or is within 50% of it.")


def test_a_budget_ends_it_and_the_suggested_command_goes_on(folder: Path) -> None:
    ran = run(folder, "toy.toml", "--max-pulls", "20", "--tolerance", "size=3", "--tolerance", "cost=4%")
    assert ran.returncode == 3, ran.stderr
    said = " ".join(ran.stdout.split())
    assert said.startswith("Not certified: the budget is used up after 20 pulls.")
    suggested = re.search(r"Next: a larger budget: `frontguard (run [^`]*)`; (.*)\.$", said)
    assert suggested is not None, said
    arguments = shlex.split(suggested[1])[1:]
    assert arguments[:5] == ["toy.toml", "--tolerance", "size=3", "--tolerance", "cost=4%"]
    assert arguments[5] == "--max-pulls"
    assert int(arguments[6]) > 20
    more = run(folder, *arguments[:5], "--max-pulls", "5000", "--json")
    assert more.returncode == 0
    assert "going on with 20 pulls" in more.stderr
    assert found(more)["pulls"] > 20


def test_when_the_time_is_over_what_is_under_way_is_waited_for_again_and_again(folder: Path) -> None:
    """Stopped short, a slow pull would never end: only the fast arm would be measured, and look best."""
    arms = ("--arm=a=sleep 1.5", "--arm=b=sleep 1.6")
    for call in (1, 2, 3):
        ran = run(folder, *arms, "--max-time", "0.2 s", "--json")
        assert ran.returncode == 3
        answer = found(ran)
        assert answer["status"] == "budget"
        assert answer["answer"].startswith("Not certified: the time of 0.2 s is over.")
        assert "the time is over: waiting for 1 pull that is under way; Ctrl-C gives it up" in ran.stderr
        assert answer["pulls"] == call
    with open_storage(folder / "frontguard-run.db", read_only=True) as storage:
        log = storage.told(storage.studies()[0])
    assert log.pulls.tolist() == [1, 2, 3]
    assert log.ends.tolist() == [End.TOLD] * 3
    assert (log.values >= 1.5).all()


def test_what_cannot_be_reached_is_said_with_what_could_be(folder: Path) -> None:
    equal = [f"--arm={name}=sh measure.sh 30 1 {{seed}} 0" for name in "ab"]
    ran = run(folder, *equal, "--minimize", "cost", "--contamination", "0.3", "--tolerance", "1%", "--workers=2")
    assert ran.returncode == 3, ran.stderr
    said = " ".join(ran.stdout.split())
    assert said.startswith("This cannot be certified with however many pulls, if the samples go on as they are: ")
    assert "where an attacker replaces each measurement with probability 30%, the answer stays uncertain by" in said
    suggested = re.search(r"Next: a looser tolerance, which could be reached: `frontguard (run [^`]*)`", said)
    assert suggested is not None, said
    looser = run(folder, *shlex.split(suggested[1])[1:], "--json")
    assert looser.returncode == 0, looser.stderr + looser.stdout
    assert "going on with" in looser.stderr
    assert found(looser)["status"] == "certified"


def gains(**gain: int) -> list[str]:
    """Arms that always print this gain, in percent."""
    arms = [f"--arm={name}=echo '{json.dumps({'gain': value})}'" for name, value in gain.items()]
    return [*arms, "--maximize", "gain", "--tolerance", "5%"]


LOW = gains(low=-3, high=4, mid=2)


def test_a_warning_is_said_once_where_all_goes_to_one_place(folder: Path) -> None:
    ran = subprocess.run(
        [*FRONTGUARD, "run", *LOW], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert ran.returncode == 3, ran.stdout
    said = " ".join(ran.stdout.split())
    assert said.count("values of 'gain' are not positive, such as -3 of arm 'low'") == 1
    assert said.count("give an absolute one, e.g. --tolerance gain=0.5") == 1
    assert said.count("arm 'low' was set aside") == 1
    apart = run(folder, *LOW)  # the answer by itself has them all the same
    assert "values of 'gain' are not positive" in " ".join(apart.stdout.split())


def test_with_a_tolerance_in_units_the_same_study_goes_on(folder: Path) -> None:
    assert run(folder, *LOW).returncode == 3
    again = run(folder, *LOW[:-1], "0.5", "--json")
    assert "going on with" in again.stderr
    assert found(again)["verdicts"] == {"low": "out", "high": "in", "mid": "out"}
    assert found(again)["failures"] == {}


def test_a_tolerance_in_percent_is_refused_at_once_where_most_values_are_not_positive(folder: Path) -> None:
    ran = run(folder, *gains(low=-3, high=-4, mid=2))
    assert ran.returncode == 2
    assert "values of 'gain' are not positive, such as -" in ran.stderr
    assert "give an absolute one, e.g. --tolerance gain=0.5 (Objective(tolerance=0.5))" in ran.stderr


def test_options_take_the_place_of_what_the_spec_says(folder: Path) -> None:
    spec = with_options(
        spec_of(folder / "toy.toml", (), (), ()),
        tolerance=("size=5%",), threat="malicious", contamination="5%", confidence="90%", max_pulls=70,
        max_time="2 min", workers=3, timeout="1 h", seed=4, name="other",
    )  # fmt: skip
    assert [objective.tolerance for objective in spec.objectives] == ["10%", "5%"]
    assert [source.objective for source in spec.sources] == list(spec.objectives)  # its logarithm will be taken
    assert (spec.threat, spec.confidence, spec.seed, spec.name) == (Malicious(0.05), 0.9, 4, "other")
    assert (spec.budget.max_pulls, spec.budget.max_time, spec.workers, spec.timeout) == (70, 120.0, 3, 3600.0)
    assert spec.lease > 3600.0  # a pull that is still allowed to run is not given to another worker


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threat": "none"}, "threat must be one of"),
        ({"confidence": "1.0"}, "--confidence must be"),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        with_options(spec_of(None, ("a=true", "b=x"), (), ()), **options)


def test_a_study_on_a_server(folder: Path, postgres: PostgresServer) -> None:
    address = postgres.new_database()
    ran = run(folder, "toy.toml", "--storage", address, "--max-pulls", "10")
    assert ran.returncode == 3, ran.stderr
    assert "until that is certified, or 10 pulls are over; 1 pull at a time\n" in ran.stderr
    assert "PostgreSQL" not in ran.stderr  # all is well with it
    assert postgres.password not in ran.stderr + ran.stdout
    more = run(folder, "toy.toml", "--storage", address, "--json")
    assert more.returncode == 0, more.stderr
    assert "going on with 10 pulls" in more.stderr
    assert found(more)["pareto_set"] == ["small", "fast"]
    assert postgres.password not in more.stderr + more.stdout
    assert not list(folder.glob("*.db"))


# Failures -------------------------------------------------------------------------------------------------------------


def test_an_arm_that_always_fails_is_reported_and_does_not_eat_the_budget(folder: Path) -> None:
    broken = """
    [[arm]]
    name = "broken"
    cost = 1
    size = 1
    command = ["sh", "-c", "echo 'no such device' >&2; exit 7"]
    [[arm]]
    name = "unprepared"
    cost = 1
    size = 1
    prepare = ["sh", "-c", "echo 'cannot build' >&2; exit 9"]
    """
    write_spec(folder, broken)
    ran = run(folder, "toy.toml", "--json")
    assert ran.returncode == 3, ran.stderr  # certified, but not for all arms
    answer = found(ran)
    assert answer["status"] == "certified"
    assert run(folder, "toy.toml", "--json", "--allow-failed-arms").returncode == 0
    assert answer["pareto_set"] == ["small", "fast"]
    assert answer["set_aside"] == ["broken", "unprepared"]
    assert answer["verdicts"]["broken"] == "set aside"
    assert answer["pulls_per_arm"]["broken"] == answer["pulls_per_arm"]["unprepared"] == 5
    assert answer["failures"] == {"broken": {"exit code 7": 5}, "unprepared": {"prepare: exit code 9": 5}}
    (first, second) = (warning for warning in answer["warnings"] if "set aside" in warning)
    assert "arm 'broken' was set aside: 5 of 5 pulls failed (5 × exit code 7)" in first
    assert "exit code 7: no such device" in first
    assert "cannot build" in second
    assert f"warning: {first}" in ran.stderr.splitlines()


def test_a_first_mistake_is_shown_and_not_stored(folder: Path) -> None:
    text = SPEC.replace('"measure.sh"', '"measured.sh"').replace("SLEEP", "0")
    (folder / "toy.toml").write_text(text)
    ran = run(folder, "toy.toml")
    assert ran.returncode == 2
    assert ran.stdout == ""
    said = " ".join(ran.stderr.split())
    assert "the commands failed in all of the first " in said
    assert "pulls, which were not counted; that of " in said
    assert "exit code 2: " in said
    assert "measured.sh" in said
    assert "Mend it and run the same command again" in said
    with open_storage(folder / "toy.db", read_only=True) as storage:
        assert storage.studies() == []
    write_spec(folder)  # mended: the command is another one now
    mended = run(folder, "toy.toml", "--json")
    assert mended.returncode == 0, mended.stderr
    assert "beginning study" in mended.stderr
    assert found(mended)["failures"] == {}


def test_a_pull_that_takes_too_long_is_killed_with_all_its_processes(folder: Path) -> None:
    mark = f"{os.getpid()}.4321"
    hangs = f"""
    [[arm]]
    name = "hangs"
    cost = 1
    size = 1
    command = ["sh", "-c", "trap '' TERM; sh -c 'sleep 9{mark}; :' & setsid sleep 8{mark}"]
    """
    write_spec(folder, hangs)
    ran = run(folder, "toy.toml", "--timeout", "0.2", "--json", "--workers", "2", "--allow-failed-arms")
    assert ran.returncode == 0, ran.stderr
    answer = found(ran)
    assert answer["set_aside"] == ["hangs"]
    assert answer["failures"]["hangs"] == {"timeout after 0.2 s": 5}
    assert not alive_with(mark)


def test_every_arm_is_prepared_once_in_a_folder_of_its_own(folder: Path) -> None:
    text = SPEC.replace("SLEEP", "0").replace(
        '[run]\ncommand = ["sh", "measure.sh",',
        '[run]\nprepare = ["sh", "-c", "echo {arm} {workdir} >> prepared; cp measure.sh {workdir}/copy.sh"]\n'
        'command = ["sh", "{workdir}/copy.sh",',
    )
    (folder / "toy.toml").write_text(text)
    ran = run(folder, "toy.toml", "--json", "--workers", "3")
    assert ran.returncode == 0, ran.stderr
    prepared = [line.split() for line in (folder / "prepared").read_text().splitlines()]
    assert sorted(arm for arm, _ in prepared) == ["fast", "poor", "small"]
    workdirs = {Path(workdir) for _, workdir in prepared}
    assert len(workdirs) == 3
    assert not any(workdir.exists() for workdir in workdirs)


# Interruptions --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("uninterrupted")
    (folder / "measure.sh").write_text(MEASURE)
    write_spec(folder)
    return found(run(folder, "toy.toml", "--json", "--tolerance", "size=3", "--tolerance", "cost=4%"))


INTERRUPTED = ("toy.toml", "--json", "--tolerance", "size=3", "--tolerance", "cost=4%")


def test_ctrl_c_waits_for_what_is_under_way_and_the_same_command_goes_on_as_if_it_had_not_been(
    folder: Path, uninterrupted: dict[str, Any]
) -> None:
    write_spec(folder, sleep=0.05)  # slow enough to be caught in the middle
    going = begin(folder, *[part for part in INTERRUPTED if part != "--json"])
    wait_until(lambda: told(folder / "toy.db") >= 8)
    os.killpg(going.pid, signal.SIGINT)
    out, err = going.communicate(timeout=240)
    assert going.returncode == 130
    assert "Traceback" not in err
    assert not alive_with(str(folder))
    before = told(folder / "toy.db")
    assert out.startswith(f"Interrupted after {before} pulls.")
    command = "frontguard run toy.toml --tolerance size=3 --tolerance cost=4%"
    assert f"Next: `{command}` goes on where it stopped" in " ".join(out.split())

    going = begin(folder, *INTERRUPTED, ignoring="HUP")
    wait_until(lambda: told(folder / "toy.db") >= before + 4)
    os.kill(going.pid, signal.SIGHUP)  # as if the terminal were closed: nohup has the run go on
    survived = told(folder / "toy.db")
    wait_until(lambda: told(folder / "toy.db") >= survived + 4)
    os.killpg(going.pid, signal.SIGINT)
    out, err = going.communicate(timeout=240)
    assert going.returncode == 130
    assert f"going on with {before} pulls" in err
    assert json.loads(out)["status"] == "running"
    assert json.loads(out)["pulls"] == told(folder / "toy.db") < uninterrupted["pulls"]

    finished = run(folder, *INTERRUPTED)
    assert finished.returncode == 0
    check_same(found(finished), uninterrupted, folder)


def ends_of(folder: Path, file: str = "frontguard-run.db") -> dict[int, End]:
    with open_storage(folder / file, read_only=True) as storage:
        (name,) = storage.studies()
        assert storage.leases(name) == []
        log = storage.told(name)
    return {pull: End(end) for pull, end in zip(log.pulls.tolist(), log.ends.tolist(), strict=True)}


def test_the_first_ctrl_c_waits_however_long_it_takes(folder: Path) -> None:
    free = folder / "free"
    waits = f"sh -c 'touch {folder}/begun; while [ ! -e {free} ]; do sleep 0.05; done'"
    going = begin(folder, "--arm", f"a={waits}", "--arm", f"b={waits} ")
    wait_until((folder / "begun").exists)
    os.killpg(going.pid, signal.SIGINT)
    assert going.stderr is not None
    said = ""
    while "waiting for" not in said:
        said = going.stderr.readline()
        assert said, "it ended"
    assert said == "stopping: waiting for 1 pull that is under way; Ctrl-C once more gives it up, to count as failed\n"
    free.touch()
    going.communicate(timeout=240)
    assert going.returncode == 130
    assert ends_of(folder) == {1: End.TOLD}


@pytest.mark.parametrize("by", [[signal.SIGINT, signal.SIGINT], [signal.SIGTERM], [signal.SIGHUP]])
def test_what_is_given_up_has_failed_and_takes_all_processes_along(folder: Path, by: list[signal.Signals]) -> None:
    mark = f"7{os.getpid()}.1234"
    arms = ["--arm", f"a=sh -c 'sleep {mark}; sleep {mark}'", "--arm", f"b=sleep {mark}0"]
    going = begin(folder, *arms, "--workers", "2")
    wait_until(lambda: len(alive_with(f"sleep\0{mark}")) >= 2)
    for number in by:
        os.killpg(going.pid, number)
        time.sleep(0.3)
    out, err = going.communicate(timeout=240)
    assert going.returncode == 130, err
    assert "Interrupted" in out
    assert not alive_with(mark)
    assert ends_of(folder) == {1: End.STOPPED, 2: End.STOPPED}
    study = Study.open(folder / "frontguard-run.db", read_only=True)
    assert {why for each in study.failures().values() for why in each} == {"stopped before its end"}
    study.close()


def check_same(answer: dict[str, Any], uninterrupted: dict[str, Any], folder: Path) -> None:
    """The interrupted study gave the very answer of the other, and every pull was counted once, with its own seed."""
    assert without_times(answer) == without_times(uninterrupted)
    study = Study.open(folder / "toy.db", read_only=True)
    frame = study.to_frame()
    study.close()
    assert sorted(frame.index) == list(range(1, answer["pulls"] + 1))
    costs = {"small": 30, "fast": 20, "poor": 40}
    for pull, row in frame.iterrows():
        assert row["cost"] == costs[row["arm"]] * (100 + seed_of_pull(0, pull) % 21 - 10)


def test_after_kill_9_what_was_under_way_has_failed_and_the_same_command_goes_on(folder: Path) -> None:
    write_spec(folder, sleep=0.05)
    for at_least in (5, 15):
        going = begin(folder, *INTERRUPTED)
        wait_until(lambda wanted=at_least: told(folder / "toy.db") >= wanted)  # type: ignore[misc]
        going.kill()
        going.communicate(timeout=240)
        assert going.returncode == -signal.SIGKILL
    finished = run(folder, *INTERRUPTED)
    assert finished.returncode == 0, finished.stderr
    ends = ends_of(folder, "toy.db")
    assert sorted(ends) == list(range(1, len(ends) + 1))
    assert set(ends.values()) <= {End.TOLD, End.LOST}
    assert list(ends.values()).count(End.LOST) <= 2  # one for each kill, unless it came between two pulls
    assert found(finished)["status"] == "certified"


def test_a_third_ctrl_c_leaves_at_once_and_takes_all_processes_along(folder: Path) -> None:
    mark = f"7{os.getpid()}.1234"
    stubborn = ["--arm", f"a=sh -c \"trap '' TERM; sleep {mark}; sleep {mark}\"", "--arm", "b=sleep 0.01"]
    going = begin(folder, *stubborn, "--workers", "2", "--seed", "1")
    wait_until(lambda: bool(alive_with(f"sleep\0{mark}")))
    for _ in range(3):
        os.killpg(going.pid, signal.SIGINT)
        time.sleep(0.3)
    going.communicate(timeout=240)
    assert going.returncode == 130
    assert not alive_with(mark)


def test_two_runs_share_one_study(folder: Path) -> None:
    write_spec(folder, sleep=0.01)
    one, other = begin(folder, "toy.toml", "--json"), begin(folder, "toy.toml", "--json")
    answers = []
    for going in (one, other):
        out, err = going.communicate(timeout=240)
        assert going.returncode == 0, err
        answers.append(json.loads(out))
    assert {answer["status"] for answer in answers} == {"certified"}
    assert answers[0]["pareto_set"] == answers[1]["pareto_set"] == ["small", "fast"]
    study = Study.open(folder / "toy.db", read_only=True)
    frame = study.to_frame()
    study.close()
    assert frame.index.is_unique
    assert frame["worker"].nunique() == 2


# On a terminal --------------------------------------------------------------------------------------------------------


def test_on_a_terminal_there_is_a_view_that_gives_way_to_the_answer(folder: Path) -> None:
    broken = '[[arm]]\nname = "broken"\ncost = 1\nsize = 1\ncommand = ["false"]\n'
    write_spec(folder, TWIN + broken, sleep=0.1)
    # Twins are never told apart: it goes on until it is interrupted, however seldom a busy machine draws the view.
    terminal = Terminal(warm.frontguard("run", "toy.toml", "--tolerance", "0"), folder, columns=100, rows=24)

    def bars_and_warning(lines: list[str]) -> bool:
        text = "\n".join(lines)
        return "set aside" in text and "●" in text and "Warning: arm 'broken'" in text

    assert terminal.wait_for(bars_and_warning), "\n".join(terminal.lines)
    screen = terminal.lines
    head = next(place for place, text in enumerate(screen) if text.startswith("toy  "))
    assert re.match(r"toy  \d+ pulls, \d+ failed.*: .*1 set aside", screen[head])
    assert "cost, less is better" in screen[head + 1]
    rows = {text.split()[0]: text for text in screen[head + 3 : head + 8]}
    assert sorted(rows) == ["broken", "fast", "poor", "small", "twin"]
    verdicts = ["out" if " out " in row else "aside" if " set aside " in row else "open" for row in rows.values()]
    assert verdicts == sorted(verdicts, key=["open", "aside", "out"].index)
    assert "●" in rows["small"]
    assert re.match(r"broken +set aside +5 +5", rows["broken"])
    assert any("goal" in text for text in screen)
    assert sum("small " in text for text in screen) == 1  # drawn over, not again and again
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.finish() == 130
    whole = [*terminal.scrolled, *terminal.lines]
    assert not any("less is better" in text for text in whole)  # the view has gone
    assert sum(text.startswith("small ") for text in whole) == 1  # and the table is there
    assert any(text.startswith("Warning: arm 'broken' was set aside") for text in whole)
    assert terminal.raw.count("\x1b[?25l") == terminal.raw.count("\x1b[?25h")  # the cursor is back
    assert terminal.raw.count("cost, less is better") >= 2  # it was drawn several times


# Bad input ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "wanted a spec file, or two or more --arm NAME=COMMAND"),
        (["no.toml"], "no.toml: no such file"),
        (["measure.sh"], "measure.sh, line"),
        (["toy.toml", "--arm", "a=true"], "wanted a spec file or --arm, not both"),
        (["toy.toml", "--minimize", "cost"], "--minimize goes with --arm"),
        (["--arm", "a=true"], "--arm: wanted two arms at least"),
        (["toy.toml", "--tolerance", "2 percent"], "--tolerance must be a number such as 0.5"),
        (["toy.toml", "--tolerance", "price=2"], "no objective is called 'price'; there is cost, size"),
        (["toy.toml", "--max-pulls", "0"], "--max-pulls: wanted a whole number from 1, got 0"),
        (["toy.toml", "--workers", "0"], "--workers: wanted a whole number from 1, got 0"),
        (["toy.toml", "--max-time", "soon"], "--max-time must be a time"),
        (
            ["toy.toml", "--threat", "presient"],
            "--threat must be one of oblivious, prescient, malicious, share (did you mean 'prescient'?); got",
        ),
        (["toy.toml", "--contamination", "0.7"], "--contamination must be a probability from 0 to below 1/2"),
        (["toy.toml", "--confidence", "95"], "--confidence must be a probability"),
        (["toy.toml", "--storage", "mysql://x"], "a storage must be"),
        (["toy.toml", "--storage", "."], "frontguard: "),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments: list[str], complaint: str, folder: Path) -> None:
    ran = run(folder, *arguments)
    assert ran.returncode == 2, ran.stderr
    assert ran.stdout == ""
    (line,) = ran.stderr.splitlines()
    assert line.startswith("frontguard: ")
    assert complaint in line
    assert not list(folder.glob("*.db*"))


def test_a_study_of_other_arms_or_commands_is_not_taken_up(folder: Path) -> None:
    assert run(folder, "toy.toml", "--max-pulls", "3").returncode == 3
    (folder / "toy.toml").write_text((folder / "toy.toml").read_text().replace("cost = 40", "cost = 50"))
    ran = run(folder, "toy.toml")
    assert ran.returncode == 2
    assert "the study was begun with other" in ran.stderr
    assert "40 then, 50 now" in ran.stderr
    assert run(folder, "toy.toml", "--max-pulls", "3", "--study", "toy 2").returncode == 3


# Rescue ---------------------------------------------------------------------------------------------------------------


def test_a_damaged_file_is_refused_and_what_can_be_read_of_it_goes_on(folder: Path) -> None:
    write_spec(folder, TWIN)
    assert run(folder, "toy.toml", "--max-pulls", "400", "--tolerance", "0").returncode == 3
    file = folder / "toy.db"
    whole = file.read_bytes()
    damaged = whole[:-4096]
    file.write_bytes(damaged)
    refused = run(folder, "toy.toml")
    assert refused.returncode == 2
    assert "frontguard rescue" in refused.stderr
    assert file.read_bytes() == damaged

    ran = run(folder, "toy.db", "new.db", "--json", command="rescue")
    assert ran.returncode == 0, ran.stderr
    saved = as_published("rescue", ran.stdout)
    assert saved["studies"] == ["toy"]
    assert 0 < saved["told"] < 400
    assert saved["told"] == told(folder / "new.db")
    assert file.read_bytes() == damaged
    more = run(folder, "toy.toml", "--storage", "new.db", "--json")
    assert more.returncode == 0, more.stderr
    assert f"going on with {saved['told']} pulls" in more.stderr
    assert "fast" in found(more)["pareto_set"]
    again = run(folder, "toy.db", "new.db", command="rescue")
    assert again.returncode == 2
    assert "new.db exists already" in again.stderr
    said = run(folder, "toy.db", "other.db", command="rescue").stdout
    assert said.startswith(f"Saved {saved['told']} told pulls")
    assert "--storage other.db" in said
