"""Each fault that was found once, planted again: the cell that was made for it refutes the promise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import pytest

from audit.cells import CELLS, Cell, Rng
from audit.runner import run_cell
from frontguard.evidence import intervals, readers, statistics
from frontguard.evidence.clusters import ClusterReader
from frontguard.evidence.differences import apart as independent_arms
from frontguard.evidence.differences.apart import LOWEST, STEP, STRENGTH, IndependentReader
from frontguard.evidence.quantiles import log_priors_of
from frontguard.evidence.readers import IntervalReader
from frontguard.policies import certified
from frontguard.policies.auer import AuerA1
from frontguard.policies.certified import Certified
from frontguard.policies.rpsi import RPSI
from frontguard.storage.contract import End
from frontguard.studies.pulls import CountedPulls
from frontguard.studies.study import Pull, Study
from frontguard.theory.threats import Malicious, Oblivious, Prescient, Share, Threat
from frontguard.verdicts import FEASIBLE, OPEN

RUNS = (5, 12)
"""Five false runs of five refute δ; where a fault shows less often, more are needed."""

Planted = Callable[[pytest.MonkeyPatch], None]


def lost_pulls_are_measured_again(patch: pytest.MonkeyPatch) -> None:
    """A pull whose worker is gone is handed to another, and only the run that survives counts."""

    def again(study: Study) -> None:
        for pull in study.storage.leases(study.name):
            study.storage.give_back(study.name, pull.worker, [pull.id])

    patch.setattr(Study, "_give_up_the_lost", again)


def interrupted_pulls_are_measured_again(patch: pytest.MonkeyPatch) -> None:
    """What is stopped is left to the next run."""

    def again(study: Study, pulls: Iterable[Pull | int], end: End = End.STOPPED) -> list[bool]:
        numbers = [pull if isinstance(pull, int) else pull.id for pull in pulls]
        study.give_back(numbers)
        return [True] * len(numbers)

    patch.setattr(Study, "give_up", again)


def what_is_under_way_is_left_out(patch: pytest.MonkeyPatch) -> None:
    """A log of a running study has only what has come back."""
    patch.setattr("frontguard.logs.of_study.under_way", lambda *_: np.empty(0, np.int64))


def what_is_out_is_left_out(patch: pytest.MonkeyPatch) -> None:
    """Intervals are read from what has come back, and the fast pulls come back first."""
    real = certified.refresh_all

    def only_back(intervals: Any, arms: Any, samples: Any, pulls: Any, rule: Any) -> Any:
        objectives = intervals.shape[2]
        return real(intervals, arms, samples, samples.columns["count"][arms * objectives], rule)

    patch.setattr(certified, "refresh_all", only_back)


def a_tie_is_enough(patch: pytest.MonkeyPatch) -> None:
    """In at tolerance 0 with H_j − L_i ≤ 0 in some objective."""
    real = certified.decide

    def with_ties(standing: Any, goal: Any) -> None:
        real(standing, goal._replace(accuracy=np.maximum(goal.accuracy, 1e-300)))

    patch.setattr(certified, "decide", with_ties)


def the_certificate_is_of_candidates(patch: pytest.MonkeyPatch) -> None:
    """What holds of the arms that would be returned is printed beside those that are."""
    patch.setattr(Certified, "certificate", Certified.outlook)


def a_share_is_a_probability(patch: pytest.MonkeyPatch) -> None:
    """The attacker who takes any share is met with the ranks of one who does not choose."""
    patch.setattr(Share, "taken", 0.0)


def nothing_is_replaced(patch: pytest.MonkeyPatch) -> None:
    """What is left of a mean is taken for all of it."""
    for threat in (Oblivious, Prescient, Malicious):
        patch.setattr(threat, "surviving", (1.0, 0.0))


def every_policy_promises(patch: pytest.MonkeyPatch) -> None:
    """Auer-A1 under contamination, and R-PSI while it runs, give their confidence."""
    patch.setattr(AuerA1, "_void", lambda _: "")
    real = RPSI.certificate
    patch.setattr(RPSI, "certificate", lambda policy: replace(real(policy), confidence=0.9, void=""))


def every_pull_of_a_host_counts(patch: pytest.MonkeyPatch) -> None:
    """Pulls of one cluster are taken for observations of their own."""
    real = CountedPulls.take
    patch.setattr(
        CountedPulls,
        "take",
        lambda counted, told, arm_of: real(counted, replace(told, clusters=("",) * len(told)), arm_of),
    )


def every_row_of_a_process_counts(patch: pytest.MonkeyPatch) -> None:
    """Rows of one cluster are taken for observations of their own."""
    patch.setattr(ClusterReader, "_ends", IntervalReader._ends)


def who_may_be_beyond_counts(patch: pytest.MonkeyPatch) -> None:
    """An arm of which it is open whether it keeps to its limits puts others out, and is in."""
    real = certified.veil

    def unveiled(intervals: Any, limits: Any, arms: Any, veiled: Any) -> None:
        real(intervals, limits, arms, veiled)
        veiled[:] = intervals[:, :, : veiled.shape[2]]
        arms["keeping"][arms["keeping"] == OPEN] = FEASIBLE

    patch.setattr(certified, "veil", unveiled)


def pairs_of_arms_count_no_lies(patch: pytest.MonkeyPatch) -> None:
    """Intervals know of the attacker, and the evidence on pairs of independent arms does not."""
    in_studies, in_logs = independent_arms.refresh_apart, IndependentReader._by_regions

    def refresh_apart(*given: Any) -> None:
        *before, rule, apart = given
        clean = np.full_like(rule.low_keep, 0.5)  # of medians
        priors = log_priors_of(clean, STRENGTH)
        unaware = rule._replace(low_keep=clean, high_keep=clean)
        in_studies(*before, unaware, apart._replace(low_priors=priors, high_priors=priors))

    def by_regions(reader: IndependentReader, d: int, threat: Threat) -> Any:
        return in_logs(reader, d, replace(threat, eps=0.0))

    patch.setattr(independent_arms, "refresh_apart", refresh_apart)
    patch.setattr(IndependentReader, "_by_regions", by_regions)


def rivals_are_soon_believed(patch: pytest.MonkeyPatch) -> None:
    """Of rivals hardly any evidence is asked for."""
    real = independent_arms.apart_rule

    def apart_rule(*given: Any, **named: Any) -> Any:
        rule = real(*given, **named)
        needed = np.array([rule.levels[0], int(-1.0 * LOWEST / STEP)])
        return rule._replace(levels=np.minimum(needed, rule.levels))

    patch.setattr(independent_arms, "apart_rule", apart_rule)


def the_best_arm_is_soon_put_out(patch: pytest.MonkeyPatch) -> None:
    """Hardly any evidence is asked for that an arm is not the best."""

    def shares(*given: Any, **named: Any) -> Any:
        found = statistics.shares_of_ends(*given, **named)
        return found._replace(best=0.9) if found.best else found

    for module in (intervals, readers):
        patch.setattr(module, "shares_of_ends", shares)


FAULTS: list[tuple[str, Planted]] = [
    ("best-of-many-pushed-down", the_best_arm_is_soon_put_out),
    ("best-of-many-in-a-log", the_best_arm_is_soon_put_out),
    ("workers-that-die", lost_pulls_are_measured_again),
    ("interruptions", interrupted_pulls_are_measured_again),
    ("log-of-what-is-back", what_is_under_way_is_left_out),
    ("slow-first", what_is_out_is_left_out),
    ("failures-by-value", what_is_out_is_left_out),
    ("ties", a_tie_is_enough),
    ("budget-over", the_certificate_is_of_candidates),
    ("share-of-a-log", a_share_is_a_probability),
    ("rates-of-liars", nothing_is_replaced),
    ("rates-hit-by-value", nothing_is_replaced),
    ("share-of-rates", a_share_is_a_probability),
    ("means-of-liars", nothing_is_replaced),
    ("means-hit-by-value", nothing_is_replaced),
    ("share-of-means", a_share_is_a_probability),
    ("share-of-rates-in-a-log", a_share_is_a_probability),
    ("means-in-a-log", nothing_is_replaced),
    ("unsolved-fails", what_is_out_is_left_out),
    ("unsolved-is-stopped", interrupted_pulls_are_measured_again),
    ("policies-without-a-promise", every_policy_promises),
    ("study-on-hosts", every_pull_of_a_host_counts),
    ("processes-in-a-log", every_row_of_a_process_counts),
    ("limits-at-the-edge", nothing_is_replaced),
    ("limits-at-the-edge", who_may_be_beyond_counts),
    ("limits-in-a-log", nothing_is_replaced),
    ("independent-arms-hit-by-value", pairs_of_arms_count_no_lies),
    ("independent-arms-in-a-log", pairs_of_arms_count_no_lies),
    ("independent-rivals-hit-by-value", pairs_of_arms_count_no_lies),
    ("independent-rivals-hit-by-value", rivals_are_soon_believed),
]


def until_false(cell: Cell) -> Cell:
    """The same cell, of which a run ends with its first false statement, and is run once however often it is asked for.

    Whether a run is false is known by then, and a planted fault mostly shows early.
    """
    shown: dict[str, list[Any]] = {}

    def answers(rng: Rng) -> Iterator[Any]:
        run = str(rng.bit_generator.state)
        if run not in shown:
            false = (answer for answer in cell.answers(rng) if answer[0].false_statements(answer[1]))
            shown[run] = list(islice(false, 1))
        yield from shown[run]

    return replace(cell, answers=answers)


@pytest.mark.parametrize(("name", "plant"), FAULTS, ids=[plant.__name__ + "-" + name for name, plant in FAULTS])
def test_a_planted_fault_is_caught(name: str, plant: Planted, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = until_false(CELLS[name])
    plant(monkeypatch)
    for runs in RUNS:
        outcome = run_cell(cell, runs)
        if outcome.refuted:
            return
    pytest.fail(f"{outcome.false} of {outcome.runs} runs are false: {outcome.kinds}")
