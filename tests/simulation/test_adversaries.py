"""Every attacker stays within its power, and does what it is named for."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats
from syrupy.assertion import SnapshotAssertion

from frontguard._common.typing import Bools, Floats, Ints
from frontguard.errors import BadInput
from frontguard.simulation import adversaries as adv
from frontguard.simulation import environments as env
from frontguard.simulation.adversaries import Adversary
from frontguard.simulation.draws import Words, attack_kernel, draw_gaussian, stream_states
from frontguard.simulation.environments import Environment
from frontguard.simulation.streams import RewardSource, Streams
from frontguard.theory.threats import EvenHanded, Malicious, Oblivious, Prescient, Share
from tests.support import worlds
from tests.support.snapshots import refused
from tests.support.worlds import constant_attack

EPS = 0.15
BLOCKS = 120
MEDIANS = np.array([[1.0, 0.0], [0.0, 1.0], [-0.5, -0.5], [0.5, -1.0]])  # arms 0 and 1 are Pareto optimal
FRONT, REST = (0, 1), (2, 3)
GAUSSIAN = env.gaussian(MEDIANS, [[1.0, 0.5]] * 4)
STARS = env.categorical(
    [
        [[1, 1, 2, 4, 2], [0, 1, 3, 3, 3]],
        [[2, 2, 2, 2, 2], [0, 0, 1, 4, 5]],
        [[5, 3, 1, 1, 0], [4, 4, 1, 1, 0]],
        [[3, 3, 3, 1, 0], [5, 5, 0, 0, 0]],
    ],
    [1, 2, 3, 4, 5],
)
OTHER = env.uniform(MEDIANS + 20.0, 2.0)

Build = Callable[[env.Quantiled, float], Adversary]

INDEPENDENT: dict[str, Build] = {
    "constant": lambda e, eps: constant_attack(eps, [-10.0, 30.0], e),
    "constant, joint": lambda e, eps: constant_attack(eps, -10.0, e, joint=True),
    "other distribution": lambda e, eps: adv.other_distribution(eps, OTHER),
    "review bomber": lambda e, eps: adv.review_bomber(e, eps),
    "review bomber, joint": lambda e, eps: adv.review_bomber(e, eps, joint=True),
    "push toward": lambda e, eps: worlds.push(e, eps, toward_front=True, distance=3.0),
    "push away": lambda e, eps: worlds.push(e, eps, toward_front=False, distance=3.0),
    "worst case, prescient": lambda e, eps: adv.strongest(e, Prescient(eps), [-1, 0, 1, 1]),
}
COUPLING: dict[str, Build] = {
    "worst case": lambda e, eps: adv.strongest(e, Malicious(eps), [-1, 1, -1, 1]),
    "worst case, at rest in places": lambda e, eps: adv.strongest(
        e, Malicious(eps), [[-1, 0], [0, 1], [0, 0], [1, -1]]
    ),
    "paper's, per arm": lambda e, eps: worlds.papers_per_arm(e, eps),
}
WITHIN_MODEL = INDEPENDENT | COUPLING
AS_PUBLISHED: dict[str, Build] = {"paper's": lambda e, eps: adv.paper_malicious(e, eps)}
EVERYONE = WITHIN_MODEL | AS_PUBLISHED
PLACES = {"gaussian": GAUSSIAN, "stars": STARS}


def trace(
    environment: Environment, adversary: Adversary, arm: int, blocks: int = BLOCKS, seed: int = 1
) -> tuple[Floats, Floats, Bools]:
    """Clean rewards, observed rewards and hits, each (n, M), of the first `blocks` blocks of an arm."""
    clean, _ = Streams(RewardSource(environment), seed).blocks(arm, blocks)
    observed, hits = Streams(RewardSource(environment, adversary), seed).blocks(arm, blocks)
    return clean, observed, hits


@cache
def traced(name: str, place: str, arm: int) -> tuple[Floats, Floats, Bools]:
    """Many tests look at the same pulls: clean, observed, hits."""
    environment = PLACES[place]
    return trace(environment, EVERYONE[name](environment, EPS), arm)


def is_rate(hits: Bools, rate: float) -> bool:
    return bool(stats.binomtest(int(hits.sum()), hits.size, rate).pvalue > 1e-4)


def dependence(hits: Bools, high: Bools) -> float:
    """p-value of independence of two masks; 1 where one of them is constant."""
    table = np.array([[(hits & high).sum(), (hits & ~high).sum()], [(~hits & high).sum(), (~hits & ~high).sum()]])
    if 0 in table.sum(axis=0) or 0 in table.sum(axis=1):
        return 1.0
    return float(stats.chi2_contingency(table).pvalue)


# --- what every attacker must obey -----------------------------------------------------------------------


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", WITHIN_MODEL)
def test_every_objective_of_every_arm_is_hit_with_probability_eps(name: str, place: str) -> None:
    for arm in range(4):
        _, _, hits = traced(name, place, arm)
        for d in range(2):
            assert is_rate(hits[:, d], EPS), (arm, d, hits[:, d].mean())


@pytest.mark.parametrize("name", EVERYONE)
def test_what_is_not_hit_is_untouched(name: str) -> None:
    for arm in range(4):
        clean, observed, hits = traced(name, "gaussian", arm)
        assert hits.any()
        assert observed[~hits].tobytes() == clean[~hits].tobytes()


@pytest.mark.parametrize("name", EVERYONE)
def test_clean_rewards_do_not_depend_on_the_attacker(name: str) -> None:
    reference = trace(GAUSSIAN, constant_attack(0.4, 0.0, GAUSSIAN), 2, 10)[0]
    assert traced(name, "gaussian", 2)[0][: len(reference)].tobytes() == reference.tobytes()


@pytest.mark.parametrize("name", EVERYONE)
def test_without_power_nothing_happens(name: str) -> None:
    clean, observed, hits = trace(GAUSSIAN, EVERYONE[name](GAUSSIAN, 0.0), 0, 5)
    assert not hits.any()
    assert observed.tobytes() == clean.tobytes()


def test_a_malicious_kernel_alone_does_not_hit_without_power() -> None:
    """Whoever runs the kernel, ε = 0 means no hits."""
    for build in (COUPLING | AS_PUBLISHED).values():
        adversary = build(GAUSSIAN, 0.0)
        assert adversary.attack is not None
        rewards, out, hits = np.zeros((2, 64)), np.empty((2, 64)), np.ones((2, 64), np.bool_)
        adversary.attack(rewards, out, hits, 1, adversary.reals, adversary.ints, stream_states(0, 0, 1)[1][0])
        assert not hits.any()


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", INDEPENDENT)
def test_oblivious_and_prescient_hits_are_independent_of_rewards(name: str, place: str) -> None:
    assert isinstance(INDEPENDENT[name](GAUSSIAN, EPS).threat, Oblivious | Prescient)
    for arm in range(4):
        clean, _, hits = traced(name, place, arm)
        for d in range(2):
            for e in range(2):  # nor of the other objective's reward
                assert dependence(hits[:, d], clean[:, e] > PLACES[place].medians[arm, e]) > 1e-4, (arm, d, e)


@pytest.mark.parametrize("name", EVERYONE)
def test_hits_are_independent_in_time(name: str) -> None:
    _, _, hits = traced(name, "gaussian", 3)
    for d in range(2):
        assert dependence(hits[:-1, d], hits[1:, d]) > 1e-4


@pytest.mark.parametrize("name", EVERYONE)
def test_objectives_are_hit_together_or_each_by_itself(name: str) -> None:
    _, _, hits = traced(name, "gaussian", 1)
    if EVERYONE[name](GAUSSIAN, EPS).joint:
        assert (hits[:, 0] == hits[:, 1]).all()
    else:
        assert dependence(hits[:, 0], hits[:, 1]) > 1e-4


def test_threats_say_the_model() -> None:
    models = {
        Oblivious: ["constant", "other distribution"],
        Prescient: ["review bomber", "push toward", "push away", "worst case, prescient"],
        Malicious: ["worst case", "paper's, per arm", "paper's"],
    }
    for threat, names in models.items():
        for name in names:
            adversary = EVERYONE[name](GAUSSIAN, EPS)
            assert adversary.threat == threat(EPS)
            assert (adversary.replacements is not None) == (threat is Oblivious)


@pytest.mark.parametrize(
    "given",
    [
        {"threat": Oblivious(EPS), "attack": adv.replace},
        {"threat": Oblivious(EPS), "attack": adv.replace, "replacements": GAUSSIAN},
        {"threat": Oblivious(EPS)},
        {"threat": Prescient(EPS), "replacements": GAUSSIAN},
        {"threat": Malicious(EPS), "attack": adv.replace, "replacements": GAUSSIAN},
    ],
)
def test_an_adversary_gets_no_more_knowledge_than_its_model_has(given: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        Adversary(**given)


# --- oblivious -------------------------------------------------------------------------------------------


def test_constants_may_be_given_in_three_shapes() -> None:
    table = np.arange(8.0).reshape(4, 2)
    cases: list[tuple[npt.ArrayLike, list[float]]] = [
        (-9.0, [-9.0, -9.0]),
        ([1.0, 2.0], [1.0, 2.0]),
        (table, [4.0, 5.0]),
    ]
    for value, expected in cases:
        _, observed, hits = trace(GAUSSIAN, constant_attack(EPS, value, GAUSSIAN), 2, 10)
        for d in range(2):
            assert set(observed[hits[:, d], d].tolist()) == {expected[d]}


def test_oblivious_replacements_follow_their_law_and_know_nothing_of_the_reward() -> None:
    cases: list[tuple[Adversary, Callable[[int, int], Any]]] = [
        (adv.other_distribution(EPS, OTHER), lambda arm, d: stats.uniform(MEDIANS[arm, d] + 19.0, 2.0)),
        (
            adv.other_distribution(EPS, env.gaussian(MEDIANS[[3, 3, 0, 1]], (1.0, 0.5))),
            lambda arm, d: stats.norm(MEDIANS[[3, 3, 0, 1][arm], d], (1.0, 0.5)[d]),
        ),
    ]
    for adversary, law in cases:
        for arm in range(4):
            clean, observed, hits = trace(GAUSSIAN, adversary, arm)
            for d in range(2):
                replaced, true = observed[hits[:, d], d], clean[hits[:, d], d]
                assert stats.kstest(replaced, law(arm, d).cdf).pvalue > 1e-4
                assert abs(stats.spearmanr(replaced, true).statistic) < 4 / np.sqrt(len(true))


# --- prescient -------------------------------------------------------------------------------------------


def test_review_bomber_gives_the_lowest_score_to_the_front_alone() -> None:
    adversary = adv.review_bomber(STARS, EPS)
    assert STARS.pareto_set == [0, 1]
    for arm in FRONT:
        _, observed, hits = trace(STARS, adversary, arm, 20)
        assert (observed[hits] == 1.0).all()
    for arm in REST:
        clean, observed, _ = trace(STARS, adversary, arm, 20)
        assert observed.tobytes() == clean.tobytes()


def test_review_bomber_with_a_lowest_score_for_each_objective() -> None:
    _, observed, hits = trace(GAUSSIAN, adv.review_bomber(GAUSSIAN, EPS, lowest=[-3.0, -4.0]), 0, 20)
    assert set(observed[hits[:, 0], 0].tolist()) == {-3.0}
    assert set(observed[hits[:, 1], 1].tolist()) == {-4.0}


@pytest.mark.parametrize("toward", [True, False])
def test_push_moves_the_true_reward(toward: bool) -> None:
    adversary = worlds.push(GAUSSIAN, EPS, toward_front=toward, distance=3.0)
    for arm in range(4):
        clean, observed, hits = trace(GAUSSIAN, adversary, arm, 20)
        moved = (0.0 if toward else -3.0) if arm in FRONT else 3.0
        assert (observed - clean)[hits] == pytest.approx(moved)


# --- worst cases -----------------------------------------------------------------------------------------


def is_median(sample: Floats, value: float) -> bool:
    """Exact test that a continuous sample has this median."""
    return bool(stats.binomtest(int((sample <= value).sum()), len(sample)).pvalue > 1e-4)


@pytest.mark.parametrize("eps", [0.05, 0.4])
def test_worst_cases_move_the_median_by_exactly_the_quantile_deviation(eps: float) -> None:
    """Down and up, to the levels of Lemmas 1 and 2, computed here by scipy alone."""
    signs = np.array([[-1, 1], [1, -1], [0, 0], [-1, -1]])
    cases = [
        (adv.strongest(GAUSSIAN, Malicious(eps), signs), eps),
        (adv.strongest(GAUSSIAN, Prescient(eps), signs), eps / (2 * (1 - eps))),
    ]
    for adversary, shift in cases:
        for arm in range(4):
            _, observed, _ = trace(GAUSSIAN, adversary, arm, 150)
            for d in range(2):
                target = stats.norm(MEDIANS[arm, d], (1.0, 0.5)[d]).ppf(0.5 + signs[arm, d] * shift)
                assert is_median(observed[:, d], target), (arm, d, np.median(observed[:, d]), target)


FAMILIES: dict[str, env.Quantiled] = {
    "cauchy": worlds.cauchy([[0.0], [1.0]], 1.0),
    "skewed": worlds.skewed([[0.0], [1.0]], 1.0, 0.9),
    "uniform": env.uniform([[0.0], [1.0]], 2.0),
    "bimodal": worlds.bimodal([[0.0], [1.0]], [[5.0], [5.0]], 1.0, 0.4),
    "noisy bootstrap": env.noisy_bootstrap([[0.0], [1.0], [2.0], [9.0]], [0, 0, 1, 1], 1.0),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_worst_cases_work_on_every_family(name: str) -> None:
    environment = FAMILIES[name]
    for adversary in (
        adv.strongest(environment, Malicious(0.2), [-1, 1]),
        adv.strongest(environment, Prescient(0.2), [-1, 1]),
    ):
        for arm, sign in enumerate((-1, 1)):
            clean, observed, hits = trace(environment, adversary, arm)
            assert is_rate(hits, 0.2)
            # the moved median is a quantile of the clean rewards: no law needed to check that
            moved = float(np.median(observed))
            level = 0.5 + sign * adversary.threat.shift
            assert stats.binomtest(int((clean <= moved).sum()), clean.size, level).pvalue > 1e-6


def test_worst_cases_on_atoms_by_hand() -> None:
    """F = 0.1, 0.3, 0.7, 1 at 1, 2, 3, 4: the median 3 falls to 2 once 1/2 − h < 0.3."""
    environment = env.categorical([[[1, 2, 4, 3]]], [1, 2, 3, 4])
    assert environment.medians.item() == 3.0
    for eps, expected in [(0.15, 3.0), (0.25, 2.0), (0.45, 1.0)]:
        assert adv.moved_medians(environment, Malicious(eps), [-1]).item() == expected
        clean, observed, hits = trace(environment, adv.strongest(environment, Malicious(eps), [-1]), 0)
        assert np.median(observed) == expected
        if eps <= 0.3:  # fits into the best atom: a part of it, nothing else
            assert set(clean[hits].tolist()) == {4.0}
        else:
            assert hits[clean == 4.0].all()
            assert is_rate(hits[clean == 3.0], (eps - 0.3) / 0.4)
            assert not hits[clean <= 2.0].any()
    # prescient: 1/2 − 0.15/1.7 = 0.41 is still 3; 1/2 − 0.4/1.2 = 0.17 is 2
    for eps, expected in [(0.15, 3.0), (0.4, 2.0)]:
        _, observed, _ = trace(environment, adv.strongest(environment, Prescient(eps), [-1]), 0)
        assert np.median(observed) == expected


def test_where_the_worst_case_rests_nothing_is_seen() -> None:
    for adversary in (
        adv.strongest(GAUSSIAN, Malicious(EPS), [0] * 4),
        adv.strongest(GAUSSIAN, Prescient(EPS), [0] * 4),
    ):
        clean, observed, hits = trace(GAUSSIAN, adversary, 0)
        assert hits.any()
        assert observed.tobytes() == clean.tobytes()
        assert dependence(hits[:, 0], clean[:, 0] > MEDIANS[0, 0]) > 1e-4


def test_the_worst_case_hits_exactly_the_best_or_the_worst() -> None:
    adversary = adv.strongest(GAUSSIAN, Malicious(EPS), np.where(GAUSSIAN.pareto_mask, -1, 1), distance=10.0)
    for arm in range(4):
        clean, observed, hits = trace(GAUSSIAN, adversary, arm)
        for d in range(2):
            hit, spared = clean[hits[:, d], d], clean[~hits[:, d], d]
            replaced = observed[hits[:, d], d]
            if arm in FRONT:
                assert hit.min() > spared.max()
                assert replaced.max() < MEDIANS[arm, d] - 5
            else:
                assert hit.max() < spared.min()
                assert replaced.min() > MEDIANS[arm, d] + 5


def test_the_published_attack_keeps_the_rate_over_arms_but_not_per_arm() -> None:
    """K = 4, |P*| = 2: others are hit with 4ε / (2 · 1.25 + 2) = 8ε/9, the front with 10ε/9."""
    adversary = adv.paper_malicious(GAUSSIAN, EPS)
    everything = []
    for arm in range(4):
        clean, observed, hits = trace(GAUSSIAN, adversary, arm, 300, seed=5)
        everything.append(hits)
        assert is_rate(hits, EPS * (10 / 9 if arm in FRONT else 8 / 9))
        assert not is_rate(hits, EPS)
        assert set(observed[hits].tolist()) == {-10.0 if arm in FRONT else 10.0}
        assert dependence(hits[:, 0], clean[:, 0] > MEDIANS[arm, 0]) > 1e-4
    assert is_rate(np.concatenate(everything), EPS)


def test_the_strict_variant_couples_with_the_reward() -> None:
    """Above the median of Pareto optimal arms 2ε · 1.25 / 2.25, below it 2ε / 2.25; mirrored on others."""
    adversary = worlds.papers_per_arm(GAUSSIAN, EPS, value=7.0)
    often, seldom = 2 * EPS * 1.25 / 2.25, 2 * EPS / 2.25
    for arm in range(4):
        clean, observed, hits = trace(GAUSSIAN, adversary, arm, 300)
        high = clean > MEDIANS[arm]
        assert is_rate(hits[high], often if arm in FRONT else seldom)
        assert is_rate(hits[~high], seldom if arm in FRONT else often)
        assert set(observed[hits].tolist()) == {-7.0 if arm in FRONT else 7.0}
        assert dependence(hits[:, 0], high[:, 0]) < 1e-6


def test_the_paper_s_attack_needs_no_laws() -> None:
    plain = Environment(draw_gaussian, GAUSSIAN.medians, GAUSSIAN.reals, GAUSSIAN.ints)
    assert adv.paper_malicious(plain, EPS).threat == Malicious(EPS)


# --- bad input -------------------------------------------------------------------------------------------

BAD: list[tuple[str, Callable[[], object], str]] = [
    ("eps too large", lambda: adv.other_distribution(0.5, GAUSSIAN), "eps"),
    ("lowest of wrong shape", lambda: adv.review_bomber(GAUSSIAN, EPS, [1.0] * 3), "lowest"),
    (
        "no distance",
        lambda: adv.strongest(GAUSSIAN, Malicious(EPS), [1, 1, 1, 1], distance=0.0),
        "distance must be positive",
    ),
    ("direction of wrong shape", lambda: adv.strongest(GAUSSIAN, Malicious(EPS), [1, 1]), r"direction .* got \(2,\)"),
    ("direction of wrong size", lambda: adv.strongest(GAUSSIAN, Malicious(EPS), [1, 1, 2, 0]), "made of -1, 0 and"),
    ("factor too large", lambda: adv.paper_malicious(GAUSSIAN, 0.49, -1.0), "factor must be positive"),
    (
        "rate above 1",
        lambda: adv.paper_malicious(env.constant([[9.0], [1.0], [1.0], [1.0]]), 0.4, 100.0),
        "hit rate at most 1",
    ),
    (
        "unknown law",
        lambda: adv.strongest(Environment(draw_gaussian, MEDIANS), Malicious(EPS), [1] * 4),
        "an environment with known quantiles",
    ),
]


@pytest.mark.parametrize("build", [case[1] for case in BAD], ids=[case[0] for case in BAD])
def test_bad_input_is_refused(build: Callable[[], object], snapshot: SnapshotAssertion) -> None:
    with refused(ValueError, snapshot):
        build()


# --- any share -------------------------------------------------------------------------------------------


@attack_kernel
def greedy(
    rewards: Floats, replacements: Floats, hits: Bools, arm: int, reals: Floats, ints: Ints, stream: Words
) -> None:
    """Wishes to hit everything."""
    hits[:] = True
    replacements[:] = 99.0


@pytest.mark.parametrize("eps", [0.07, 0.1, 0.29, 0.3, 0.45])
def test_a_share_never_hits_more_than_its_budget_at_any_n(eps: float) -> None:
    """An attack that wants everything gets ⌊εn⌋ of the first n, at every n and in every objective: no more, no less."""
    everything = Adversary(Share(eps), attack=greedy)
    clean, observed, hits = trace(GAUSSIAN, everything, 1, 40)
    budget = [int(Fraction(str(eps)) * n) for n in range(1, len(hits) + 1)]
    for d in range(2):
        assert np.cumsum(hits[:, d]).tolist() == budget
    assert observed[~hits].tobytes() == clean[~hits].tobytes()
    assert (observed[hits] == 99.0).all()


@pytest.mark.parametrize("place", PLACES)
def test_the_worst_share_is_within_its_budget_and_spends_it_where_it_counts(place: str) -> None:
    environment = PLACES[place]
    signs = [[-1, 0], [1, 1], [0, -1], [1, -1]]
    adversary = adv.strongest(environment, Share(EPS), signs)
    low, high = environment.law.quantile(0.5), environment.law.right_quantile(0.5)
    for arm in range(4):
        clean, observed, hits = trace(environment, adversary, arm)
        spent, n = np.cumsum(hits, axis=0), np.arange(1, len(hits) + 1)
        for d, sign in enumerate(signs[arm]):
            assert (spent[:, d] <= np.floor(EPS * n + 1e-9)).all()
            worth = clean[:, d] <= low[arm, d] if sign > 0 else clean[:, d] >= high[arm, d]
            assert not (hits[:, d] & ~worth).any()
            if sign:
                assert spent[-1, d] >= int(EPS * len(hits)) - 10  # but for the last, which waits for one worth it
                moved = float(np.median(observed[:, d]))
                share = float((clean[:, d] <= moved).mean() if sign > 0 else (clean[:, d] >= moved).mean())
                assert share >= 0.5 + EPS - 0.02
            else:
                assert not hits[:, d].any()


def test_a_budget_goes_on_from_take_to_take() -> None:
    adversary = adv.strongest(GAUSSIAN, Share(0.3), [1, -1, 1, -1])
    at_once = Streams(RewardSource(GAUSSIAN, adversary), 5)
    piece_by_piece = Streams(RewardSource(GAUSSIAN, adversary), 5)
    whole = [at_once.take(arm, 1000) for arm in (0, 1)]
    parts: list[list[Floats]] = [[], []]
    for size in (1, 63, 70, 200, 666):
        for arm in (0, 1):
            parts[arm].append(piece_by_piece.take(arm, size))
    assert all(np.array_equal(np.concatenate(parts[arm]), whole[arm]) for arm in (0, 1))


def test_an_even_handed_attacker_replaces_all_arms_alike() -> None:
    environment = env.gaussian([[0.0], [1.0], [5.0]], sigma=0.5)
    attacker = adv.strongest(environment, EvenHanded(0.3), [-1, -1, -1])
    assert isinstance(attacker.replacements, env.Quantiled)
    lowest = attacker.replacements.medians.ravel()
    assert len(set(lowest.tolist())) == 1
    assert lowest[0] < -9.0
    with pytest.raises(BadInput):
        adv.strongest(environment, EvenHanded(0.3), [-1, 1, 1])
    with pytest.raises(BadInput):
        adv.Adversary(EvenHanded(0.3), replacements=environment)
