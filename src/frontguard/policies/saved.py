"""Policies in files: what a policy was given, and the calls that were made to it. Loading makes them again.

No state comes from a file. Kernels look nothing up: an index that is out of range reads, or writes, whatever lies
there. Whatever a file holds passes through the checks of the constructor, of `ask` and of `tell` instead.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from frontguard._common.typing import Floats, Ints
from frontguard.errors import BadInput
from frontguard.evidence.statistics import EXACT, QUANTILE, Statistic
from frontguard.pareto.feasible import LimitRule
from frontguard.theory.spread import CustomSpread, Gaussian, LinearAroundMedian, SpreadBound, Subgaussian, Uniform
from frontguard.theory.threats import Threat, threat_named

if TYPE_CHECKING:
    from frontguard.policies.base import Policy

Arrays = dict[str, npt.NDArray[Any]]

ASK, TELL, HALT = range(3)
"""Calls to a policy."""

_BATCH = -1  # in place of a number of pulls: a batch was asked for
_MOST_ASKED = 1 << 20  # pulls that a file may ask for at once

_ROOM = 1 << 28  # bytes that any file may unpack to, ...
_RATIO = 100  # ... and how many more for each of its own: numbers that were measured hardly shrink
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


# Calls ----------------------------------------------------------------------------------------------------------------


class Calls:
    """The calls that were made to a policy since its beginning."""

    def __init__(self) -> None:
        self._made: list[tuple[int, int]] = []  # what was called, and for how many pulls
        self._told: list[tuple[Ints, Floats, Ints]] = []  # arms, values, reps (0 where none were given)

    def asked(self, pulls: int | None) -> None:
        """Note an `ask`."""
        self._made.append((ASK, _BATCH if pulls is None else pulls))

    def told(self, arms: Ints, values: Floats, reps: npt.ArrayLike | None) -> None:
        """Note a `tell`."""
        self._made.append((TELL, len(arms)))
        self._told.append((arms, values, np.zeros(len(arms), np.int64) if reps is None else np.array(reps, np.int64)))

    def halted(self) -> None:
        """Note a `halt`."""
        self._made.append((HALT, 0))

    def arrays(self, width: int) -> Arrays:
        """The calls as arrays; values have `width` columns."""
        arms, values, reps = zip(*self._told, strict=True) if self._told else ((), (), ())
        return {
            "calls": np.array(self._made, np.int64).reshape(-1, 2),
            "arms": np.concatenate([np.empty(0, np.int64), *arms]),
            "values": np.concatenate([np.empty((0, width)), *values]),
            "reps": np.concatenate([np.empty(0, np.int64), *reps]),
        }


def call_again(policy: Policy, arrays: Arrays) -> None:
    """Make calls of `Calls.arrays` to a policy."""
    told = 0
    for call, pulls in arrays["calls"].tolist():
        if call == ASK and pulls <= _MOST_ASKED:
            policy.ask(None if pulls == _BATCH else pulls)
        elif call == TELL and pulls >= 0:
            part = slice(told, told + pulls)
            reps = arrays["reps"][part]
            policy.tell(arrays["arms"][part], arrays["values"][part], reps if reps.any() else None)
            told += pulls
        elif call == HALT:
            policy.halt()
        else:
            raise BadInput(f"there is no call {call} for {pulls} pulls")


# Settings -------------------------------------------------------------------------------------------------------------


def _threat(name: str, eps: float) -> Threat:
    return threat_named(str(name), float(eps))


def _limits(columns: list[int], within: list[float], beyond: list[float]) -> LimitRule:
    return LimitRule(np.array(columns, np.int64), np.array(within, np.float64), np.array(beyond, np.float64))


def _statistic(kind: int, level: float, scale: list[float], spread: bool) -> Statistic:
    made = Statistic(int(kind), float(level), tuple(map(float, scale)), bool(spread))  # type: ignore[arg-type]
    if not QUANTILE <= kind <= EXACT or not 0.0 < level < 1.0 or len(scale) != 5 or not np.isfinite(scale).all():
        raise BadInput(f"there is no {made}")
    return made


_KINDS: dict[str, Callable[..., Any]] = {
    "Threat": _threat,
    "LimitRule": _limits,
    "Statistic": _statistic,
    "Gaussian": Gaussian,
    "LinearAroundMedian": LinearAroundMedian,
    "Subgaussian": Subgaussian,
    "Uniform": Uniform,
}
_AGAIN = {"kind": "given again", "of": []}


def settings_text(settings: Mapping[str, Any]) -> str:
    """Arguments of a policy as JSON; functions are to be given again."""
    return json.dumps({name: _plain(value) for name, value in settings.items()})


def settings_from(text: str, again: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments in a text, and those that are given again."""
    settings = {name: again.get(name, value) for name, value in json.loads(text, object_hook=_made).items()}
    for name, value in settings.items():
        if value == _AGAIN:
            raise BadInput(f"{name} is a function, which no file holds: give it again, load(path, {name}=...)")
    return settings


def _plain(value: Any) -> Any:
    if isinstance(value, Threat):
        return {"kind": "Threat", "of": [value.name, value.eps]}
    if isinstance(value, LimitRule | Statistic):
        return {"kind": type(value).__name__, "of": [_plain(each) for each in value]}
    if isinstance(value, SpreadBound) and not isinstance(value, CustomSpread) and type(value).__name__ in _KINDS:
        return {"kind": type(value).__name__, "of": list(astuple(value))}  # type: ignore[call-overload]
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value if isinstance(value, int | float | str | None) else _AGAIN


def _made(found: dict[str, Any]) -> Any:
    kind = found.get("kind")
    return _KINDS[kind](*found["of"]) if isinstance(kind, str) and kind in _KINDS else found


# The file -------------------------------------------------------------------------------------------------------------


def write_arrays(path: str | Path, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """What `np.savez_compressed` writes, in an eighth of the time: more effort hardly makes it smaller."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, np.asarray(array), allow_pickle=False)


def read_arrays(path: str | Path) -> Arrays:
    """The arrays of an .npz file. What it unpacks to is bounded by its size, and nothing in it is run."""
    where = str(path)
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            unpacked, most = sum(each.file_size for each in entries), _ROOM + _RATIO * Path(path).stat().st_size
            if unpacked > most:
                raise BadInput(f"{where}: it would unpack to {unpacked:,} bytes; wanted {most:,} at most")
            return {each.filename.removesuffix(".npy"): _read_array(archive, each) for each in entries}
    except BadInput:
        raise
    except OSError as error:
        raise BadInput(f"{where}: cannot be read: {error.strerror or error}") from None
    except Exception as error:  # zipfile, zlib and numpy raise many kinds
        raise BadInput(f"{where}: wanted what a policy saved (.npz); {type(error).__name__}: {error}") from None


def _read_array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> npt.NDArray[Any]:
    with archive.open(entry) as file:
        shape, fortran, kind = _HEADERS[np.lib.format.read_magic(file)](file)
        if kind.hasobject:
            raise ValueError(f"{entry.filename} holds objects")
        size = kind.itemsize
        for length in shape:
            size *= length
        if not 0 <= size <= entry.file_size:
            raise ValueError(f"{entry.filename} is cut: {shape} of {kind} are {size:,} bytes")
        data = file.read(size)
    if len(data) != size:
        raise ValueError(f"{entry.filename} is cut: {len(data):,} of {size:,} bytes")
    return np.frombuffer(data, kind).reshape(shape, order="F" if fortran else "C").copy(order="C")
