"""MovieLens: 24 movies as arms, the scores in five age groups as objectives (Section 6.1).

The package holds only how often each score was given to these 24 movies in each age group, by the ratings of MovieLens
100K, which may not be passed on themselves (F. M. Harper and J. A. Konstan, "The MovieLens Datasets: History and
Context", ACM TiiS 5(4), article 19, 2015).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from frontguard._common.typing import Ints
from frontguard.errors import BadArgument
from frontguard.experiments.datasets import bundled_rows

AGE_GROUPS: tuple[str, ...] = ("0-18", "19-25", "26-35", "36-45", "46+")
SCORES: tuple[int, ...] = (1, 2, 3, 4, 5)
SELECTIONS: tuple[str, ...] = ("margin", "tradeoff")
"""`margin`: the Pareto arms' medians withstand the largest share of bombing; `tradeoff`: their median vectors
differ.
"""


@dataclass(frozen=True, eq=False)
class Movies:
    """Score counts (24, 5 age groups, 5 scores) of one selection of movies."""

    selection: str
    titles: tuple[str, ...]
    counts: Ints


def bundled_movies(selection: str = "margin") -> Movies:
    """Return the counts that are part of the package.

    >>> movies = bundled_movies()
    >>> movies.titles[1], movies.counts.shape
    ('Forrest Gump (1994)', (24, 5, 5))
    """
    if selection not in SELECTIONS:
        raise BadArgument("selection", f"wanted one of {', '.join(SELECTIONS)}; got {selection!r}")
    rows = [row for row in bundled_rows("movielens24_counts.csv") if row["selection"] == selection]
    arms = 1 + max(int(row["arm"]) for row in rows)
    counts = np.zeros((arms, len(AGE_GROUPS), len(SCORES)), np.int64)
    titles = [""] * arms
    for row in rows:
        arm = int(row["arm"])
        titles[arm] = row["title"]
        counts[arm, AGE_GROUPS.index(row["age_group"])] = [int(row[f"n{score}"]) for score in SCORES]
    return Movies(selection, tuple(titles), counts)
