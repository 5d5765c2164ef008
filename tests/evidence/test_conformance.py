"""What every kind of evidence keeps to, each statistic with each design: one that is added is a world and a twin here.

Validity is simulated under every threat with an attacker who uses all of it, by runs of a whole policy that is looked
at after every decision: few runs, which show an interval that is wrong, and not one that misses too often by a little.
For that see `test_guarantee.py` and the audit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import binom, norm

from frontguard import Malicious, Objective, Oblivious, Prescient, Share, analyze
from frontguard.errors import BadInput
from frontguard.evidence.bets import LOG_WEIGHTS, THETAS
from frontguard.evidence.confidence_sequences import rank_table, read_rank, taken_away
from frontguard.evidence.differences import Differences, InBlocks
from frontguard.evidence.differences.apart import Apart
from frontguard.evidence.differences.pairs import WithinBlocks
from frontguard.evidence.intervals import BEST_HIGH, COLUMNS, HIGH, LOW
from frontguard.evidence.normals import NORMAL_WEIGHT
from frontguard.evidence.statistics import KINDS
from frontguard.policies import Certified
from frontguard.theory.threats import Threat

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

ARMS, PULLS, RUNS, DELTA = 5, 60, 12, 0.2
MOST_MISSES = int(binom.ppf(1.0 - 1e-5, RUNS, DELTA))
MIDDLES = np.array([0.3, 0.4, 0.6, 0.3, 0.4])
NAMES = list("abcde")


@dataclass(frozen=True)
class World:
    """Values of a statistic by their place u in a law, which has the value `MIDDLES` of each arm, and what is far."""

    objective: Objective
    value: Callable[[Floats, Floats], Floats]  # of places u in [0, 1] and middles
    far: tuple[float, float]
    twin: Callable[[Floats, int, Threat, float], tuple[float, float]]
    """The interval of values (n,), of which so many more failed, under a threat: at the δ' of one end."""
    best: float = 0.5
    """What the upper end of the best arm has of δ, where all arms are compared."""


def of_ranks(values: Floats, failed: int, threat: Threat, share: float) -> tuple[float, float]:
    n, ordered = len(values) + failed, [-math.inf, *sorted(values.tolist())]
    rank = read_rank(rank_table(threat.keep(0.5), share), n) - failed - taken_away(threat.taken, n)
    return ordered[max(rank, 0)], -[-math.inf, *sorted((-values).tolist())][max(rank, 0)]


def of_bets(values: Floats, failed: int, threat: Threat, share: float) -> tuple[float, float]:
    n, taken = len(values) + failed, taken_away(threat.taken, len(values) + failed)

    def highest(xi: Floats) -> float:
        known = np.concatenate([np.sort(xi)[taken:], np.ones(failed + taken)])

        def refuted(c: float) -> bool:
            bets = LOG_WEIGHTS + np.log1p(-np.outer(THETAS, known)).sum(axis=1) - n * np.log1p(-THETAS * c)
            return bool(np.logaddexp.reduce(bets) > -math.log(share))

        low, high = 0.0, 1.0
        for _ in range(60):
            low, high = (low, (low + high) / 2) if refuted((low + high) / 2) else ((low + high) / 2, high)
        times, less = threat.surviving
        return min(1.0, ((high if refuted(1.0) else 1.0) + less) / times)

    return 1.0 - highest(1.0 - values), highest(values)


def of_mixture(values: Floats, failed: int, threat: Threat, share: float) -> tuple[float, float]:
    n = len(values)
    if failed:
        return -math.inf, math.inf
    whole = n + NORMAL_WEIGHT
    reach = math.sqrt(whole * (2.0 * math.log(0.5 / share) + math.log(whole / NORMAL_WEIGHT))) / n
    return values.mean() - reach, values.mean() + reach


def of_itself(values: Floats, failed: int, threat: Threat, share: float) -> tuple[float, float]:
    return (float(values[0]), float(values[0])) if len(values) else (-math.inf, math.inf)


WORLDS: dict[str, World] = {
    "quantile": World(Objective("x", "maximize", tolerance=0.1), lambda u, m: m + norm.ppf(u), (-1e6, 1e6), of_ranks),
    "bounded mean": World(
        Objective("x", "maximize", tolerance=0.1, statistic="mean", bounds=(0, 1)),
        lambda u, m: np.where(u > 1.0 - m, 0.8 + 0.2 * m, 0.2 * m),
        (0.0, 1.0),
        of_bets,
    ),
    "normal mean": World(
        Objective("x", "maximize", tolerance=0.1, statistic="mean", sigma=1.0),
        lambda u, m: m + norm.ppf(u),
        (-1e6, 1e6),
        of_mixture,
        0.25,
    ),
    "exact value": World(Objective("x", "maximize", exact=True), lambda u, m: m + 0.0 * u, (-1e6, 1e6), of_itself),
}

