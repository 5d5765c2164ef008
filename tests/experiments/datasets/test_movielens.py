"""The bundled counts against the ratings."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard.errors import BadInput
from frontguard.experiments.datasets import SELECTIONS, bundled_movies, bundled_rows
from tests.support.snapshots import refused


@pytest.mark.parametrize("selection", SELECTIONS)
def test_counts_from_ratings_are_the_bundled_ones(shared_data: Path, selection: str) -> None:
    movies = bundled_movies(selection)
    counts = np.zeros_like(movies.counts)
    rows = bundled_rows("movielens24_counts.csv")
    arms = {row["movie_id"]: int(row["arm"]) for row in rows if row["selection"] == selection}
    table = shared_data / "movielens" / "ml100k_ratings_age.csv.gz"
    with gzip.open(table, "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["movie_id"] in arms:
                group = np.searchsorted((18, 25, 35, 45), int(row["age"]))
                counts[arms[row["movie_id"]], group, int(row["rating"]) - 1] += 1
                assert row["title"] == movies.titles[arms[row["movie_id"]]]
    np.testing.assert_array_equal(counts, movies.counts)


@pytest.mark.parametrize("selection", SELECTIONS)
def test_bundled_counts_against_the_description(shared_data: Path, selection: str) -> None:
    described = json.loads((shared_data / "movielens" / "movielens24.json").read_text(encoding="utf-8"))[selection]
    movies = bundled_movies(selection)
    assert list(movies.titles) == [arm["title"] for arm in described["arms"]]
    np.testing.assert_array_equal(movies.counts, [arm["counts"] for arm in described["arms"]])


def test_forrest_gump_by_hand() -> None:
    movies = bundled_movies("margin")
    assert movies.titles[1] == "Forrest Gump (1994)"
    assert movies.counts[1].tolist()[0] == [0, 1, 1, 5, 4]
    assert movies.counts[1].sum() == 321


def test_unknown_selection(snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        bundled_movies("best")
