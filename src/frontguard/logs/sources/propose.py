"""Which options a log may need, by the names of its columns and what they hold: a guess, for somebody to look at."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from frontguard.logs.sources.files import find
from frontguard.phrases import natural

if TYPE_CHECKING:
    import polars as pl

_ROWS = 20_000  # of the log, which the guess is made of


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LESS = _words(
    "bytes cost costs dollars duration elapsed energy error errors joules kb latency loss mae mb memory milliseconds "
    "ms ns price rmse rss runtime seconds size time tokens usd us watts"
)
_MORE = _words(
    "acc accuracy auc correct f1 ops passed precision qps quality rating recall reward right score solved speed stars "
    "success throughput tps wins"
)
_ARMS = _words(
    "algorithm arm branch build candidate command compiler config configuration engine flags level library method "
    "model name option policy prompt system tool treatment variant version"
)
_PAIRS = _words("case day example fold id input instance item problem question query seed task")
_CLUSTERS = _words("batch date day host machine node process run server session user worker")
"""What columns are often called."""

_PLAIN = re.compile(r"(?!.*(##|  ))[\x20-\x7e\u00a1-\uffff]+")  # names that a terminal shows as they are


def propose(log: Any, arm: Sequence[str] = (), less: Sequence[str] = (), more: Sequence[str] = ()) -> list[str] | None:
    """Return options for this log, with those that were given; None where its columns say too little.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "log.csv"
    >>> rows = [f"{tool},{time},{size}" for tool, size in (("a", 9), ("b", 7)) for time in (1.5, 1.4, 1.7)]
    >>> _ = path.write_text("\\n".join(["tool,seconds,bytes", *rows]))
    >>> " ".join(propose(path))
    '--arm tool --minimize seconds --minimize bytes --exact bytes --tolerance seconds=5%'
    """
    rows = _sample(log)
    if rows is None or not len(rows) or not all(map(_PLAIN.fullmatch, rows.columns)):
        return None
    if not less and not more:
        less, more = _metrics(rows, arm)
    metrics = [*less, *more]
    arms = list(arm) or _arms(rows, metrics)
    if not arms or not metrics or {*arms, *metrics} - {*rows.columns}:
        return None
    groups = rows.group_by(arms)
    different = {name: groups.n_unique().get_column(name).max() for name in rows.columns if name not in arms}
    exact = [name for name in metrics if different[name] == 1 and len(rows) > len(groups.len())]
    rates = [name for name in metrics if name not in exact and set(rows.get_column(name).drop_nulls()) <= {0, 1}]
    given = [option for name in arms for option in ("--arm", name)]
    for option, names in (("--minimize", less), ("--maximize", more), ("--exact", exact), ("--mean", rates)):
        given += [part for name in names for part in (option, name)]
    return [*given, *_design(rows, arms, metrics, rates), *_tolerances(rows, metrics, exact, rates)]


def _sample(log: Any) -> pl.DataFrame | None:
    import polars as pl

    path = find(log).files[0].path
    try:
        if path is None:
            return None
        if path.suffix in (".parquet", ".pq"):
            return pl.read_parquet(path, n_rows=_ROWS)
        if path.suffix in (".jsonl", ".ndjson"):
            return pl.read_ndjson(path, n_rows=_ROWS)
        head = str(pl.scan_lines(path, glob=False).head(1).collect().item())  # also of a packed file
        return pl.read_csv(path, n_rows=_ROWS, separator=max(",;\t|", key=head.count), ignore_errors=True)
    except (pl.exceptions.PolarsError, OSError, ValueError):
        return None


def _is(name: str, known: frozenset[str]) -> bool:
    """True if a name, or a part of it, is one that is known."""
    return not {*re.split(r"[\W_]+", name.lower()), name.lower()}.isdisjoint(known)


def _metrics(rows: pl.DataFrame, arm: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the numbers of which less is better by their names, and those of which more is."""
    numbers = [name for name, kind in rows.schema.items() if kind.is_numeric() or str(kind) == "Boolean"]
    less = [name for name in numbers if name not in arm and _is(name, _LESS)]
    return less, [name for name in numbers if name not in (*arm, *less) and _is(name, _MORE)]


def _arms(rows: pl.DataFrame, metrics: Sequence[str]) -> list[str]:
    """Return the column that looks most like arms: by its name, else a text of which many rows have the same."""
    found = []
    for name, kind in rows.drop(metrics).schema.items():
        texts, count = str(kind) in ("String", "Categorical"), rows.get_column(name).n_unique()
        if 2 <= count <= len(rows) / 2 and not kind.is_float() and (texts or _is(name, _ARMS)):
            found.append((not _is(name, _ARMS), not texts, _is(name, _PAIRS | _CLUSTERS), count, natural(name)))
    return [min(found)[-1][1]] if found else []


def _design(rows: pl.DataFrame, arms: Sequence[str], metrics: Sequence[str], rates: Sequence[str]) -> list[str]:
    """Return the option for pairs, if rates are of the same items for every arm, or those for clusters."""
    others = [name for name in rows.columns if name not in (*arms, *metrics)]
    shared = [name for name in others if _is(name, _PAIRS) and _are_pairs(rows, arms, name)]
    if shared and rates:
        return ["--pair", shared[0]]
    clusters = [name for name in others if _is(name, _CLUSTERS) and _repeats(rows, arms, name)]
    return ["--cluster", clusters[0]] if clusters else []


def _tolerances(
    rows: pl.DataFrame, metrics: Sequence[str], exact: Sequence[str], rates: Sequence[str]
) -> Iterator[str]:
    """Give the options for tolerances: an amount for rates, a share of what is measured and above 0."""
    for name in metrics:
        if name in rates:
            yield from ("--tolerance", f"{name}=0.05")
        elif name not in exact and (rows.get_column(name).drop_nulls() > 0).all():
            yield from ("--tolerance", f"{name}=5%")


def _are_pairs(rows: pl.DataFrame, arms: Sequence[str], name: str) -> bool:
    """True if every arm has one row of every value of a column."""
    each = rows.select(*arms, name)
    count = each.get_column(name).n_unique()
    return count >= 5 and len(each.unique()) == len(each) == count * len(each.select(arms).unique())


def _repeats(rows: pl.DataFrame, arms: Sequence[str], name: str) -> bool:
    """True if arms have several values of a column, and several rows of each."""
    each = rows.select(*arms, name).unique()
    return len(each) > len(each.select(arms).unique()) and len(rows) >= 2 * len(each)
