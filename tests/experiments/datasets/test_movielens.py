"""The bundled counts against the ratings, and what is said of damaged directories."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard.errors import BadInput
from frontguard.experiments.datasets.movielens import SELECTIONS, bundled_movies, movies_from_ml100k
from tests.support.snapshots import refused


@pytest.fixture(scope="session")
def ml100k(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory as GroupLens ships it, written from the table of ratings."""
    directory = tmp_path_factory.mktemp("ml-100k")
    ages: dict[str, str] = {}
    titles: dict[str, str] = {}
    with gzip.open(
        shared_data / "movielens" / "ml100k_ratings_age.csv.gz", "rt", encoding="utf-8", newline=""
    ) as table:
        lines = []
        for row in csv.DictReader(table):
            ages[row["user_id"]] = row["age"]
            titles[row["movie_id"]] = row["title"]
            lines.append(f"{row['user_id']}\t{row['movie_id']}\t{row['rating']}\t881250949\n")
    (directory / "u.data").write_text("".join(lines), encoding="utf-8")
    users = (f"{user}|{age}|M|writer|00000\n" for user, age in ages.items())
    (directory / "u.user").write_text("".join(users), encoding="utf-8")
    items = (f"{movie}|{title}|01-Jan-1995||http://x|0|0\n" for movie, title in titles.items())
    (directory / "u.item").write_text("".join(items), encoding="latin-1")
    return directory


def damaged(source: Path, target: Path, name: str, content: bytes) -> Path:
    """The directory with one file replaced."""
    for file in ("u.data", "u.user", "u.item"):
        (target / file).write_bytes(content if file == name else (source / file).read_bytes())
    return target


@pytest.mark.parametrize("selection", SELECTIONS)
def test_counts_from_ratings_are_the_bundled_ones(ml100k: Path, selection: str) -> None:
    counted, bundled = movies_from_ml100k(ml100k, selection), bundled_movies(selection)
    np.testing.assert_array_equal(counted.counts, bundled.counts)
    assert counted.movie_ids == bundled.movie_ids


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


def test_missing_files_are_named(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    (tmp_path / "u.data").write_text("1\t1\t5\t0\n", encoding="utf-8")
    with refused(BadInput, snapshot):
        movies_from_ml100k(tmp_path)


def test_cut_off_ratings(ml100k: Path, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    whole = (ml100k / "u.data").read_bytes()
    at_a_line = whole[: whole.index(b"\n", len(whole) // 2) + 1]
    with refused(BadInput, snapshot):
        movies_from_ml100k(damaged(ml100k, tmp_path, "u.data", at_a_line))


@pytest.mark.parametrize(
    (
        "name",
        "content",
    ),
    [
        ("u.data", b"1\t25\tfive\t0\n"),
        ("u.data", b"1\t25\t6\t0\n"),
        ("u.data", b"9999\t25\t5\t0\n"),
        ("u.data", b"1\t2"),
        ("u.data", b""),
        ("u.user", b"1|young\n"),
        ("u.user", b"\xff\xfe"),
        ("u.item", b"25|Another Film (1999)|\n"),
    ],
)
def test_damage_is_one_line(
    ml100k: Path, tmp_path: Path, name: str, content: bytes, snapshot: SnapshotAssertion
) -> None:
    with refused(BadInput, snapshot) as caught:
        movies_from_ml100k(damaged(ml100k, tmp_path, name, content))
    assert "\n" not in str(caught.value)
