"""How often arms that are alike are told apart where they are taken as independent: `python -m benchmarks apart`.

Two arms with the same law, no tolerance, and whoever may lie pushing one up and the other down as far as they may, so
that what is observed lies at the edge of what the threat model allows. Whatever verdict tells them apart is false, and
may be so in a share δ of the runs.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.stats import beta

from benchmarks.tables import Row
from frontguard import Malicious, Oblivious, Prescient, simulate
from frontguard.evidence.statistics import NORMAL_MEAN, Statistic
from frontguard.policies import Independent
from frontguard.simulation.adversaries import worst_case, worst_case_prescient
from frontguard.simulation.environments import gaussian
from frontguard.theory.threats import Threat
from frontguard.verdicts import Verdict

RUNS, PULLS, DELTA = 1000, 2000, 0.2
KNOWN = (Statistic(NORMAL_MEAN, scale=(0.0, 1.0, 1.0, 0.0, 1.0)),)


def told_apart(threat: Threat, **settings: object) -> tuple[int, float]:
    """In how many runs one of two equal arms was put out, and a bound of that share at confidence 99.9 %."""
    environment = gaussian([[0.0], [0.0]], sigma=1.0)
    pushed = worst_case if isinstance(threat, Malicious) else worst_case_prescient
    attack = pushed(environment, threat.eps, direction=[1, -1]) if threat.eps else None
    policy = Independent(
        2, 1, threat=threat, accuracy=0.0, delta=DELTA, max_pulls=PULLS, **settings  # type: ignore[arg-type]
    )  # fmt: skip
    runs = simulate(policy, environment, attack, runs=RUNS, seed=7)
    false = int((runs.verdicts == int(Verdict.OUT)).any(axis=1).sum())
    return false, float(beta.ppf(0.999, false + 1, RUNS - false)) if false < RUNS else 1.0


def main() -> Iterator[Row]:
    """A row for each threat model: the share of runs with a false verdict, against δ."""
    for threat in (Oblivious(0.0), Oblivious(0.1), Prescient(0.1), Malicious(0.1)):
        false, most = told_apart(threat)
        yield _row(f"medians, {threat.name}, ε = {threat.eps:g}", false, most)
    false, most = told_apart(Oblivious(0.0), statistics=KNOWN)
    yield _row("means with known σ", false, most)


def _row(what: str, false: int, most: float) -> Row:
    details = f"{false} of {RUNS:,} runs, at most {np.ceil(1000 * most) / 10:g} %"
    return Row(f"equal arms told apart / δ: {what}", false / RUNS / DELTA, at_most=1.0, details=details)
