"""The answer of a policy, a study, an analysis and a gate: verdicts, intervals, pulls, and what they guarantee."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from frontguard._common.attached import attached
from frontguard._common.entries import AT_A_TIME, ByArm, TableByArm, finite_rows, gathered, table_of
from frontguard._common.typing import Bools, Floats, Ints
from frontguard.comparisons.effects import Comparable, Comparison, Comparisons, Intervals, against, found_beyond
from frontguard.comparisons.hypervolume import Hypervolume, front_volume
from frontguard.comparisons.outcomes import GateDetails, LeastFound
from frontguard.comparisons.picks import (
    Beside,
    BesideQuestion,
    Pick,
    Replacement,
    find_replacing,
    pick,
    wish_of,
)
from frontguard.errors import BadArgument
from frontguard.limits import Limit
from frontguard.notices import Notice, said_once
from frontguard.objectives import Objective, tolerances
from frontguard.phrases import did_you_mean, listed, quoted, shown
from frontguard.question import Question
from frontguard.results.facts import WORDS, ArmParts, Certificate, CostSoFar, Guess, Kept, LogDetails, StudyDetails
from frontguard.verdicts import FEASIBLE, INFEASIBLE, VERDICT_ORDER, Feasibility, Verdict

if TYPE_CHECKING:
    from frontguard.schema import AnyAnswer

MOST_HINTED = 20_000
"""Arms among which a near miss of a name is looked for: among a million it would take half a minute."""


Kind = TypeVar("Kind", bound=Notice)


@dataclass(frozen=True, eq=False)
class Answer:
    """The answer so far: verdict, estimate, intervals and pulls of every arm, and what they guarantee.

    Arrays have a row for each arm and a column for each objective. Everything that is shown is in the units and
    directions of `metrics`: `estimates`, `lower` and `upper` (infinite where nothing is known), `intervals`, frames,
    JSON, the certificate. `inner` has what they were computed from. `decided_by` is the arm that put an arm out, or −1.
    `print(answer)` says what the command says.

    >>> from frontguard import analyze
    >>> found = analyze({"tool": ["a", "b"] * 200, "ms": [1.0, 2.1] * 200}, arm="tool", minimize="ms")
    >>> found.pareto_set, found.verdicts["b"]
    (['a'], 'beaten')
    """

    policy: str
    status: str
    arms: tuple[str, ...]
    objectives: tuple[str, ...]
    verdict_codes: Ints
    inner: Intervals
    pulls_per_arm: Ints
    decided_by: Ints
    certificate: Certificate
    notices: tuple[Notice, ...] = ()
    metrics: tuple[Objective, ...] = ()
    parts: ArmParts | None = None  # where arms are named by several columns, or by a grid
    outlook: Certificate | None = None  # with which the present candidates could be returned: for progress
    guess: Guess | None = None  # where no arm is in
    limits: Kept | None = None  # where arms must keep to some: the front is that of the arms within
    apart: Floats | None = None  # where arms were compared in pairs: see `differences`
    pairs: Floats | None = None  # the same of all pairs (K, K, M): upper bounds of inner values of an arm less another
    cost: CostSoFar | None = None  # where pulls have costs
    goal: str = "front"  # what is returned: all arms that none beats, or the short "list" of as few as are enough
    question: Question | None = None  # as it was asked; a policy knows part of it only
    anytime: bool = True  # whether it holds however often one looked at the measurements while they grew
    log: LogDetails | None = None  # of an analysis: what only a complete log tells
    study: StudyDetails | None = None  # of a study: its state
    gate: GateDetails | None = None  # where candidates are compared with a baseline
    foreseen: tuple[LeastFound, ...] = ()  # see `least_found`; by intervals where nothing else is known

    def having(self, verdict: Verdict) -> Bools:
        """Which arms (K,) have this verdict."""
        return np.asarray(self.verdict_codes == verdict)

    def named(self, which: Bools) -> list[str]:
        """The names of some arms."""
        return [self.arms[i] for i in np.flatnonzero(which).tolist()]

    @property
    def pareto_set(self) -> list[str]:
        """Names of the arms that are returned as the trade-off set."""
        return self.named(self.having(Verdict.KEEP))

    def verdict(self, arm: int) -> Verdict:
        """The verdict of an arm by its number."""
        return Verdict(int(self.verdict_codes[arm]))

    def tally(self, arms: Ints | None = None) -> dict[Verdict, int]:
        """Return the number of arms (of those given) with each verdict that any has; what matters first."""
        codes = self.verdict_codes if arms is None else self.verdict_codes[arms]
        counts = np.bincount(codes, minlength=len(Verdict))
        return {verdict: int(counts[verdict]) for verdict in VERDICT_ORDER if counts[verdict]}

    @property
    def counts(self) -> dict[str, int]:
        """The number of arms with each verdict."""
        return {verdict.word: int(self.having(verdict).sum()) for verdict in Verdict}

    @property
    def verdicts(self) -> dict[str, str]:
        """Verdict of every arm by name: keep, beaten, matched, undecided or excluded."""
        return dict(zip(self.arms, WORDS[self.verdict_codes].tolist(), strict=True))

    @property
    def best_guess(self) -> list[str]:
        """Names of arms that would be in if the estimates were exact, while no arm is; without any promise."""
        return [] if self.guess is None else self.named(self.guess.front)

    @property
    def state(self) -> StudyDetails:
        """The state of the study; a blank one where the answer is of none."""
        return StudyDetails() if self.study is None else self.study

    @property
    def failed_per_arm(self) -> Ints:
        """The number of pulls of each arm (K,) that failed or lack a value; 0 where nobody said so."""
        if self.study is None and self.log is not None:
            return self.log.failed_pulls
        return np.array([sum(self.state.failures.get(arm, {}).values()) for arm in self.arms], np.int64)

    @property
    def failed(self) -> int:
        """The number of pulls of all arms that failed."""
        return int(self.failed_per_arm.sum())

    @property
    def mean_set(self) -> list[str]:
        """Names of the arms that a comparison of means would have returned, where a log was analysed."""
        return [] if self.log is None else self.named(self.log.mean_front)

    @property
    def holds_up_to(self) -> dict[str, float]:
        """For each arm with a verdict the largest ε up to which it stands; empty where that is not known."""
        known = None if self.log is None else self.log.profile
        return {} if known is None else known.holds_up_to(self.arms)

    @property
    def front_changes_at(self) -> float | None:
        """The ε from which on other arms are in, or more are open; 0.5 if it is below, None if that is not known."""
        known = None if self.log is None else self.log.profile
        return None if known is None or np.isnan(known.front) else float(known.front)

    def more_pulls(self) -> dict[str, int | str]:
        """For each open arm of a log how many more pulls of it would settle it, or why no number would."""
        needed = None if self.log is None else self.log.needed
        return {} if needed is None else needed.more_pulls(self.arms)

    @property
    def excluded(self) -> list[str]:
        """Names of the arms that cannot be measured: the answer is about the others."""
        return self.named(self.having(Verdict.EXCLUDED))

    @property
    def alive(self) -> Bools:
        """The arms (K,) that are neither beaten nor excluded."""
        return ~(self.having(Verdict.BEATEN) | self.having(Verdict.EXCLUDED))

    def replaced_by(self, some: Ints | None = None) -> Ints:
        """For each arm, or some, the returned one that does for it; −1 where none is known, or nothing promised."""
        arms = np.arange(len(self.arms)) if some is None else some
        found = np.full(len(arms), -1)
        if self.certificate.confidence is None:
            return found
        codes, inner = self.verdict_codes[arms], self.inner
        which = (codes == Verdict.MATCHED) | ((codes == Verdict.BEATEN) & (self.decided_by[arms] >= 0))
        listed = np.flatnonzero(self.having(Verdict.KEEP))
        tolerance = tolerances(self.metrics) if self.metrics else np.zeros(len(self.objectives))
        found[which] = find_replacing(
            inner.lower, inner.upper, inner.estimates, tolerance, arms[which], listed, self.decided_by
        )
        if self.apart is not None:  # pairs were looked at with the one that decides
            rivals = self.decided_by[arms]
            found = np.where(which & np.isin(rivals, listed), rivals, found)
        return found

    def replacement(self, arm: str | int) -> Replacement | None:
        """Which returned arm does for one that is not returned, and what that costs at most; None where none is known.

        >>> from frontguard import analyze
        >>> rows = {"tool": ["a", "b"] * 200, "seconds": [1.0, 2.1] * 200, "bytes": [100.0, 100.0] * 200}
        >>> found = analyze(rows, arm="tool", minimize=["seconds", "bytes"], tolerance="5%")
        >>> found.replacement("b")
        Replacement(by='a', costs={'seconds': 0.0, 'bytes': 0.0}, gains={'seconds': 1.1, 'bytes': 0.0})
        """
        i = arm if isinstance(arm, int) else self.place(arm)
        return self.replacements(np.array([i])).get(self.arms[i])

    def replacements(self, some: Ints | None = None) -> dict[str, Replacement]:
        """Return the replacements of all arms, or of some, by name; without those for which none is known."""
        arms = np.arange(len(self.arms)) if some is None else some
        by = self.replaced_by(arms)
        return dict(self._replacements(arms[by >= 0], by[by >= 0]))

    def _tolerances(self) -> Floats:
        return tolerances(self.metrics) if self.metrics else np.zeros(len(self.objectives))

    def _replacements(self, arms: Ints, by: Ints) -> Iterator[tuple[str, Replacement]]:
        """Yield what is certain of each of these arms and the one that does for it, where that is bounded."""
        relative = [d for d, metric in enumerate(self.metrics) if metric.relative]
        for start in range(0, len(arms), AT_A_TIME):
            some, others = arms[start : start + AT_A_TIME], by[start : start + AT_A_TIME]
            ahead = self.inner.upper[some] - self.inner.lower[others]
            if self.apart is not None:  # which knows more of an arm and the one that decides it
                ahead = np.where((self.decided_by[some] == others)[:, None], self.apart[some, 0], ahead)
            costs, gains = np.maximum(ahead, 0.0), np.maximum(-ahead, 0.0)
            with np.errstate(over="ignore"):
                for amounts in (costs, gains):  # as `differences_in_units`
                    amounts[:, relative] = np.expm1(amounts[:, relative])
            bounded = np.flatnonzero(np.isfinite(costs).all(axis=1)).tolist()
            for n, cost, gain in zip(bounded, costs[bounded].tolist(), gains[bounded].tolist(), strict=True):
                named = (dict(zip(self.objectives, each, strict=True)) for each in (cost, gain))
                yield self.arms[int(some[n])], Replacement(self.arms[int(others[n])], *named)

    @property
    def least_found(self) -> tuple[LeastFound, ...]:
        """The least difference in each metric that these measurements find four times of five, where any is open.

        A forecast, of which nothing is certain: by intervals it is that of the undecided arm in the middle.
        """
        if self.gate is not None or self.foreseen:
            return self.foreseen if self.gate is None else self.gate.least_found
        still, sure = np.flatnonzero(self.having(Verdict.UNDECIDED)), self.certificate.confidence
        if sure is None or not len(still) or not self.metrics:
            return ()
        reach, rivals = self.inner.upper[still] - self.inner.lower[still], self.decided_by[still]
        if self.apart is not None:  # in pairs, an arm and the one that decides it
            ahead = self.apart[still].sum(axis=1) / 2
            reach = np.where((rivals >= 0)[:, None], np.minimum(reach, ahead), reach)
        middle, size = np.sort(reach, axis=0)[len(still) // 2], int(np.median(self.pulls_per_arm[still]))
        share = (1.0 - sure) / (2 * len(self.arms) * len(self.metrics))
        each = zip(self.metrics, middle.tolist(), strict=True)
        return tuple(LeastFound.of(m, size, found_beyond(wide, share)) for m, wide in each if not m.exact and size)

    def noticed(self, kind: type[Kind]) -> Kind | None:
        """The first notice of a kind; None if there is none."""
        return next((each for each in self.notices if isinstance(each, kind)), None)

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings that go with the answer, in sentences; `notices` has them as records."""
        return said_once(self.notices)

    @property
    def estimates(self) -> Floats:
        """Point estimates (K, M): empirical medians or other quantiles, or means for a policy that works with means."""
        if not self.metrics:
            return self.inner.estimates
        return np.stack([metric.outward(self.inner.estimates[:, d]) for d, metric in enumerate(self.metrics)], axis=1)

    @property
    def lower(self) -> Floats:
        """Lower ends (K, M) of the intervals."""
        return self._ends()[0]

    @property
    def upper(self) -> Floats:
        """Upper ends (K, M) of the intervals."""
        return self._ends()[1]

    def _ends(self) -> tuple[Floats, Floats]:
        inner = self.inner
        if not self.metrics:
            return inner.lower, inner.upper
        ends = [m.outward_interval(inner.lower[:, d], inner.upper[:, d]) for d, m in enumerate(self.metrics)]
        return np.stack([low for low, _ in ends], axis=1), np.stack([high for _, high in ends], axis=1)

    @property
    def pulls(self) -> int:
        """Pulls of all arms together."""
        return int(self.pulls_per_arm.sum())

    @property
    def intervals(self) -> dict[str, dict[str, list[float]]]:
        """Arm → objective → [low, high]."""
        low, high = self.lower, self.upper
        return {
            arm: {objective: [float(low[i, d]), float(high[i, d])] for d, objective in enumerate(self.objectives)}
            for i, arm in enumerate(self.arms)
        }

    def by_arm(self, table: Floats) -> ByArm:
        """The numbers of a table (K, M) by arm and objective; None where they are not finite."""
        return TableByArm(self.arms, self.objectives, table)

    def keeping_to(self, limits: Kept | None) -> Answer:
        """Return the result with how its arms stand to limits: the certificate is of those that keep to them."""
        if limits is None:
            return self
        names = tuple(str(gate) for gate in limits.gates)
        outlook = None if self.outlook is None else replace(self.outlook, limits=names)
        return replace(self, limits=limits, certificate=replace(self.certificate, limits=names), outlook=outlook)

    def in_units(self, objectives: Sequence[Objective]) -> Answer:
        """Return the result, shown in the units and directions of these objectives."""
        outlook = None if self.outlook is None else self.outlook.in_units(objectives)
        certificate = self.certificate.in_units(objectives)
        return replace(self, metrics=tuple(objectives), certificate=certificate, outlook=outlook)

    @property
    def nearest(self) -> Certificate:
        """The certificate that is shown beside the goal: the outlook where there is one."""
        return self.certificate if self.outlook is None else self.outlook

    @property
    def differences(self) -> tuple[Floats, Floats] | None:
        """Bounds (K, M) of an arm less the one that decides it, in units; from `apart` (K, 2, M), upper and lower."""
        if self.apart is None:
            return None
        low, high = -self.apart[:, 1], self.apart[:, 0]
        flipped = np.array([metric.minimized for metric in self.metrics] or [False] * low.shape[1])
        return np.where(flipped, -high, low), np.where(flipped, -low, high)

    def entries(self) -> Iterator[tuple[str, Any]]:
        """Yield what `to_dict` has, entry by entry; what there is for each arm as `ByArm`."""
        arms, decided = self.arms, np.flatnonzero(self.decided_by >= 0).tolist()
        yield "policy", self.policy
        yield "status", self.status
        yield "pareto_set", self.pareto_set
        yield "verdicts", ByArm(zip(arms, WORDS[self.verdict_codes].tolist(), strict=True))
        yield "counts", self.counts
        yield "certificate", self.certificate.to_dict()
        yield "outlook", None if self.outlook is None else self.outlook.to_dict()
        yield "contaminations", {} if self.question is None else self.question.contaminations
        yield "question", None if self.question is None else self.question.to_dict()
        yield "pulls", self.pulls
        yield "objectives", [asdict(metric.spelled_out) for metric in self.metrics]
        yield "estimates", self.by_arm(self.estimates)
        yield "intervals", TableByArm(arms, self.objectives, self.lower, self.upper)
        yield "arm_columns", [] if self.parts is None else list(self.parts.names)
        yield "arm_parts", ByArm(() if self.parts is None else zip(arms, self.parts.rows(), strict=True))
        yield "warnings", list(self.warnings)
        yield "notices", [notice.to_dict() for notice in self.notices]
        yield "pulls_per_arm", ByArm(zip(arms, self.pulls_per_arm.tolist(), strict=True))
        yield "decided_by", ByArm((arms[i], arms[int(self.decided_by[i])]) for i in decided)
        yield "differences", ByArm(self._differences())
        yield "aim", self.goal
        by = self.replaced_by()
        places = np.flatnonzero(by >= 0)
        yield "replaced_by", ByArm((arm, vars(each)) for arm, each in self._replacements(places, by[places]))
        guess = self.guess
        yield "best_guess", None if guess is None else self.best_guess
        yield "least_pulls", None if guess is None else {"first": guess.first, "whole": guess.whole}
        yield "hypervolume", self.hypervolume().to_dict() if len(arms) <= MOST_HINTED else None
        yield from ({"limits": [], "keeping": ByArm(())} if self.limits is None else self.limits.to_dict(arms)).items()
        yield "cost", None if self.cost is None else self.cost.to_dict(arms)
        yield "anytime", self.anytime
        yield "gate", None if self.gate is None else self.gate.to_dict()
        yield "least_found", [vars(each) for each in self.least_found]
        yield "study", None if self.study is None else self.study.entries()
        yield "log", None if self.log is None else self.log.entries(arms, self.objectives)

    def _differences(self) -> Iterator[tuple[str, Any]]:
        known = self.differences
        if known is not None:
            low, high = (list(finite_rows(ends)) for ends in known)
            for i in np.flatnonzero(self.decided_by >= 0).tolist():
                pairs = zip(self.objectives, low[i], high[i], strict=True)
                yield self.arms[i], {name: [a, b] for name, a, b in pairs if a is not None or b is not None}

    def to_dict(self) -> dict[str, Any]:
        """Plain values that JSON can hold; what is infinite or not known becomes None."""
        return gathered(self.entries())

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], where: str = "JSON") -> Answer:
        """The answer that `to_dict` gave, be it through JSON; the error says where in `where` it is none.

        >>> from frontguard import Certified, Prescient
        >>> result = Certified(2, 1, threat=Prescient(0.1), accuracy=0.1).result(["a", "b"], ["speed"])
        >>> Answer.from_dict(result.to_dict()).to_dict() == result.to_dict()
        True
        """
        from frontguard._common.reading import read
        from frontguard.schema import AnyAnswer

        return cls.of(read(AnyAnswer, values, where))

    @classmethod
    def of(cls, given: AnyAnswer) -> Answer:
        """The answer of JSON that was checked."""
        arms, names, metrics, columns = list(given.verdicts), given.names, given.metrics, given.arm_columns
        places = {arm: place for place, arm in enumerate(arms)}
        codes = {verdict.word: int(verdict) for verdict in Verdict}
        least = tuple(LeastFound(**dict(each)) for each in given.least_found)
        low, high = (
            table_of({arm: {name: ends[k] for name, ends in row.items()} for arm, row in given.intervals.items()},
                     arms, names, instead)
            for k, instead in ((0, -np.inf), (1, np.inf))
        )  # fmt: skip
        pulls = np.array([given.pulls_per_arm.get(arm, 0) for arm in arms], np.int64)
        verdict_codes = np.array([codes[word] for word in given.verdicts.values()], np.int64)
        decided_by = np.array([places.get(given.decided_by.get(arm, ""), -1) for arm in arms], np.int64)
        return cls(
            policy=given.policy,
            status=given.status,
            arms=tuple(arms),
            objectives=tuple(names),
            verdict_codes=verdict_codes,
            inner=Intervals.of(metrics, low, high, table_of(given.estimates, arms, names)),
            pulls_per_arm=pulls,
            decided_by=decided_by,
            certificate=Certificate.of(given.certificate, metrics),
            notices=given.notices,
            metrics=metrics,
            parts=ArmParts.of(columns, (given.arm_parts[arm] for arm in arms)) if columns else None,
            outlook=None if given.outlook is None else Certificate.of(given.outlook, metrics),
            guess=Guess.of(given, arms),
            limits=Kept.of(given, arms),
            apart=_apart(given, arms, names) if given.differences else None,
            cost=CostSoFar.of(given.cost, arms),
            goal=given.aim,
            question=given.question,
            anytime=given.anytime,
            log=LogDetails.of(given, pulls, verdict_codes, decided_by),
            study=StudyDetails.of(given.study),
            gate=GateDetails.of(given.gate, given.question, least),
            foreseen=least,
        )

    def place(self, arm: str, what: str = "arm") -> int:
        """The number of an arm by its name."""
        if arm not in self.arms:
            hint = did_you_mean(arm, self.arms) if isinstance(arm, str) and len(self.arms) <= MOST_HINTED else ""
            raise BadArgument(what, must=f"be one of the arms {quoted(self.arms)}{hint}", got=shown(arm))
        return self.arms.index(arm)

    @property
    def comparable(self) -> Comparable:
        """Names, metrics, point estimates and intervals by which arms are compared, and differences within pairs."""
        metrics = self.metrics or tuple(Objective(name, "maximize") for name in self.objectives)
        inner, sure = self.inner, self.certificate.confidence
        return Comparable(self.arms, metrics, inner.estimates, inner.lower, inner.upper, sure, self.pairs)

    def compare(self, arm: str, baseline: str) -> Comparison:
        """Compare two arms in each metric; all pairs' intervals hold together with the certificate's confidence.

        >>> from frontguard import analyze
        >>> log = {"arm": ["main", "pr"] * 99, "seconds": [1.0 + 0.001 * i + i % 2 for i in range(198)]}
        >>> compared = analyze(log, minimize="seconds", tolerance="5%").compare("pr", "main")
        >>> print(compared)
        pr / main = 1.91 [1.82, 2.00] seconds: certainly worse by more than 5%
        >>> round(compared["seconds"].ratio.low, 3), compared["seconds"].contrast.word
        (1.829, 'worse')
        """
        number, its = self.place(arm), self.place(baseline, "baseline")
        if number == its:
            raise BadArgument(
                "baseline", must="be another arm than the one compared with it", got=f"{shown(arm)} twice"
            )
        return against(self.comparable, its, np.array([number])).of(0)

    def against(self, baseline: str) -> Comparisons:
        """Compare all other arms with this one, in the order of arms: `compare` for a million of them."""
        its = self.place(baseline, "baseline")
        return against(self.comparable, its, np.delete(np.arange(len(self.arms)), its))

    def _contending(self) -> Bools:
        """Arms of which the answer speaks: neither excluded nor certainly beyond a limit."""
        measured = ~self.having(Verdict.EXCLUDED)
        return measured if self.limits is None else measured & (self.limits.of_arms != INFEASIBLE)

    def pick(
        self,
        rule: str | None = None,
        *,
        weights: Mapping[str, float] | None = None,
        limit: Limit | str | Iterable[Limit | str] | None = None,
    ) -> Pick:
        """One arm of the list, how sure that choice is, and what it gives up against the others.

        Parameters
        ----------
        rule
            "knee": the arm whose largest loss is least, a loss being the share of a metric's range over the list.
        weights
            What one unit of a metric is worth or, where its tolerance is a percentage, one per cent of it.
        limit
            Such as "bytes<=1000": only arms that certainly keep to it. The one metric without a limit then decides,
            unless weights or a rule do.

        >>> from frontguard import analyze
        >>> log = {"arm": ["fast", "small"] * 99, "seconds": [1.0, 2.0] * 99, "bytes": [300, 100] * 99}
        >>> found = analyze(log, minimize=["seconds", "bytes"], tolerance="1%", exact=["seconds", "bytes"])
        >>> print(found.pick(weights={"seconds": 2, "bytes": 1}))
        Take fast: certainly no other arm is better by weights (seconds 2, bytes 1).
        small / fast = 2 seconds (certainly worse by more than 1%); small / fast = 0.3333 bytes (certainly better by
        more than 1%)
        >>> found.pick(limit="bytes<=200").arm
        'small'
        """
        contending = self._contending()
        within = contending if self.limits is None else contending & (self.limits.of_arms == FEASIBLE)
        comparable = self.comparable
        wish = wish_of(comparable.metrics, rule, weights, limit)
        return pick(comparable, self.having(Verdict.KEEP), contending, within, wish)

    def beside(self, asked: BesideQuestion) -> Beside:
        """Return the answers to what is asked beside the answer."""
        compared = None if asked.baseline is None else self.against(asked.baseline)
        wish = asked.wish
        chosen = None if wish is None else self.pick(wish.rule, weights=wish.weights, limit=wish.limits)
        return Beside(compared, chosen)

    def hypervolume(self, reference: Mapping[str, float] | None = None) -> Hypervolume:
        """Return the volume that the front dominates beyond a reference point, at least and at most, in units.

        Where a metric has no reference, it is a tenth of the range of all estimates beyond the worst.
        """
        return front_volume(self.comparable, self.having(Verdict.KEEP), self._contending(), reference)

    def explain(self, arm: str) -> str:
        """Why an arm has its verdict: the arm that decides it, and in which objectives."""
        return str(attached("explanation")(self, self.place(arm)))

    def to_frame(self) -> Any:
        """Return a row for each arm, in a frame of the kind that was analysed; pandas otherwise."""
        if self.log is not None and self.log.kind is not None:
            return attached("frame")(self.log.kind, self.columns())
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("Answer.to_frame() needs pandas: pip install pandas") from error
        return pd.DataFrame(self.columns())

    def columns(self) -> dict[str, Any]:
        """Return the table of arms as columns. `more pulls` is 0 of a decided arm, −1 if no foreseeable number does."""
        log = self.log
        columns: dict[str, Any] = {"arm": list(self.arms), "verdict": WORDS[self.verdict_codes].tolist()}
        tables: dict[str, Any] = {"": self.estimates, " low": self.lower, " high": self.upper}
        if log is not None:
            tables |= {" mean": log.means, " failed": log.failed}
        for d, name in enumerate(self.objectives):
            columns |= {name + what: table[:, d] for what, table in tables.items()}
        if self.limits is not None:
            low, high = self.limits.ends
            for q, gate in enumerate(self.limits.gates):
                columns[str(gate)] = [Feasibility(code).word for code in self.limits.codes[:, q].tolist()]
                columns[f"{gate.of} low"], columns[f"{gate.of} high"] = low[:, q], high[:, q]
        columns["pulls"] = self.pulls_per_arm
        if log is not None:
            columns["failed pulls"] = log.failed_pulls
        columns["decided by"] = [self.arms[j] if j >= 0 else "" for j in self.decided_by.tolist()]
        if self.goal == "list":
            columns["take instead"] = [self.arms[k] if k >= 0 else "" for k in self.replaced_by().tolist()]
        if log is not None:
            columns["mean front"] = log.mean_front
            if log.profile is not None:
                columns["stands up to"] = log.profile.per_arm
            more = np.zeros(len(self.arms), np.int64)
            if log.needed is not None:
                more[log.needed.arms] = log.needed.pulls
            columns["more pulls"] = more
        return columns if self.parts is None else self.parts.beside(columns)

    def plot(self, path: str | Path | None = None, x: str | int | None = None, y: str | int | None = None) -> Any:
        """Return a `Picture` of the arms, by objectives x and y or all pairs; saved if a path is given."""
        picture = attached("plot")(self, x, y)
        if path is not None:
            picture.save(path)
        return picture

    def __str__(self) -> str:
        return str(attached("answer")(self))

    def __repr__(self) -> str:
        said = ", ".join(f"{count} {verdict.word}" for verdict, count in self.tally().items())
        return (
            f"<{self.policy} result, {self.status}: {said} of {len(self.arms)} arms after {self.pulls} pulls; "
            f"set {{{listed(self.pareto_set, 8)}}}>"
        )

    def report(self, path: str | Path, format: str | None = None, *, baseline: str | None = None) -> Path:
        """Write a report to a file that ends in .html, .md or .csv; with a baseline, all arms are compared with it."""
        written: Path = attached("report")(self, path, format, baseline=baseline)
        return written

    def _repr_html_(self) -> str:
        return str(attached("notebook")(self))


def _apart(given: AnyAnswer, arms: Sequence[str], names: Sequence[str]) -> Floats:
    """Upper bounds (K, 2, M) of differences that were written down, as `Answer.apart` has them."""
    minimized = {metric.name for metric in given.metrics if metric.minimized}
    apart = np.full((len(arms), 2, len(names)), np.inf)
    for i, arm in enumerate(arms):
        for d, name in enumerate(names):
            low, high = given.differences.get(arm, {}).get(name, (None, None))
            ends = [np.inf if low is None else -low, np.inf if high is None else high]
            apart[i, :, d] = ends if name in minimized else ends[::-1]
    return apart
