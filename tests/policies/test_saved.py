"""Policies in files that a stranger made: refused in one line, or usable; a kernel never sees what is out of range."""

from __future__ import annotations

import json
import random
import re
import resource
from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import Certified, Prescient
from frontguard.errors import BadInput, OutOfTurn
from frontguard.policies.base import Policy
from tests.policies.conftest import POLICIES
from tests.policies.states import state_of
from tests.support.forks import fork
from tests.support.snapshots import refused

MEMORY = 1 << 30
"""Bytes beyond what the process has already: one that ran other tests may have more than any fixed number."""

NUMBERS = (-(2**62), -1000, -2, -1, 0, 1, 2, 3, 5, 17, 1000, 10**6, 2**31, 2**40, 2**62)
DOUBLES = (np.nan, np.inf, -np.inf, -1.0, 0.0, 0.5, 1.0, 1e300)


def driven(policy: Policy, steps: int, seed: int = 0) -> Policy:
    """The policy after so many batches, in the middle of one."""
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        if policy.done:
            break
        arms = policy.ask() if not policy._waiting else np.repeat(np.arange(policy.arms), policy._outstanding)
        policy.tell(arms, rng.normal(arms[:, None] * 0.3, 0.1, (len(arms), policy.objectives)))
    return policy


def used(path: Path, kind: type[Policy], copy: Path) -> str:
    """Load a policy and go on with it, saving and loading in between: what was said of the file, if it was refused."""
    try:
        policy = kind.load(path)
    except BadInput as error:
        return str(error)
    try:
        driven(policy, 3)
        policy.save(copy)
        driven(kind.load(copy), 20, seed=1).result()
    except (OutOfTurn, BadInput):
        pass
    return ""


def mutated(lines: list[str], rng: random.Random) -> str:
    """Change one line of a file; how."""
    at = rng.randrange(len(lines))
    how = rng.choice(["number"] * 8 + ["gone", "twice"])
    if how == "gone":
        del lines[at]
    elif how == "twice":
        lines.insert(at, lines[at])
    else:
        number = rng.choice(list(re.finditer(r"-?[0-9.]+|null", lines[at])))
        other = json.dumps(rng.choice([*NUMBERS, *DOUBLES, "x", None, [], {}]))
        lines[at] = lines[at][: number.start()] + other + lines[at][number.end() :]
    return f"{at} {how} {''.join(lines[at : at + 1])[:1000]}"


@pytest.mark.parametrize("which", sorted(POLICIES))
def test_any_number_may_be_another(which: str, tmp_path: Path) -> None:
    rng = random.Random(which)
    path, copy = tmp_path / "state.json", tmp_path / "copy.json"
    policy = driven(POLICIES[which](4, 2), 3)
    if not policy.done:
        arms = policy.ask()[:3]
        policy.tell(arms, np.zeros((len(arms), 2)))
    kind = type(policy)
    policy.save(path)
    assert used(path, kind, copy) == ""  # which compiles all that is needed
    noted, whole = tmp_path / "how", path.read_text().splitlines()

    def fifteen() -> list[str]:
        used_already = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used_already + MEMORY, used_already + MEMORY))
        said = []
        for _ in range(15):
            lines = list(whole)
            noted.write_text(mutated(lines, rng))
            path.write_text("\n".join(lines))
            said.append(used(path, kind, copy))
        return said

    try:
        answers = fork(fifteen).result()
    except AssertionError as error:
        raise AssertionError(f"{noted.read_text()}: {error}") from None
    refused = [said for said in answers if said]
    assert all(said.startswith(str(path)) and len(said.splitlines()) == 1 for said in refused)
    assert len(refused) > 4


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (0, '{"policy": "certified", "settings": {"arms": 4, "objectives": 2}, "pulls": [0, 0, 0, 0]}'),
        (0, '{"policy": "certified", "settings": {"arms": 1099511627776, "objectives": 2}, "pulls": []}'),
        (0, '{"policy": "certified", "settings": {"arms": -4, "objectives": 2}, "pulls": []}'),
        (0, '{"policy": "certified", "settings": {"arms": 4, "objectives": 2, "accuracy": NaN}, "pulls": []}'),
        (0, "[" * 100_000),
        (1, '["run", 1]'),
        (1, '["ask", 1099511627776]'),
        (1, '["tell", [0, 1, 2], [[0, 0], [0, 0], [0, 0]], null]'),  # before anything was asked for
        (2, '["tell", [9, 9, 9], [[0, 0], [0, 0], [0, 0]], null]'),
        (2, '["tell", [0], ["x"], null]'),
    ],
)
def test_what_cannot_be_is_refused(line: int, text: str, tmp_path: Path) -> None:
    policy, path = driven(POLICIES["certified"](4, 2), 3), tmp_path / "state.json"
    policy.save(path)
    lines = path.read_text().splitlines()
    lines[line] = text
    path.write_text("\n".join(lines))
    with pytest.raises(BadInput) as caught:
        type(policy).load(path)
    assert str(caught.value).startswith(str(path))


def test_a_function_is_given_again(tmp_path: Path) -> None:
    def spread(t: float) -> float:
        return 2.0 * t

    policy, path = Certified(3, 1, threat=Prescient(0.1), accuracy=0.1, spread=spread), tmp_path / "state.json"
    driven(policy, 2)
    policy.save(path)
    with pytest.raises(BadInput) as caught:
        Certified.load(path)
    assert "spread=" in str(caught.value)
    assert_same(policy, Certified.load(path, spread=spread))


def test_what_was_given_may_change_afterwards(tmp_path: Path) -> None:
    accuracy, path = np.array([0.1, 0.2]), tmp_path / "state.json"
    policy = Certified(3, 2, threat=Prescient(0.1), accuracy=accuracy)
    accuracy[:] = 9.0
    policy.save(path)
    assert_same(policy, Certified.load(path))


def test_a_halt_is_saved(tmp_path: Path) -> None:
    policy, path = POLICIES["certified"](4, 2), tmp_path / "state.json"
    policy.ask()
    policy.halt()
    policy.save(path)
    assert type(policy).load(path).status == "budget"


def test_a_policy_that_a_log_drives_is_not_saved(tmp_path: Path) -> None:
    policy = Certified(2, 1, threat=Prescient(0.1), accuracy=0.1)
    policy.exclude([1])
    with pytest.raises(BadInput):
        policy.save(tmp_path / "state.json")
    assert not (tmp_path / "state.json").exists()


def assert_same(one: Policy, other: Policy) -> None:
    ours, theirs = state_of(one), state_of(other)
    assert ours.keys() == theirs.keys()
    for name, array in ours.items():
        if name != "pool":  # parts of it are not in use
            np.testing.assert_array_equal(array, theirs[name], err_msg=name)


def test_a_file_that_is_none_is_refused(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    path = tmp_path / "state.json"
    with refused(BadInput, snapshot):
        Certified.load(path)
    for content in (b"", b"no state", b"PK\x03\x04" + bytes(100), b"[1]\n", b'{"policy": "R-PSI"}\n'):
        path.write_bytes(content)
        with refused(BadInput, snapshot):
            Certified.load(path)
