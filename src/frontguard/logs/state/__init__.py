"""What a log left behind: enough to answer from, to add new rows to, and to merge with what other logs left.

A state is exact (all values that did not fail, sorted) or sketched (bounded memory for each arm). New rows are added to
it without reading the old ones again; states of shards merge. In exact mode the answer is that of one log with all the
rows, to the bit, whatever the order and grouping in which they came.

It knows `logs.sort`, `logs.sketch` and `logs.counted`. `LogState` and `append_to` are here; `file` is how a state is
kept on disk, whole or not at all; `checks` is what one that others made must be for answers to be read from it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from frontguard._common.typing import Ints
from frontguard.errors import BadInput
from frontguard.logs.counted import CountedFile, counted_twice
from frontguard.logs.sketch import DEFAULT_SIZE, Sketches, SketchOrdered
from frontguard.logs.sort.merge import merge_ordered, same_metrics
from frontguard.logs.sort.ordered import Ordered
from frontguard.logs.state.checks import NotOurs, arm_names, refuse_odd_sketches, refuse_odd_values, refuse_odd_words
from frontguard.logs.state.file import held, not_ours, read_file, remove_leftovers, write_file

WAIT = 60.0
"""Seconds for which a writer waits while another one writes."""


@dataclass(frozen=True, eq=False)
class LogState:
    """A log's data, what must be the same for rows to be added to them, and which files they came from.

    `about` says how rows became values (columns, layout, which values fail): states that differ in it do not merge.

    >>> first = Ordered(["a"], ("ms",), np.array([2]), np.array([[0, 2]]), (np.array([1.0, 3.0]),))
    >>> second = Ordered(["a", "b"], ("ms",), np.array([1, 1]), np.array([[0, 1, 1]]), (np.array([2.0]),))
    >>> both = LogState.from_ordered(first).merge(LogState.from_ordered(second))
    >>> both
    LogState(exact: 2 arms, 4 pulls, metrics 'ms', 0 sources)
    >>> log, delta = both.readable(0.05)
    >>> log.at(0, np.array([0]), np.array([2])).tolist(), delta
    ([2.0], 0.05)
    """

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
        arms = list(ordered.arms)
        if any(arms[i] >= arms[i + 1] for i in range(len(arms) - 1)):
            raise BadInput("arms of a log must be different and in the order of their names")
        return cls(ordered, said, _in_order(sources))

    @property
    def arms(self) -> Sequence[str]:
        """Names (K,), ordered."""
        return self.data.arms

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names (M,)."""
        return self.data.metrics

    @property
    def pulls(self) -> Ints:
        """Of every arm (K,), failed ones included."""
        return self.data.pulls

    def __repr__(self) -> str:
        kind = "exact" if isinstance(self.data, Ordered) else f"sketches of size {self.data.size}"
        names = ", ".join(map(repr, self.metrics))
        counts = f"{len(self.arms)} arms, {int(self.pulls.sum())} pulls"
        return f"LogState({kind}: {counts}, metrics {names}, {len(self.sources)} sources)"

    def readable(self, delta: float, *, anytime: bool = False) -> tuple[Ordered | SketchOrdered, float]:
        """The log as boxes are read from it, and the δ that is left for them: sketches take their part of it.

        With `anytime`, for however many looks while it grows.
        """
        return (self.data, delta) if isinstance(self.data, Ordered) else self.data.readable(delta, anytime=anytime)

    def sketched(self, size: int = DEFAULT_SIZE) -> LogState:
        """The same in bounded memory: sketches of size k for arms with more than 3k values."""
        if isinstance(self.data, Sketches):
            if self.data.size != size:
                raise BadInput(f"this state has sketches of size (k) {self.data.size} already; got {size}")
            return self
        sketches = Sketches(self.metrics, size, self.about.get("bounds"))
        sketches.add(self.data)
        return LogState(sketches, self.about, self.sources)

    def merge(self, other: LogState, *, again: bool = False) -> LogState:
        """The state of the rows of both. Commutative and associative, to the bit where both are exact.

        A source that both have is refused, unless it is to be counted `again`. What is added to sketches is sketched.
        """
        same_metrics(self.metrics, other.metrics)
        _same_about(self.about, other.about)
        twice = [] if again else counted_twice(self.sources, other.sources)
        if twice:
            more = f", and {len(twice) - 1} more likewise" if len(twice) > 1 else ""
            raise BadInput(f"{twice[0]}{more}; --again (again=True) counts it once more")
        sources = _in_order([*self.sources, *other.sources])
        return LogState(_merged(self.data, other.data), self.about, sources)

    @staticmethod
    def merge_all(states: Iterable[LogState], *, again: bool = False) -> LogState:
        """The state of the rows of all: neighbours first, so that every value is moved log₂ times only."""
        row = list(states)
        if not row:
            raise BadInput("at least one state is needed to merge; got none")
        while len(row) > 1:
            pairs = [row[i].merge(row[i + 1], again=again) for i in range(0, len(row) - 1, 2)]
            row = pairs + row[2 * len(pairs) :]
        return row[0]

    def save(self, path: Path | str, *, wait: float = WAIT) -> None:
        """Write it. A crash leaves the file that was there, or the new one; a reader never sees half of it."""
        place = _resolved(path)
        with held(place, wait):
            self._write(place)

    @classmethod
    def load(cls, path: Path | str) -> LogState:
        """Read one, checked to the last byte. The values of a large one are mapped into memory, not copied."""
        place = _resolved(path)
        words, arrays = read_file(place)
        try:
            refuse_odd_words(words)
            arms, metrics = arm_names(arrays), tuple(words["metrics"])
            values = tuple(arrays[f"values {d}"] for d in range(len(metrics)))
            # States of earlier releases have not counted which values failed together.
            ordered = Ordered(arms, metrics, arrays["pulls"], arrays["starts"], values, arrays.get("broken"))
            refuse_odd_values(ordered)
            sources = tuple(CountedFile(**each) for each in words["sources"])
            if words["size"] is None:
                return cls(ordered, words["about"], sources)
            bounds = words["about"].get("bounds", {})
            refuse_odd_sketches(ordered, arrays, bounds)
            return cls(Sketches.from_arrays(ordered, words["size"], arrays, bounds), words["about"], sources)
        except KeyError as error:
            raise BadInput(f"{place}: the state lacks what this release expects: {error}") from error
        except NotOurs as error:
            raise not_ours(place, str(error)) from None

    def _write(self, place: Path) -> None:
        ordered, more = (self.data, {}) if isinstance(self.data, Ordered) else self.data.to_arrays()
        names = [name.encode("utf-8", "surrogatepass") for name in ordered.arms]
        arrays: dict[str, npt.NDArray[Any]] = {
            "names": np.frombuffer(b"".join(names), np.uint8),
            "name ends": np.cumsum(np.fromiter(map(len, names), np.int64, len(names))),
            "pulls": ordered.pulls,
            "starts": ordered.starts,
        }
        if ordered.broken is not None:
            arrays["broken"] = ordered.broken
        arrays |= {f"values {d}": values[: ordered.starts[d, -1]] for d, values in enumerate(ordered.values)}
        words = {
            "metrics": list(self.metrics),
            "about": dict(self.about),
            "sources": [asdict(source) for source in self.sources],
            "size": None if isinstance(self.data, Ordered) else self.data.size,
        }
        remove_leftovers(place)
        write_file(place, words, arrays | more)


