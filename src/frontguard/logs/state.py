"""States of logs: enough to answer from, to add new rows to, and to merge with what other logs left.

A state is exact (all values that did not fail, sorted) or sketched (bounded memory for each arm): docs/logs-streams.md.
Its file is a mark, a SHA-256 of the rest, and NumPy's own archive of arrays (`np.savez`). It is written beside its
place and moved there once it is on the disk: a crash leaves the old file or the new one.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
import math
import os
import socket
import time
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from io import BufferedIOBase
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from frontguard._common.secrets import LEFTOVER, replacing
from frontguard._common.typing import Ints
from frontguard.errors import BadInput
from frontguard.evidence.bets import BETS, WORST
from frontguard.evidence.measurements import Ordered
from frontguard.logs.sketch import DEFAULT_SIZE, Sketches
from frontguard.logs.sources.files import STATE
from frontguard.logs.spill import merge_ordered, same_metrics
from frontguard.phrases import error_line

try:
    import fcntl
except ImportError:  # no POSIX system: nothing keeps two writers apart
    fcntl = None  # type: ignore[assignment]

AnyArray = npt.NDArray[Any]

WAIT = 60.0
"""Seconds for which a writer waits while another one writes."""

VERSION = 2
"""Of the format, which is the only one that is read."""

_DIGEST = hashlib.sha256().digest_size
_BLOCK = 2**20
_PAUSE = 0.05  # seconds between two tries to get a lock
_MOST_PULLS = 1 << 53  # exact as floats


@dataclass(frozen=True)
class CountedFile:
    """A file that was counted: its name when it was, bytes, SHA-256, and how many rows it had if that is known."""

    name: str
    size: int
    digest: str
    rows: int | None = None

    @property
    def empty(self) -> bool:
        """A file without rows may come as often as it likes, and may be how others begin."""
        return self.size == 0 or self.rows == 0


@dataclass(frozen=True)
class Before:
    """A file that was counted before, all of it or, if it grew since, its first bytes."""

    file: str
    source: CountedFile
    grew: bool

    def __str__(self) -> str:
        named = "" if self.source.name == self.file else f" as {self.source.name}"
        if self.grew:
            return f"{self.file}: its first {self.source.size} bytes were counted before{named}; it grew since"
        return f"{self.file}: it was counted before{named}"


def marked(path: Path | str, *, known: Iterable[CountedFile] = ()) -> tuple[CountedFile, Before | None]:
    """A file's mark, and the longest `known` source that it begins with: a file that grew would be counted twice."""
    file = Path(path)
    digest, done, digests = hashlib.sha256(), 0, {}
    try:
        with file.open("rb") as content:
            size = os.fstat(content.fileno()).st_size
            begun = [source for source in known if not source.empty and source.size <= size]
            for stop in sorted({size, *(source.size for source in begun)}):
                while done < stop and (block := content.read(min(_BLOCK, stop - done))):
                    digest.update(block)
                    done += len(block)
                digests[stop] = digest.hexdigest()
    except OSError as error:
        raise BadInput(f"{file}: cannot be read: {error.strerror or error}") from error
    same = [source for source in begun if digests[source.size] == source.digest]
    longest = max(same, key=lambda source: source.size, default=None)
    before = None if longest is None else Before(str(file), longest, grew=longest.size < size)
    return CountedFile(str(file), size, digests[size]), before


