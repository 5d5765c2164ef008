"""Alarms: evidence that the data of an arm are dirtier than the declared contamination ε allows; docs/alarms.md.

Three kinds, each a test of what the guarantee rests on: too many *failures*; *drift*, successive values on the same
side of some value too often; *spread*, too few values within the width that R speaks of. Over all arms, objectives,
kinds and moments together there is a false alarm with probability `RATE` at most. Pulls count in the order in which
they were planned, those of an arm up to the first that is still out: alarms are a function of the log, and stay.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from frontguard._common.typing import Bools, Floats, Ints
from frontguard.evidence.confidence_sequences import anytime_rank, fixed_rank, taken_away, taken_away_each
from frontguard.notices import Alarm, DriftAlarm, FailuresAlarm, LooksDirtier, SpreadAlarm
from frontguard.objectives import Objective
from frontguard.theory.spread import SpreadBound
from frontguard.theory.threats import USUAL, Threat
from frontguard.verdicts import Verdict

Kind = Literal["failures", "drift", "spread"]

RATE = 0.01
"""Probability of any false alarm in a study, ever."""

FIRST_CHECK = 64
"""Pulls of an arm at which drift and spread are first looked for, and again whenever they have doubled."""

MOST_LEVEL = 0.49
LEVELS = (0.4, 0.7, 1.0)
"""Shares of t̄ = `MOST_LEVEL` at which R is held against the data."""


class Watch:
    """Reads the log of a study and raises alarms, at a cost about linear in what is new."""

    def __init__(
        self,
        arm_names: Sequence[str],
        objectives: Sequence[Objective],
        threat: Threat,
        *,
        spread: SpreadBound | None = None,
        rate: float = RATE,
    ) -> None:
        self.arm_names, self.objectives, self.threat = tuple(arm_names), objectives, threat
        self._windows: list[tuple[float, float]] = []  # for some levels t: t itself and the width 2 R(t)
        if spread is not None:
            threat.check(MOST_LEVEL)
            spread.check(MOST_LEVEL)
            self._windows = [(share * MOST_LEVEL, 2.0 * float(spread(share * MOST_LEVEL))) for share in LEVELS]
        kinds = 2 if spread is None else 3
        self._delta = rate / (kinds * len(self.arm_names) * len(self.objectives))
        # Where values are taken as they are, some pulls may fail nevertheless: the usual share of them.
        own = [threat.of(d) for d in range(len(self.objectives))]
        self._failing = [each if each.eps else type(each)(USUAL.eps) for each in own]
        self._planned = 0
        row = [("arm", "i8"), ("told", "?"), ("stopped", "?"), ("values", "f8", (len(self.objectives),))]
        self._pulls = np.zeros(1024, np.dtype(row))  # from 0, with room to grow
        self._reasons: dict[int, str] = {}  # of pulls that failed and were not looked at yet
        self._clusters: dict[int, str] = {}  # of pulls that are in one and were not looked at yet
        self._arms = [_ArmState(len(self.objectives)) for _ in self.arm_names]
        self._touched: set[int] = set()
        self._found: dict[tuple[int, int, Kind], Alarm] = {}
        self._ranks: dict[tuple[int, float], int] = {}  # by numbers of pulls and ε, see `_kept`

    def plan(self, arms: npt.ArrayLike) -> None:
        """Take the next plan: the arms of its pulls, as positions, in order. Pulls are numbered through from 1."""
        added = np.asarray(arms, np.int64)
        end = self._planned + added.size
        if end > len(self._pulls):
            self._pulls = np.concatenate([self._pulls, np.zeros(end, self._pulls.dtype)])
        self._pulls["arm"][self._planned : end] = added
        order = np.argsort(added, kind="stable")
        present, starts = np.unique(added[order], return_index=True)
        for arm, members in zip(present.tolist(), np.split(order, starts[1:]), strict=False):
            self._arms[arm].pulls.extend((members + self._planned).tolist())
        self._planned = end

    def tell(
        self,
        pulls: Ints,
        values: Floats,
        reasons: Sequence[str] = (),
        *,
        stopped: Bools | None = None,
        clusters: Sequence[str] = (),
    ) -> None:
        """Take told pulls by number: inner values (n, M), NaN failed, and why; `stopped` by a user says nothing."""
        at = pulls - 1
        new = ~self._pulls["told"][at]
        self._pulls["values"][at[new]] = values[new]
        self._pulls["told"][at[new]] = True
        if stopped is not None:
            self._pulls["stopped"][at[new]] = stopped[new]
        self._touched.update(np.unique(self._pulls["arm"][at[new]]).tolist())
        self._clusters.update((int(at[row]), name) for row, name in enumerate(clusters) if name and new[row])
        if reasons:
            for position in np.flatnonzero(new & np.isnan(values).any(axis=1)).tolist():
                self._reasons[int(at[position])] = reasons[position]

    def alarms(self) -> list[Alarm]:
        """All alarms so far, by arm, objective and kind."""
        for arm in sorted(self._touched):
            self._look_at(arm)
        self._touched.clear()
        return [self._found[key] for key in sorted(self._found)]

    def _look_at(self, arm: int) -> None:
        state = self._arms[arm]
        rest = np.array(state.pulls[state.seen :], np.int64)
        out = np.flatnonzero(~self._pulls["told"][rest])
        fresh = rest[: out[0]] if out.size else rest
        if self._clusters:
            counted = []
            for pull in fresh.tolist():  # those in no cluster count, and the first of each
                cluster = self._clusters.pop(pull, "")
                if not cluster or cluster not in state.clusters:
                    counted.append(pull)
                    state.clusters.add(cluster)
            state.pulls[state.seen : state.seen + len(fresh)] = counted
            fresh = np.array(counted, np.int64)
        if fresh.size == 0:
            return
        values = self._pulls["values"]
        failed = np.isnan(values[fresh]) & ~self._pulls["stopped"][fresh][:, None]
        before, state.seen = state.seen, state.seen + fresh.size
        if failed.any():
            self._note_failures(arm, fresh, failed, before)
        self._report_failures(arm)
        while state.seen >= (first := FIRST_CHECK << state.checks):
            rows = values[np.array(state.pulls[:first], np.int64)]
            for d in range(len(self.objectives)):
                self._check(arm, d, rows[:, d], state.checks)
            state.checks += 1

    def _note_failures(self, arm: int, fresh: Ints, failed: Bools, before: int) -> None:
        state = self._arms[arm]
        for position in np.flatnonzero(failed.any(axis=1)).tolist():
            state.failed_pulls += 1
            reason = self._reasons.pop(int(fresh[position]), "")
            for d in np.flatnonzero(failed[position]).tolist():
                state.reasons[d][reason] += 1
        for d, threat in enumerate(self._failing):
            places = np.flatnonzero(failed[:, d])
            n = before + places + 1  # pulls up to each new failure ...
            count = state.failures[d] + 1 + np.arange(places.size)  # ... and failures among them
            state.failures[d] += places.size
            if state.first_excess[d] is None:
                suspect = np.flatnonzero(count > taken_away_each(threat.eps, n))  # else the rank is never missed
                if threat.taken:  # any share ε, and no more: nothing is left to chance
                    excess = suspect
                else:
                    excess = suspect[n[suspect] - count[suspect] < self._kept(n[suspect], threat.eps)]
                if excess.size:
                    state.first_excess[d] = int(n[excess[0]]), int(count[excess[0]])

    def _kept(self, pulls: Ints, eps: float) -> Ints:
        """Return how many of so many pulls chance leaves, at every moment; mostly asked the same again."""
        if len(self._ranks) > 10_000:
            self._ranks.clear()
        asked = [(n, eps) for n in pulls.tolist()]
        new = sorted(set(asked) - self._ranks.keys())
        if new:
            found = anytime_rank(np.array([n for n, _ in new]), 1.0 - eps, self._delta)
            self._ranks.update(zip(new, found.tolist(), strict=True))
        return np.array([self._ranks[each] for each in asked], np.int64)

    def _report_failures(self, arm: int) -> None:
        """One alarm an arm, for the objective that failed most; whole pulls if it is all of them alike."""
        state = self._arms[arm]
        crossed = [d for d in range(len(self.objectives)) if state.first_excess[d] is not None]
        if not crossed:
            return
        d = max(crossed, key=lambda each: state.failures[each])
        first = state.first_excess[d]
        assert first is not None
        whole = all(count == state.failed_pulls for count in state.failures)
        now, threat = (state.seen, state.failures[d]), self._failing[d]
        # More clean pulls may have come since: then what was seen at the time is the evidence.
        diluted = _chance(threat, *now) > _chance(threat, *first)
        pulls, failures = first if diluted else now
        known = sorted(((reason, n) for reason, n in state.reasons[d].items() if reason), key=lambda r: (-r[1], r[0]))
        self._found[arm, -1, "failures"] = FailuresAlarm(
            arm=self.arm_names[arm],
            objective=None if whole else self.objectives[d].name,
            pulls=first[0],
            contamination=threat.eps,
            failed=failures,
            of=pulls,
            reasons=tuple(known),
            chance=_chance(threat, pulls, failures),
            diluted=diluted,
            allowed=taken_away(threat.taken, pulls) if threat.taken else None,
        )

    def _check(self, arm: int, d: int, column: Floats, earlier: int) -> None:
        """Look at the first n values of an objective, n fixed beforehand, for the (earlier + 1)-th time."""
        delta = self._delta / ((earlier + 1) * (earlier + 2))  # adds up to the whole over all checks
        objective, threat = self.objectives[d], self.threat.of(d)
        if (arm, d, "drift") not in self._found and not objective.exact:  # one that changes is no sample: it is said
            drift = find_drift(column, threat, delta)
            if drift is not None:
                split, seen, most = drift
                value = float(objective.as_measured(split))
                self._found[arm, d, "drift"] = DriftAlarm(
                    self.arm_names[arm], objective.name, len(column), threat.eps, value, seen, most
                )
        if self._windows and objective.statistic_word == "median" and (arm, d, "spread") not in self._found:
            spread = self._too_spread(arm, d, column, delta)
            if spread is not None:
                self._found[arm, d, "spread"] = spread

    def _too_spread(self, arm: int, d: int, column: Floats, delta: float) -> SpreadAlarm | None:
        n, objective, threat = len(column), self.objectives[d], self.threat.of(d)
        values = np.sort(column[~np.isnan(column)])
        for t, width in self._windows:
            # |Y − m| ≤ R(t) has probability 2t at least, and an observation of it is not replaced with keep(2t).
            kept = likely_count(n, threat.keep(2.0 * t), delta / len(self._windows))
            due = kept - taken_away(threat.taken, n)
            if due < 1:
                continue
            if values.size < due or (values[due - 1 :] - values[: values.size - due + 1]).min() > width:
                held = int(
                    (np.searchsorted(values, values + width, side="right") - np.arange(values.size)).max(initial=0)
                )
                return SpreadAlarm(
                    self.arm_names[arm], objective.name, n, threat.eps, width, objective.relative, held, due
                )
        return None


def _chance(threat: Threat, pulls: int, failures: int) -> float:
    """Probability of so many failures or more among so many pulls: at a rate of ε, or where a share ε may fail."""
    if threat.taken:
        return float(failures <= taken_away(threat.taken, pulls))
    from scipy.special import bdtrc

    return float(bdtrc(failures - 1, pulls, threat.eps))


class _ArmState:
    """The state of an arm: its pulls, how far they are complete, and its failures."""

    def __init__(self, objectives: int) -> None:
        self.pulls: list[int] = []  # from 0, in the order of the plan
        self.seen = 0  # how many of them, from the first on, have been told and looked at
        self.checks = 0
        self.failed_pulls = 0
        self.failures = [0] * objectives
        self.reasons: list[Counter[str]] = [Counter() for _ in range(objectives)]
        self.first_excess: list[tuple[int, int] | None] = [None] * objectives  # pulls and failures when it was too much
        self.clusters: set[str] = set()


SPLITS = np.array([0.15, 0.3, 0.5, 0.7, 0.85])
"""Where values are split into low and high ones, as shares of them."""

_SAFETY = 1e-6  # of logarithms of probabilities, above their rounding errors


def find_drift(column: Floats, threat: Threat, delta: float) -> tuple[float, float, float] | None:
    """The clearest sign that values change sides too rarely, n having been fixed beforehand; None without any.

    It is a value, the share of the pairs of successive values that lie on one side of it, and the most to be expected.

    Let the values be split into an upper and a lower part anywhere, and D count the changes of side between successive
    ones. Leaving values out never adds changes and takes away two a value at most. So D is at least that of the values
    that are neither replaced nor failed: at least m of n with probability 1 − δ/2 (surely, where any share ε may be
    replaced). These come in random order where hits have nothing to do with rewards. Where they have, all n clean
    values do, and D is at least theirs less 2 (n − m). Which numbers of them can lie above the split is known.
    """
    n = len(column)
    values = column[~np.isnan(column)]
    size = values.size
    kept = n - taken_away(threat.taken, n) if threat.taken else likely_count(n, 1.0 - threat.eps, delta / 2.0)
    if size < max(kept, 2):  # hits beyond what is likely: the alarm for failures is the one to speak
        return None
    independent = not threat.chooses_hits
    ordered = kept if independent else n
    replaced = size - kept
    log_level = math.log(delta / 2.0) - math.log(ordered)  # a share for every possible number above the split
    ranked = np.sort(values)
    splits = ranked[(SPLITS * size).astype(np.int64)]
    up = size - np.searchsorted(ranked, splits, "left")
    strictly_up = size - np.searchsorted(ranked, splits, "right")
    # With ties there are two splits at a value, below it and above: the nearer to the share that was meant.
    strict = up + strictly_up > 2.0 * (1.0 - SPLITS) * size
    above = np.where(strict[:, None], values > splits[:, None], values >= splits[:, None])
    up = np.where(strict, strictly_up, up)
    changes = np.count_nonzero(above[:, 1:] != above[:, :-1], axis=1)
    # The most uneven of the possible splits has the fewest changes.
    fewest = (np.minimum(up, size - up) - replaced).tolist()
    lost = 0 if independent else 2 * (n - kept)
    expected = np.array([fewest_changes(few, ordered - few, log_level) for few in fewest]) - lost
    clearest = int(np.argmax(expected - changes))
    if changes[clearest] >= expected[clearest]:
        return None
    seen, most = (1.0 - int(counts[clearest]) / (size - 1) for counts in (changes, expected))
    return float(splits[clearest]), seen, most


@functools.lru_cache(maxsize=4096)
def likely_count(n: int, probability: float, delta: float) -> int:
    """Return how many of n pulls, n fixed beforehand, are what each is with a probability; wrong with probability δ."""
    return n if probability == 1.0 else fixed_rank(n, probability, delta)


@functools.lru_cache(maxsize=4096)
def fewest_changes(ones: int, zeros: int, log_level: float) -> int:
    """The smallest d with log P(D ≤ d) above the level, for the changes D in a random order of ones and zeros.

    Wald and Wolfowitz: with c ones and v zeros, N = c + v, and runs R = D + 1,

        P(R = 2k) = 2 C(c−1, k−1) C(v−1, k−1) / C(N, c),   P(R = 2k+1) = P(R = 2k) (N − 2k) / 2k.
    """
    if min(ones, zeros) < 1:
        return 0
    total = ones + zeros
    k = np.arange(1, min(ones, zeros) + 1, dtype=np.float64)
    even = math.log(2.0) + _log_choose(ones - 1, k - 1) + _log_choose(zeros - 1, k - 1)
    even -= float(_log_choose(total, np.array(float(ones))))
    with np.errstate(divide="ignore"):  # an even split into single runs has no odd number of them
        odd = even + np.log((total - 2.0 * k) / (2.0 * k))
    below = np.logaddexp.accumulate(np.column_stack([even, odd]).ravel())  # log P(D ≤ 1), log P(D ≤ 2), …
    return 1 + int(np.searchsorted(below, log_level - _SAFETY, side="right"))


def _log_choose(n: float, k: Floats) -> Floats:
    from scipy.special import gammaln

    return np.asarray(gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0), np.float64)


FAR = 7.0
"""Robust deviations from the median beyond which a value is suspected.

