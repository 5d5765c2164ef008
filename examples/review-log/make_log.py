"""Make the bundled review log again: reviews drawn from the bundled score counts, and a bombing campaign.

Twelve movies, 350 reviews of each from viewers of 19 to 25 years and as many from those of 26 to 35, drawn with a fixed
seed from how often each score was given (src/frontguard/data/movielens24_counts.csv). Within three days, a campaign
posts one-star reviews of the movie that leads: 18 % of what is then there of it. Nobody's real review is in it.

    python examples/review-log/make_log.py          writes src/frontguard/data/review_log.csv.gz
"""

from __future__ import annotations

import csv
import gzip
import io
import sys
from pathlib import Path

import numpy as np

from frontguard.demo.cases import AGES, BOMBED, FILE, score_counts
from frontguard.experiments.datasets import SCORES

SEED = 0
REVIEWS = 350  # of each movie and age group
SHARE = 0.18  # of the reviews of the bombed movie that the campaign wrote
DAYS, CAMPAIGN = 90, (61, 62, 63)
MOVIES = (
    "Air Force One (1997)",
    "Back to the Future (1985)",
    "Contact (1997)",
    "Eraser (1996)",
    "Forrest Gump (1994)",
    "Independence Day (ID4) (1996)",
    "Jerry Maguire (1996)",
    "Rock, The (1996)",
    "Star Wars (1977)",
    "Toy Story (1995)",
    "Twelve Monkeys (1995)",
    "Volcano (1997)",
)


def review_log() -> str:
    """The text of the log: day, movie, age, stars; in the order of days."""
    rng = np.random.default_rng(SEED)
    bombs = round(REVIEWS * SHARE / (1.0 - SHARE))
    rows: list[tuple[int, str, str, int]] = []
    for title, counts in zip(MOVIES, score_counts(MOVIES), strict=True):
        for age, scores in zip(AGES, counts, strict=True):
            drawn = rng.choice(SCORES, size=REVIEWS, p=scores / scores.sum()).tolist()
            days = rng.integers(1, DAYS + 1, REVIEWS).tolist()
            rows += [(day, title, age, stars) for day, stars in zip(days, drawn, strict=True)]
            if title == BOMBED:
                rows += [(day, title, age, 1) for day in rng.choice(CAMPAIGN, bombs).tolist()]
    shuffled = [rows[i] for i in rng.permutation(len(rows)).tolist()]
    shuffled.sort(key=lambda row: row[0])
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["day", "movie", "age", "stars"])
    writer.writerows(shuffled)
    return text.getvalue()


def main() -> None:
    """Write it where the package has it, or at the path that is given."""
    data = Path(__file__).resolve().parents[2] / "src/frontguard/data" / FILE
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else data
    path.write_bytes(gzip.compress(review_log().encode(), 9, mtime=0))
    print(path, path.stat().st_size)


if __name__ == "__main__":
    main()
