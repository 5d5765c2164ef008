"""The design of a log: which of its rows are one observation, and which arms are compared in pairs.

*Clusters* (of a process, a host, a day): rows of one arm and cluster are one observation (`evidence.clusters`).
*Blocks* (items, seeds, days): two arms are compared on the blocks that both have (`differences.pairs`); one that an arm
has no row of counts as failed unless chance decided that. Of a finite list, intervals are those of its mean
(`differences.lists`), in an order that is drawn here. *Independent* arms are compared in pairs without any.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from frontguard._common.machine import available_memory
from frontguard._common.typing import Codes, Floats, Ints
from frontguard.errors import BadArgument
from frontguard.evidence.clusters import Clustered
from frontguard.evidence.differences.lists import hidden_share
from frontguard.evidence.differences.pairs import MOST_ARMS, PairedLog, check_counted, hits_delta, pairs_of
from frontguard.evidence.measurements import Ordered
from frontguard.evidence.statistics import statistics_of
from frontguard.logs.sort import TRUTHS, ArmNames, Batch, Clock, by_arm
from frontguard.notices import AbsentPairs, InPairs, Notice, UnevenRepeats
from frontguard.phrases import quoted
from frontguard.question import Question

MOST_CELLS = 30_000_000
"""Arms times blocks times objectives up to which all pairs are looked at: some hundred megabytes."""

_SEED = 0  # of the order in which the items of a list are read
_BYTES = 64  # that a row takes beside its values while it is sorted


def clustered_from(
    batches: Iterable[Batch],
    metrics: Sequence[str],
    columns: Sequence[str],
    *,
    usable: Floats,
    memory: int | None = None,
    clusters: ArmNames | None = None,
    clock: Clock | None = None,
) -> Clustered:
    """The measurements by arm with their clusters, which logs may share, in memory; else as `ordered_from`."""
    arms, clock = ArmNames(), clock or Clock()
    clusters = ArmNames() if clusters is None else clusters
    most = (available_memory() // 2 if memory is None else memory) // (_BYTES + 16 * len(metrics))
    codes: list[tuple[Codes, Codes]] = []
    parts: list[list[Floats]] = []
    ends, count = usable.copy(), 0
    for batch in batches:
        assert batch.clusters is not None  # or nobody would ask
        count += len(batch)
        if count > most:
            raise BadArgument("cluster", "rows with clusters are kept in memory, and these are too many; try --memory")
        codes.append((arms.codes(batch.arms), clusters.codes(batch.clusters)))
        parts.append([np.asarray(column, np.float64) for column in batch.values])
        ends[list(batch.truths)] = TRUTHS
        clock.read(count)
    clock.all_read()
    order = arms.in_order()
    rank = np.argsort(order)
    arm, cluster = (np.concatenate([each[which] for each in codes]).astype(np.int64) for which in (0, 1))
    values = [np.concatenate(column) for column in zip(*parts, strict=True)]
    ordered = by_arm(arms.texts(order), metrics, rank[arm], values, ends)
    clock.sorted(count)
    return _with_clusters(ordered, columns, rank[arm], cluster, values, ends)


def _with_clusters(
    ordered: Ordered, columns: Sequence[str], arm: Ints, cluster: Ints, values: Sequence[Floats], usable: Floats
) -> Clustered:
    """The sorted log of rows with arms (n,), clusters (n,) and values (M times n) that are `usable` (M, 2)."""
    width, arms = int(cluster.max(initial=0)) + 1, len(ordered.arms)
    of_arm, place, sizes = np.unique(arm * width + cluster, return_inverse=True, return_counts=True)
    begins = np.searchsorted(of_arm // width, np.arange(arms + 1))
    place -= begins[arm]
    owners = []
    for column, (least, most) in zip(values, usable.tolist(), strict=True):
        good = np.flatnonzero((column >= least) & (column <= most))
        owners.append(place[good[np.lexsort((column[good], arm[good]))]])
    return Clustered(
        **vars(ordered), columns=tuple(columns), begins=begins, sizes=sizes, owners=tuple(owners),
        labels=of_arm % width,
    )  # fmt: skip


def paired_log(log: Clustered, items: int | None, ordered_pairs: int = 0, *, alone: bool = False) -> PairedLog:
    """The log with its pairs, a list in a random order. Refuses one with items measured twice, or more than it has."""
    if items is not None:
        for arm in np.flatnonzero(log.dependent)[:1].tolist():
            slot = log.begins[arm] + int(np.argmax(log.sizes[log.begins[arm] : log.begins[arm + 1]] > 1))
            raise BadArgument(
                "items",
                f"an arm is measured once on each item of a list; {quoted([log.arms[arm]])} has {log.sizes[slot]} rows "
                f"with the same {quoted(log.columns)}: leave items away, and their mean counts",
            )
        found = len(np.unique(log.labels))
        if found > items:
            raise BadArgument(
                "items", f"the log has {found:,} different {quoted(log.columns)}; got a list of {items:,}"
            )
        # Chance in the order, so that a random subset of the list, in whatever order it is written, is enough.
        drawn = np.random.default_rng(_SEED).permutation(int(log.labels.max()) + 1)
        log = replace(log, labels=drawn[log.labels])
    return PairedLog(**vars(log), items=items or 0, ordered_pairs=ordered_pairs, alone=alone)


def of_pulls(
    ordered: Ordered, arm_of: Ints, reps: Ints, values: Floats, usable: Floats, *, items: int, arms: int
) -> PairedLog:
    """The told pulls of a study, by the number of the repeat; `ordered` are these, and those that are under way."""
    log = _with_clusters(ordered, ("rep",), arm_of, reps - 1, list(values.T), usable)
    return PairedLog(**vars(log), items=items, arms_of_study=arms)


def in_pairs(
    log: Clustered, question: Question, compared: Sequence[tuple[int, int]] = ()
) -> tuple[Clustered, tuple[Notice, ...]]:
    """The log with its pairs, unless arms and blocks are too many for all to be looked at; and what is said of them."""
    objectives, items = question.columns.boxed, question.items
    if items is not None and question.anytime:
        raise BadArgument(
            "anytime",
            "a log with items may be looked at once; leave --anytime out, or measure the list in a study (run --items)",
        )
    check_counted(statistics_of(objectives), items or 0, [each.name for each in objectives])
    counts, arms = log.clusters, len(log.pulls)
    looked = arms <= MOST_ARMS and arms * (int(log.labels.max(initial=0)) + 1) * len(objectives) <= MOST_CELLS
    complete, hidden = 0, 0.0
    if items is not None:
        if not looked:
            raise BadArgument("items", f"a list is looked at for up to {MOST_ARMS} arms; got {arms:,}")
        complete = int(((counts == items) & (log.failed_pulls == 0)).sum())
        hidden = hidden_share(question.threat, items, hits_delta(question.delta, arms, statistics_of(objectives)))
    blocks, least, most = len(np.unique(log.labels)), int(counts.min()), int(counts.max())
    said: list[Notice] = [InPairs(log.columns, blocks, least, most, items or 0, complete, hidden, arms, looked)]
    if log.sizes.min() < log.sizes.max():
        often, worst = log.sizes > log.sizes.min(), int(np.argmax(log.pulls / counts))
        said.append(UnevenRepeats(log.columns, int(often.sum()), len(log.sizes), log.arms[worst]))
    filled = _with_absent(log, compared)
    lacking = filled.pulls - log.pulls
    if lacking.any():
        cells, worst = len(filled.labels), int(np.argmax(lacking))
        counted = question.absent == "failed"
        said.append(AbsentPairs(log.columns, int(lacking.sum()), cells, log.arms[worst], int(lacking[worst]), counted))
        log = filled if counted else log
    if not looked:
        return log, tuple(said)
    noisy = statistics_of([each for each in objectives if not each.exact])
    decided = not (question.anytime or items or question.columns.gates) and bool(pairs_of(noisy).all())
    return paired_log(log, items, 2 * len(compared), alone=decided), tuple(said)


def _with_absent(log: Clustered, compared: Sequence[tuple[int, int]]) -> Clustered:
    """The log in which every arm has all blocks of those that it is compared with, all unless given; failed, if new."""
    arm_of_slot = np.repeat(np.arange(len(log.pulls)), log.clusters)
    have = np.zeros((len(log.pulls), int(log.labels.max(initial=-1)) + 1), np.bool_)
    have[arm_of_slot, log.labels] = True
    wanted = have.copy()
    for together in [list(pair) for pair in compared] or [list(range(len(log.pulls)))]:
        wanted[together] |= have[together].any(axis=0)
    arms, labels = np.nonzero(wanted & ~have)
    lacking = np.bincount(arms, minlength=len(log.pulls))
    order = np.argsort(np.concatenate([arm_of_slot, arms]), kind="stable")  # behind those that have values
    return replace(
        log,
        pulls=log.pulls + lacking,
        broken=log.failed_pulls + lacking,
        begins=log.begins + np.concatenate([[0], np.cumsum(lacking)]),
        sizes=np.concatenate([log.sizes, np.ones_like(labels)])[order],
        labels=np.concatenate([log.labels, labels])[order],
    )