ASKED: dict[str, dict[str, Any]] = {
    "rows": {},
    "a baseline": {"baseline": 0},
    "pairs": {"paired": True},
    "items": {"items": PULLS},
    "blocks": {"blocks": True},
    "blocks of a baseline": {"baseline": 0, "blocks": True},
    "independent arms": {"independent": True},
}

THREATS = (Oblivious(0.15), Prescient(0.15), Malicious(0.1), Share(0.1))


def made(statistic: str, design: str, threat: Threat, **settings: Any) -> Certified:
    asked = {"max_pulls_per_arm": PULLS, "growth": 0.5, "delta": DELTA, "threat": threat} | ASKED[design] | settings
    objective = WORLDS[statistic].objective
    if (statistic, design) == ("quantile", "blocks"):  # of inner values that are logarithms, ratios are compared, too
        objective = replace(objective, tolerance="10%")
    return Certified.for_objectives(ARMS, [objective], **asked)


def cells() -> list[tuple[str, str, Threat]]:
    """What there is: a statistic that a design does not compare, or that a threat rules out, is refused."""
    found = []
    for statistic, design, threat in product(WORLDS, ASKED, THREATS):
        clean = type(threat)(0.0) if statistic == "normal mean" else threat
        try:
            made(statistic, design, clean)
        except BadInput:
            continue
        found.append((statistic, design, clean))
    return found


CELLS = cells()
in_every_cell = pytest.mark.parametrize(("statistic", "design", "threat"), CELLS, ids=lambda each: str(each))


