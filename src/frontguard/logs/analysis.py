"""What an analysis of a log found: a result, with what only a complete log can tell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from frontguard._common.typing import Bools, Floats, Ints
from frontguard.logs.more_pulls import LIMITS, Needed
from frontguard.logs.profile import Profile
from frontguard.logs.sources.typed import same_kind
from frontguard.logs.what_if import WhatIf
from frontguard.results import WORDS, ByArm, Result
from frontguard.verdicts import Verdict


@dataclass(frozen=True, eq=False, repr=False)
class Analysis(Result):
    """A result with what only a complete log can tell; arrays have a row for each arm, in the order of names."""

    failed: Ints = field(default_factory=lambda: np.empty((0, 0), np.int64))  # (K, M) values that may be anything
    failed_pulls: Ints = field(default_factory=lambda: np.empty(0, np.int64))  # (K,) pulls that lack any value
    means: Floats = field(default_factory=lambda: np.empty((0, 0)))  # (K, M), in the metrics' units
    mean_front: Bools = field(default_factory=lambda: np.empty(0, np.bool_))
    profile: Profile | None = None
    needed: Needed | None = None
    what_if: tuple[WhatIf, ...] = ()  # where no arm is decided: what would be at a lower confidence or ε
    anytime: bool = False
    kind: Any = None  # an empty frame of the kind that came in

    def __post_init__(self) -> None:
        """Where pulls that lack a value were not counted, they are so many at least as lack one value."""
        if len(self.failed_pulls) != len(self.failed):
            object.__setattr__(self, "failed_pulls", self.failed.max(axis=1))

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
        """The ε at which the list, or the front, is no longer certain; 0.5 if it is below, None if that is not known.

        From there on other arms are in, or one is open that was not. It is not known without a profile, nor of a study
        whose log, read as it is now, would not give the study's front.
        """
        return None if self.profile is None or np.isnan(self.profile.front) else float(self.profile.front)

    def more_pulls(self) -> dict[str, int | str]:
        """For each open arm how many more pulls of it would settle it, or why no number would."""
        return dict(self._more_pulls())

    def _more_pulls(self) -> Iterator[tuple[str, int | str]]:
        if self.needed is not None:
            arms, pulls, limits = (each.tolist() for each in (self.needed.arms, self.needed.pulls, self.needed.limit))
            for arm, more, limit in zip(arms, pulls, limits, strict=True):
                yield self.arms[arm], LIMITS[limit] if limit else more

    def entries(self) -> Iterator[tuple[str, Any]]:
        """What `to_dict` has, entry by entry; what there is for each arm as `ByArm`."""
        names, arms = self.objectives, self.arms
        yield from super().entries()
        yield "counts", self.counts
        yield "anytime", self.anytime
        yield "objectives", [asdict(metric.spelled_out) for metric in self.metrics]
        yield "estimates", self.by_arm(self.estimates)
        yield "means", self.by_arm(self.means)
        yield "mean_set", self.mean_set
        yield (
            "failed",
            ByArm(
                (arms[i], dict(zip(names, self.failed[i].tolist(), strict=True)))
                for i in np.flatnonzero(self.failed.any(axis=1)).tolist()
            ),
        )
        yield (
            "failed_pulls",
            ByArm((arms[i], int(self.failed_pulls[i])) for i in np.flatnonzero(self.failed_pulls).tolist()),
        )
        yield "stands_up_to", None if self.profile is None else ByArm(self.stands_up_to.items())
        yield "front_changes_at", self.front_changes_at
        yield "more_pulls", ByArm(self._more_pulls())
        yield "what_if", [self._plain(each) for each in self.what_if]

    def _plain(self, given: WhatIf) -> dict[str, Any]:
        decided = np.flatnonzero((given.codes != Verdict.UNDECIDED) & (given.codes != Verdict.SET_ASIDE)).tolist()
        verdicts = {self.arms[arm]: WORDS[given.codes[arm]] for arm in decided}
        return {"confidence": given.confidence, "contamination": given.contamination, "verdicts": verdicts}

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
        estimates, lower, upper = self.estimates, self.lower, self.upper
        columns: dict[str, Any] = {"arm": list(self.arms), "verdict": WORDS[self.verdict_codes].tolist()}
        for d, name in enumerate(self.objectives):
            columns[name] = estimates[:, d]
            columns[f"{name} low"] = lower[:, d]
            columns[f"{name} high"] = upper[:, d]
            columns[f"{name} mean"] = self.means[:, d]
            columns[f"{name} failed"] = self.failed[:, d]
        columns |= self.limit_columns()
        columns["pulls"] = self.pulls_per_arm
        columns["failed pulls"] = self.failed_pulls
        columns["decided by"] = [self.arms[j] if j >= 0 else "" for j in self.decided_by.tolist()]
        columns |= self.list_columns()
        columns["mean front"] = self.mean_front
        if self.profile is not None:
            columns["stands up to"] = self.profile.per_arm
        more = np.zeros(len(self.arms), np.int64)
        if self.needed is not None:
            more[self.needed.arms] = self.needed.pulls
        columns["more pulls"] = more
        return self.with_parts(columns)
