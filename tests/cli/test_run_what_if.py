"""A run that ends before anything is certain says how far away an answer is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli import commands

MEASURE = """echo "{\\"cost\\": $(( $1 * 100 + $2 % 7 ))}"
"""
SPEC = """
[study]
contamination = 0.1
[[objective]]
name = "cost"
direction = "minimize"
tolerance = 1
[run]
command = ["sh", "measure.sh", "{first}", "{seed}"]
[[arm]]
name = "cheap"
first = 1
[[arm]]
name = "dear"
first = 9
[budget]
max_pulls = PULLS
"""


@pytest.mark.parametrize(("pulls", "said"), [(18, True), (200, False)])
def test_a_run_that_decides_nothing_says_what_would_be_at_a_lower_level(tmp_path: Path, pulls: int, said: bool) -> None:
    (tmp_path / "measure.sh").write_text(MEASURE)
    (tmp_path / "spec.toml").write_text(SPEC.replace("PULLS", str(pulls)))
    done = commands.run("run", "spec.toml", "--explain", cwd=tmp_path)
    assert done.returncode == (3 if said else 0), done.stderr
    assert ("What if: at " in done.stdout) is said
    assert ("it would be" in done.stdout) is said