def drawn(statistic: str, design: str, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    """Places and values (K, PULLS) of all pulls, by rep, and what counts of each arm (K,)."""
    places = rng.random((ARMS, PULLS))
    if design in ("pairs", "items"):  # blocks differ more than arms
        places = np.broadcast_to(places[:1], places.shape)
    values = WORLDS[statistic].value(places, MIDDLES[:, None])
    truth = MIDDLES
    if statistic == "bounded mean":
        truth = MIDDLES * 0.8 + 0.2 * MIDDLES
    return places, values, values.mean(axis=1) if design == "items" else truth


def attacked(statistic: str, threat: Threat, places: Floats, values: Floats, rng: np.random.Generator) -> Floats:
    """The values with the first arm pushed up, and the others down, by all that the threat allows."""
    if statistic == "exact value":  # of these nothing is replaced: they would be known not to be exact
        return values
    seen, up = values.copy(), np.arange(ARMS) == 0
    lower = np.where(up[:, None], places, 1.0 - places)  # small where a replacement moves most
    if isinstance(threat, Malicious):
        hits = lower < threat.eps
    elif isinstance(threat, Share):
        spent = np.floor(threat.eps * np.arange(1, PULLS + 1) + 1e-9)
        hits = np.broadcast_to(np.diff(spent, prepend=0.0) > 0.0, seen.shape)
    else:
        hits = rng.random(seen.shape) < threat.eps
    low, high = WORLDS[statistic].far
    return np.where(hits, np.where(up[:, None], high, low), seen)


def missed(policy: Certified, truth: Floats) -> bool:
    """Whether an interval or a bound of a difference is false now."""
    intervals = policy.standing.intervals[..., 0]
    false = ((intervals[:, LOW] > truth + 1e-9) | (intervals[:, HIGH] < truth - 1e-9)).any()
    if policy.against is None:
        best = int(truth.argmax())
        false |= intervals[best, BEST_HIGH] < truth[best] - 1e-9
    pairs = intervals[:, COLUMNS : COLUMNS + ARMS]
    return bool(false or (pairs.size and (pairs < truth[:, None] - truth - 1e-9).any()))


def test_every_statistic_and_design_is_covered() -> None:
    assert set(WORLDS) == {kind.name for kind in KINDS}
    assert {statistic for statistic, *_ in CELLS} == set(WORLDS)
    kinds = {type(made(statistic, design, threat).differences) for statistic, design, threat in CELLS}
    assert kinds == {Differences, *Differences.__subclasses__(), *InBlocks.__subclasses__()} - {InBlocks}
    assert {design for _, design, _ in CELLS} == set(ASKED)


@in_every_cell
def test_bounds_hold_under_the_worst_attacker_at_every_look(statistic: str, design: str, threat: Threat) -> None:
    misses = 0
    for seed in range(RUNS):
        rng = np.random.default_rng([seed, CELLS.index((statistic, design, threat))])
        places, values, truth = drawn(statistic, design, rng)
        values = attacked(statistic, threat, places, values, rng)
        policy, false = made(statistic, design, threat), False
        while not policy.done and not false:
            arms, reps = asked_of(policy)
            policy.tell(arms, values[arms, reps - 1, None], reps)
            false = missed(policy, truth)
        misses += false
    assert misses <= MOST_MISSES


def asked_of(policy: Certified) -> tuple[Ints, Ints]:
    """The arms of the next batch, and which pull of its arm each is."""
    arms = policy.ask()
    first = np.searchsorted(arms, arms)
    return arms, policy.pulls_per_arm[arms] + 1 + np.arange(len(arms)) - first


def first_batch(statistic: str, design: str, threat: Threat) -> tuple[Certified, Ints, Ints, Floats]:
    policy = made(statistic, design, threat)
    arms, reps = asked_of(policy)
    _, values, _ = drawn(statistic, design, np.random.default_rng(1))
    return policy, arms, reps, values[arms, reps - 1, None]


@in_every_cell
def test_a_failed_observation_may_be_anything(statistic: str, design: str, threat: Threat) -> None:
    found = []
    for instead in (np.nan, *WORLDS[statistic].far):
        policy, arms, reps, values = first_batch(statistic, design, threat)
        values[[0, 1]] = instead if statistic != "exact value" or np.isnan(instead) else values[2]
        policy.tell(arms, values, reps)
        found.append(policy.standing.intervals[..., 0])
    unknown, *others = found
    for known in others:
        assert (unknown[:, LOW] <= known[:, LOW] + 1e-9).all()
        assert (unknown[:, HIGH] >= known[:, HIGH] - 1e-9).all()
        assert (unknown[:, COLUMNS:] >= known[:, COLUMNS:] - 1e-9).all()


@in_every_cell
def test_the_order_of_telling_changes_nothing(statistic: str, design: str, threat: Threat) -> None:
    policy, arms, reps, values = first_batch(statistic, design, threat)
    other, *_ = first_batch(statistic, design, threat)
    policy.tell(arms, values, reps)
    mixed = np.random.default_rng(2).permutation(len(arms))
    for part in (mixed[:5], mixed[5:]):
        other.tell(arms[part], values[part], reps[part])
    np.testing.assert_array_equal(policy.standing.intervals, other.standing.intervals)


@in_every_cell
def test_saved_and_loaded_it_says_the_same(statistic: str, design: str, threat: Threat, tmp_path: Path) -> None:
    policy, arms, reps, values = first_batch(statistic, design, threat)
    values[-1] = np.nan
    policy.tell(arms, values, reps)
    policy.save(tmp_path / "policy.json")
    loaded = Certified.load(tmp_path / "policy.json")
    np.testing.assert_array_equal(policy.standing.intervals, loaded.standing.intervals)


ROWS = [cell for cell in CELLS if cell[1] == "rows"]
in_every_row = pytest.mark.parametrize(("statistic", "design", "threat"), ROWS, ids=lambda each: str(each))


TWINNED = [cell for cell in CELLS if cell[1] in ("rows", "a baseline")]


@pytest.mark.parametrize(("statistic", "design", "threat"), TWINNED, ids=lambda each: str(each))
@pytest.mark.parametrize("failed", [0, 2])
def test_intervals_are_those_of_a_naive_twin(statistic: str, design: str, threat: Threat, failed: int) -> None:
    policy, arms, reps, values = first_batch(statistic, design, threat)
    values[:failed] = np.nan
    policy.tell(arms, values, reps)
    each = DELTA / (2 * ARMS)
    shares = (0.5 * each, WORLDS[statistic].best * DELTA) if design == "rows" else (each, each)
    for arm in range(ARMS):
        mine = values[arms == arm, 0]
        good = mine[~np.isnan(mine)]
        ends, best = (WORLDS[statistic].twin(good, len(mine) - len(good), threat, share) for share in shares)
        found = policy.standing.intervals[arm, [LOW, HIGH, BEST_HIGH], 0]
        np.testing.assert_allclose(found, [*ends, max(best[1], ends[0])], atol=1e-7)


@in_every_row
def test_a_log_of_the_same_values_says_no_less(statistic: str, design: str, threat: Threat) -> None:
    policy, arms, reps, values = first_batch(statistic, "a baseline", threat)
    policy.tell(arms, values, reps)
    log = analyze(
        {"arm": [NAMES[arm] for arm in arms], "x": values[:, 0]}, arm="arm", objectives=[WORLDS[statistic].objective],
        threat=threat, confidence=1.0 - DELTA, anytime=True, profile=False,
    )  # fmt: skip
    intervals = policy.standing.intervals[..., 0]  # of a quantile's ranks, tables may leave some out
    assert (log.inner.lower[:, 0] >= intervals[:, LOW] - 1e-7).all()
    assert (log.inner.upper[:, 0] <= intervals[:, HIGH] + 1e-7).all()
    if statistic != "quantile":
        np.testing.assert_allclose(log.inner.lower[:, 0], intervals[:, LOW], atol=1e-7)


MODELS = (Oblivious, Prescient, Malicious, Share)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("design", ASKED)
def test_a_study_bounds_each_metric_by_its_own_contamination(design: str, model: type[Threat]) -> None:
    statistic = "bounded mean" if design in ("pairs", "items") else "quantile"
    objectives = [replace(WORLDS[statistic].objective, name=name) for name in "xy"]
    shares = (0.05, 0.15)  # none is 0: of a list it would have a larger part of δ, as no hits are counted
    mixed, *alone = (
        Certified.for_objectives(ARMS, objectives, threat=threat, delta=DELTA, **ASKED[design])
        for threat in (model(0.15, shares), *map(model, shares))
    )
    for d, own in enumerate(alone):
        for field in set(mixed.rule._fields) - {"best"}:
            np.testing.assert_array_equal(getattr(mixed.rule, field)[d], getattr(own.rule, field)[d])
        if isinstance(mixed.differences, WithinBlocks) and isinstance(own.differences, WithinBlocks):
            for one, other in zip(mixed.differences.rules[d], own.differences.rules[d], strict=True):
                np.testing.assert_array_equal(one, other)
            np.testing.assert_array_equal(mixed.differences.hits[d], own.differences.hits[d])
    assert mixed.rule.low_keep[0, 0] > mixed.rule.low_keep[1, 0] or statistic != "quantile" or model is Share


def test_where_replacements_foretell_another_metric_its_evidence_is_that_of_all_time() -> None:
    objectives = [WORLDS["quantile"].objective, replace(WORLDS["normal mean"].objective, name="volts")]
    lasting, usable = zip(
        *(
            (bool(evidence.rule.lasting[0]), evidence.usable.tolist())
            for threat in (Oblivious(0.1, (0.1, 0.0)), Prescient(0.1, (0.1, 0.0)), Prescient(0.0))
            for evidence in [made_apart(objectives, threat)]
        ),
        strict=True,
    )
    assert lasting == (False, True, False)
    assert usable == ([True, True], [True, False], [True, True])


def made_apart(objectives: list[Objective], threat: Threat) -> Apart:
    evidence = Certified.for_objectives(ARMS, objectives, threat=threat, delta=DELTA, independent=True).differences
    assert isinstance(evidence, Apart)
    return evidence


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("asked", [{}, {"independent": True}, {"pair": "item"}, {"cluster": "item"}], ids=str)
def test_a_log_reads_each_metric_with_its_own_contamination(asked: dict[str, Any], model: type[Threat]) -> None:
    rng = np.random.default_rng(4)
    rows = {"arm": np.repeat(NAMES, 80), "item": np.tile(np.arange(40), 2 * ARMS)}
    rows |= {"ms": rng.normal(5.0, 1.0, 80 * ARMS), "ok": (rng.random(80 * ARMS) < 0.7).astype(float)}
    how = {"minimize": "ms", "maximize": "ok", "statistic": {"ok": "mean"}, "bounds": {"ok": (0, 1)}, "arm": "arm"}
    mixed = analyze(rows, **how, **asked, threat=model.name, profile=False)
    for d, eps in enumerate((0.1, 0.0)):
        alone = analyze(rows, **how, **asked, threat=model(eps), profile=False)
        place = mixed.objectives.index(("ms", "ok")[d])
        for one, other in ((mixed.inner.lower, alone.inner.lower), (mixed.inner.upper, alone.inner.upper)):
            np.testing.assert_array_equal(one[:, place], other[:, place])
        if mixed.pairs is not None and alone.pairs is not None:
            np.testing.assert_array_equal(mixed.pairs[..., place], alone.pairs[..., place])
    assert mixed.question is not None
    assert mixed.question.contaminations == {"ms": 0.1, "ok": 0.0}
