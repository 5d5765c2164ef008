"""MovieLens: 24 movies as arms, the scores in five age groups as objectives (Section 6.1).

The package holds only how often each score was given to these 24 movies in each age group. The ratings
themselves may not be passed on; a directory of MovieLens 100K can be read instead (F. M. Harper and J. A.
Konstan, "The MovieLens Datasets: History and Context", ACM TiiS 5(4), article 19, 2015).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from frontguard._common.typing import Ints
from frontguard.errors import BadArgument, BadInput
from frontguard.experiments.datasets.readers import bundled_rows, rows_of

AGE_GROUPS: tuple[str, ...] = ("0-18", "19-25", "26-35", "36-45", "46+")
_OLDEST: tuple[int, ...] = (18, 25, 35, 45)
SCORES: tuple[int, ...] = (1, 2, 3, 4, 5)
SELECTIONS: tuple[str, ...] = ("margin", "tradeoff")
"""`margin`: the Pareto arms' medians withstand the largest share of bombing; `tradeoff`: their median vectors
differ.
"""
RATINGS = 100_000
"""Ratings in MovieLens 100K: any other number means a damaged file or another release."""


@dataclass(frozen=True, eq=False)
class Movies:
    """Score counts (24, 5 age groups, 5 scores) of one selection of movies."""

    selection: str
    movie_ids: tuple[int, ...]
    titles: tuple[str, ...]
    counts: Ints


def bundled_movies(selection: str = "margin") -> Movies:
    """The counts that are part of the package.

    >>> movies = bundled_movies()
    >>> movies.titles[1], movies.counts.shape
    ('Forrest Gump (1994)', (24, 5, 5))
    """
    if selection not in SELECTIONS:
        raise BadArgument("selection", f"wanted one of {', '.join(SELECTIONS)}; got {selection!r}")
    rows = [row for row in bundled_rows("movielens24_counts.csv") if row["selection"] == selection]
    arms = 1 + max(int(row["arm"]) for row in rows)
    counts = np.zeros((arms, len(AGE_GROUPS), len(SCORES)), np.int64)
    ids, titles = [0] * arms, [""] * arms
    for row in rows:
        arm = int(row["arm"])
        ids[arm], titles[arm] = int(row["movie_id"]), row["title"]
        counts[arm, AGE_GROUPS.index(row["age_group"])] = [int(row[f"n{score}"]) for score in SCORES]
    return Movies(selection, tuple(ids), tuple(titles), counts)


def movies_from_ml100k(directory: Path, selection: str = "margin") -> Movies:
    """Count the scores of the same 24 movies in a directory with `u.data`, `u.user` and `u.item` of MovieLens 100K."""
    chosen = bundled_movies(selection)
    missing = [name for name in ("u.data", "u.user", "u.item") if not (directory / name).is_file()]
    if missing:
        raise BadInput(f"{directory}: wanted MovieLens 100K (u.data, u.user, u.item); lacks {', '.join(missing)}")
    _check_titles(directory / "u.item", chosen)
    group_of_user = _age_groups(directory / "u.user")
    arm_of_movie = {movie: arm for arm, movie in enumerate(chosen.movie_ids)}
    counts = np.zeros_like(chosen.counts)
    path = directory / "u.data"
    ratings = 0
    for place, (user, movie, rating) in rows_of(path, {"user": int, "movie": int, "rating": int}, delimiter="\t"):
        if rating not in SCORES:
            raise BadInput(f"{place}: wanted a rating in 1..5, got {rating}")
        if user not in group_of_user:
            raise BadInput(f"{place}: user {user} is not in {directory / 'u.user'}")
        ratings += 1
        if movie in arm_of_movie:
            counts[arm_of_movie[movie], group_of_user[user], rating - 1] += 1
    if ratings != RATINGS:
        raise BadInput(
            f"{path}: wanted {RATINGS} ratings (MovieLens 100K), got {ratings}: cut off, or another release?"
        )
    return Movies(selection, chosen.movie_ids, chosen.titles, counts)


def _age_groups(path: Path) -> dict[int, int]:
    """User → index of the age group."""
    ages = rows_of(path, {"user": int, "age": int}, delimiter="|")
    return {user: int(np.searchsorted(_OLDEST, age)) for _, (user, age) in ages}


def _check_titles(path: Path, chosen: Movies) -> None:
    """Refuse a file in which the chosen numbers are other movies: MovieLens 1M numbers differently."""
    found = dict(row for _, row in rows_of(path, {"movie": int, "title": str}, delimiter="|", encoding="latin-1"))
    for movie, title in zip(chosen.movie_ids, chosen.titles, strict=True):
        if found.get(movie) != title:
            raise BadInput(
                f"{path}: wanted movie {movie} to be {title!r} as in MovieLens 100K, got {found.get(movie)!r}"
            )
