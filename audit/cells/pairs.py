"""Arms on the same items, whose measurements lie or come back late: studies and logs of pairs, and of finite lists."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from audit.cells.contract import CONFIDENCE, Answers, Rng, cell
from audit.cells.means import SOLVED
from audit.truth import Truth
from frontguard import Malicious, Objective, Prescient, Share, Study, Threat, analyze, gate
from frontguard._common.typing import Floats
from frontguard.studies.study import Pull

ITEMS = 60
BLOCKS = 90
SCORE = Objective("score", "maximize", tolerance=0.02, statistic="mean", bounds=(0, 1))
EXACTLY = Objective("score", "maximize", tolerance=0.0, statistic="mean", bounds=(0, 1))

_FLIPS = (0.1, 0.1, 0.02)  # with which probability each arm differs from what an item is like


def _solved(rng: Rng, items: int) -> Floats:
    """0 or 1 (arms, items): items are hard or easy, and arms differ on a few of them. All arms are 1/2 in the mean."""
    hard = rng.random(items) < 0.5
    return np.stack([(hard ^ (rng.random(items) < flips)).astype(float) for flips in _FLIPS])


def _drives(
    rng: Rng, threat: Threat, values: Floats, objective: Objective, *, listed: bool, gated: bool = False
) -> Answers:
    """A study of pairs, or a gate of them, several pulls at a time, those of 1 back later; hits hurt the first arm."""
    arms, blocks = values.shape
    true = values.mean(axis=1) if listed else np.full(arms, 0.5)
    truth = Truth((objective,), true[:, None])
    names = [f"arm {i}" for i in range(arms)]
    study = Study(
        names, [objective], threat, confidence=CONFIDENCE, seed=int(rng.integers(2**31)), paired=True,
        items=blocks if listed else None, max_pulls_per_arm=blocks - (not listed), baseline=names[0] if gated else None,
    )  # fmt: skip
    out: list[Pull] = []
    count = 0
    while True:
        if len(out) < 4:  # so that some are always out when it decides
            out += study.ask(8)
        if not out:
            break
        quick = [k for k, pull in enumerate(out) if values[pull.index, _block(pull, listed)] == 0.0]
        pull = out.pop(quick[0] if quick and rng.random() < 0.8 else 0)
        value = values[pull.index, _block(pull, listed)]
        chance = 2.0 * threat.eps if isinstance(threat, Malicious) else threat.eps  # who picks has half of them to hit
        picked = value == (1.0 if pull.index == 0 else 0.0) if isinstance(threat, Malicious) else True
        if picked and rng.random() < chance:
            value = 0.0 if pull.index == 0 else 1.0
        study.tell(pull, [float(value)])
        count += 1
        if count % 60 == 0:
            yield truth, study.result()
    yield truth, study.result()


def _block(pull: Pull, listed: bool) -> int:
    return pull.item if listed else pull.rep


@cell
def pairs_that_lie(rng: Rng) -> Answers:
    """Arms that are alike, on the same items; hits beside the values, and slow pulls back late."""
    yield from _drives(rng, Prescient(0.03), _solved(rng, BLOCKS), SCORE, listed=False)


@cell
def pairs_with_chosen_hits(rng: Rng) -> Answers:
    """Arms that are alike, on the same items; a malicious attacker hits what hurts the first one."""
    yield from _drives(rng, Malicious(0.03), _solved(rng, BLOCKS), SCORE, listed=False)


@cell
def clean_pairs(rng: Rng) -> Answers:
    """Arms that are alike, on the same items, looked at all the time, and no tolerance."""
    yield from _drives(rng, Prescient(0.0), _solved(rng, BLOCKS), EXACTLY, listed=False)


@cell
def a_list_of_items(rng: Rng) -> Answers:
    """Arms whose means over a short list differ by little, looked at until all items are measured."""
    yield from _drives(rng, Prescient(0.0), _solved(rng, ITEMS), EXACTLY, listed=True)


@cell
def a_list_that_lies(rng: Rng) -> Answers:
    """A short list of items, some of whose measurements are replaced."""
    yield from _drives(rng, Prescient(0.05), _solved(rng, ITEMS), SCORE, listed=True)


@cell
def gates_on_pairs_that_lie(rng: Rng) -> Answers:
    """A gate of arms that are alike, on the same items; a malicious attacker hits what hurts the baseline."""
    yield from _drives(rng, Malicious(0.03), _solved(rng, BLOCKS), EXACTLY, listed=False, gated=True)


@cell
def gates_on_a_list_that_lies(rng: Rng) -> Answers:
    """A gate on a short list of items, some of whose measurements are replaced."""
    yield from _drives(rng, Prescient(0.05), _solved(rng, ITEMS), EXACTLY, listed=True, gated=True)


@cell
def share_of_pairs_in_a_log(rng: Rng) -> Answers:
    """A log of arms on the same items, of which a share was replaced once all rows lay before the attacker."""
    eps = 0.05
    for listed in (False, True):
        values = _solved(rng, 200)
        true = values.mean(axis=1) if listed else np.full(len(values), 0.5)
        taken = int(np.floor(eps * values.shape[1] + 1e-9))
        told = values.copy()
        told[0, np.flatnonzero(values[0] == 1.0)[:taken]] = 0.0
        for row in told[1:]:
            row[np.flatnonzero(row == 0.0)[:taken]] = 1.0
        yield (
            Truth((SOLVED,), true[:, None]),
            analyze(_log(told), **_HOW, threat=Share(eps), items=200 if listed else None),
        )


@cell
def scores_in_pairs_sorted_by_difference(rng: Rng) -> Answers:
    """A log of arms that are alike, on the same items, sorted by how they differ; scores between 0 and 1"""
    scores = rng.random((2, 60)) * np.where(rng.random((2, 60)) < 0.9, 0.5, 1.0)
    values = scores[:, np.argsort(scores[0] - scores[1])[:: int(rng.choice([-1, 1]))]]
    asked = _HOW | {"objectives": [replace(EXACTLY, name="solved")], "threat": Prescient(0.0)}
    yield Truth((EXACTLY,), np.full((2, 1), scores.mean())), analyze(_log(values), **asked)


@cell
def truths_in_pairs_at_one_look(rng: Rng) -> Answers:
    """A log of arms that are alike, on the same items, with hits that hurt the first or help it; or a gate of it."""
    threat = (Prescient(0.0), Prescient(0.03), Malicious(0.03), Share(0.03))[int(rng.integers(4))]
    told, helped = _solved(rng, 120), bool(rng.random() < 0.5)
    for arm, row in enumerate(told):
        to = float((arm == 0) == helped)
        worse = row != to
        if isinstance(threat, Share):
            hit = worse & (np.cumsum(worse) <= int(threat.eps * len(row) + 1e-9))
        elif isinstance(threat, Malicious):  # who picks has half of them to hit
            hit = worse & (rng.random(len(row)) < 2.0 * threat.eps)
        else:
            hit = rng.random(len(row)) < threat.eps
        row[hit] = to
    asked = _HOW | {"objectives": [EXACTLY], "threat": threat}
    log = _log(told)
    log = {"arm": np.char.add("arm ", log["arm"]), "item": log["item"], "score": log["solved"]}
    found = analyze(log, **asked) if rng.random() < 0.5 else gate(log, **asked, baseline="arm 0")
    yield Truth((EXACTLY,), np.full((len(told), 1), 0.5)), found


@cell
def part_of_a_list_in_a_log(rng: Rng) -> Answers:
    """A log of a list in its own order, first all that are solved; of some arms, a random part of it."""
    values = np.tile((np.arange(400) < 200).astype(float), (3, 1))
    here = np.stack([rng.permutation(400) < items for items in (400, 300, 200)])
    log = {name: column[here.ravel()] for name, column in _log(values).items()}
    for eps in (0.0, 0.05):
        found = analyze(log, **_HOW, threat=Prescient(eps), items=400, absent="random")
        yield Truth((SOLVED,), values.mean(axis=1)[:, None]), found


@cell
def rows_absent_where_an_arm_failed(rng: Rng) -> Answers:
    """A log of arms on the same items that lacks what one of them failed on, or was never given because it is hard."""
    hard = rng.random(300)
    values = (rng.random((3, 300)) > hard).astype(float)
    here = np.stack([np.ones(300), (values[1] == 1.0) | (rng.random(300) < 0.5), hard < 0.7]).astype(bool)
    log = {name: column[here.ravel()] for name, column in _log(values).items()}
    yield Truth((SOLVED,), np.full((3, 1), 0.5)), analyze(log, **_HOW, threat=Prescient(0.0))


_HOW: dict[str, Any] = {
    "arm": "arm",
    "objectives": [SOLVED],
    "pair": "item",
    "confidence": CONFIDENCE,
    "profile": False,
}


def _log(values: Floats) -> dict[str, Any]:
    arms, items = values.shape
    names = np.repeat([str(arm) for arm in range(arms)], items)
    return {"arm": names, "item": np.tile(np.arange(items), arms), "solved": values.ravel()}
