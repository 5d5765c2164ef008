"""How often arms that are alike are told apart where they are taken as independent: `python -m benchmarks apart`.

Two arms with the same law, no tolerance, and whoever may lie pushing one up and the other down as far as they may, so
that what is observed lies at the edge of what the threat model allows. Whatever verdict tells them apart is false, and
may be so in a share δ of the runs. Likewise three arms of which the first is beaten by the second alone, and by nearly
nothing: that the first is in would be false.

And of logs: how many rows of an arm decide all of them, by intervals and with independent arms.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from scipy.stats import beta

from benchmarks.tables import Row, heading
from frontguard import Malicious, Objective, Oblivious, Prescient, analyze, simulate
from frontguard.evidence.kinds import Statistic
from frontguard.evidence.statistics import NORMAL_MEAN
from frontguard.policies import Certified
from frontguard.simulation.adversaries import strongest
from frontguard.simulation.environments import gaussian
from frontguard.theory.threats import Threat
from frontguard.verdicts import Verdict

RUNS, PULLS, DELTA = 1000, 2000, 0.2
KNOWN = (Statistic(NORMAL_MEAN, scale=(0.0, 1.0, 1.0, 0.0, 1.0)),)


def told_apart(threat: Threat, **settings: object) -> tuple[int, float]:
    """In how many runs one of two equal arms was put out, and a bound of that share at confidence 99.9 %."""
    verdicts = _pushed_apart(threat, [0.0, 0.0], **settings)
    return _share_of((verdicts == int(Verdict.BEATEN)).any(axis=1))


def next_best_in(threat: Threat, **settings: object) -> tuple[int, float]:
    """In how many runs an arm was said to be in that another one, its only rival, beats by nearly nothing."""
    return _share_of(_pushed_apart(threat, [0.0, 1e-9, -3.0], **settings)[:, 0] == int(Verdict.KEEP))


def _pushed_apart(threat: Threat, medians: list[float], **settings: object) -> npt.NDArray[np.int8]:
    """Verdicts (R, K) on arms of which the first is pushed up, and the others down."""
    environment = gaussian([[each] for each in medians], sigma=1.0)
    attack = strongest(environment, threat, direction=[1, *[-1] * (len(medians) - 1)]) if threat.eps else None
    policy = Certified(
        len(medians), 1, independent=True, threat=threat, accuracy=0.0, delta=DELTA, max_pulls=PULLS,
        **settings,  # type: ignore[arg-type]
    )  # fmt: skip
    return simulate(policy, environment, attack, runs=RUNS, seed=7).verdicts


def _share_of(runs: npt.NDArray[np.bool_]) -> tuple[int, float]:
    false = int(runs.sum())
    return false, float(beta.ppf(0.999, false + 1, RUNS - false)) if false < RUNS else 1.0


LOGS = (
    ("2 arms by medians", 2, 0.2, Objective("value", "maximize"), False),
    ("5 arms by medians", 5, 0.3, Objective("value", "maximize"), False),
    ("20 arms by medians", 20, 0.3, Objective("value", "maximize"), False),
    ("5 arms by medians, many looks", 5, 0.3, Objective("value", "maximize"), True),
    ("2 arms by rates", 2, 0.25, Objective("value", "maximize", statistic="mean", bounds=(0, 1)), False),
    ("5 arms by rates", 5, 0.2, Objective("value", "maximize", statistic="mean", bounds=(0, 1)), False),
    ("5 arms by means with known σ", 5, 0.3, Objective("value", "maximize", statistic="mean", sigma=1.0), False),
    (
        "5 arms by means with known σ, many looks",
        5,
        0.3,
        Objective("value", "maximize", statistic="mean", sigma=1.0),
        True,
    ),
)
"""Arms a step apart, in units of σ; rates are those of a normal value above 0, of which the middle arm has half."""

MOST_ROWS, LOGS_EACH = 6000, 5


def rows_that_decide(arms: int, step: float, objective: Objective, anytime: bool, *, independent: bool) -> float:
    """Rows of each arm with which all are decided, to 3 %, on average."""
    found = []
    for run in range(LOGS_EACH):
        middles = step * (np.arange(arms) - (arms - 1) / 2)
        values = np.random.default_rng([run, arms]).normal(middles, 1.0, (MOST_ROWS, arms)).T
        if objective.bounds is not None:
            values = (values > 0.0).astype(float)

        def decided(rows: int, values: np.ndarray = values) -> bool:
            log = {"arm": np.repeat(np.arange(arms), rows), "value": values[:, :rows].ravel()}
            answer = analyze(
                log, arm="arm", objectives=[objective], contamination=0, anytime=anytime, profile=False,
                independent=independent,
            )  # fmt: skip
            return answer.status == "certified"

        few, enough = 20, MOST_ROWS
        while enough > max(few + 1, 1.03 * few):
            middle = max(few + 1, int(np.sqrt(few * enough)))
            few, enough = (few, middle) if decided(middle) else (middle, enough)
        found.append(enough)
    return float(np.mean(found))


def main() -> Iterator[Row]:
    """A row for each threat model: the share of runs with a false verdict, against δ."""
    for what, counted in (("equal arms told apart", told_apart), ("the next best in", next_best_in)):
        for threat in (Oblivious(0.0), Oblivious(0.1), Prescient(0.1), Malicious(0.1)):
            yield _row(f"{what} / δ: medians, {threat.name}, ε = {threat.eps:g}", *counted(threat))
        yield _row(f"{what} / δ: means with known σ", *counted(Oblivious(0.0), statistics=KNOWN))

    heading("logs: rows of an arm that decide all, independent arms / intervals")
    for name, arms, step, objective, anytime in LOGS:
        plain, pairs = (rows_that_decide(arms, step, objective, anytime, independent=each) for each in (False, True))
        yield Row(f"log of {name}", pairs / plain, details=f"{plain:,.0f} rows, {pairs:,.0f} with independent arms")


def _row(what: str, false: int, most: float) -> Row:
    details = f"{false} of {RUNS:,} runs, at most {np.ceil(1000 * most) / 10:g} %"
    return Row(what, false / RUNS / DELTA, at_most=1.0, details=details)
