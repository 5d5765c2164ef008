"""The promise of an analysis: on logs with known fronts, whoever attacks, false verdicts in at most δ of the logs.

A verdict is false if an arm is out that no arm dominates, if one is in that another beats by more than γ in every
objective, or if one is covered that no arm which is in comes within c of everywhere. One of them makes a log count.

*Sharp* logs leave little to chance: an arm whose values never vary stands at the very place where a single interval
that misses makes a false verdict, and noisy arms beside it are pushed towards it as far as the threat model allows.
Boundaries that are too bold are found out there. *Broad* logs are random fronts under every attacker there is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.special import ndtri

from frontguard.evidence import quantiles
from frontguard.evidence.intervals import ArmIntervals
from frontguard.evidence.readers import IntervalReader
from frontguard.logs.answer import goal_of
from frontguard.objectives import Objective
from frontguard.pareto.judge import judge
from frontguard.question import Question
from frontguard.simulation import Adversary
from frontguard.simulation import adversaries as adv
from frontguard.simulation import environments as env
from frontguard.simulation.streams import RewardSource, Streams
from frontguard.theory.threats import Malicious, Oblivious, Prescient, Share, Threat
from frontguard.verdicts import Verdict
from tests.logs.simulated import ordered_log
from tests.support import worlds
from tests.support.guarantee import lower_limit

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

DELTA = 0.1
FAR = 1e6
TINY = 1e-9
GAMMA = 0.25


# Logs -----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """How logs are made, and what is asked of them. Several `looks` are those at a log that grows."""

    name: str
    environment: env.Quantiled
    adversary: Adversary | None
    looks: tuple[int, ...]
    levels: tuple[float, ...]
    tolerance: float = 0.0
    anytime: bool = False
    failing: float = 0.0  # share of values that fail: the best of some arms, the worst of others

    @property
    def threat(self) -> Threat:
        return Prescient(0.0) if self.adversary is None else self.adversary.threat

    @cached_property
    def question(self) -> Question:
        objectives = tuple(
            Objective(f"m{d}", "maximize", tolerance=self.tolerance, quantile=level)
            for d, level in enumerate(self.levels)
        )
        return Question(objectives, self.threat, confidence=1.0 - DELTA, anytime=self.anytime)

    @cached_property
    def truth(self) -> tuple[Floats, Floats]:
        """The ends (K, M) between which every quantile of the levels lies; mostly equal."""
        law = self.environment.law
        left, right = (
            np.stack([quantile(p)[:, d] for d, p in enumerate(self.levels)], axis=1)
            for quantile in (law.quantile, law.right_quantile)
        )
        return left, right

    def samples(self, run: int) -> list[Floats]:
        streams = Streams(RewardSource(self.environment, self.adversary), seed=7, run=run)
        made = [streams.take(arm, self.looks[-1]) for arm in range(self.environment.arms)]
        if self.failing:
            rng = np.random.default_rng(run)
            for arm, sample in enumerate(made):
                for d in range(sample.shape[1]):
                    # The share of values that may fail is drawn before they are looked at; which ones fail is not.
                    worst = int(rng.binomial(len(sample), self.failing))
                    order = np.argsort(sample[:, d] if arm % 2 else -sample[:, d], kind="stable")
                    sample[order[:worst], d] = np.nan
        return made


def false_verdicts(case: Case, codes: Ints) -> bool:
    """Whether any of the verdicts is false, for a choice of quantiles within the ends at which it is hardest."""
    low, high = case.truth
    for i, code in enumerate(codes):
        if code == Verdict.BEATEN:
            # Even the highest quantile of i lies at or below the lowest of some other arm, and strictly somewhere.
            beaten = (high[i] <= low).all(axis=1) & (high[i] < low).any(axis=1)
            if not beaten.any():
                return True
        if code == Verdict.KEEP and ((low - high[i]) > case.tolerance).all(axis=1).any():
            return True
        if code == Verdict.MATCHED:
            inside = np.flatnonzero(codes == Verdict.KEEP)
            if not ((low[i] - high[inside]) <= case.tolerance).all(axis=1).any():
                return True
    return False


def intervals_of(case: Case, samples: list[Floats]) -> ArmIntervals:
    question = case.question
    reader = IntervalReader(ordered_log(samples), question.objectives, question.delta, anytime=question.anytime)
    return reader.read(question.threat)


def verdicts_of(case: Case, intervals: ArmIntervals, goal: str = "front") -> Ints:
    return judge(intervals, **goal_of(replace(case.question, goal=goal))).codes


def is_false(case: Case, run: int) -> bool:
    """Whether a log had a false verdict at any look."""
    samples = case.samples(run)
    looks = (intervals_of(case, [sample[:look] for sample in samples]) for look in case.looks)
    return any(
        false_verdicts(case, verdicts_of(case, intervals, goal)) for intervals in looks for goal in ("front", "list")
    )


def refuted(logs: Iterable[tuple[Case, int]]) -> bool:
    """Whether the logs show, beyond reasonable doubt, false verdicts in more than δ of all logs.

    Those that cannot change the answer any more are not looked at.
    """
    left = list(logs)
    missing = next(false for false in range(len(left) + 1) if lower_limit(false, len(left)) > DELTA)
    while 0 < missing <= len(left):
        missing -= is_false(*left.pop(0))
    return missing == 0


def first(runs: int, case: Case) -> list[tuple[Case, int]]:
    return [(case, run) for run in range(runs)]


# Sharp logs -----------------------------------------------------------------------------------------------------------


def _quantile_at(target: float, level: float, law: str, arms: int, width: float = 1.0) -> tuple[env.Quantiled, Floats]:
    """An arm at 0 that never varies, and others whose quantile of this level is `target`."""
    medians = np.full((1 + arms, 1), target - width * ndtri(level))
    medians[0] = 0.0
    sigma = np.full((1 + arms, 1), width)
    sigma[0] = 0.0
    if law == "Gaussian":
        return env.gaussian(medians, sigma), sigma
    # Values 0, 1, …: the distribution function of the others is flat at 1/2 and at 0.9, where the law is sharpest.
    weights = np.tile(np.array([2, 3, 2, 2, 1]), (1 + arms, 1, 1))
    where = {0.5: 1, 0.9: 3}[level]
    weights[0] = np.eye(5, dtype=int)[where]
    return env.categorical(weights, values=[0, 1, 2, 3, 4]), sigma


def _pushing(kind: str, environment: env.Quantiled, eps: float, direction: float) -> Adversary:
    """Every arm but the first is pushed one way, as far as this threat model allows."""
    signs = np.full(environment.medians.shape, direction)
    signs[0] = 0.0
    if kind == "oblivious":
        values = np.where(signs == 0.0, environment.medians, FAR * signs)
        return worlds.constant_attack(eps, values, environment)
    if kind == "prescient":
        return adv.strongest(environment, Prescient(eps), signs, distance=FAR)
    return adv.strongest(environment, Malicious(eps), signs, distance=FAR)


def sharp_out(kind: str, law: str, level: float, *, arms: int = 7, **more: Any) -> Case:
    """The arm that never varies is on the front; one interval of the others that misses puts it out."""
    environment, _ = _quantile_at(-TINY, level, law, arms)
    eps = 0.1 if level == 0.5 else 0.04
    return Case(
        f"out | {kind} | {law} | {level:g}", environment, _pushing(kind, environment, eps, 1.0), levels=(level,), **more
    )


def sharp_in(kind: str, level: float, **more: Any) -> Case:
    """Another arm beats the one that never varies by just more than γ; if its interval misses, that one is in."""
    environment, _ = _quantile_at(GAMMA + TINY, level, "Gaussian", 1)
    eps = 0.1 if level == 0.5 else 0.04
    return Case(
        f"in | {kind} | {level:g}", environment, _pushing(kind, environment, eps, -1.0), levels=(level,),
        tolerance=GAMMA, **more,
    )  # fmt: skip


KINDS = ("oblivious", "prescient", "malicious")
GROWING = (25, 60, 140, 320)

SHARP = [
    *(
        sharp_out(kind, law, level, looks=(250,))
        for kind in KINDS
        for law in ("Gaussian", "flat")
        for level in (0.5, 0.9)
    ),
    *(sharp_in(kind, level, looks=(250,)) for kind in KINDS for level in (0.5, 0.9)),
    *(replace(sharp_out(kind, "Gaussian", 0.5, looks=(40,)), name=f"out | {kind} | few") for kind in KINDS),
    replace(sharp_out("malicious", "Gaussian", 0.5, looks=(4000,)), name="out | malicious | many"),
    *(
        replace(sharp_out(kind, "Gaussian", 0.5, looks=GROWING, anytime=True), name=f"out | {kind} | anytime")
        for kind in KINDS
    ),
    *(
        replace(sharp_out(kind, "Gaussian", 0.5, looks=(250,), failing=0.05), name=f"out | {kind} | failing")
        for kind in KINDS
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", SHARP, ids=lambda case: case.name)
def test_false_verdicts_in_at_most_delta_of_sharp_logs(case: Case) -> None:
    assert not refuted(first(40 if case.looks[-1] < 1000 else 15, case))


@pytest.mark.audit
@pytest.mark.parametrize("case", SHARP, ids=lambda case: case.name)
def test_false_verdicts_in_at_most_delta_of_many_sharp_logs(case: Case) -> None:
    assert not refuted(first(2000 if case.looks[-1] < 1000 else 500, case))


def bolder(rank: Callable[..., Ints], factor: float) -> Callable[..., Ints]:
    """The same boundary, but `factor` times nearer to keep · n: a mistake that the promise must not survive."""

    def bold(pulls: Ints, probability: float, delta: float) -> Ints:
        expected = probability * np.asarray(pulls)
        ranks = rank(pulls, probability, delta)
        return np.where(ranks > 0, np.floor(expected - (expected - ranks) / factor), 0).astype(np.int64)

    return bold


@pytest.mark.parametrize(
    "case",
    [case for case in SHARP if case.name in (
        "out | oblivious | Gaussian | 0.5", "out | prescient | flat | 0.9", "out | malicious | Gaussian | 0.5",
        "in | prescient | 0.5", "out | prescient | few", "out | prescient | anytime",
    )],
    ids=lambda case: case.name,
)  # fmt: skip
def test_a_boundary_that_is_too_bold_is_caught(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    factor = 4.0 if case.anytime or case.tolerance else 2.5
    for name in ("fixed_rank", "anytime_rank"):
        monkeypatch.setattr(quantiles, name, bolder(getattr(quantiles, name), factor))
    assert refuted(first(150, case))


@pytest.mark.audit
def test_a_fixed_boundary_does_not_do_for_a_log_that_is_looked_at_while_it_grows() -> None:
    """What --anytime is for: looked at often enough, the boundary for one look fails more often than δ."""
    looks = tuple(np.unique(np.geomspace(30, 3000, 60).astype(int)).tolist())
    case = replace(sharp_out("prescient", "Gaussian", 0.5, looks=looks), name="peeked at")
    assert refuted(first(200, case))
    assert not refuted(first(200, replace(case, anytime=True)))


def test_dropping_failed_values_would_be_a_lie() -> None:
    """Values that fail where they are bad: an analysis that leaves them out puts the wrong arm out."""
    environment, _ = _quantile_at(-TINY, 0.5, "Gaussian", 7)
    case = Case("failed", environment, None, looks=(400,), levels=(0.5,))

    def samples(run: int, *, kept: bool) -> list[Floats]:
        made = case.samples(run)
        for sample in made[1:]:
            order = np.argsort(sample[:, 0])
            sample[order[:100], 0] = np.nan
        return made if kept else [sample[np.isfinite(sample[:, 0])] for sample in made]

    wrong = [
        sum(false_verdicts(case, verdicts_of(case, intervals_of(case, samples(run, kept=kept)))) for run in range(30))
        for kept in (True, False)
    ]
    assert lower_limit(wrong[0], 30) <= DELTA
    assert wrong[1] == 30


# Broad logs -----------------------------------------------------------------------------------------------------------


def front_down(environment: env.Quantiled) -> Floats:
    return np.where(environment.pareto_mask, -1.0, 1.0)


ATTACKERS: dict[str, Callable[[env.Quantiled, float], Adversary | None]] = {
    "nobody": lambda _, eps: None,
    "constant": lambda e, eps: worlds.constant_attack(eps, FAR * front_down(e)[:, None] * np.ones(e.objectives), e),
    "other law": lambda e, eps: adv.other_distribution(eps, env.gaussian(e.medians[::-1].copy(), 0.3)),
    "review bomber": lambda e, eps: adv.review_bomber(e, eps, lowest=-FAR),
    "push away": lambda e, eps: worlds.push(e, eps, toward_front=False, distance=3.0),
    "push toward": lambda e, eps: worlds.push(e, eps, toward_front=True, distance=3.0),
    "worst prescient": lambda e, eps: adv.strongest(e, Prescient(eps), front_down(e), distance=FAR),
    "worst prescient, joint": lambda e, eps: adv.strongest(e, Prescient(eps), front_down(e), distance=FAR, joint=True),
    "worst malicious": lambda e, eps: adv.strongest(e, Malicious(eps), front_down(e), distance=FAR),
    "paper's malicious": lambda e, eps: worlds.papers_per_arm(e, eps),
    "worst share": lambda e, eps: adv.strongest(e, Share(eps), front_down(e), distance=FAR),
}


def broad(attacker: str, index: int) -> Case:
    """Arms at random, many of them close to each other, under one attacker; the rest differs from case to case."""
    rng = np.random.default_rng(index)
    M = (2, 3, 1)[index % 3]
    medians = np.round(rng.normal(size=(8, M)), 1)
    medians[4:] = medians[:4] - rng.choice([1e-3, 0.05, 0.3], size=(4, M))  # each behind another one by a little
    laws = lambda m: env.gaussian(m, 0.5), lambda m: worlds.cauchy(m, 0.2), lambda m: worlds.skewed(m, 0.5, 3.0)
    environment = laws[index % 3](medians)
    levels = tuple((0.5, 0.75, 0.3)[(index + d) % 3] if index % 2 else 0.5 for d in range(M))
    eps = 0.1 if index % 4 else 0.05
    return Case(
        f"{attacker} | {index}", environment, ATTACKERS[attacker](environment, eps),
        looks=((60, 200, 500) if index % 5 == 0 else ((50,), (400,), (150,))[index % 3]), levels=levels,
        tolerance=(0.0, 0.1)[index % 2], anytime=index % 5 == 0, failing=(0.0, 0.03)[index % 4 == 3],
    )  # fmt: skip


@pytest.mark.parametrize("attacker", ATTACKERS)
def test_false_verdicts_in_at_most_delta_of_logs_under_every_attacker(attacker: str) -> None:
    begin = 10 * list(ATTACKERS).index(attacker)
    assert not refuted(log for index in range(begin, begin + 5) for log in first(12, broad(attacker, index)))


@pytest.mark.audit
@pytest.mark.parametrize("attacker", ATTACKERS)
def test_false_verdicts_in_at_most_delta_of_many_logs_under_every_attacker(attacker: str) -> None:
    begin = 1000 + 100 * list(ATTACKERS).index(attacker)
    for index in range(begin, begin + 20):
        assert not refuted(first(100, broad(attacker, index)))


def test_the_logs_say_enough_to_be_wrong() -> None:
    """Or the tests above would show less than they seem to: all verdicts come up, and those of attacked fronts."""
    seen: set[str] = set()
    for attacker in ("nobody", "review bomber", "worst malicious"):
        for index in range(12):
            case = broad(attacker, index)
            seen |= {Verdict(int(code)).word for code in verdicts_of(case, intervals_of(case, case.samples(0)))}
    assert seen == {"keep", "beaten", "matched", "undecided"}


def test_threat_models_of_the_attackers() -> None:
    """Each attacker is answered with the constants of its own model."""
    models = {type(broad(attacker, 1).threat) for attacker in ATTACKERS}
    assert models == {Oblivious, Prescient, Malicious, Share}
