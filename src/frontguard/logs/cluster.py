"""A log on a Dask cluster: every worker sorts its share of the arms and answers reads at ranks.

Each file is read by one worker and cut by arm; the pieces of a part travel to the worker that sorts it. What is asked
of the sorted values later is a round of tasks, one for each part that is concerned, so that the client sees no more
than a few numbers an arm. All these are Dask tasks that depend on each other: what a lost worker had is computed again,
from the files if need be. Arms are shared out by a hash of their names, ranks are exact, and means are those
of whole arms, so the answer is that of one machine to the bit.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from importlib import import_module
from operator import attrgetter, getitem
from typing import Any

import numpy as np

from frontguard._typing import Floats, Ints
from frontguard.errors import BadInput
from frontguard.logs.sort.merge import Shard, cut_by_arm, merge_shards
from frontguard.logs.sort.ordered import Ordered
from frontguard.logs.sort.rows import RowBuffer
from frontguard.logs.sources import files_log
from frontguard.logs.sources.files import LogFile, LogFiles, find
from frontguard.logs.sources.reader import Request
from frontguard.phrases import one_line

DEFAULT_PORT = 8786
PATIENCE = 60.0
"""Seconds to wait for a first worker."""
_PARTS_A_THREAD = 2  # small enough that a lost one is soon made again, large enough that tasks are worth their cost


def ordered_on_cluster(
    cluster: object,
    files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    arm: str | Sequence[str],
    metrics: Sequence[str],
    failed_below_or_at: Floats | None = None,
    parts: int | None = None,
) -> ClusterOrdered:
    """The measurements of partitioned Parquet by arm, kept on the workers of a Dask cluster.

    `cluster` is a `distributed.Client`, which is left open, or the address HOST:PORT of a scheduler. `files` is a file,
    a directory, a glob or a list of them, as the workers see it: each file is read by one worker, so there should be
    several for each, and together the workers must have memory for all values of these metrics. Arms are cut into
    `parts` parts (two for each thread of the cluster unless given).

    What comes back is read like an `Ordered`; close it, or use it in a `with`, to free the workers' memory.
    """
    client, ours = _client(cluster)
    try:
        request = Request.of(arm, metrics, layout="wide")
        RowBuffer(request.metrics, failed_below_or_at)  # refuses floors that it cannot use, here rather than there
        threads = _threads(client)
        with _in_words(client):
            found: LogFiles = client.submit(find, files, pure=False).result()
            count = parts or max(1, _PARTS_A_THREAD * threads)
            cut = [
                client.submit(_read_and_cut, file, request, failed_below_or_at, count, pure=False)
                for file in found.files
            ]
            shares = []
            for part in range(count):
                pieces = [client.submit(getitem, each, part, pure=False) for each in cut]
                shares.append(client.submit(merge_shards, pieces, request.metrics, pure=False))
            try:
                known = client.gather([client.submit(_about, share, pure=False) for share in shares])
            except BadInput:
                for each in cut:  # of several mistakes the one in the first file, as on one machine
                    if (mistake := each.exception()) is not None:
                        raise mistake from None
                raise
            # The workers may let go of the rest now; should it be needed again, it is made again.
            del cut, pieces
        if not any(len(about.pulls) for about in known):
            others = " and others" if len(found.files) > 1 else ""
            raise BadInput(f"{found.files[0].shown}{others}: there are no rows")
        return ClusterOrdered(client, ours, shares, known)
    except BaseException:
        if ours:
            client.close()
        raise


class ClusterOrdered:
    """Measurements by arm, the values sorted on the workers of a cluster and the rest here: a `Readable`."""

    def __init__(self, client: Any, ours: bool, shares: Sequence[Any], known: Sequence[Ordered]) -> None:
        self._client, self._ours = client, ours
        self._shares: list[Any] = list(shares)  # futures of `Ordered`
        names = [name for about in known for name in about.arms]
        # Arms one share after another → arms in the order of their names.
        self._order: Ints = np.array(sorted(range(len(names)), key=names.__getitem__), np.int64)
        self._share_of: Ints = np.repeat(np.arange(len(known)), [len(about.pulls) for about in known])[self._order]
        self._there: Ints = np.concatenate([np.arange(len(about.pulls)) for about in known])[self._order]
        self.arms: Sequence[str] = sorted(names)
        self.metrics = known[0].metrics
        self.pulls: Ints = np.concatenate([about.pulls for about in known])[self._order]
        self.good: Ints = np.concatenate([about.good for about in known], axis=1)[:, self._order]
        self.failed_pulls: Ints = np.concatenate([about.failed_pulls for about in known])[self._order]

    @cached_property
    def means(self) -> Floats:
        """Means (M, K) of the values that did not fail; NaN where all did."""
        answers = self._round([(share, attrgetter("means"), ()) for share in range(len(self._shares))])
        found: Floats = np.concatenate(answers, axis=1)[:, self._order]
        return found

    def at(self, metric: int, arms: Ints, ranks: Ints, side: int = 0) -> Floats:
        """The values of some arms at ranks from below, 1 the smallest, all of which there are: one round of tasks."""
        share_of = self._share_of[arms]
        parts = [(share, np.flatnonzero(share_of == share)) for share in np.unique(share_of).tolist()]
        there = self._there[arms]
        asked = [(share, Ordered.at, (metric, there[own], ranks[own])) for share, own in parts]
        found = np.empty(len(arms))
        for (_, own), answer in zip(parts, self._round(asked), strict=True):
            found[own] = answer
        return found

    def _round(self, asked: Sequence[tuple[int, Callable[..., Floats], tuple[Any, ...]]]) -> list[Floats]:
        """What these tasks say of these shares."""
        if not self._shares:
            raise RuntimeError("this log on a cluster was closed")
        with _in_words(self._client):
            futures = [
                self._client.submit(task, self._shares[share], *given, pure=False) for share, task, given in asked
            ]
            answers: list[Floats] = self._client.gather(futures)
        return answers

    def __enter__(self) -> ClusterOrdered:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the workers forget it; nothing can be read afterwards."""
        shares, self._shares = self._shares, []
        for future in shares:
            future.release()
        if shares and self._ours:
            self._client.close()