def append_to(path: Path | str, new: LogState, *, again: bool = False, wait: float = WAIT) -> LogState:
    """Add a state to the one in a file, which is made if it is not there; the state of both.

    One process at a time: others wait, or are told who holds the file. On any error the file stays as it is.
    """
    place = _resolved(path)
    with held(place, wait):
        state = LogState.load(place).merge(new, again=again) if place.exists() else new
        state._write(place)
    return state


def _merged(first: Ordered | Sketches, second: Ordered | Sketches) -> Ordered | Sketches:
    if isinstance(first, Ordered):
        return merge_ordered(first, second) if isinstance(second, Ordered) else _merged(second, first)
    both = first.copied()
    both.add(second) if isinstance(second, Ordered) else both.merge(second)
    return both


def _same_about(first: Mapping[str, Any], second: Mapping[str, Any]) -> None:
    for key in sorted({*first, *second}):
        if first.get(key) != second.get(key):
            raise BadInput(
                f"logs that are added must be read alike; {key} differs: {first.get(key)!r} and {second.get(key)!r}"
            )


def _in_order(sources: Iterable[CountedFile]) -> tuple[CountedFile, ...]:
    """In an order that does not depend on the one in which they came."""
    return tuple(sorted(sources, key=lambda source: (source.name, source.size, source.digest, source.rows or 0)))


def _resolved(path: Path | str) -> Path:
    """The file itself where `path` is a link to it: replacing the link would leave the file behind."""
    return Path(path).expanduser().resolve()
