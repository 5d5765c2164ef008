"""Analyses of logs as documents, there and back; `pieces` writes them, without these models."""

from __future__ import annotations

from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from frontguard.documents.base import Count, Document, Number, Share, Text, Truth, wrong
from frontguard.documents.result import EffectDocument, PickDocument, ResultDocument, Values, Word, values_of
from frontguard.logs.analysis import Analysis
from frontguard.logs.more_pulls import LIMITS, Needed
from frontguard.logs.profile import Profile
from frontguard.logs.what_if import WhatIf
from frontguard.objectives import Objective
from frontguard.results import Result
from frontguard.verdicts import Verdict


class ProfileDocument(Document):
    """How many arms are in, by how much may lie (ε)."""

    levels: list[Share]
    in_front: list[Count]
    resolution: Annotated[Number, Field(ge=1e-9, le=0.5)]
    """To how much levels are exact."""

    @model_validator(mode="after")
    def _rising(self) -> Self:
        if len(self.levels) != len(self.in_front) or (np.diff(self.levels) <= 0.0).any():
            raise wrong((), "rising levels, and for each how many arms are in", {})
        return self


class WhatIfDocument(Document):
    """The arms that would be decided at another confidence or contamination, had it been chosen beforehand."""

    confidence: Annotated[Number, Field(gt=0.0, lt=1.0)]
    contamination: Share
    verdicts: dict[Text, Word]


class AnalysisDocument(ResultDocument):
    """What `Analysis.to_dict()` gives."""

    counts: dict[Text, Count] = {}
    """How many arms have each verdict."""
    anytime: Truth = False
    """Whether the log may have been looked at while it grew."""
    objectives: list[Objective] = []
    estimates: Values = {}
    means: Values = {}
    mean_set: list[Text] = []
    """The front that a comparison of means would have called."""
    failed: dict[Text, dict[Text, Count]] = {}
    """Values that failed, by arm and objective, of arms with any."""
    failed_pulls: dict[Text, Count] | None = None
    """Pulls that lack any value, by arm, of arms with any."""
    stands_up_to: dict[Text, Share] | None = None
    """The largest ε, as the threat model has it, up to which an arm's verdict is certain; null without a profile."""
    front_changes_at: Share | None = None
    """The ε at which the front as a whole is no longer certain; null where that is not known."""
    more_pulls: dict[Text, Count | Literal["far", "contamination", "failures", "tolerance", "limit"]] = {}
    """For each open arm how many more pulls of it would settle it, or why no number would."""
    what_if: list[WhatIfDocument] = []
    """Where no arm is decided: what would be at a lower confidence, or at a lower contamination."""

    def check(self) -> None:
        """What is there besides a result is of its arms and objectives, too."""
        super().check()
        self.check_values([Objective(each.name) for each in self.metrics], failed=self.failed, means=self.means)
        self.check_arms(stands_up_to=self.stands_up_to or {}, more_pulls=self.more_pulls)
        self.check_arms(failed_pulls=self.failed_pulls or {})
        for each in self.what_if:
            self.check_arms(what_if=each.verdicts)
        self.check_arms(more_pulls_of_rival=self.entry("more_pulls_of_rival") or {})
        self.check_named("mean_set", enumerate(self.mean_set))

    def analysis(self) -> Analysis:
        """The analysis."""
        known = self.result()
        arms, names = known.arms, known.objectives
        levels: ProfileDocument | None = self.entry("profile")
        profile = None
        if self.stands_up_to is not None:
            profile = Profile(
                per_arm=np.array([self.stands_up_to.get(arm, np.nan) for arm in arms], np.float64),
                front=np.nan if self.front_changes_at is None else self.front_changes_at,
                levels=np.array([] if levels is None else levels.levels, np.float64),
                in_front=np.array([] if levels is None else levels.in_front, np.int64),
                resolution=0.001 if levels is None else levels.resolution,
            )
        failed = values_of(self.failed, arms, names, 0.0).astype(np.int64)
        lacking = self.failed_pulls
        return Analysis(
            **vars(known),
            failed=failed,
            failed_pulls=np.array([] if lacking is None else [lacking.get(arm, 0) for arm in arms], np.int64),
            means=values_of(self.means, arms, names),
            mean_front=np.isin(np.array(arms, object), np.array(self.mean_set, object)),
            profile=profile,
            needed=self._needed(known),
            what_if=tuple(_what_if(each, known) for each in self.what_if),
            anytime=self.anytime,
        )

    def _needed(self, known: Result) -> Needed | None:
        """What open arms need; what their rivals do follows from the level that this gives, unless it is said."""
        if not self.more_pulls:
            return None
        places, pulls = {arm: place for place, arm in enumerate(known.arms)}, known.pulls_per_arm
        which = np.array([places[arm] for arm in self.more_pulls], np.int64)
        extra = np.array([-1 if isinstance(each, str) else each for each in self.more_pulls.values()], np.int64)
        limit = np.array([LIMITS.index(each) if isinstance(each, str) else 0 for each in self.more_pulls.values()])
        against = known.decided_by[which]
        level = np.where(limit == 0, pulls[which] + extra, -1)
        rival_pulls = np.where((limit == 0) & (against >= 0), np.maximum(level - pulls[against], 0), -1)
        if rivals := self.entry("more_pulls_of_rival"):
            rival_pulls = np.array([rivals.get(arm, -1) for arm in self.more_pulls], np.int64)
        return Needed(which, against, extra, rival_pulls, level, limit)


def _what_if(given: WhatIfDocument, known: Result) -> WhatIf:
    """The verdicts; of arms that are not named, those of arms that nothing decides."""
    words = {verdict.word: int(verdict) for verdict in Verdict}
    rest = np.where(known.having(Verdict.SET_ASIDE), int(Verdict.SET_ASIDE), int(Verdict.UNDECIDED))
    named = [words[given.verdicts[arm]] if arm in given.verdicts else -1 for arm in known.arms]
    return WhatIf(given.confidence, given.contamination, np.where(np.array(named) >= 0, named, rest))


class AnalyzeDocument(AnalysisDocument):
    """What `frontguard analyze --json` prints."""

    answer: Text = ""
    """The answer in a sentence or two."""
    more_pulls_of_rival: dict[Text, Count] = {}
    """For each open arm how many more pulls the arm that decides it would need."""
    profile: ProfileDocument | None = None
    version: Text | None = None
    command: Text | None = None
    source: Text | list[Text] | None = None
    """The files of the log."""
    at: Text | None = None
    """When it was printed."""
    baseline: Text | None = None
    """The arm that --baseline names."""
    comparisons: dict[Text, dict[Text, EffectDocument]] = {}
    """Every other arm against it, by metric; all intervals hold at once with the certificate's confidence."""
    pick: PickDocument | None = None
    """What --pick chooses."""
