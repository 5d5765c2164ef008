"""What a log has or lacks: too few pulls, clusters and pairs of rows, rows left out, pulls under way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from frontguard.notices.record import Notice


@dataclass(frozen=True)
class TooFewPulls(Notice):
    """Nothing is known of `arms` (the first of them by name) because they have `most` pulls each or fewer.

    With so many arms and `metrics`, at this confidence and contamination, an arm needs `first` pulls at least before
    any of its intervals has an end, and `whole` before all have two; None where no number would do.
    """

    names: tuple[str, ...]
    arms: int
    of: int
    most: int
    metrics: int = 0  # 0 where the rest is not known, as of what earlier versions printed
    confidence: float = 0.0
    contamination: float = 0.0
    first: int | None = None
    whole: int | None = None
    kind: Literal["too_few_pulls"] = "too_few_pulls"


@dataclass(frozen=True)
class InClusters(Notice):
    """The rows of an arm that have the same value in these `columns` are a cluster, which is one observation.

    There are so many `clusters` of all arms, `least` to `most` of an arm. `correlation` is that of ranks within
    clusters, the largest of any objective; None where it cannot be seen.
    """

    warns: ClassVar[bool] = False
    columns: tuple[str, ...]
    rows: int
    clusters: int
    least: int
    most: int
    correlation: float | None = None
    kind: Literal["in_clusters"] = "in_clusters"


@dataclass(frozen=True)
class InPairs(Notice):
    """Arms were measured on the same `blocks`, which `columns` tell apart (rep, in a study), and are compared on them.

    `least` to `most` of these were measured by an arm. `items` is the length of the list that they are of, 0 for none;
    `complete` says how many arms have measured all of it, so that nothing failed, and `hidden` which share of it may
    have been replaced. `looked` is False where arms are too many for their pairs to be looked at.
    """

    warns: ClassVar[bool] = False
    columns: tuple[str, ...]
    blocks: int
    least: int
    most: int
    items: int = 0
    complete: int = 0
    hidden: float = 0.0
    arms: int = 0
    looked: bool = True
    kind: Literal["in_pairs"] = "in_pairs"


@dataclass(frozen=True)
class IndependentArms(Notice):
    """So many `arms` are compared in pairs besides, which takes for granted that they are measured independently."""

    warns: ClassVar[bool] = False
    arms: int
    kind: Literal["independent_arms"] = "independent_arms"


@dataclass(frozen=True)
class TooFewClusters(Notice):
    """Nothing is known of `arms` (the first of them by name) because they have `most` clusters each or fewer.

    An arm needs `first` clusters at least before any of its intervals has an end, and `whole` before all have two; None
    where no number would do. The rest is as in `TooFewPulls`.
    """

    names: tuple[str, ...]
    columns: tuple[str, ...]
    arms: int
    of: int
    most: int
    metrics: int
    confidence: float
    contamination: float
    first: int | None = None
    whole: int | None = None
    kind: Literal["too_few_clusters"] = "too_few_clusters"


@dataclass(frozen=True)
class RowsWithoutArm(Notice):
    """Rows that name no arm; `first` says where the first one is. They were `dropped`, unless they are refused."""

    rows: int
    columns: tuple[str, ...]
    first: str
    dropped: bool = True
    kind: Literal["rows_without_arm"] = "rows_without_arm"


@dataclass(frozen=True)
class RowsLeftOut(Notice):
    """Only rows count that have one of these values in each of these columns: `rows` of `of` have not.

    How many is None where it was not counted: in a state that was made so.
    """

    where: tuple[tuple[str, tuple[str, ...]], ...]
    rows: int | None = None
    of: int | None = None
    kind: Literal["rows_left_out"] = "rows_left_out"


@dataclass(frozen=True)
class ArmsWithoutRows(Notice):
    """Arms that have no row of any of the wanted metrics were left out."""

    where: str
    arms: int
    kind: Literal["arms_without_rows"] = "arms_without_rows"


@dataclass(frozen=True)
class UnfinishedLine(Notice):
    """The last line of a file does not end with a line break."""

    where: str
    kind: Literal["unfinished_line"] = "unfinished_line"


@dataclass(frozen=True)
class UnderWay(Notice):
    """Pulls that were handed out and have not come back are read as failed ones."""

    pulls: int
    kind: Literal["under_way"] = "under_way"