@dataclass(frozen=True, eq=False)
class LogState:
    """A log's data, how rows became values (columns, layout, which values fail), and which files they came from."""

    data: Ordered | Sketches
    about: Mapping[str, Any]
    sources: tuple[CountedFile, ...]

    @classmethod
    def from_ordered(
        cls, ordered: Ordered, about: Mapping[str, Any] | None = None, sources: Iterable[CountedFile] = ()
    ) -> LogState:
        """The exact state of a log. `about` is anything that JSON can say."""
        try:
            said = json.loads(json.dumps(dict(about or {})))
        except (TypeError, ValueError) as error:
            raise BadInput(f"about must hold what JSON can say; got {about!r}") from error
        if not _ascend(list(ordered.arms)):
            raise BadInput("arms of a log must be different and in the order of their names")
        return cls(ordered, said, _in_order(sources))

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names (M,)."""
        return self.data.metrics

    @property
    def pulls(self) -> Ints:
        """Pulls of every arm (K,), failed ones included."""
        return self.data.pulls

    def readable(self, delta: float, *, anytime: bool = False) -> tuple[Ordered, float]:
        """The log as intervals are read, and the δ that sketches leave; with `anytime`, for however many looks."""
        return (self.data, delta) if isinstance(self.data, Ordered) else self.data.readable(delta, anytime=anytime)

    def sketched(self, size: int = DEFAULT_SIZE) -> LogState:
        """Return the state in bounded memory: sketches of size k for arms with more than 3k values."""
        if isinstance(self.data, Sketches):
            if self.data.size != size:
                raise BadInput(f"this state has sketches of size (k) {self.data.size} already; got {size}")
            return self
        sketches = Sketches(self.metrics, size, self.about.get("bounds"))
        sketches.add(self.data)
        return LogState(sketches, self.about, self.sources)

    def merge(self, other: LogState, *, again: bool = False) -> LogState:
        """The state of the rows of both, commutative and associative; a source of both is refused, unless `again`."""
        same_metrics(self.metrics, other.metrics)
        for key in sorted({*self.about, *other.about}):
            mine, theirs = self.about.get(key), other.about.get(key)
            if mine != theirs:
                raise BadInput(f"logs that are added must be read alike; {key} differs: {mine!r} and {theirs!r}")
        known = {(file.size, file.digest): file for file in self.sources if not file.empty}
        twice = [(file.name, known.get((file.size, file.digest))) for file in other.sources if not file.empty]
        before = [Before(name, file, grew=False) for name, file in twice if file is not None]
        if before and not again:
            more = f", and {len(before) - 1} more likewise" if len(before) > 1 else ""
            raise BadInput(f"{before[0]}{more}; --again (again=True) counts it once more")
        sources = _in_order([*self.sources, *other.sources])
        if isinstance(self.data, Ordered) and isinstance(other.data, Ordered):
            return LogState(merge_ordered([self.data, other.data], self.metrics), self.about, sources)
        size = next(data.size for data in (self.data, other.data) if isinstance(data, Sketches))
        both = Sketches(self.metrics, size, self.about.get("bounds"))
        for data in (self.data, other.data):
            both.merge(data) if isinstance(data, Sketches) else both.add(data)
        return LogState(both, self.about, sources)

    @staticmethod
    def merge_all(states: Sequence[LogState], *, again: bool = False) -> LogState:
        """The state of the rows of all: halves first, so that every value is moved log₂ times only."""
        if not states:
            raise BadInput("at least one state is needed to merge; got none")
        if len(states) == 1:
            return states[0]
        halves = states[: len(states) // 2], states[len(states) // 2 :]
        first, second = (LogState.merge_all(half, again=again) for half in halves)
        return first.merge(second, again=again)

    def save(self, path: Path | str) -> None:
        """Write it. A crash leaves the file that was there, or the new one; a reader never sees half of it."""
        place = _resolved(path)
        with held(place):
            _write(place, self._to_arrays())

    @classmethod
    def load(cls, path: Path | str) -> LogState:
        """Read one, checked to the last byte, and then for what it says: others may have written it."""
        place = _resolved(path)
        arrays = _read(place)
        try:
            words = json.loads(arrays.pop("words").tobytes())
            if words["version"] != VERSION:
                version = f"format {words['version']!r}, this one reads {VERSION}"
                raise BadInput(f"{place}: another release wrote this state ({version})")
            for what, sound in _checks(words, arrays):
                if not sound:
                    raise ValueError(f"{what} cannot be")
            metrics, size, about = tuple(words["metrics"]), words["size"], words["about"]
            values = tuple(arrays[f"values {d}"] for d in range(len(metrics)))
            kept = Ordered(words["arms"], metrics, arrays["pulls"], arrays["starts"], values, arrays.get("broken"))
            data = kept if size is None else Sketches.from_arrays(kept, size, arrays, about.get("bounds"))
            return cls(data, about, tuple(CountedFile(**each) for each in words["sources"]))
        except BadInput:
            raise
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
            raise BadInput(f"{place}: this is no state that frontguard wrote: {error_line(error)}") from None

    def _to_arrays(self) -> dict[str, AnyArray]:
        ordered, more = (self.data, {}) if isinstance(self.data, Ordered) else self.data.to_arrays()
        words = {
            "version": VERSION,
            "metrics": list(self.metrics),
            "arms": list(self.data.arms),
            "about": dict(self.about),
            "sources": [asdict(source) for source in self.sources],
            "size": None if isinstance(self.data, Ordered) else self.data.size,
        }
        values = {f"values {d}": values[: ordered.starts[d, -1]] for d, values in enumerate(ordered.values)}
        return {
            "words": np.frombuffer(json.dumps(words).encode(), np.uint8),
            "pulls": ordered.pulls,
            "starts": ordered.starts,
            **({} if ordered.broken is None else {"broken": ordered.broken}),
            **values,
            **more,
        }


def append_to(path: Path | str, new: LogState, *, again: bool = False) -> LogState:
    """Add a state to the one in a file, made if it is not there; the state of both. On an error the file stays."""
    place = _resolved(path)
    with held(place):
        state = LogState.load(place).merge(new, again=again) if place.exists() else new
        _write(place, state._to_arrays())
    return state


def _in_order(sources: Iterable[CountedFile]) -> tuple[CountedFile, ...]:
    """In an order that does not depend on the one in which they came."""
    return tuple(sorted(sources, key=lambda source: (source.name, source.size, source.digest, source.rows or 0)))


def _resolved(path: Path | str) -> Path:
    """The file itself where `path` is a link to it: replacing the link would leave the file behind."""
    return Path(path).expanduser().resolve()


def _write(place: Path, arrays: Mapping[str, Any]) -> None:
    """Write arrays at a place whose lock is held, all or nothing; remove what killed writers left beside it."""
    for left in place.parent.glob(f".{glob.escape(place.name)}.*{LEFTOVER}"):
        with contextlib.suppress(OSError):
            left.unlink()
    try:
        with replacing(place) as out:
            out.write(STATE + bytes(_DIGEST))
            np.savez(out, **arrays)
            digest = _digest(out)
            out.seek(len(STATE))
            out.write(digest)
    except OSError as error:
        raise BadInput(f"{place}: the state cannot be written: {error.strerror or error}") from error


def _read(place: Path) -> dict[str, AnyArray]:
    """The arrays of a file. Whatever is wrong with it is said in one line."""
    if place.exists() and not (place.is_file() or place.is_dir()):  # to open a pipe is to wait for who writes into it
        raise BadInput(f"{place}: the state cannot be read: wanted a file; got a pipe or a device")
    try:
        with place.open("rb") as file:
            if file.read(len(STATE)) != STATE:
                raise BadInput(f"{place}: this is not a state of a log: it does not begin as one does")
            if file.read(_DIGEST) != _digest(file):
                raise BadInput(f"{place}: the state is damaged or cut; take the last copy that is whole")
            file.seek(len(STATE) + _DIGEST)
            with np.load(file) as packed:
                # What is not compressed takes as much memory as the file is long, and not a thousand times as much.
                if any(each.compress_type != zipfile.ZIP_STORED for each in packed.zip.infolist()):
                    raise ValueError("its arrays are compressed")
                return {name: packed[name] for name in packed.files}
    except BadInput:
        raise
    except OSError as error:
        raise BadInput(f"{place}: the state cannot be read: {error.strerror or error}") from error
    except (EOFError, LookupError, TypeError, ValueError, MemoryError, zipfile.BadZipFile) as error:
        raise BadInput(f"{place}: this is no state that frontguard wrote: {error_line(error)}") from None


def _digest(file: BufferedIOBase) -> bytes:
    file.seek(len(STATE) + _DIGEST)
    return hashlib.file_digest(file, "sha256").digest()


def _checks(words: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Iterator[tuple[str, bool]]:
    """Checks without which no state is read, each where those before it are so; a checksum shows accidents only."""
    metrics, arms, about, sources = words["metrics"], words["arms"], words["about"], words["sources"]
    yield "its metrics", _are_texts(metrics) and len(set(metrics)) == len(metrics)
    yield "its arms", _are_texts(arms) and _ascend(arms)
    yield "its rows", all(_are_texts(about.get(key, [])) for key in ("arm", "relative"))
    bounds = about.get("bounds", {})
    yield "its bounds", all(name in metrics and _are_bounds(bounds[name]) for name in bounds)
    where = about.get("where", {})
    yield "the rows that were chosen", all(where[key] and _are_texts(where[key]) for key in where)
    yield "its sources", isinstance(sources, list) and all(map(_is_source, sources))
    yield "the size of its sketches", words["size"] is None or type(words["size"]) is int

    pulls, starts = arrays["pulls"], arrays["starts"]
    K, M = len(arms), len(metrics)
    yield "its pulls", _is_array(pulls, np.int64, (K,)) and bool((pulls >= 0).all())
    yield "its number of pulls", float(pulls.astype(np.float64).sum()) <= _MOST_PULLS
    broken = arrays.get("broken", pulls)  # not counted where a log is made by hand
    yield "its failed pulls", _is_array(broken, np.int64, (K,)) and bool(((broken >= 0) & (broken <= pulls)).all())
    yield "the places of its values", _is_array(starts, np.int64, (M, K + 1)) and not starts[:, 0].any()
    good = np.diff(starts, axis=1)
    yield "its number of values", bool(((good >= 0) & (good <= pulls)).all())
    for d in range(M):
        values = arrays[f"values {d}"]
        yield "its values", _is_array(values, np.float64, (int(starts[d, -1]),)) and bool(np.isfinite(values).all())
        falls = np.flatnonzero(values[1:] < values[:-1]) + 1  # only where another arm begins
        yield "the order of its values", bool(np.isin(falls, starts[d]).all())
    if words["size"] is None:
        return

    which, sums, held, compactions = (arrays[name] for name in ("sketched", "sums", "held", "compactions"))
    extremes, values, wealth = (arrays[name] for name in ("extremes", "sketches", "bets"))
    yield "its sums", _is_array(sums, np.float64, (M, K))
    count, levels = held.shape
    yield "the arms of its sketches", _is_array(which, np.int64, (count, 2)) and bool((which >= 0).all())
    metric, arm = which.T
    yield "the arms of its sketches", bool((which < (M, K)).all() and (np.diff(metric * K + arm) > 0).all())
    yield "the arms of its sketches", not good[metric, arm].any()
    for each in (held, compactions):
        yield "the levels of its sketches", _is_array(each, np.int64, (count, levels)) and levels < 53
        yield "the levels of its sketches", bool(((each >= 0) & (each <= _MOST_PULLS)).all())
    here, stand_for = held.sum(axis=1), (held * 2.0 ** np.arange(levels)).sum(axis=1)
    yield "the counts of its sketches", bool(((here > 0) & (stand_for <= pulls[arm])).all())
    yield "the values of its sketches", _is_array(values, np.float64, (int(here.sum()),))
    yield "the extremes of its sketches", _is_array(extremes, np.float64, (count, 2))
    yield "the extremes of its sketches", bool(np.isfinite(extremes).all())
    low, high = np.repeat(extremes, here, axis=0).T
    yield "the values of its sketches", bool(((low <= values) & (values <= high)).all())
    bounded = np.isin(metric, [d for d in range(M) if metrics[d] in bounds])
    yield "its wealth", _is_array(wealth, np.float64, (int(bounded.sum()), 2, BETS))
    least = (1.0 + 1e-9) * pulls[arm[bounded]][:, None, None] * WORST - 1e-9
    yield "its wealth", bool(((wealth <= 1e-9) & (wealth >= least)).all())


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _ascend(names: list[str]) -> bool:
    return all(names[i] < names[i + 1] for i in range(len(names) - 1))


def _are_bounds(value: Any) -> bool:
    sound = isinstance(value, list) and len(value) == 2 and all(type(each) in (int, float) for each in value)
    return sound and -math.inf < value[0] < value[1] < math.inf


def _is_source(value: Any) -> bool:
    kinds = {"name": (str,), "size": (int,), "digest": (str,), "rows": (int, type(None))}
    return value.keys() == kinds.keys() and all(isinstance(value[key], kind) for key, kind in kinds.items())


def _is_array(array: AnyArray, kind: type, shape: tuple[int, ...]) -> bool:
    return array.dtype == kind and array.shape == shape


@contextlib.contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold a lock of this process on a file, which ends with it; wait `WAIT` seconds, then say who holds it."""
    lock = path.parent / f".{path.name}.lock"
    deadline = time.monotonic() + WAIT
    while (handle := _try(lock, path)) is None:
        if time.monotonic() >= deadline:
            holder = "another process"
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
                note = json.loads(lock.read_text(encoding="utf-8"))
                holder = f"process {note['process']} on {note['machine']} (since {note['since']})"
            raise BadInput(f"{path}: {holder} is writing to this state, also after {WAIT:g} seconds of waiting")
        time.sleep(_PAUSE)
    try:
        yield
    finally:
        # Removed while it is still held, so that whoever opens the file afterwards makes a new one.
        with contextlib.suppress(OSError):
            lock.unlink()
        os.close(handle)


def _try(lock: Path, path: Path) -> int | None:
    """The open lock file, locked; None while somebody else has it."""
    try:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise BadInput(f"{path}: no lock can be made beside it: {error.strerror or error}") from error
    try:
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(handle), lock.stat()):
            os.ftruncate(handle, 0)
            note = {"process": os.getpid(), "machine": socket.gethostname(), "since": time.strftime("%H:%M:%S")}
            os.write(handle, json.dumps(note).encode())
            return handle
    except (BlockingIOError, FileNotFoundError):  # it is held, or the holder before has removed it since it was opened
        pass
    except OSError as error:
        os.close(handle)
        raise BadInput(f"{path}: no lock can be had on it: {error.strerror or error}") from error
    os.close(handle)
    return None
