"""The certified policy: its rule against all pairs written as loops, its stops, its certificate, many workers."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from frontguard import Certified, Gaussian, Malicious, Oblivious, Prescient, Share, Subgaussian, Threat, simulate
from frontguard.errors import OutOfTurn
from frontguard.evidence.intervals import BEST_HIGH, DOUBT_HIGH, DOUBT_LOW, ESTIMATE, HIGH, HIGH_FLOOR, LOW, LOW_FLOOR
from frontguard.notices import SpreadRefuted
from frontguard.objectives import Objective, inward_matrix
from frontguard.pareto import relations as records
from frontguard.pareto import rule
from frontguard.pareto.relations import lasting_intervals
from frontguard.simulation import Adversary, simulate_one
from frontguard.simulation.adversaries import strongest
from frontguard.simulation.environments import categorical, gaussian
from frontguard.verdicts import Verdict
from tests.support.snapshots import refused
from tests.support.worlds import cauchy, constant_attack, skewed

Floats = npt.NDArray[np.float64]


class NaiveDecision:
    """`decide` over all pairs, from the definitions."""

    def __init__(self, intervals: Floats, accuracy: Floats, coverage: Floats, margin: Floats) -> None:
        low, high = intervals[:, LOW], intervals[:, HIGH]
        K = len(intervals)
        everyone = range(K)
        self.out = {
            i for i in everyone
            if any((high[i] <= low[j]).all() and (high[i] < low[j]).any() for j in everyone if j != i)
        }  # fmt: skip
        alive = [i for i in everyone if i not in self.out]
        least, most = intervals[:, DOUBT_LOW], intervals[:, DOUBT_HIGH]

        def beaten(i: int, j: int) -> bool:
            lead = least[j] - most[i]
            return bool((lead >= margin).all() and (lead > 0).all())

        self.candidates = {i for i in alive if not any(beaten(i, j) for j in alive if j != i)}
        self.shortfall = {
            i: max((float((high[j] - low[i] - accuracy).min()) for j in alive if j != i), default=-np.inf)
            for i in self.candidates
        }

        def could_beat(i: int, j: int) -> bool:
            """By more than γ where that is positive; where it is 0, not being worse is enough, if not equal in all."""
            lead = high[j] - low[i]
            return bool(np.where(accuracy > 0, lead > accuracy, lead >= 0).all() and (lead > 0).any())

        self.inside = {i for i in self.candidates if not any(could_beat(i, j) for j in alive if j != i)}
        self.uncovered = {
            i: min((float((high[i] - low[k] - coverage).max()) for k in self.candidates), default=np.inf)
            for i in alive if i not in self.candidates
        }  # fmt: skip
        self.covered = {i for i in self.uncovered if any((high[i] - low[k] <= coverage).all() for k in self.inside)}
        self.certified = self.inside == self.candidates and all(value <= 0 for value in self.uncovered.values())


@settings(max_examples=60)
@given(
    arms=st.integers(1, 9),
    objectives=st.integers(1, 3),
    seed=st.integers(0, 10**9),
    unknown=st.sampled_from([0.0, 0.2]),
    accuracies=st.lists(st.sampled_from([0.0, 1.0, 2.0]), min_size=3, max_size=3),
    coverage=st.sampled_from([0.0, 1.0]),
    width=st.integers(0, 3),
)
def test_the_rule_is_what_the_definitions_say_over_all_pairs(
    arms: int, objectives: int, seed: int, unknown: float, accuracies: list[float], coverage: float, width: int
) -> None:
    accuracy = accuracies[:objectives]
    rng = np.random.default_rng(seed)
    policy = Certified(arms, objectives, threat=Oblivious(0.0), accuracy=accuracy, coverage=coverage, margin=0.5)
    standing = policy.standing
    intervals, table, control = standing.intervals, standing.arms, standing.control
    centre = rng.integers(0, 5, (arms, objectives)).astype(float)  # whole numbers: ties and equal bounds abound
    intervals[:, LOW] = np.where(rng.random(centre.shape) < unknown, -np.inf, centre - rng.integers(0, width + 1))
    intervals[:, HIGH] = np.where(rng.random(centre.shape) < unknown, np.inf, centre + rng.integers(0, width + 1))
    intervals[:, BEST_HIGH] = intervals[:, HIGH]
    intervals[:, LOW_FLOOR] = intervals[:, HIGH_FLOOR] = intervals[:, ESTIMATE] = centre
    intervals[:, DOUBT_LOW], intervals[:, DOUBT_HIGH] = centre - 0.25, centre + 0.25
    table["pulls"] = 10
    tolerances = np.array(accuracy), np.full(objectives, coverage), np.full(objectives, 0.5)
    rule.decide(standing, records.Goal(*tolerances))

    naive = NaiveDecision(intervals, *tolerances)
    status = table["status"]
    assert {i for i in range(arms) if status[i] == Verdict.BEATEN} == naive.out
    assert {i for i in range(arms) if table["candidate"][i]} == naive.candidates
    assert {i for i in range(arms) if status[i] == Verdict.KEEP} == naive.inside
    assert {i for i in range(arms) if status[i] == Verdict.MATCHED} == naive.covered
    assert (control["stop"][0] == records.CERTIFIED) == naive.certified
    assert control["alive"][0] == arms - len(naive.out)
    tie = np.finfo(float).tiny  # the least that is not nothing
    assert control["accuracy_slack"][0] in {worst := max(naive.shortfall.values(), default=-np.inf), worst or tie}
    assert control["coverage_slack"][0] == max(naive.uncovered.values(), default=-np.inf)
    if not naive.certified:
        wanted = np.flatnonzero(table["wanted"])
        assert len(wanted)
        assert not set(wanted) & naive.out
        for i in naive.candidates - naive.inside:  # every obstacle has itself or some rival wanted
            assert table["wanted"][i] or table["wanted"][table["decided_by"][i]]


THREATS: list[Threat] = [
    Oblivious(0.0), Oblivious(0.1), Prescient(0.2), Malicious(0.1), Malicious(0.3), Share(0.1), Share(0.3)
]  # fmt: skip


@settings(max_examples=20)
@given(
    arms=st.integers(1, 7),
    objectives=st.integers(1, 3),
    threat=st.sampled_from(THREATS),
    law=st.sampled_from(["gaussian", "cauchy", "stars", "duplicates"]),
    tolerance=st.sampled_from([0.0, 0.01, 0.3, 2.0]),
    attacked=st.booleans(),
    with_spread=st.booleans(),
    goal=st.sampled_from(["front", "list"]),
    seed=st.integers(0, 10**6),
)
def test_it_always_stops_and_says_why(
    arms: int,
    objectives: int,
    threat: Threat,
    law: str,
    tolerance: float,
    attacked: bool,
    with_spread: bool,
    goal: str,
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    medians = rng.uniform(0, 2, (arms, objectives)).round(1)
    match law:
        case "gaussian":
            environment = gaussian(medians, 0.3)
        case "cauchy":
            environment = cauchy(medians, 0.2)
        case "stars":
            environment = categorical(rng.integers(1, 9, (arms, objectives, 5)), np.arange(1.0, 6.0))
        case _:
            environment = gaussian(np.ones((arms, objectives)), 0.3)
    adversary: Adversary | None = None
    if attacked and threat.eps:
        adversary = (
            strongest(environment, Malicious(threat.eps), np.where(np.arange(arms) % 2, 1, -1))
            if isinstance(threat, Malicious)
            else constant_attack(threat.eps, 50.0, environment)
        )
        if isinstance(threat, Share):
            adversary = strongest(environment, Share(threat.eps), np.where(np.arange(arms) % 2, 1, -1))
        if isinstance(threat, Prescient):
            adversary = strongest(environment, Prescient(threat.eps), np.where(np.arange(arms) % 2, 1, -1))
    policy = Certified(
        arms, objectives, threat=threat, accuracy=tolerance, spread=Gaussian(0.3) if with_spread else None,
        max_pulls_per_arm=1200, goal=goal,
    )  # fmt: skip
    live = simulate_one(policy, environment, adversary, seed=seed)
    result = live.result()
    assert result.status in ("certified", "budget", "unreachable")
    assert result.pulls_per_arm.max() <= 3000
    if result.status == "certified":
        assert result.pareto_set
        assert "undecided" not in result.verdicts.values()
        assert np.max(result.certificate.accuracy) <= tolerance + 1e-12
        assert np.max(result.certificate.coverage) <= tolerance + 1e-12


def test_without_a_budget_equal_arms_and_no_tolerance_end_at_the_largest_number_of_pulls() -> None:
    environment = gaussian([[0.0], [0.0]], 1.0)
    live = simulate_one(Certified(2, 1, threat=Oblivious(0.0), accuracy=0.0), environment)
    assert live.result().status == "budget"
    assert live.pulls_per_arm.max() == 2**20


def test_a_goal_beyond_the_attackers_reach_is_called_unreachable_with_what_can_be_had() -> None:
    sigma, eps = 1.0, 0.2
    environment = gaussian([[0.0, 0.0], [0.1, 0.1]], sigma)
    policy = Certified(2, 2, threat=Malicious(eps), accuracy=0.05)
    live = simulate_one(policy, environment, seed=3)
    assert isinstance(live, Certified)
    assert live.result().status == "unreachable"
    floor = np.diff(lasting_intervals(live.standing.intervals)[:, [LOW, HIGH]], axis=1)[:, 0]
    width = 2 * sigma * 0.5244  # Φ⁻¹(0.7) = 0.5244: the levels 1/2 ± ε that a malicious attacker can reach
    np.testing.assert_allclose(floor, width, atol=0.25)
    best = live.reachable()
    assert 0.05 < best.accuracy < live.outlook().accuracy
    assert live.certificate().coverage == np.inf  # nothing is returned, so nothing is promised of what is missed
    loose = simulate_one(Certified(2, 2, threat=Malicious(eps), accuracy=1.3 * best.accuracy), environment, seed=3)
    assert loose.result().status == "certified"


def test_failed_pulls_count_and_are_never_evidence() -> None:
    policy = Certified(2, 1, threat=Prescient(0.1), accuracy=0.1, max_pulls_per_arm=200)
    rng = np.random.default_rng(0)
    while not policy.done:
        arms = policy.ask()
        values = np.where(arms == 0, np.nan, 1.0 + 0.01 * rng.normal(size=len(arms)))  # arm 0 always fails
        policy.tell(arms, values[:, None])
    result = policy.result(["broken", "fine"])
    assert result.status == "budget"
    assert result.verdicts["broken"] == "undecided"
    assert (result.lower[0, 0], result.upper[0, 0]) == (-np.inf, np.inf)
    assert result.pulls_per_arm[0] > 0
    assert np.isfinite(result.lower[1, 0])


def test_the_certificate_holds_at_any_time_and_only_grows_better_for_decided_arms() -> None:
    environment = gaussian([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], 0.3)
    rng = np.random.default_rng(2)
    policy = Certified(3, 2, threat=Oblivious(0.0), accuracy=0.1)
    out: set[str] = set()
    while not policy.done:
        arms = policy.ask()
        policy.tell(arms, environment.medians[arms] + 0.3 * rng.normal(size=(len(arms), 2)))
        result = policy.result()
        accuracy = result.certificate.accuracy
        for i in np.flatnonzero(policy.standing.arms["candidate"] == 1):
            assert environment.gaps[i] <= accuracy
        newly = {name for name, verdict in result.verdicts.items() if verdict == "beaten"}
        assert out <= newly
        out = newly
    assert policy.result().pareto_set == ["0", "1"]
    assert policy.result().to_dict()["decided_by"]["2"] in ("0", "1")


def test_many_workers_ask_and_tell_in_any_order() -> None:
    environment = gaussian([[1.0, 0.0], [0.0, 1.0], [0.9, -0.4], [-1.0, -1.0]], 0.2)
    rng = np.random.default_rng(4)
    policy = Certified(4, 2, threat=Prescient(0.05), accuracy=0.2)
    out: list[int] = []
    told = 0
    while not policy.done:
        out += policy.ask(int(rng.integers(1, 6))).tolist()
        rng.shuffle(out)
        for _ in range(int(rng.integers(0, len(out) + 1))):
            if policy.done:
                break
            arm = out.pop()
            policy.tell([arm], [environment.medians[arm] + 0.2 * rng.normal(size=2)])
            told += 1
    assert policy.result().pareto_set == ["0", "1"]
    assert policy.result().pulls == told
    late = len(out)
    policy.tell(out, environment.medians[out])  # pulls that were out when it stopped are welcome
    assert policy.result().pulls == told + late


def test_the_fastest_half_coming_back_first_does_not_mislead() -> None:
    """Pulls that take as long as they measure come back in order of their values; the rest counts as unknown."""
    missed = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        policy = Certified(1, 1, threat=Oblivious(0.0), accuracy=0.1, delta=0.05)
        seconds = np.sort(rng.exponential(size=len(policy.ask(400))))
        for half in (seconds[:200], seconds[200:]):
            policy.tell(np.zeros(len(half), int), -half[:, None])
            result = policy.result()
            missed += not result.lower[0, 0] <= -np.log(2) <= result.upper[0, 0]
            if policy.done:
                break
    assert missed <= 2


def test_a_drifting_source_is_found_out_and_believed_no_more() -> None:
    policy = Certified(1, 1, threat=Oblivious(0.0), accuracy=0.0)
    for start in range(0, 1000, 10):
        policy.standing.control["stop"] = records.RUNNING  # a single arm is certified at once; go on measuring
        policy.standing.arms["wanted"] = 1
        policy.ask(10)
        policy.tell(np.zeros(10, int), np.arange(start, start + 10.0)[:, None])
    result = policy.result()
    assert (result.lower[0, 0], result.upper[0, 0]) == (-np.inf, np.inf)
    assert "drift" in result.warnings[0]


def test_pulls_asked_for_together_go_to_arms_that_matter(snapshot: SnapshotAssertion) -> None:
    environment = gaussian([[0.5], [0.45], [-5.0], [-5.0]], 0.2)
    rng = np.random.default_rng(5)
    policy = Certified(4, 1, threat=Oblivious(0.0), accuracy=0.01)
    while policy.result().verdicts["3"] != "beaten" or policy.result().verdicts["2"] != "beaten":
        arms = policy.ask()
        policy.tell(arms, environment.medians[arms] + 0.2 * rng.normal(size=(len(arms), 1)))
    assert set(policy.ask(20).tolist()) <= {0, 1}
    with refused(OutOfTurn, snapshot):
        policy.ask()
    with refused(ValueError, snapshot):
        policy.ask(0)


@pytest.mark.parametrize(
    "environment",
    [
        cauchy([[0.0, 1.0], [1.0, 0.0], [-1.0, -1.0]], 0.2),
        skewed([[0.0, 1.0], [1.0, 0.0], [-1.0, -1.0]], 0.3, 1.0),
    ],
    ids=["cauchy", "skewed"],
)
def test_no_shape_is_assumed(environment: object) -> None:
    """Heavy and skewed tails under attack: the front is found, and no run returns a dominated arm."""
    assert isinstance(environment, type(gaussian([[0.0]], 1.0)))
    direction = np.where(environment.pareto_mask, -1, 1)
    policy = Certified(3, 2, threat=Malicious(0.1), accuracy=0.5, coverage=0.5)
    runs = simulate(policy, environment, strongest(environment, Malicious(0.1), direction), runs=20)
    assert runs.returned[:, :2].all()
    assert not runs.returned[:, 2].any()


def test_with_a_spread_bound_it_needs_fewer_pulls_and_a_false_one_is_noticed() -> None:
    environment = gaussian([[0.0, 1.0], [1.0, 0.0], [-1.0, -1.0]], 0.02)
    settings_ = {"threat": Prescient(0.1), "accuracy": 0.5}
    plain = simulate(Certified(3, 2, **settings_), environment, runs=10)
    helped = simulate(Certified(3, 2, **settings_, spread=Subgaussian(0.02)), environment, runs=10)
    assert helped.pulls.mean() < 0.6 * plain.pulls.mean()
    wide = gaussian([[0.0, 1.0], [1.0, 0.0], [-1.0, -1.0]], 5.0)
    misled = Certified(3, 2, **settings_, spread=Gaussian(0.01))
    assert np.bincount(misled.ask(600)).tolist() == [200, 200, 200]
    for arm in range(3):
        misled.tell(np.full(200, arm), wide.sample(arm, 200))
    assert any(isinstance(notice, SpreadRefuted) for notice in misled.result().notices)
    assert not plain_warnings(environment)


def plain_warnings(environment: object) -> tuple[str, ...]:
    assert isinstance(environment, type(gaussian([[0.0]], 1.0)))
    return (
        simulate_one(Certified(3, 2, threat=Prescient(0.1), accuracy=0.5, spread=Gaussian(0.2)), environment)
        .result()
        .warnings
    )


def test_other_quantiles_count_if_asked_for() -> None:
    """Arm 0 has the better median, arm 1 the better lower tail."""
    environment = gaussian([[1.0], [0.5]], [[1.0], [0.05]])
    by_median = Certified(2, 1, threat=Oblivious(0.0), accuracy=0.1)
    by_tail = Certified(2, 1, threat=Oblivious(0.0), accuracy=0.1, quantiles=0.05)
    assert simulate_one(by_median, environment).result().pareto_set == ["0"]
    assert simulate_one(by_tail, environment).result().pareto_set == ["1"]


def test_the_caller_may_halt_it(snapshot: SnapshotAssertion) -> None:
    policy = Certified(2, 1, threat=Oblivious(0.0), accuracy=0.0)
    arms = policy.ask()
    policy.tell(arms, np.random.default_rng(0).normal(size=(len(arms), 1)))
    policy.halt()
    assert policy.result().status == "budget"
    with refused(OutOfTurn, snapshot):
        policy.ask()


def test_objectives_in_the_users_terms() -> None:
    """Seconds that differ by 10 %, to be minimised with 2 % tolerance: decided on their logarithms."""
    objectives = [Objective("seconds", "minimize", tolerance="2%")]
    policy = Certified.for_objectives(2, objectives, threat=Prescient(0.05))
    rng = np.random.default_rng(0)
    while not policy.done:
        arms = policy.ask()
        seconds = np.where(arms == 0, 1.0, 1.1) * np.exp(0.05 * rng.normal(size=len(arms)))
        policy.tell(arms, inward_matrix(objectives, seconds[:, None]))
    result = policy.result(["fast", "slow"], ["seconds"])
    assert result.pareto_set == ["fast"]
    low, high = objectives[0].outward_interval(result.lower[0, 0], result.upper[0, 0])
    assert low <= 1.0 <= high


def test_a_tolerance_for_each_objective() -> None:
    environment = gaussian([[0.0, 0.0], [0.3, 0.3]], 0.1)
    both = Certified(2, 2, threat=Oblivious(0.0), accuracy=[0.5, 0.1], coverage=[0.0, 0.0])
    strict = Certified(2, 2, threat=Oblivious(0.0), accuracy=[0.1, 0.1], coverage=[0.0, 0.0])
    assert simulate_one(strict, environment).result().pareto_set == ["1"]
    certificate = simulate_one(both, environment).result().certificate
    assert isinstance(certificate.to_dict()["confidence"], float)


@pytest.mark.parametrize(
    "changes",
    [
        {"accuracy": -0.1},
        {"accuracy": np.nan},
        {"coverage": [0.1]},
        {"quantiles": 1.0},
        {"growth": 0.0},
        {"max_pulls": 0},
        {"delta": 1.0},
        {"threat": "prescient"},
        {"spread": Gaussian(0.1), "t_bar": 0.5},
    ],
)
def test_what_makes_no_sense_is_refused(changes: dict[str, object], snapshot: SnapshotAssertion) -> None:
    arguments: dict[str, object] = {"threat": Prescient(0.1), "accuracy": 0.1, **changes}
    with refused(ValueError, snapshot):
        Certified(2, 2, **arguments)


def test_the_cost_of_arms_that_are_out_is_nothing() -> None:
    """Only alive arms are looked at: a decision leaves the records of the others untouched."""
    policy = Certified(50, 1, threat=Oblivious(0.0), accuracy=0.1)
    rng = np.random.default_rng(0)
    while (policy.verdict_codes == Verdict.BEATEN).sum() < 40:
        arms = policy.ask()
        policy.tell(arms, (arms[:, None] // 45) * 5.0 + rng.normal(size=(len(arms), 1)))
    before = policy.standing.arms[policy.verdict_codes == Verdict.BEATEN].copy()
    for _ in itertools.repeat(None, 3):
        if not policy.done:
            arms = policy.ask()
            assert (policy.verdict_codes[arms] != Verdict.BEATEN).all()
            policy.tell(arms, (arms[:, None] // 45) * 5.0 + rng.normal(size=(len(arms), 1)))
    np.testing.assert_array_equal(
        policy.standing.arms[np.isin(np.arange(50), np.flatnonzero(before["status"] == 2))][:0], before[:0]
    )
