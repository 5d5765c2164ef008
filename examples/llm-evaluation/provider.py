"""A provider that is not there: eight models that answer a list of questions, for money. Nothing leaves the machine.

A model answers a question with a probability that depends on its skill and on how hard the question is, and writes more
or fewer words. A grader then says whether the answer is right, and is wrong itself now and then.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

QUESTIONS = 400
MOST_WORDS = 2000  # where every answer is cut off: so no answer costs more than DEAREST
GRADER_ERRS = 0.01  # the share of answers that are graded wrongly


@dataclass(frozen=True)
class Model:
    """How well a model answers, how much it writes, and what a thousand words cost in dollars."""

    skill: float
    words: float
    price: float


MODELS = {
    "nano": Model(0.1, 120, 0.0006),
    "mini": Model(0.8, 150, 0.0016),
    "small": Model(1.3, 180, 0.004),
    "medium": Model(1.9, 220, 0.008),
    "large": Model(2.6, 260, 0.015),
    "veteran": Model(1.4, 300, 0.02),  # last year's flagship: dear, and no longer good
    "thinker": Model(3.3, 900, 0.015),
    "thinker-pro": Model(3.4, 1100, 0.03),
}
DEAREST = max(model.price for model in MODELS.values()) * MOST_WORDS / 1000


def difficulty(question: int) -> float:
    """How hard a question is: the same for every model."""
    return random.Random(f"question {question}").gauss(0.0, 1.2)


def chance(model: str, question: int) -> float:
    """With which probability a model answers a question rightly."""
    return 1.0 / (1.0 + math.exp(difficulty(question) - MODELS[model].skill))


def accuracy(model: str) -> float:
    """The truth: the share of questions that a model answers rightly in the long run."""
    return sum(chance(model, question) for question in range(QUESTIONS)) / QUESTIONS


def ask(model: str, question: int, seed: int) -> dict[str, bool | float]:
    """One answer: whether the grader calls it solved, and what it cost."""
    noise = random.Random(f"{model} {question} {seed}")
    solved = noise.random() < chance(model, question)
    if noise.random() < GRADER_ERRS:
        solved = not solved
    words = min(MODELS[model].words * noise.lognormvariate(0.0, 0.4), MOST_WORDS)
    return {"solved": solved, "dollars": MODELS[model].price * words / 1000}
