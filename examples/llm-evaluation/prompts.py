"""Which prompt is the best on these 400 questions? All prompts are asked the same ones, and only as many as it takes.

python prompts.py

The model answers at temperature 0: a prompt solves a question or does not, whenever it is asked. Prompts differ by
little, questions by much, so that what tells prompts apart are the few questions on which they differ.
"""

from __future__ import annotations

import math
import random

from provider import QUESTIONS, difficulty

from frontguard import Answer, Objective, identify

PROMPTS = {"plain": 0.8, "polite": 0.85, "step by step": 1.3, "examples": 1.6, "examples, twice": 1.55}
SOLVED = Objective("solved", "maximize", tolerance=0.04, statistic="mean", bounds=(0, 1))


def solves(prompt: str, question: int) -> bool:
    """Whether the model solves a question with this prompt."""
    luck = random.Random(f"luck {question}").random()
    return luck < 1.0 / (1.0 + math.exp(difficulty(question) - PROMPTS[prompt]))


def on_the_same(prompt: str, item: int) -> bool:
    """One question of the list, the same for all prompts at the same repeat."""
    return solves(prompt, item)


def on_its_own(prompt: str, seed: int) -> bool:
    """One question, drawn for this answer alone."""
    return solves(prompt, random.Random(seed).randrange(QUESTIONS))


def evaluate(*, same: bool) -> Answer:
    """The best prompt, where nothing lies."""
    shared = {"items": QUESTIONS} if same else {}
    return identify(
        on_the_same if same else on_its_own,
        arms=list(PROMPTS),
        objectives=[SOLVED],
        contamination=0,
        executor="serial",
        max_pulls=200_000,
        **shared,
    )


if __name__ == "__main__":
    for same in (True, False):
        result = evaluate(same=same)
        print(f"{'the same questions' if same else 'questions of its own'}: {', '.join(result.pareto_set)}")
        print(f"{result.status} after {result.pulls:,} answers")
