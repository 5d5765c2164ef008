"""Policies in files that a stranger made: refused in one line, or usable; a kernel never sees what is out of range."""

from __future__ import annotations

import io
import random
import resource
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard import Policy
from frontguard.errors import BadInput, OutOfTurn
from frontguard.policies import saved
from tests.policies.conftest import POLICIES, Make
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
    """Change one array of a state; how."""
    name = rng.choice([each for each in state if each != "policy"])
    array = state[name]
    how = rng.choice(["number"] * 8 + ["shape", "kind", "gone", "many"])
    if how == "gone":
        del state[name]
    elif how == "shape":
        state[name] = rng.choice([array.reshape(-1)[:-1], np.concatenate([array.reshape(-1)] * 2), array[None]])
    elif how == "kind":
        state[name] = np.zeros(array.shape, rng.choice(["U5", "i4", "f4", "f8", "i8", "?"]))
    elif array.size:
        array = state[name] = array.copy()
        flat = array.reshape(-1)
        field = rng.choice(array.dtype.names) if array.dtype.names else None
        column = flat if field is None else flat[field]
        for _ in range(len(flat) if how == "many" else rng.choice([1, 1, 3])):
            choice: Any = rng.choice(DOUBLES if column.dtype.kind == "f" else NUMBERS)
            if column.dtype.kind in "if":
                column[rng.randrange(len(flat))] = choice
            elif column.dtype.kind == "U":
                column[rng.randrange(len(flat))] = rng.choice(["share", "nan", "-1", "0.4", "x"])
        return f"{name}.{field} {how}"
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
    noted = tmp_path / "how"

    def fifteen() -> list[str]:
        used_already = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used_already + MEMORY, used_already + MEMORY))
        said = []
        for _ in range(15):
            state = policy.state()
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


@pytest.mark.parametrize(
    ("name", "field", "value", "said"),
    [
        ("standing.arms", "decided_by", 10**9, "decided_by of the arms must be numbers from -1 to 3; got"),
        ("standing.alive", None, 4, "alive must be numbers from 0 to 3; got"),
        ("columns", "start", 2**40, "start of samples must be numbers from 0 to"),
        ("columns", "count", -1, "must be numbers from 0 to"),
        ("rule.low_ranks", None, 2**40, "rule.low_ranks must be ranks among the pulls that they are read at"),
        ("goal.accuracy", None, np.nan, "goal.accuracy must be finite numbers from 0; got"),
        ("arms", None, 2**40, "1099511627776 arms and 2 objectives do not fit"),
        ("arms", None, -4, "whole number, at least 1; got -4"),
    ],
)
def test_what_is_out_of_range_is_named(name: str, field: str | None, value: Any, said: str, tmp_path: Path) -> None:
    policy = driven(POLICIES["certified"](4, 2), 3)
    state = policy.state()
    (state[name] if field is None else state[name][field])[...] = value
    with (tmp_path / "state.npz").open("wb") as file:
        np.savez(file, **state)
    with pytest.raises(BadInput) as refused:
        type(policy).load(tmp_path / "state.npz")
    assert said in str(refused.value)


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
