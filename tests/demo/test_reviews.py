"""The second part of the demonstration: what the bundled review log says, and where it comes from."""

from __future__ import annotations

import gzip
import importlib.util
import subprocess
import sys
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from frontguard.demo.cases import (
    AGES,
    BOMBED,
    CONTAMINATION,
    FILE,
    HALF_A_STAR,
    Reviews,
    analyze_reviews,
    read_reviews,
    score_counts,
)
from frontguard.demo.pictures import reviews_picture
from frontguard.logs.analyze import analyze
from frontguard.plot.picture import Lines, Points
from tests.conftest import ROOT

DATA = resources.files("frontguard") / "data" / FILE


@pytest.fixture(scope="module")
def reviews() -> Reviews:
    return analyze_reviews()


def test_means_lose_the_bombed_movie_and_medians_keep_it(reviews: Reviews) -> None:
    found = reviews.analysis
    assert reviews.true_front_by_means == [BOMBED]
    assert BOMBED not in reviews.analysis.mean_set
    assert reviews.analysis.mean_set == ["Toy Story (1995)", "Twelve Monkeys (1995)"]
    assert found.pareto_set == [BOMBED]
    assert {found.verdicts[arm] for arm in reviews.analysis.mean_set} == {"matched"}
    assert found.front_changes_at is not None
    assert found.front_changes_at > CONTAMINATION


def test_the_campaign_is_within_what_was_declared(reviews: Reviews) -> None:
    assert 0.17 < reviews.share < CONTAMINATION
    log = read_reviews()
    ones = [np.bincount(values.astype(int)[a:b], minlength=6)[1] for values, (a, b) in _of(log, BOMBED)]
    assert all(count >= reviews.bombs / len(AGES) for count in ones)


def _of(log: object, arm: str) -> list[tuple[np.ndarray, tuple[int, int]]]:
    i = list(log.arms).index(arm)  # type: ignore[attr-defined]
    return [(values, tuple(starts[i : i + 2])) for values, starts in zip(log.values, log.starts, strict=True)]  # type: ignore[attr-defined]


def test_every_verdict_is_true_of_the_scores_that_the_log_was_drawn_from(reviews: Reviews) -> None:
    found = reviews.analysis
    shares = score_counts(found.arms)
    cumulated = np.cumsum(shares, axis=2) / shares.sum(axis=2, keepdims=True)
    medians = 1 + (cumulated < 0.5).sum(axis=2)
    low, high = found.lower, found.upper
    assert (low <= medians).all()
    assert (medians <= high).all()
    best = medians[found.arms.index(BOMBED)]
    assert (medians <= best).all()
    for i in np.flatnonzero(found.verdict_codes == 2):
        assert ((medians >= medians[i]).all(axis=1) & (medians > medians[i]).any(axis=1)).any()


def test_it_is_what_analyze_says_of_the_file(reviews: Reviews) -> None:
    found = analyze(
        str(DATA), arm="movie", maximize=AGES, tolerance=HALF_A_STAR, contamination=CONTAMINATION, layout="long",
        metric_column="age", value_column="stars", quantile=0.5,
    )  # fmt: skip
    assert found.to_dict() == reviews.analysis.to_dict()


def test_the_log_is_small_and_can_be_made_again() -> None:
    path = ROOT / "examples" / "review-log" / "make_log.py"
    spec = importlib.util.spec_from_file_location("make_log", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    content = DATA.read_bytes()
    assert module.review_log().encode() == gzip.decompress(content)
    assert len(content) < 200_000


def test_the_picture(reviews: Reviews, tmp_path: Path) -> None:
    picture = reviews_picture(reviews)
    means, medians = picture.panels
    (way,) = (layer for layer in means.layers if isinstance(layer, Lines))
    bombed = reviews.analysis.arms.index(BOMBED)
    assert (way.x[0, 0], way.y[0, 0]) == tuple(reviews.true_means[bombed])
    assert (way.x[0, 1], way.y[0, 1]) == tuple(reviews.log.means[bombed])
    (ringed,) = (layer for layer in means.layers if isinstance(layer, Points) and layer.look.mark == "ring")
    assert sorted(ringed.written) == sorted(reviews.analysis.mean_set)
    assert [name for name in medians.y.names if "✱" in name] == [f"✱ {BOMBED}"]
    picture.save(tmp_path / "reviews.png")
    assert (tmp_path / "reviews.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_it_needs_none_of_the_packages_for_logs() -> None:
    code = (
        "import sys\n"
        "for name in ('pyarrow', 'polars', 'narwhals', 'pandas', 'duckdb'): sys.modules[name] = None\n"
        "from frontguard.demo.cases import analyze_reviews\n"
        "print(analyze_reviews().analysis.pareto_set)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.stdout == f"[{BOMBED!r}]\n", ran.stderr
