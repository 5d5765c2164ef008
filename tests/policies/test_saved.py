"""Policies in files that a stranger made: refused in one line, or usable; a kernel never sees what is out of range."""

from __future__ import annotations

import io
import json
import random
import re
import resource
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import Certified, Policy, Prescient
from frontguard.errors import BadInput, OutOfTurn
from frontguard.policies import saved
from tests.policies.conftest import POLICIES, Make
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


def mutated(state: dict[str, Any], rng: random.Random) -> str:
    """Change one array of a file; how."""
    name = rng.choice([each for each in state if each != "policy"])
    array = state[name]
    how = rng.choice(["number"] * 8 + ["shape", "kind", "gone"])
    if how == "gone":
        del state[name]
    elif how == "shape":
        state[name] = rng.choice([array.reshape(-1)[:-1], np.concatenate([array.reshape(-1)] * 2), array[None]])
    elif how == "kind":
        state[name] = np.zeros(array.shape, rng.choice(["U5", "i4", "f4", "f8", "i8", "?"]))
    elif array.dtype.kind == "U":
        text, other = str(array), json.dumps(rng.choice([*NUMBERS, *DOUBLES, "x", None]))
        number = rng.choice(list(re.finditer(r"-?[0-9.]+", text)))
        text = text[: number.start()] + other + text[number.end() :]
        state[name] = np.array(text)
        return f"{name} {text}"
    elif array.size:
        flat = array.reshape(-1)
        for _ in range(rng.choice([1, 1, 3])):
            flat[rng.randrange(len(flat))] = rng.choice(DOUBLES if array.dtype.kind == "f" else NUMBERS)
    return f"{name} {how}"


@pytest.mark.parametrize("which", sorted(POLICIES))
def test_any_number_may_be_another(which: str, tmp_path: Path) -> None:
    rng = random.Random(which)
    path, copy = tmp_path / "state.npz", tmp_path / "copy.npz"
    policy = driven(POLICIES[which](4, 2), 3)
    if not policy.done:
        arms = policy.ask()[:3]
        policy.tell(arms, np.zeros((len(arms), 2)))
    kind = type(policy)
    policy.save(path)
    assert used(path, kind, copy) == ""  # which compiles all that is needed
    noted, whole = tmp_path / "how", saved.read_arrays(path)

    def fifteen() -> list[str]:
        used_already = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used_already + MEMORY, used_already + MEMORY))
        said = []
        for _ in range(15):
            state = {name: array.copy() for name, array in whole.items()}
            noted.write_text(mutated(state, rng))
            with path.open("wb") as file:
                np.savez(file, **state)
            said.append(used(path, kind, copy))
        return said

    try:
        answers = fork(fifteen).result()
    except AssertionError as error:
        raise AssertionError(f"{noted.read_text()}: {error}") from None
    refused = [said for said in answers if said]
    assert all(said.startswith(str(path)) and len(said.splitlines()) == 1 for said in refused)
    assert len(refused) > 4


def changed(path: Path, **arrays: Any) -> None:
    """Write a file again with other arrays."""
    saved.write_arrays(path, saved.read_arrays(path) | {name: np.asarray(array) for name, array in arrays.items()})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("pulls", np.zeros(4, np.int64)),  # is not what was told
        ("settings", '{"arms": 1099511627776, "objectives": 2}'),
        ("settings", '{"arms": -4, "objectives": 2}'),
        ("settings", '{"arms": 4, "objectives": 2, "accuracy": NaN}'),
        ("settings", "[" * 100_000),
        ("calls", [[7, 1]]),
        ("calls", [[saved.ASK, 2**40]]),
        ("calls", [[saved.TELL, 3]]),  # before anything was asked for
        ("arms", np.full(1000, 9)),
    ],
)
def test_what_cannot_be_is_refused(name: str, value: Any, tmp_path: Path) -> None:
    policy, path = driven(POLICIES["certified"](4, 2), 3), tmp_path / "state.npz"
    policy.save(path)
    changed(path, **{name: value})
    with pytest.raises(BadInput) as caught:
        type(policy).load(path)
    assert str(caught.value).startswith(str(path))


def test_a_function_is_given_again(tmp_path: Path) -> None:
    def spread(t: float) -> float:
        return 2.0 * t

    policy, path = Certified(3, 1, threat=Prescient(0.1), accuracy=0.1, spread=spread), tmp_path / "state.npz"
    driven(policy, 2)
    policy.save(path)
    with pytest.raises(BadInput) as caught:
        Certified.load(path)
    assert "spread=" in str(caught.value)
    assert_same(policy, Certified.load(path, spread=spread))


def test_what_was_given_may_change_afterwards(tmp_path: Path) -> None:
    accuracy, path = np.array([0.1, 0.2]), tmp_path / "state.npz"
    policy = Certified(3, 2, threat=Prescient(0.1), accuracy=accuracy)
    accuracy[:] = 9.0
    policy.save(path)
    assert_same(policy, Certified.load(path))


def test_a_halt_is_saved(tmp_path: Path) -> None:
    policy, path = POLICIES["certified"](4, 2), tmp_path / "state.npz"
    policy.ask()
    policy.halt()
    policy.save(path)
    assert type(policy).load(path).status == "budget"


def test_a_policy_that_a_log_drives_is_not_saved(tmp_path: Path) -> None:
    policy = Certified(2, 1, threat=Prescient(0.1), accuracy=0.1)
    policy.set_aside([1])
    with pytest.raises(BadInput):
        policy.save(tmp_path / "state.npz")
    assert not (tmp_path / "state.npz").exists()


def assert_same(one: Policy, other: Policy) -> None:
    ours, theirs = state_of(one), state_of(other)
    assert ours.keys() == theirs.keys()
    for name, array in ours.items():
        if name != "pool":  # parts of it are not in use
            np.testing.assert_array_equal(array, theirs[name], err_msg=name)


def test_a_file_that_is_none_is_refused(make: Make, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    kind, path = type(make(2, 1)), tmp_path / "state.npz"
    with refused(BadInput, snapshot):
        kind.load(path)
    for content in (b"", b"no zip", b"PK\x03\x04" + bytes(100)):
        path.write_bytes(content)
        with refused(BadInput, snapshot):
            kind.load(path)


def test_objects_are_not_unpickled(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    path = tmp_path / "state.npz"
    np.savez(path, policy=np.array([{"run": "me"}], object))
    with refused(BadInput, snapshot):
        type(POLICIES["certified"](2, 1)).load(path)


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion) -> None:
    kind, path = type(POLICIES["certified"](2, 1)), tmp_path / "state.npz"
    monkeypatch.setattr(saved, "_ROOM", 1 << 16)
    np.savez_compressed(path, policy=np.zeros(10**6))
    with refused(BadInput, snapshot):
        kind.load(path)
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (2**40,)})
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("policy.npy", header.getvalue())
    with refused(BadInput, snapshot):
        kind.load(path)
