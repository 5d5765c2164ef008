"""What a state must be for answers to be read from it, whoever wrote it: checksums show accidents only."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from frontguard._common.typing import Floats, Ints
from frontguard.evidence.means import BETS, WORST
from frontguard.logs.sort.ordered import Ordered
from frontguard.phrases import shown

AnyArray = npt.NDArray[Any]

_MOST_PULLS = 1 << 53  # exact as floats
_ROUNDED = 1.0 + 1e-9
_AT_A_TIME = 1 << 20  # values of a mapped file that are looked at together


class NotOurs(Exception):
    """Something that no state of ours has; the message says what."""


def refuse_odd_words(words: Mapping[str, Any]) -> None:
    """Refuse words about a state that are of another kind than ours."""
    metrics, about, sources, size = (words[key] for key in ("metrics", "about", "sources", "size"))
    if not _is_texts(metrics) or len(set(metrics)) < len(metrics):
        raise NotOurs(f"its metrics must be different names; got {shown(metrics)}")
    if not isinstance(about, dict) or not all(_is_texts(about.get(key, [])) for key in ("arm", "relative")):
        raise NotOurs(f"what it says of its rows is {shown(about)}")
    bounds = about.get("bounds", {})
    if not isinstance(bounds, dict) or not all(each in metrics and _are_bounds(bounds[each]) for each in bounds):
        raise NotOurs(f"what it says of bounds is {shown(bounds)}")
    where = about.get("where", {})
    if not isinstance(where, dict) or not all(where[key] and _is_texts(where[key]) for key in where):
        raise NotOurs(f"what it says of the rows that were chosen is {shown(where)}")
    if not isinstance(sources, list) or not all(map(_is_source, sources)):
        raise NotOurs(f"what it says of its sources is {shown(sources)}")
    if size is not None and type(size) is not int:
        raise NotOurs(f"the size of its sketches is {shown(size)}")


def _are_bounds(value: Any) -> bool:
    sound = isinstance(value, list) and len(value) == 2 and all(type(each) in (int, float) for each in value)
    return sound and -math.inf < value[0] < value[1] < math.inf


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _is_source(value: Any) -> bool:
    wanted: dict[str, type | tuple[type, ...]] = {"name": str, "size": int, "digest": str, "rows": (int, type(None))}
    return (
        isinstance(value, dict)
        and value.keys() == wanted.keys()
        and all(isinstance(value[key], kind) for key, kind in wanted.items())
    )


def arm_names(arrays: Mapping[str, AnyArray]) -> list[str]:
    """The names of arms, which are different and in order."""
    letters, ends = arrays["names"], arrays["name ends"]
    _refuse_unless(_edges(ends) and letters.ndim == 1 and _last(ends) == letters.size, "the ends of its names")
    text, stops = letters.tobytes(), ends.tolist()
    try:
        arms = [text[a:b].decode("utf-8", "surrogatepass") for a, b in zip([0, *stops], stops, strict=False)]
    except UnicodeDecodeError:
        raise NotOurs("a name of an arm is no text") from None
    _refuse_unless(all(arms[i] < arms[i + 1] for i in range(len(arms) - 1)), "the order of its arms")
    return arms


def refuse_odd_values(ordered: Ordered) -> None:
    """Refuse counts that do not fit together, and values that are not finite or out of order."""
    arms, metrics = len(ordered.arms), len(ordered.metrics)
    pulls, starts = ordered.pulls, ordered.starts
    _refuse_unless(_whole(pulls, (arms,)) and bool((pulls >= 0).all()), "its pulls")
    _refuse_unless(float(pulls.astype(np.float64).sum()) <= _MOST_PULLS, "its number of pulls")
    _refuse_unless(_whole(starts, (metrics, arms + 1)), "the places of its values")
    for values, begins in zip(ordered.values, starts, strict=True):
        sound = values.ndim == 1 and values.dtype == np.float64 and _edges(begins)
        _refuse_unless(sound and begins[0] == 0 and begins[-1] == values.size, "the places of its values")
        _refuse_unless(_ascending(values, begins), "the order of its values")
    _refuse_unless(bool((ordered.good <= pulls).all()), "its number of values")
    if ordered.broken is not None:
        broken = ordered.broken
        _refuse_unless(_whole(broken, (arms,)) and bool(((broken >= 0) & (broken <= pulls)).all()), "its failed pulls")


def refuse_odd_sketches(ordered: Ordered, arrays: Mapping[str, AnyArray], bounds: Mapping[str, Any]) -> None:
    """Refuse places of sketches that are none, arms that have both a sketch and values, and sums that none have."""
    sums = arrays["sums"]
    _refuse_unless(sums.shape == (len(ordered.metrics), len(ordered.arms)) and sums.dtype.kind == "f", "its sums")
    for d, good in enumerate(ordered.good):
        which, ends, body = (arrays[f"{name} {d}"] for name in ("sketched", "ends", "sketches"))
        sound = _edges(which) and _edges(ends) and which.size == ends.size and body.ndim == 1
        _refuse_unless(sound and _last(ends) == body.size and body.dtype == np.uint8, "the places of its sketches")
        apart = not which.size or (which[-1] < good.size and bool((np.diff(which) > 0).all()))
        _refuse_unless(apart and not good[which].any(), "the arms of its sketches")
        if ordered.metrics[d] in bounds:
            bets = arrays[f"bets {d}"]
            _refuse_unless(bets.shape == (which.size, 2, BETS) and bets.dtype == np.float64, "its sums of bets")
            least = _ROUNDED * ordered.pulls[which][:, None, None] * WORST - 1e-9
            _refuse_unless(bool(((bets <= 1e-9) & (bets >= least)).all()), "its sums of bets")


def _refuse_unless(sound: bool, what: str) -> None:
    if not sound:
        raise NotOurs(f"{what} cannot be")


def _whole(array: AnyArray, shape: tuple[int, ...]) -> bool:
    return array.dtype == np.int64 and array.shape == shape


def _edges(array: AnyArray) -> bool:
    """Whether these are places one after another."""
    whole = array.ndim == 1 and array.dtype == np.int64
    return whole and (not array.size or (int(array[0]) >= 0 and bool((array[1:] >= array[:-1]).all())))


def _last(edges: Ints) -> int:
    return int(edges[-1]) if edges.size else 0


def _ascending(values: Floats, starts: Ints) -> bool:
    """Whether all values are finite, and those of each arm in order; a part of a large file at a time."""
    for first in range(0, values.size, _AT_A_TIME):
        part = values[first : first + _AT_A_TIME + 1]
        falls = np.flatnonzero(part[1:] < part[:-1]) + first + 1
        if not np.isfinite(part).all() or (starts[np.searchsorted(starts, falls)] != falls).any():
            return False
    return True