# On the workers -------------------------------------------------------------------------------------------------------


def _read_and_cut(file: LogFile, request: Request, failed_below_or_at: Floats | None, parts: int) -> list[Shard]:
    rows = RowBuffer(request.metrics, failed_below_or_at)
    log = files_log("parquet", LogFiles(file.shown, (file,)), request)
    if log.rows_hint:  # a log without rows is refused, but a file of it may have none
        for batch in log.batches():
            rows.add(batch)
    return cut_by_arm(rows, parts)


def _about(share: Ordered) -> Ordered:
    """What the client is told of a part: all but its values."""
    return replace(share, values=())


# On the client --------------------------------------------------------------------------------------------------------


def _client(cluster: object) -> tuple[Any, bool]:
    """A client of the cluster, and whether we opened it."""
    try:
        distributed = import_module("distributed")
    except ImportError as error:
        raise ImportError("a log on a cluster needs Dask: pip install 'frontguard[dask]'") from error
    if isinstance(cluster, distributed.Client):
        if cluster.asynchronous:
            raise BadInput("cluster: the distributed.Client must not be an asynchronous one")
        return cluster, False
    form = r"(dask://)?(?P<protocol>[a-z]+://)?(?P<host>\[[^\]]+\]|[^:/\s]+)(?P<port>:\d+)?/?"
    match = re.fullmatch(form, cluster) if isinstance(cluster, str) else None
    if match is None:
        raise BadInput(f"cluster must be a distributed.Client or 'HOST:PORT' of a Dask scheduler; got {cluster!r}")
    where = f"{match['protocol'] or 'tcp://'}{match['host']}{match['port'] or f':{DEFAULT_PORT}'}"
    try:
        return distributed.Client(where, set_as_default=False), True
    except OSError as error:  # a timeout is one
        raise BadInput(f"no Dask scheduler answers at {where}: {_said(error)}") from None


def _threads(client: Any) -> int:
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError:
        raise BadInput(f"the Dask cluster at {client.scheduler.address} has no workers") from None
    return sum(client.nthreads().values())


@contextmanager
def _in_words(client: Any) -> Iterator[None]:
    """Errors of the cluster as one line; those that workers put into words themselves come as they are."""
    distributed = import_module("distributed")
    try:
        yield
    except ImportError as error:
        raise BadInput(f"the Dask workers need frontguard with the extra `logs`: {_said(error)}") from error
    except distributed.KilledWorker as error:
        raise BadInput(
            f"the Dask cluster at {client.scheduler.address} lost several workers over one task; they may need more "
            f"memory, or the log smaller files: {_said(error)}"
        ) from error


def _said(error: BaseException) -> str:
    return one_line(f"{type(error).__name__}: {error}", 300)
