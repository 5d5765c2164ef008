"""What the reports of these tests are about: an analysis, a study that had trouble, rows of experiments. All seeded."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from frontguard import Objective, Prescient, Study
from frontguard._common.entries import json_pieces
from frontguard.demo.cases import analyze_flags
from frontguard.evidence.measurements import Ordered
from frontguard.experiments.results import Row
from frontguard.experiments.setup import Published
from frontguard.experiments.tables import as_json
from frontguard.logs.answer import answer
from frontguard.question import Question
from frontguard.results import Answer, Origin
from frontguard.words import answers as summary

OBJECTIVES = (Objective("seconds", "minimize", "5%"), Objective("quality", "maximize", 0.2))
ARMS = ("-O2", "slow | <b>", "broken", "lied to", "=1+1", "weak")
CENTRES = np.array([[1.0, 2.0], [3.0, 3.0], [1.0, 1.0], [2.0, 2.5], [2.5, 1.0], [2.9, 2.2]])


def study_in(storage: str | Path | None, *, name: str = "flags", max_pulls: int | None = 3000) -> Study:
    """A study in which one arm always fails, one fails now and then, and one is attacked; told to its end."""
    rng = np.random.default_rng(5)
    study = Study(
        ARMS, OBJECTIVES, Prescient(0.1), storage=storage, name=name, max_pulls=max_pulls, seed=4, blocks=False
    )
    while pulls := study.ask(40):
        for pull in pulls:
            values = CENTRES[pull.index] * np.exp(rng.normal(0.0, 0.05, 2))
            if pull.arm == "lied to" and rng.random() < 0.08:
                values = values * [9.0, 0.1]
            if pull.arm == "broken" or (pull.arm == "weak" and rng.random() < 0.06):
                study.fail(pull, "exit code 3" if pull.arm == "broken" else "timeout | after `10` s")
            else:
                study.tell(pull, values.tolist())
    return study


@cache
def flags() -> Answer:
    return analyze_flags()


@cache
def open_analysis() -> Answer:
    """One with open arms, failed values, quantiles, and a front that means would get wrong."""
    rng = np.random.default_rng(2)
    counts = np.array([[60, 60, 55, 60, 9], [60, 60, 60, 58, 9]])
    starts = np.concatenate([np.zeros((2, 1), np.int64), np.cumsum(counts, axis=1)], axis=1)
    centres = [[1.0, 1.3, 1.32, 2.0, 0.9], [5.0, 4.0, 6.0, 3.0, 7.0]]
    values = []
    for d in range(2):
        parts = [centre * np.exp(rng.normal(0.0, 0.1, n)) for centre, n in zip(centres[d], counts[d], strict=True)]
        parts[0][:3] *= 50.0
        values.append(np.concatenate([np.sort(part) for part in parts]))
    pulls = np.array([60, 60, 60, 60, 9])
    log = Ordered(["a", "b", "c", "d", "e"], ("seconds", "quality"), pulls, starts, tuple(values))
    metrics = (Objective("seconds", "minimize", "3%", quantile=0.6), Objective("quality", "maximize"))
    return answer(log, Question(metrics, Prescient(0.05)))


def printed(found: Answer, log: tuple[str, ...] = ("log.csv",)) -> dict[str, Any]:
    """What `analyze --json` prints of an analysis."""
    made = Origin(version="1", command="frontguard analyze", source=list(log), at="2026-01-01 00:00:00 UTC")
    told = {"answer": summary.answer(found), **vars(made)}
    plain: dict[str, Any] = json.loads("".join(json_pieces([*found.entries(), *told.items()])))
    return plain


def rows() -> list[Row]:
    """Rows as `reproduce` makes them: one policy that succeeds, one that does not, with and without published ones."""

    def row(policy: str, eps: float, rsr: float, samples: float, paper: Published | None) -> Row:
        spread: dict[str, Any] = {"sc_std": 10.0, "sc_se": 3.0, "sc_low": samples - 6.0, "sc_high": samples + 6.0}
        for name in ("ro", "rf1", "returned", "returned_off_front"):
            spread |= {name: 1.0, f"{name}_std": 0.0, f"{name}_se": 0.0, f"{name}_low": 1.0, f"{name}_high": 1.0}
        return Row(
            dataset="movielens",
            variant="margin",
            policy=policy,
            contamination=eps,
            bias=0.1,
            accuracy=0.2,
            told_threat="prescient",
            pareto_arms=7,
            seconds=1.5,
            runs=10,
            rsr=rsr,
            rsr_low=max(0.0, rsr - 0.3),
            rsr_high=min(1.0, rsr + 0.1),
            sc=samples,
            **spread,
            **{f"published_{name}": value for name, value in (paper._asdict() if paper else {}).items()},
        )

    return [
        row("rpsi", 0.0, 1.0, 20000.0, Published(1.0, 18674.7, 1.0, 1.0)),
        row("rpsi", 0.1, 1.0, 24000.0, Published(1.0, 20914.1, 1.0, 1.0)),
        row("certified", 0.0, 1.0, 2000.0, None),
        row("certified", 0.1, 1.0, 1500.0, None),
        row("auer-a1", 0.1, 0.2, 59000.0, Published(0.0, 59428.8, 0.0, 0.92)),
    ]


def rows_json() -> list[dict[str, Any]]:
    plain: list[dict[str, Any]] = json.loads(as_json(rows()))
    return plain


def large(arms: int, objectives: int, *, more: str = "", pulls: int = 30) -> Answer:
    """Many arms."""
    rng = np.random.default_rng(0)
    centres = rng.normal(0.0, 0.3, (arms, objectives))
    values = tuple(
        np.sort(np.exp(centres[:, d, None] + rng.normal(0.0, 0.05, (arms, pulls))), axis=1).ravel()
        for d in range(objectives)
    )
    starts = np.tile(np.arange(arms + 1) * pulls, (objectives, 1))
    names = tuple(f"m{d}" for d in range(objectives))
    log = Ordered([f"arm {i:05d}{more}" for i in range(arms)], names, np.full(arms, pulls), starts, values)
    metrics = tuple(Objective(name, "minimize", "2%") for name in names)
    return answer(log, Question(metrics, Prescient(0.05)), profiled=False)
