"""Four language models, of which each answers a question right or wrong, at an exact price: studies through `Study`.

Accuracies of 92, 75, 60 and 55 % have the same median, 1: a study of medians knows nothing but the prices. What counts
is the mean. Where prices rise as accuracies fall the first model is the front; where they fall all four are, the last
two of which no method tells apart if a twentieth of the answers may be wrong (nobody attacks there). Answers are
replaced by whoever hurts most under each threat model: right ones of the best model become wrong, wrong ones of the
others right. Every look at every study is held against the truth (`audit.truth`).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

import numpy as np

from audit.runner import upper_limit
from audit.truth import Truth
from benchmarks.tables import Row, heading
from frontguard import Malicious, Oblivious, Prescient, Share, Study, Threat
from frontguard.objectives import Objective
from frontguard.results import Answer

STUDIES = 100
CONFIDENCE = 0.95
MOST = 6000
ACCURACIES = np.array([0.92, 0.75, 0.60, 0.55])
OBJECTIVES = (
    Objective("right", "maximize", tolerance=0.05, statistic="mean", bounds=(0, 1)),
    Objective("price", "minimize", exact=True),
)


def attack(threat: Threat, rng: np.random.Generator) -> Callable[[int, bool], bool]:
    """What is told of an answer of a model."""
    seen, spent = np.zeros(4, np.int64), np.zeros(4, np.int64)

    def told(model: int, right: bool) -> bool:
        useful = right if model == 0 else not right
        chance = threat.eps
        if isinstance(threat, Malicious):  # as often, and only where it hurts
            share = ACCURACIES[model] if model == 0 else 1.0 - ACCURACIES[model]
            chance = threat.eps / share if useful else 0.0
        if isinstance(threat, Share):  # as early as it may
            seen[model] += 1
            hit = useful and spent[model] + 1 <= np.floor(threat.eps * seen[model] + 1e-9)
            spent[model] += hit
            chance = float(hit)
        return model != 0 if rng.random() < chance else right

    return told


def one_study(threat: Threat, prices: tuple[float, ...], seed: int) -> tuple[bool, Answer]:
    """Whether any answer on the way was false, and the last one."""
    rng = np.random.default_rng([seed, *threat.name.encode()])
    truth = Truth(OBJECTIVES, np.column_stack([ACCURACIES, prices]))
    study = Study(["a", "b", "c", "d"], OBJECTIVES, threat, confidence=CONFIDENCE, seed=seed, max_pulls=MOST)
    told, false, count = attack(threat, rng), False, 0
    while pulls := study.ask(32):
        right = rng.random(len(pulls)) < ACCURACIES[[each.index for each in pulls]]
        answers = [float(told(each.index, bool(was))) for each, was in zip(pulls, right, strict=True)]
        study.tell_many([(each, [got, prices[each.index]]) for each, got in zip(pulls, answers, strict=True)])
        count += len(pulls)
        if count % 256 < 32:
            false |= bool(truth.false_statements(study.result()))
    result = study.result()
    return false or bool(truth.false_statements(result)), result


def main() -> list[Row]:
    rows: list[Row] = []
    attackers = (Oblivious(0.0), Oblivious(0.05), Prescient(0.05), Malicious(0.05), Share(0.05))
    for words, prices, threats in (
        ("rising", (1.0, 2.0, 3.0, 4.0), attackers),
        ("falling", (4.0, 3.0, 2.0, 1.0), attackers[:1]),
    ):
        heading(f"accuracies 92, 75, 60, 55 %, {words} prices: false studies of {STUDIES}")
        print("  | threat | ε | verdicts, in studies | certified | pulls | false | at most |")
        for threat in threats:
            began, false, certified = time.perf_counter(), 0, 0
            pulls, verdicts = list[int](), Counter[str]()
            for seed in range(STUDIES):
                wrong, result = one_study(threat, prices, seed)
                verdicts[", ".join(result.verdicts.values())] += 1
                false, certified = false + wrong, certified + (result.status == "certified")
                pulls.append(result.pulls)
            ((most, often),) = verdicts.most_common(1)
            print(
                f"  | {threat.name} | {threat.eps:g} | {most}: {often} | {certified} | "
                f"{np.mean(pulls):,.0f} ± {np.std(pulls) / np.sqrt(STUDIES):,.0f} | {false} | "
                f"{upper_limit(false, STUDIES):.1%} | {time.perf_counter() - began:.0f} s",
                flush=True,
            )
            what = f"false studies, {words} prices, {threat.name}, ε = {threat.eps:g}"
            rows.append(Row(what, false / STUDIES, at_most=1.0 - CONFIDENCE, unit=""))
    return rows
