"""The second part of `frontguard demo`, as a user sees it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from frontguard.cli.demo import _print_reviews
from frontguard.demo.reviews import analyze_reviews
from tests.documents.printed import as_published


def test_both_fronts_stand_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    _print_reviews(analyze_reviews())
    said = " ".join(capsys.readouterr().out.split())
    assert "by medians with a guarantee Star Wars (1977) is certainly on the front" in said
    assert "by means Toy Story (1995) and Twelve Monkeys (1995) took its place" in said
    assert "a campaign gave it one star 154 times within three days: 18% of its reviews" in said
    assert "│ Star Wars (1977) ✱ │ 4.40, 4.38 │ 3.77, 3.85 │ out │ 5 [4, 5] │ 4 [4, 5] │ in │" in said
    assert "median ┃ 26-35: median" in said
    assert "[low, high]" in said
    assert "2 are open (Air Force One (1997), Forrest Gump (1994))" in said
    assert "The front changes once more than 25.7% of the measurements are replaced" in said


def test_the_demo_has_both_parts(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "frontguard", "demo", "--json", "--output", "out"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    found = as_published("demo", ran.stdout)
    assert found["reviews"]["pareto_set"] == ["Star Wars (1977)"]
    assert found["reviews"]["mean_set"] == ["Toy Story (1995)", "Twelve Monkeys (1995)"]
    assert found["reviews"]["bombed"] == found["reviews"]["true_mean_set"] == ["Star Wars (1977)"]
    assert found["status"] == "certified"  # the first part is where it was
    for name in ("demo.png", "demo-reviews.png"):
        assert (tmp_path / "out" / name).read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
