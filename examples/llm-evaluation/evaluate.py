"""Which models are worth their price? Asks the provider until that is certain, and no longer.

python evaluate.py
"""

from __future__ import annotations

import random

from provider import MODELS, QUESTIONS, ask

from frontguard import Answer, Objective, identify

OBJECTIVES = [
    Objective("solved", "maximize", tolerance=0.08, statistic="mean", bounds=(0, 1)),
    Objective("dollars", "minimize", tolerance="20%", quantile=0.5),
]


def answer(model: str, seed: int) -> dict[str, bool | float]:
    """One question, drawn from the list, put to a model."""
    return ask(model, random.Random(seed).randrange(QUESTIONS), seed)


def evaluate(seed: int = 0) -> Answer:
    """The few of the eight models that are enough, although one grade in fifty may be wrong."""
    return identify(
        answer,
        arms=list(MODELS),
        objectives=OBJECTIVES,
        contamination=0.02,
        seed=seed,
        executor="serial",
        max_pulls=60_000,
    )


if __name__ == "__main__":
    result = evaluate()
    for model, verdict in result.verdicts.items():
        instead = result.replacement(model)
        print(f"{model:12} {verdict:10} {f'take {instead.by} instead' if instead else ''}".rstrip())
    print(f"{result.status} after {result.pulls:,} answers; {result.certificate}")
