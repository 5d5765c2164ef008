"""What an analysis of a log found: a result, with what only a complete log can tell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from frontguard._common.entries import ByArm, table_of
from frontguard._common.typing import Bools, Floats, Ints
from frontguard.logs.robustness import LIMITS, Needed, Profile, WhatIf
from frontguard.logs.sources.typed import same_kind
from frontguard.results import WORDS, Result
from frontguard.verdicts import Verdict

if TYPE_CHECKING:
    from frontguard.schema import AnyAnswer, WhatIfEntries


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

    def _more_pulls_of_rival(self) -> Iterator[tuple[str, int]]:
        if self.needed is not None:
            for arm, more in zip(self.needed.arms.tolist(), self.needed.rival_pulls.tolist(), strict=True):
                if more >= 0:
                    yield self.arms[arm], more

    def entries(self) -> Iterator[tuple[str, Any]]:
        """What `to_dict` has, entry by entry; what there is for each arm as `ByArm`."""
        names, arms = self.objectives, self.arms
        yield from super().entries()
        yield "counts", self.counts
        yield "anytime", self.anytime
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
        profile = self.profile
        yield (
            "profile",
            profile
            and {
                "levels": profile.levels.tolist(),
                "in_front": profile.in_front.tolist(),
                "resolution": profile.resolution,
            },
        )
        yield "more_pulls", ByArm(self._more_pulls())
        yield "more_pulls_of_rival", ByArm(self._more_pulls_of_rival())
        yield "what_if", [self._plain(each) for each in self.what_if]

    def _plain(self, given: WhatIf) -> dict[str, Any]:
        decided = np.flatnonzero((given.codes != Verdict.UNDECIDED) & (given.codes != Verdict.SET_ASIDE)).tolist()
        verdicts = {self.arms[arm]: WORDS[given.codes[arm]] for arm in decided}
        return {"confidence": given.confidence, "contamination": given.contamination, "verdicts": verdicts}

    @classmethod
    def _fields(cls, given: AnyAnswer) -> dict[str, Any]:
        """Values of the fields, from JSON that was checked."""
        known = super()._fields(given)
        arms, names, lacking = known["arms"], known["objectives"], given.failed_pulls
        return known | {
            "failed": table_of(given.failed, arms, names, 0.0).astype(np.int64),
            "failed_pulls": np.array([] if lacking is None else [lacking.get(arm, 0) for arm in arms], np.int64),
            "means": table_of(given.means, arms, names),
            "mean_front": np.isin(np.array(arms, object), np.array(given.mean_set, object)),
            "profile": _profile_of(given, arms),
            "needed": _needed_of(given, known),
            "what_if": tuple(_what_if_of(each, known) for each in given.what_if),
            "anytime": given.anytime,
        }

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

    def _tables(self) -> dict[str, Any]:
        return {" mean": self.means, " failed": self.failed}

    def _counts(self) -> dict[str, Any]:
        return {"pulls": self.pulls_per_arm, "failed pulls": self.failed_pulls}

    def _more_columns(self) -> dict[str, Any]:
        """`more pulls` is 0 for an arm that is decided, and −1 for one that no foreseeable number of pulls settles."""
        more = np.zeros(len(self.arms), np.int64)
        if self.needed is not None:
            more[self.needed.arms] = self.needed.pulls
        stands = {} if self.profile is None else {"stands up to": self.profile.per_arm}
        return {"mean front": self.mean_front, **stands, "more pulls": more}


# From JSON that was checked -------------------------------------------------------------------------------------------


def _profile_of(given: AnyAnswer, arms: tuple[str, ...]) -> Profile | None:
    if given.stands_up_to is None or given.profile is None:
        return None
    front = np.nan if given.front_changes_at is None else given.front_changes_at
    per_arm = np.array([given.stands_up_to.get(arm, np.nan) for arm in arms], np.float64)
    levels, in_front = np.array(given.profile.levels, np.float64), np.array(given.profile.in_front, np.int64)
    return Profile(per_arm, front, levels, in_front, given.profile.resolution)


def _needed_of(given: AnyAnswer, known: dict[str, Any]) -> Needed | None:
    if not given.more_pulls:
        return None
    places, pulls = {arm: place for place, arm in enumerate(known["arms"])}, known["pulls_per_arm"]
    which = np.array([places[arm] for arm in given.more_pulls], np.int64)
    extra = np.array([-1 if isinstance(each, str) else each for each in given.more_pulls.values()], np.int64)
    limit = np.array([LIMITS.index(each) if isinstance(each, str) else 0 for each in given.more_pulls.values()])
    rival_pulls = np.array([given.more_pulls_of_rival.get(arm, -1) for arm in given.more_pulls], np.int64)
    level = np.where(limit == 0, pulls[which] + extra, -1)
    return Needed(which, known["decided_by"][which], extra, rival_pulls, level, limit)


def _what_if_of(given: WhatIfEntries, known: dict[str, Any]) -> WhatIf:
    """The verdicts; of arms that are not named, those of arms that nothing decides."""
    words = {verdict.word: int(verdict) for verdict in Verdict}
    aside = known["verdict_codes"] == Verdict.SET_ASIDE
    rest = np.where(aside, int(Verdict.SET_ASIDE), int(Verdict.UNDECIDED)).tolist()
    pairs = zip(known["arms"], rest, strict=True)
    codes = [words[given.verdicts[arm]] if arm in given.verdicts else code for arm, code in pairs]
    return WhatIf(given.confidence, given.contamination, np.array(codes))
