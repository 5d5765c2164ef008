"""What an analysis of a log found: a result, with what only a complete log can tell."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from frontguard._typing import Bools, Floats, Ints
from frontguard.logs.more_pulls import LIMITS, Needed
from frontguard.logs.profile import Profile
from frontguard.logs.sources.frames import same_kind
from frontguard.results import Result
from frontguard.verdicts import Verdict

_AT_A_TIME = 20_000  # arms that are brought to JSON in one piece

WORDS = np.array([verdict.word for verdict in sorted(Verdict)], dtype=object)
"""Verdicts by their codes."""


class ByArm:
    """Pairs of an arm's name and a value, made one after another: with a million arms they are not wanted at once."""

    def __init__(self, pairs: Iterable[tuple[str, Any]]) -> None:
        self.pairs = pairs

    def pieces(self) -> Iterator[dict[str, Any]]:
        """The pairs as dictionaries of some thousand arms."""
        rest = iter(self.pairs)
        while piece := dict(islice(rest, _AT_A_TIME)):
            yield piece


@dataclass(frozen=True, eq=False, repr=False)
class Analysis(Result):
    """A result with what only a complete log can tell; arrays have a row for each arm, in the order of names."""

    failed: Ints = field(default_factory=lambda: np.empty((0, 0), np.int64))  # (K, M) values that may be anything
    means: Floats = field(default_factory=lambda: np.empty((0, 0)))  # (K, M), in the metrics' units
    mean_front: Bools = field(default_factory=lambda: np.empty(0, np.bool_))
    profile: Profile | None = None
    needed: Needed | None = None
    anytime: bool = False
    kind: Any = None  # an empty frame of the kind that came in

    def named(self, which: Bools) -> list[str]:
        """The names of some arms."""
        return [self.arms[i] for i in np.flatnonzero(which).tolist()]

    def having(self, verdict: Verdict) -> Bools:
        """Which arms (K,) have this verdict."""
        return np.asarray(self.verdict_codes == verdict)

    @property
    def pareto_set(self) -> list[str]:
        """Names of the arms that are in."""
        return self.named(self.having(Verdict.IN))

    @property
    def verdicts(self) -> dict[str, str]:
        """Verdict of every arm by name: in, out, covered or undecided."""
        return dict(zip(self.arms, WORDS[self.verdict_codes].tolist(), strict=True))

    @property
    def counts(self) -> dict[str, int]:
        """How many arms have each verdict."""
        return {verdict.word: int(self.having(verdict).sum()) for verdict in Verdict}

    @property
    def mean_set(self) -> list[str]:
        """The front that a comparison of means would have called."""
        return self.named(self.mean_front)

    @property
    def stands_up_to(self) -> dict[str, float]:
        """For each arm with a verdict the largest ε up to which it stands; empty without a profile."""
        if self.profile is None:
            return {}
        known = np.flatnonzero(~np.isnan(self.profile.per_arm))
        return dict(zip((self.arms[i] for i in known.tolist()), self.profile.per_arm[known].tolist(), strict=True))

    @property
    def front_changes_at(self) -> float | None:
        """The ε at which the front as a whole changes; 0.5 if it does not below, None without a profile."""
        return None if self.profile is None else float(self.profile.front)

    def more_pulls(self) -> dict[str, int | str]:
        """For each open arm how many more pulls of it would settle it, or why no number would."""
        if self.needed is None:
            return {}
        return {
            self.arms[arm]: int(pulls) if limit == 0 else LIMITS[limit]
            for arm, pulls, limit in zip(
                self.needed.arms.tolist(), self.needed.pulls.tolist(), self.needed.limit.tolist(), strict=True
            )
        }

    def entries(self) -> Iterator[tuple[str, Any]]:
        """What `to_dict` has, entry by entry; what there is for each arm as `ByArm`."""
        names, arms, decided = self.objectives, self.arms, np.flatnonzero(self.decided_by >= 0).tolist()
        yield "policy", self.policy
        yield "status", self.status
        yield "pareto_set", self.pareto_set
        yield "verdicts", ByArm(zip(arms, WORDS[self.verdict_codes].tolist(), strict=True))
        yield "certificate", self.certificate.to_dict()
        yield "pulls", self.pulls
        low, high = (_without_infinity(ends) for ends in self.bounds)
        yield (
            "intervals",
            ByArm(
                (arm, {name: [a, b] for name, a, b in zip(names, lows, highs, strict=True)})
                for arm, lows, highs in zip(arms, low, high, strict=True)
            ),
        )
        yield "warnings", list(self.warnings)
        yield "notices", [notice.to_dict() for notice in self.notices]
        yield "pulls_per_arm", ByArm(zip(arms, self.pulls_per_arm.tolist(), strict=True))
        yield "decided_by", ByArm((arms[i], arms[int(self.decided_by[i])]) for i in decided)
        yield "counts", self.counts
        yield "anytime", self.anytime
        yield (
            "objectives",
            [asdict(metric) for metric in self.metrics],
        )
        for what, table in (("estimates", self.medians), ("means", self.means)):
            rows = zip(arms, _without_infinity(table), strict=True)
            yield what, ByArm((arm, dict(zip(names, row, strict=True))) for arm, row in rows)
        yield "mean_set", self.mean_set
        yield (
            "failed",
            ByArm(
                (arms[i], dict(zip(names, self.failed[i].tolist(), strict=True)))
                for i in np.flatnonzero(self.failed.any(axis=1)).tolist()
            ),
        )
        yield "stands_up_to", None if self.profile is None else ByArm(self.stands_up_to.items())
        yield "front_changes_at", self.front_changes_at
        yield "more_pulls", ByArm(self.more_pulls().items())

    def to_dict(self) -> dict[str, Any]:
        """Plain values that JSON can hold; what is infinite or not known becomes None."""
        return {key: dict(value.pairs) if isinstance(value, ByArm) else value for key, value in self.entries()}

    def json_pieces(self, **more: Any) -> Iterator[str]:
        """The text of `to_dict` as JSON, with more entries at its end, in pieces: never all of it at once."""
        between = "{"
        for key, value in (*self.entries(), *more.items()):
            yield f"{between}{json.dumps(key)}: "
            between = ", "
            if isinstance(value, ByArm):
                inner = "{"
                for piece in value.pieces():
                    yield inner + json.dumps(piece)[1:-1]
                    inner = ", "
                yield "}" if inner == ", " else "{}"
            else:
                yield json.dumps(value)
        yield "}"

    def to_frame(self) -> Any:
        """A row for each arm, in a frame of the kind that was analysed; pandas for files."""
        columns = self.columns()
        if self.kind is not None:
            return same_kind(self.kind, columns)
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("Analysis.to_frame() needs pandas: pip install pandas") from error
        return pd.DataFrame(columns)

    def columns(self) -> dict[str, Any]:
        """The table as columns: verdict, estimates, bounds, means, failures, pulls, who decides, what it stands up to.

        `more pulls` is 0 for an arm that is decided, and −1 for one that no foreseeable number of pulls settles.
        """
        medians, (low, high) = self.medians, self.bounds
        columns: dict[str, Any] = {"arm": list(self.arms), "verdict": WORDS[self.verdict_codes].tolist()}
        for d, name in enumerate(self.objectives):
            columns[name] = medians[:, d]
            columns[f"{name} low"] = low[:, d]
            columns[f"{name} high"] = high[:, d]
            columns[f"{name} mean"] = self.means[:, d]
            columns[f"{name} failed"] = self.failed[:, d]
        columns["pulls"] = self.pulls_per_arm
        columns["decided by"] = [self.arms[j] if j >= 0 else "" for j in self.decided_by.tolist()]
        columns["mean front"] = self.mean_front
        if self.profile is not None:
            columns["stands up to"] = self.profile.per_arm
        more = np.zeros(len(self.arms), np.int64)
        if self.needed is not None:
            more[self.needed.arms] = self.needed.pulls
        columns["more pulls"] = more
        return columns

    def _rows(self) -> list[dict[str, Any]]:
        return self._some_rows(len(self.arms))

    def _some_rows(self, most: int) -> list[dict[str, Any]]:
        plain = {name: np.asarray(column, dtype=object)[:most].tolist() for name, column in self.columns().items()}
        return [dict(zip(plain, row, strict=True)) for row in zip(*plain.values(), strict=True)]


def _without_infinity(values: Floats) -> Iterator[list[float | None]]:
    """The rows of a table as Python's own numbers, some thousand at a time; None where they are not finite."""
    for start in range(0, len(values), _AT_A_TIME):
        part = values[start : start + _AT_A_TIME]
        plain = part.astype(object)
        plain[~np.isfinite(part)] = None
        yield from plain.tolist()
