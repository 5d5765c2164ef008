"""What a policy, a study or an analysis answers: verdicts, boxes, pulls, and what they guarantee."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from frontguard._typing import Floats, Ints
from frontguard.objectives import Objective
from frontguard.phrases import article

if TYPE_CHECKING:
    from frontguard.plot.picture import Picture


class Verdict(IntEnum):
    """What is known of an arm. The numbers are those of the `status` arrays inside kernels."""

    UNDECIDED = 0
    IN = 1
    OUT = 2
    COVERED = 3

    @property
    def word(self) -> str:
        """The verdict as it is written for people and machines."""
        return self.name.lower()


VERDICT_ORDER = (Verdict.IN, Verdict.UNDECIDED, Verdict.COVERED, Verdict.OUT)
"""As lists show them: what matters first."""


@dataclass(frozen=True)
class Certificate:
    """What a result guarantees, with probability `confidence` under the threat model.

    Every returned arm is `accuracy`-optimal (Δ ≤ accuracy), and for every Pareto optimal arm there is a returned one
    that is worse by at most `coverage` in any objective (Definition 5).
    """

    accuracy: float | tuple[float, ...]  # one for all objectives, or one for each
    coverage: float | tuple[float, ...]
    confidence: float
    threat: str
    contamination: float
    relative: tuple[bool, ...] = ()  # for which objectives the tolerances are shares ("2%"), if for any

    def to_dict(self) -> dict[str, Any]:
        """The certificate as plain values that JSON can hold; what is not bounded becomes None."""
        return {name: _plain(value) for name, value in vars(self).items() if name != "relative"}

    def in_units(self, objectives: Sequence[Objective]) -> Certificate:
        """The same in the objectives' units: differences of a metric, or shares of it where the tolerance is one.

        >>> seconds = Objective("seconds", "minimize", tolerance="2%")
        >>> inner = Certificate(seconds.inner_tolerance, seconds.inner_tolerance, 0.95, "prescient", 0.1)
        >>> round(inner.in_units([seconds]).accuracy[0], 6)
        0.02
        """
        return replace(
            self,
            accuracy=_tolerances_in_units(self.accuracy, objectives),
            coverage=_tolerances_in_units(self.coverage, objectives),
            relative=tuple(objective.relative for objective in objectives),
        )

    def __str__(self) -> str:
        source = (
            "clean measurements"
            if self.contamination == 0
            else f"up to {self.contamination:.0%} of the measurements replaced by {article(self.threat)} attacker"
        )
        return (
            f"with probability {self.confidence:.0%}, {source}: no returned arm is beaten by more than "
            f"{_shown(self.accuracy, self.relative)} in every objective, and none on the front is missed by more than "
            f"{_shown(self.coverage, self.relative)}"
        )


def _tolerances_in_units(inner: float | tuple[float, ...], objectives: Sequence[Objective]) -> tuple[float, ...]:
    each = inner if isinstance(inner, tuple) else (inner,) * len(objectives)
    return tuple(
        _share(value) if objective.relative else value for value, objective in zip(each, objectives, strict=True)
    )


def _share(logarithm: float) -> float:
    return math.expm1(logarithm) if logarithm < 700.0 else math.inf


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _shown(tolerance: float | tuple[float, ...], relative: tuple[bool, ...] = ()) -> str:
    parts = tolerance if isinstance(tolerance, tuple) else (tolerance,)
    shares = relative or (False,) * len(parts)
    return " / ".join(
        f"{100 * part:.3g}%" if share else f"{part:.3g}" for part, share in zip(parts, shares, strict=True)
    )


@dataclass(frozen=True, eq=False)
class Result:
    """The answer so far: verdict, estimate, box and pulls of every arm.

    Arrays have a row for each arm and a column for each objective. `lower` and `upper` bound the true medians with the
    certificate's confidence; they are infinite where nothing is known. `decided_by` is the arm that put an arm out,
    or −1. The arrays are inner values, of which larger ones are better. With `metrics`, the objectives in the user's
    terms, all that is shown (`intervals`, `medians`, frames, dictionaries, the certificate) is in the metrics' units.
    """

    policy: str
    status: str
    arms: tuple[str, ...]
    objectives: tuple[str, ...]
    verdict_codes: Ints
    estimates: Floats
    lower: Floats
    upper: Floats
    pulls_per_arm: Ints
    decided_by: Ints
    certificate: Certificate
    warnings: tuple[str, ...] = ()
    metrics: tuple[Objective, ...] = ()

    @property
    def pareto_set(self) -> list[str]:
        """Names of the arms that are returned as the trade-off set."""
        return [name for name, code in zip(self.arms, self.verdict_codes, strict=True) if code == Verdict.IN]

    @property
    def verdicts(self) -> dict[str, str]:
        """Verdict of every arm by name: in, out, covered or undecided."""
        return {name: Verdict(int(code)).word for name, code in zip(self.arms, self.verdict_codes, strict=True)}

    @property
    def medians(self) -> Floats:
        """Point estimates (K, M): empirical medians, or means for a policy that works with means."""
        if not self.metrics:
            return self.estimates
        return np.stack([metric.outward(self.estimates[:, d]) for d, metric in enumerate(self.metrics)], axis=1)

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """Lower and upper ends (K, M) of the intervals."""
        if not self.metrics:
            return self.lower, self.upper
        ends = [m.outward_interval(self.lower[:, d], self.upper[:, d]) for d, m in enumerate(self.metrics)]
        return np.stack([low for low, _ in ends], axis=1), np.stack([high for _, high in ends], axis=1)

    @property
    def pulls(self) -> int:
        """Pulls of all arms together."""
        return int(self.pulls_per_arm.sum())

    @property
    def intervals(self) -> dict[str, dict[str, list[float]]]:
        """Arm → objective → [low, high]."""
        low, high = self.bounds
        return {
            arm: {objective: [float(low[i, d]), float(high[i, d])] for d, objective in enumerate(self.objectives)}
            for i, arm in enumerate(self.arms)
        }

    def in_units(self, objectives: Sequence[Objective]) -> Result:
        """The same result, shown in the units and directions of these objectives."""
        return replace(self, metrics=tuple(objectives), certificate=self.certificate.in_units(objectives))

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values that JSON can hold; an infinite bound becomes None."""
        return {
            "policy": self.policy,
            "status": self.status,
            "pareto_set": self.pareto_set,
            "verdicts": self.verdicts,
            "certificate": self.certificate.to_dict(),
            "pulls": self.pulls,
            "intervals": {
                arm: {
                    name: [bound if math.isfinite(bound) else None for bound in bounds]
                    for name, bounds in by_name.items()
                }
                for arm, by_name in self.intervals.items()
            },
            "warnings": list(self.warnings),
            "pulls_per_arm": {arm: int(n) for arm, n in zip(self.arms, self.pulls_per_arm, strict=True)},
            "decided_by": {arm: self.arms[int(j)] for arm, j in zip(self.arms, self.decided_by, strict=True) if j >= 0},
        }

    def explain(self, arm: str) -> str:
        """Why an arm has its verdict: the arm that decides it, and in which objectives."""
        if arm not in self.arms:
            raise KeyError(f"no arm is called {arm!r}")
        i = self.arms.index(arm)
        j = int(self.decided_by[i])
        word = Verdict(int(self.verdict_codes[i])).word
        if j < 0:
            return f"{word}: no other arm bears on it" if self.pulls_per_arm[i] else f"{word}: not measured yet"
        rival = self.arms[j]
        lead = self.lower[j] - self.upper[i]  # where positive, the rival is certainly better
        ahead = self.lower[i] - self.upper[j]
        better = [name for name, value in zip(self.objectives, lead, strict=True) if value >= 0]
        worse = [name for name, value in zip(self.objectives, ahead, strict=True) if value > 0]
        if word == "out":
            return f"out: certainly worse than {rival} in {_listed(better)}"
        if word == "in":
            why = f"certainly better in {_listed(worse)}" if worse else "not beaten by more than is tolerated"
            return f"in: against {rival}, which comes nearest to beating it, {why}"
        if word == "covered":
            return f"covered: {rival} is returned, and is in no objective worse by more than is tolerated"
        return f"undecided: what is left open is how it compares with {rival}"

    def to_frame(self) -> Any:
        """A pandas frame with a row for each arm."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("Result.to_frame() needs pandas: pip install pandas") from error
        return pd.DataFrame(self._rows()).set_index("arm")

    def plot(self, path: str | Path | None = None, x: str | int | None = None, y: str | int | None = None) -> Picture:
        """The arms' boxes and verdicts as a picture, by objectives x and y or by all pairs; saved if a path is given.

        A notebook shows it; `.matplotlib()` and `.plotly()` draw it with these (extras `plot` and `plotly`).
        """
        from frontguard.plot import front

        picture = front(self, x, y)
        if path is not None:
            picture.save(path)
        return picture

    def _rows(self) -> list[dict[str, Any]]:
        rows = []
        medians, (low, high) = self.medians, self.bounds
        for i, arm in enumerate(self.arms):
            row: dict[str, Any] = {"arm": arm, "verdict": Verdict(int(self.verdict_codes[i])).word}
            for d, objective in enumerate(self.objectives):
                row[objective] = float(medians[i, d])
                row[f"{objective} low"] = float(low[i, d])
                row[f"{objective} high"] = float(high[i, d])
            row["pulls"] = int(self.pulls_per_arm[i])
            row["decided by"] = self.arms[int(self.decided_by[i])] if self.decided_by[i] >= 0 else ""
            rows.append(row)
        return rows

    def __repr__(self) -> str:
        counts = {v.word: int((self.verdict_codes == v).sum()) for v in Verdict}
        said = ", ".join(f"{n} {word}" for word, n in counts.items() if n)
        return (
            f"<{self.policy} result, {self.status}: {said} of {len(self.arms)} arms after {self.pulls} pulls; "
            f"set {_shortened(self.pareto_set)}>"
        )

    def report(self, path: str | Path, format: str | None = None) -> Path:
        """Write a report to a file that ends in .html, .md or .csv."""
        from frontguard.reports.write import write_report

        return write_report(self, path, format)

    def _repr_html_(self) -> str:
        from frontguard.reports.notebook import result_html

        return result_html(self)


def _listed(names: Sequence[str]) -> str:
    return " and ".join(names) if len(names) < 3 else f"all of {', '.join(names)}"


def _shortened(names: Sequence[str], most: int = 8) -> str:
    shown = ", ".join(names[:most])
    return f"{{{shown}{', …' if len(names) > most else ''}}}"
