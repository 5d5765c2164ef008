"""Two logs of a shop that tries four versions of a page: visits, and reviews of which some were paid for.

    python make_log.py          writes visits.csv (version, day, converted, revenue) and reviews.csv (version, stars)

A tenth of the reviews of the version that people like best are one-star reviews of a competitor. Nobody's real data.
"""

from __future__ import annotations

import csv
import random
from pathlib import Path

VISITS, REVIEWS = 25_000, 1_500  # of each version
MOST = 150.0  # dollars: the dearest order that the shop takes
BOMBED, SHARE = "story", 0.08

VERSIONS = {  # the share of visitors that buy, the usual order in dollars, and how often each number of stars is given
    "plain": (0.030, 40.0, (5, 10, 25, 35, 25)),
    "short": (0.055, 32.0, (5, 8, 22, 40, 25)),
    "bundle": (0.035, 70.0, (6, 12, 27, 33, 22)),
    "story": (0.045, 38.0, (2, 3, 10, 30, 55)),
}


def visits(seed: int = 0) -> list[tuple[str, int, str, str]]:
    """A row for each visitor: the version that was shown, the day, whether something was bought, and for how much."""
    noise = random.Random(seed)
    rows = []
    for number in range(VISITS * len(VERSIONS)):
        version = list(VERSIONS)[number % len(VERSIONS)]
        rate, usual, _ = VERSIONS[version]
        converted = noise.random() < rate
        revenue = min(usual * noise.lognormvariate(0.0, 0.5), MOST) if converted else 0.0
        rows.append((version, 1 + 28 * number // (VISITS * len(VERSIONS)), str(converted).lower(), f"{revenue:.2f}"))
    return rows


def reviews(seed: int = 0) -> list[tuple[str, int]]:
    """A row for each review: the version that its writer saw, and the stars."""
    noise = random.Random(seed)
    rows = []
    for version, (_, _, weights) in VERSIONS.items():
        bombs = round(REVIEWS * SHARE) if version == BOMBED else 0
        rows += [(version, stars) for stars in noise.choices(range(1, 6), weights, k=REVIEWS - bombs)]
        rows += [(version, 1)] * bombs
    noise.shuffle(rows)
    return rows


def write(path: Path, columns: list[str], rows: list[tuple[object, ...]]) -> None:
    """A CSV file."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([columns, *rows])


if __name__ == "__main__":
    write(Path("visits.csv"), ["version", "day", "converted", "revenue"], list(visits()))
    write(Path("reviews.csv"), ["version", "stars"], list(reviews()))
