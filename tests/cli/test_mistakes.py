"""Mistakes on the command line that were once told wrongly."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.cli import commands


def test_an_option_without_its_value_is_not_called_unknown(tmp_path: Path) -> None:
    done = commands.run("analyze", "log.csv", "--minimize", cwd=tmp_path)
    assert done.returncode == 2
    assert "there is no option" not in done.stderr
    assert "--minimize" in done.stderr


def test_a_plan_by_a_pilot_with_a_rate_and_exact_prices(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    rows = [
        f"m{k},{int(draw.random() < rate)},{price}"
        for k, (rate, price) in enumerate([(0.92, 0.02), (0.75, 0.009), (0.6, 0.004), (0.5862, 0.001)])
        for _ in range(400)
    ]
    (tmp_path / "pilot.csv").write_text("\n".join(["model,correct,price", *rows]) + "\n")
    options = ["--maximize", "correct", "--minimize", "price", "--mean", "correct", "--contamination", "2%"]
    tolerances = ["--tolerance", "correct=0.05", "--tolerance", "price=20%"]
    done = commands.run("plan", "--pilot", "pilot.csv", "--arm", "model", *options, *tolerances, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