A clean value is farther out with probability below 10⁻⁵ if the shape is normal, 0.04% if exponential, 0.9% if lognormal
with σ = 1, and never if uniform; in samples of a dozen 0.2%, 0.5%, 1.3% and 0.04%.
"""

FEWEST = 12
"""Values below which nothing is suspected: the spread of so few says too little."""

_NORMAL = 1.4826  # standard deviations in a median deviation of normal values ...
_NORMAL_MEAN = 1.2533  # ... and in a mean one


def suspects(values: npt.ArrayLike, *, relative: bool = False) -> Bools:
    """Which of the values (n,) of an arm look contaminated (n,): a hint for pictures, on which nothing rests.

    A value is marked if it is more than `FAR` robust deviations from the median. Each side has its own deviation, 1.48
    times the median distance on that side, so that skewed samples are not taken for contaminated ones. Where more than
    half of a side equal the median, the mean distance stands in, or the step between neighbouring levels if that is
    larger: ratings come in steps. The rest is then looked at once more. `relative` compares logarithms. NaN is never
    marked, nor a value without a logarithm.

    >>> seconds = [1.0, 1.1, 0.9, 1.2, 1.0, 1.3, 0.95, 1.05, 1.15, 1.0, 0.97, 9.0, float("nan")]
    >>> np.flatnonzero(suspects(seconds)).tolist()
    [11]
    """
    array = np.asarray(values, np.float64)
    marked = np.zeros(len(array), np.bool_)
    usable = array > 0.0 if relative else ~np.isnan(array)
    sample = array[usable]
    if len(sample) < FEWEST:
        return marked
    if relative:
        sample = np.log(sample)
    found = _far(sample)
    if found.any():  # without these the others are seen in a better light: many far values hide each other
        rest = np.flatnonzero(~found)
        found[rest] = _far(sample[rest])
    marked[usable] = found
    return marked


def _far(sample: Floats) -> Bools:
    """The values (n,) that lie far out."""
    with np.errstate(over="ignore", invalid="ignore"):  # infinite values, and differences beyond the largest double
        distance = sample - _median(sample)
    found = np.zeros(len(sample), np.bool_)
    for side in (1.0, -1.0):
        away = side * distance
        found |= away > FAR * _deviation(away[away >= 0.0])
    return found


def _median(values: Floats) -> np.float64:
    """The median of values (n,) without NaN, in a quarter of the time of `np.median`."""
    half = len(values) // 2
    ordered = np.partition(values, half if len(values) % 2 else (half - 1, half))
    middle: np.float64 = ordered[half] if len(values) % 2 else (ordered[half - 1] + ordered[half]) / 2.0
    return middle


def _deviation(distances: Floats) -> float:
    """A robust standard deviation from the distances (m,) on one side of the median, none of them negative."""
    if not len(distances):
        return np.inf
    typical = _NORMAL * float(_median(distances))
    if typical > 0.0:
        return typical
    levels = np.unique(distances[np.isfinite(distances)])
    step = _NORMAL * float(np.diff(levels).min()) if len(levels) > 2 else 0.0
    mean = float(np.minimum(distances, np.finfo(np.float64).max / len(distances)).mean())
    return max(_NORMAL_MEAN * mean, step) or np.inf


MOST_ARMS, MOST_VALUES = 64, 500
"""Arms that are looked at for the hint, and values of each: it costs the same with a million others."""

FEWEST_FOR_HINT = 30

FAR_DIRTIER = 0.1
"""By how much the share that looks wrong must exceed ε."""

_STRAY = 0.05  # share of clean values that may look wrong: see `FAR`; of Cauchy's heavy tails it is 6 %
_CHANCE = 1e-4
_HALF = 1.349  # standard deviations that the middle half of normal values spans
_GAP = 1.5  # of these; where a tenth of the values of a clean sample lie beyond, there is no such gap

Sign = Literal["far", "apart", "ties"]


class SampleLook(NamedTuple):
    """The looks of a sample."""

    share: float  # of it that looks wrong ...
    sign: Sign  # ... by this sign
    number: int  # of its values


def look_at(values: Floats) -> SampleLook:
    """Return the largest share of the values (n,) of an arm that one of three signs calls wrong, and the sign.

    *ties*: one value again and again, a minority, where nine in ten of all others differ. *far*: those that `suspects`
    marks. *apart*: those far from the shortest interval that holds half of the values. Where all values have one sign,
    *far* must be so for their logarithms too, and *apart* must lie beyond a gap between these: samples may be skewed.
    """
    sample = values[np.isfinite(values)]
    if len(sample) < FEWEST_FOR_HINT:
        return SampleLook(0.0, "far", len(values))
    counts = np.unique(sample, return_counts=True)[1]
    most, others = int(counts.max()), len(sample) - int(counts.max())
    if most < others and len(counts) - 1 >= 0.9 * others and most / len(sample) >= FAR_DIRTIER:
        return SampleLook(most / len(sample), "ties", len(values))
    one_sign = bool((sample > 0.0).all() or (sample < 0.0).all())
    scales = [sample, np.log(np.abs(sample))] if one_sign else [sample]
    far = float(np.logical_and.reduce([suspects(scale) for scale in scales]).mean())
    low, high, deviation = _shortest_half(sample)
    with np.errstate(over="ignore"):
        away = np.abs(sample - (low / 2.0 + high / 2.0)) > FAR * deviation
    if deviation == 0.0:  # more than half of them are equal: a rating, a constant
        away[:] = False
    apart = float((away & _beyond_gap(scales[1]) if one_sign else away).mean())
    return SampleLook(far, "far", len(values)) if far >= apart else SampleLook(apart, "apart", len(values))


def _shortest_half(sample: Floats) -> tuple[float, float, float]:
    """Ends of the shortest interval that holds more than half of the values (n,), and the deviation it speaks for."""
    ordered = np.sort(sample)
    half = len(ordered) // 2 + 1
    with np.errstate(over="ignore"):
        widths = ordered[half - 1 :] - ordered[: len(ordered) - half + 1]
    first = int(widths.argmin())
    return float(ordered[first]), float(ordered[first + half - 1]), float(widths[first]) / _HALF


def _beyond_gap(sample: Floats) -> Bools:
    """The values (n,) that are separated from the shortest half by a stretch without any, `_GAP` deviations long."""
    low, high, deviation = _shortest_half(sample)
    found = np.zeros(len(sample), np.bool_)
    for side, edge in ((1.0, high), (-1.0, -low)):
        beyond = np.sort(np.append(side * sample[side * sample > edge], edge))
        gaps = np.flatnonzero(np.diff(beyond) >= _GAP * deviation)
        if len(gaps) and deviation > 0.0:
            found |= side * sample >= beyond[gaps[0] + 1]
    return found


def arms_that_matter(codes: Ints, decided_by: Ints, pulls: Ints) -> Ints:
    """Return up to `MOST_ARMS` arms that are kept or decide others, those with most pulls first."""
    alive = (codes != Verdict.BEATEN) & (codes != Verdict.EXCLUDED)
    deciding = decided_by[alive]
    some = np.unique(np.concatenate([np.flatnonzero(codes == Verdict.KEEP), deciding[deciding >= 0]]))
    return np.asarray(some[np.argsort(-pulls[some], kind="stable")][:MOST_ARMS], np.int64)


def dirtier_than(
    contaminations: Mapping[str, float], looks: Iterable[tuple[str, str, SampleLook]]
) -> LooksDirtier | None:
    """The hint, no part of any certificate, that samples (arm, objective, how it looks) look far dirtier than ε."""
    looked: set[str] = set()
    dirty: dict[str, tuple[float, str, Sign]] = {}
    for arm, objective, (share, sign, number) in looks:
        looked.add(arm)
        contamination = contaminations[objective]
        if share < contamination + FAR_DIRTIER:
            continue
        from scipy.special import bdtrc  # few samples come here

        if bdtrc(round(share * number) - 1, number, min(contamination + _STRAY, 1.0)) <= _CHANCE:
            dirty[arm] = max(dirty.get(arm, (0.0, objective, sign)), (share, objective, sign))
    if not dirty:
        return None
    arm = max(dirty, key=lambda each: dirty[each][0])
    share, objective, sign = dirty[arm]
    return LooksDirtier(arm, objective, share, sign, len(dirty), len(looked), contaminations[objective])
