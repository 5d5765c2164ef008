"""The contract of a policy: ask, tell, done, result; and the turn-taking that all of them share.

A policy decides which arms to pull next and when to stop. It knows no environment, clock or file. `ask` names the
pulls of the next batch, an arm for each; `tell` takes their values, in any order and in as many parts as one likes;
once the last value of a batch is in, the policy decides. A *rolling* policy can also be asked for a number of pulls
while others are out, and says itself when enough has come to decide anew. What is asked next depends on the values told
alone, so that a policy whose state was saved and loaded goes on exactly as if it had never stopped.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import astuple, replace
from operator import methodcaller
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from frontguard._common.checks import checked_count
from frontguard._common.typing import Floats, Ints
from frontguard.errors import BadInput, OutOfTurn
from frontguard.evidence.kinds import Statistic
from frontguard.evidence.samples import Table
from frontguard.evidence.statistics import KINDS
from frontguard.notices import Notice
from frontguard.pareto.relations import LimitRule
from frontguard.results import Answer, Certificate, Intervals
from frontguard.theory.spread import Gaussian, LinearAroundMedian, Subgaussian, Uniform
from frontguard.theory.threats import EvenHanded, Malicious, Oblivious, Prescient, Share
from frontguard.verdicts import Verdict

MOST_OBJECTIVES = 10_000  # of a policy in a file, which may say anything


class Policy(ABC):
    """Base of all policies. A subclass says what to pull, takes values, decides, and names what it consists of.

    What it becomes depends on what it was given and told alone: `_begin` makes it as new, for `fresh` and for `load`,
    which asks and tells again.
    """

    name: ClassVar[str]
    rolling: ClassVar[bool] = False  # `ask` takes a number of pulls
    takes_failures: ClassVar[bool] = False  # NaN is welcome: that measurement failed and may have been anything
    _given: tuple[tuple[Any, ...], dict[str, Any]]  # the arguments of the constructor ...
    _calls: list[Call] | None  # ... and the calls since; None if it was not driven by `ask` and `tell` alone
    standing: Any  # a named tuple whose `arms` are records with a `status` and who they were `decided_by`
    columns: Table  # the samples, where a policy keeps any (`evidence.samples`) ...
    pool: Floats  # ... and their values

    def __new__(cls, *given: Any, **settings: Any) -> Self:
        """Return a policy that remembers its arguments, for `save`."""
        policy = super().__new__(cls)
        policy._given = given, {name: copy(value) for name, value in settings.items()}
        return policy

    def __init__(self, arms: int, objectives: int) -> None:
        self.arms = checked_count(arms, "arms (K)")
        self.objectives = checked_count(objectives, "objectives (M)")

    @property
    def width(self) -> int:
        """Values of a pull: one for each objective, and those that are only limited."""
        return self.objectives

    @abstractmethod
    def _begin(self) -> None:
        """Be as before the first observation. A subclass does so at the end of its `__init__`."""
        self._outstanding = np.zeros(self.arms, np.int64)  # pulls asked for and not yet told, by arm ...
        self._waiting = 0  # ... and altogether
        self._calls = []

    @property
    @abstractmethod
    def done(self) -> bool:
        """True once the policy has stopped."""

    @abstractmethod
    def _next(self, pulls: int | None) -> Ints:
        """Return the arms of the next batch, in order; or, if the policy is rolling, of so many more pulls."""

    @abstractmethod
    def _absorb(self, arms: Ints, values: Floats, reps: Ints | None) -> None:
        """Take values (n, M) of `arms` (n,), in order; `reps` (n,): which pull of its arm each is, if told."""

    def _enough(self, told: int) -> bool:
        """Tell whether to decide, now that so many pulls were told at once: when a batch is complete."""
        return told > 0 and not self._waiting

    @abstractmethod
    def _decide(self) -> None:
        """Move on with all that was told."""

    @property
    @abstractmethod
    def pulls_per_arm(self) -> Ints:
        """Pulls of every arm (K,)."""

    @property
    @abstractmethod
    def estimates(self) -> Floats:
        """Point estimates (K, M) of what arms are compared by."""

    @abstractmethod
    def _bounds(self) -> tuple[Floats, Floats]:
        """Return lower and upper bounds (K, M) of the true values."""

    @abstractmethod
    def certificate(self) -> Certificate:
        """Return what is guaranteed of the answer."""

    def outlook(self) -> Certificate | None:
        """Return what could be guaranteed of the arms that are likely to be returned, if known: for progress."""
        return None

    def _notices(self) -> tuple[Notice, ...]:
        """Return what the answer has to say besides."""
        return ()

    @property
    def status(self) -> str:
        """The state: running, or how it has ended."""
        return "certified" if self.done else "running"

    def ask(self, pulls: int | None = None) -> Ints:
        """Return the arms to pull next: the next batch or, given `pulls`, that many which are useful together.

        Only a rolling policy takes a number: it may be asked while pulls are still out, and takes these into account.
        """
        if self.done:
            raise OutOfTurn(f"{self.name} has stopped ({self.status}) and wants no more pulls: read result()")
        if pulls is None and self._waiting:
            instead = ", or ask for a number of pulls" if self.rolling else ""
            raise OutOfTurn(
                f"{self.name} still waits for {self._waiting} pulls of the last ask(): tell them first{instead}"
            )
        if pulls is not None and not self.rolling:
            raise OutOfTurn(f"{self.name} decides after whole batches: ask() without a number; got {pulls!r}")
        asked = self._next(None if pulls is None else checked_count(pulls, "pulls"))
        self._expect(asked)
        if self._calls is not None:
            self._calls.append(("ask", pulls))
        return asked

    def tell(self, arms: npt.ArrayLike, values: npt.ArrayLike, reps: npt.ArrayLike | None = None) -> None:
        """Take the values (n, M) of pulls of `arms` (n,), which were asked for. Larger is better in every objective.

        Where a policy `takes_failures`, NaN stands for a measurement that failed. `reps` (n,), which pull of its arm
        each is, from 1, matters where pulls come in blocks; in the order of telling unless given.
        """
        told = self._take(arms, values, reps)
        if self._calls is not None:
            which = None if reps is None else np.array(reps, np.int64)
            self._calls.append(("tell", self._checked_arms(arms), self._checked_values(values, told), which))
        if self._enough(told):
            self._decide()

    def halt(self) -> None:
        """Stop here, because the caller's time or patience is over; only the certified policies can."""
        raise OutOfTurn(f"{self.name} cannot be halted")

    def _expect(self, arms: Ints) -> None:
        np.add.at(self._outstanding, arms, 1)
        self._waiting += len(arms)

    def _take(self, arms: npt.ArrayLike, values: npt.ArrayLike, reps: npt.ArrayLike | None) -> int:
        """Take values that were asked for, and decide nothing yet. Return how many pulls they are of."""
        pulled = self._checked_arms(arms)
        told = self._checked_values(values, len(pulled))
        told_arms, counts = np.unique(pulled, return_counts=True)
        expected = self._outstanding[told_arms]
        if (counts > expected).any():
            first = int(np.argmax(counts > expected))
            raise OutOfTurn(
                f"{self.name} waits for {expected[first]} pulls of arm {told_arms[first]}; got {counts[first]} "
                "(every pull is told once, after ask())"
            )
        order = np.argsort(pulled, kind="stable")
        self._absorb(pulled[order], told[order], None if reps is None else np.asarray(reps, np.int64)[order])
        self._outstanding[told_arms] -= counts
        self._waiting -= len(pulled)
        return len(pulled)

    def _checked_arms(self, arms: npt.ArrayLike) -> Ints:
        array = np.atleast_1d(np.asarray(arms))
        if array.ndim != 1 or not (np.issubdtype(array.dtype, np.integer) or array.size == 0):
            raise ValueError(
                f"arms must be a list of arm numbers, one for each pull; got {array.dtype} of shape {array.shape}"
            )
        if array.size and (array.min() < 0 or array.max() >= self.arms):
            bad = array[(array < 0) | (array >= self.arms)][0]
            raise ValueError(f"arms must be in 0..{self.arms - 1}; got {bad}")
        return array.astype(np.int64)

    def _checked_values(self, values: npt.ArrayLike, pulls: int) -> Floats:
        array = np.asarray(values)
        if array.dtype == np.bool_ or not np.issubdtype(array.dtype, np.number) or np.iscomplexobj(array):
            raise ValueError(f"values must be real numbers; got {array.dtype}")
        array = np.atleast_2d(array.astype(np.float64))
        if array.shape != (pulls, self.width) and not (pulls == 0 and array.size == 0):
            raise ValueError(f"values must have the shape (pulls, M) = ({pulls}, {self.width}); got {array.shape}")
        unusable = ~np.isfinite(array)
        if self.takes_failures:
            unusable &= ~np.isnan(array)
        if unusable.any():
            row, column = np.argwhere(unusable)[0]
            raise ValueError(f"values must be finite; got {array[row, column]} for pull {row}, objective {column}")
        return array

    def fresh(self) -> Self:
        """Return the same policy without any observations."""
        policy = copy(self)
        policy._begin()
        return policy

    def save(self, path: str | Path) -> None:
        """Write what it was given and told to a file, for `load`."""
        if self._calls is None:
            raise BadInput(f"{self.name} was not driven by ask() and tell() alone: save the log that it was driven by")
        given, settings = self._given
        named = dict(zip(("arms", "objectives"), given, strict=False)) | settings
        about = {"policy": self.name, "settings": written(named), "pulls": self.pulls_per_arm}
        write(path, about, self._calls)

    @classmethod
    def load(cls, path: str | Path, **again: Any) -> Self:
        """Return the policy that `save` wrote, told again what it was told: it goes on as if never stopped.

        Functions that it was given, such as R, are given `again`. A file may come from a stranger: whatever it holds
        is checked as arguments are.
        """
        about, calls = read(path)
        try:
            if about["policy"] != cls.name:
                raise BadInput(f"this is the state of {str(about['policy'])[:60]!r}; wanted one of {cls.name!r}")
            settings = settings_from(about["settings"], again)
            if settings["arms"] != len(about["pulls"]) or settings["objectives"] > MOST_OBJECTIVES:
                raise BadInput(f"{settings['arms']} arms and {settings['objectives']} objectives do not fit its values")
            policy = cls(**settings)
            call_again(policy, calls)
            if policy.pulls_per_arm.tolist() != about["pulls"]:
                raise BadInput("the pulls that it was told are not those that it had")
        except Exception as error:  # arguments and calls may be anything, and raise many kinds
            raise BadInput(f"{path}: cannot be loaded: {error}") from None
        return policy

    @property
    def verdict_codes(self) -> Ints:
        """The `Verdict` of every arm (K,) as a number."""
        return self._verdicts()[0]

    def _verdicts(self) -> tuple[Ints, Ints]:
        """Return the verdicts (K,), and who decided them (K,): −1 where no arm did."""
        return self.standing.arms["status"].copy(), self.standing.arms["decided_by"].copy()

    def result(self, arm_names: Sequence[str] | None = None, objective_names: Sequence[str] | None = None) -> Answer:
        """Return the answer so far; final once `done`."""
        pulls = self.pulls_per_arm
        seen = (pulls > 0)[:, None]
        lower, upper = self._bounds()
        names, (codes, decided_by) = _names(arm_names, self.arms, "arm"), self._verdicts()
        excluded = tuple(names[i] for i in np.flatnonzero(codes == Verdict.EXCLUDED).tolist())
        return Answer(
            policy=self.name,
            status=self.status,
            arms=names,
            objectives=_names(objective_names, self.objectives, "objective"),
            verdict_codes=codes,
            inner=Intervals(
                estimates=np.where(seen, self.estimates, np.nan),
                lower=np.where(seen, lower, -np.inf),
                upper=np.where(seen, upper, np.inf),
            ),
            pulls_per_arm=pulls,
            decided_by=decided_by,
            certificate=replace(self.certificate(), arms=self.arms - len(excluded), excluded=excluded),
            notices=self._notices(),
            outlook=self.outlook(),
        )


def _names(names: Sequence[str] | None, count: int, what: str) -> tuple[str, ...]:
    if names is None:
        return tuple(str(i) for i in range(count)) if what == "arm" else tuple(f"objective {i}" for i in range(count))
    given = tuple(str(name) for name in names)
    if len(given) != count or len(set(given)) != count:
        raise ValueError(
            f"{what}_names must be {count} different names; got {len(given)}, {len(set(given))} of them different"
        )
    return given


# Policies in files ----------------------------------------------------------------------------------------------------
#
# A file has a line of JSON for each: first the policy's name, arguments and pulls, then the calls. No state comes from
# it. Kernels look nothing up: an index that is out of range reads, or writes, whatever lies there. So all that a file
# holds passes through the checks of the constructor, of `ask` and of `tell` instead.


Call = tuple[Any, ...]
"""A call of a policy: ask, tell or halt, and what it was given."""

_MOST_ASKED = 1 << 20  # pulls that a file may ask for at once


def write(path: str | Path, about: Mapping[str, Any], calls: Iterable[Call]) -> None:
    """Write what is said about a policy, and its calls."""
    with Path(path).open("w", encoding="ascii") as file:
        for line in (about, *calls):
            file.write(json.dumps(line, default=methodcaller("tolist")) + "\n")


def read(path: str | Path) -> tuple[dict[str, Any], list[Call]]:
    """Read what `write` wrote."""
    try:
        lines = Path(path).read_text(encoding="ascii").splitlines()
        about, *calls = map(json.loads, lines)
        return dict(about), [tuple(call) for call in calls]
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror or error}") from None
    except Exception as error:
        raise BadInput(f"{path}: wanted what a policy saved; {type(error).__name__}: {error}") from None


def call_again(policy: Policy, calls: Iterable[Call]) -> None:
    """Make these calls to a policy."""
    for name, *given in calls:
        if name not in ("ask", "tell", "halt") or (name == "ask" and (given[0] or 0) > _MOST_ASKED):
            raise BadInput(f"there is no call {name} of {given[:1]}")
        getattr(policy, name)(*given)


def _limits(columns: list[int], within: list[float], beyond: list[float]) -> LimitRule:
    return LimitRule(np.array(columns, np.int64), np.array(within, np.float64), np.array(beyond, np.float64))


def _statistic(kind: int, level: float, scale: list[float], spread: bool) -> Statistic:
    made = Statistic(int(kind), float(level), tuple(map(float, scale)), bool(spread))  # type: ignore[arg-type]
    if not 0 <= kind < len(KINDS) or not 0.0 < level < 1.0 or len(scale) != 5 or not np.isfinite(scale).all():
        raise BadInput(f"there is no {made}")
    return made


_PLAIN = (Oblivious, EvenHanded, Prescient, Malicious, Share, Gaussian, LinearAroundMedian, Subgaussian, Uniform)
_KINDS: dict[str, Callable[..., Any]] = {
    "LimitRule": _limits,
    "Statistic": _statistic,
    **{each.__name__: each for each in _PLAIN},
}
_AGAIN = {"kind": "given again", "of": []}


def written(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments of a policy as JSON holds them; functions are to be given again."""
    return {name: _plain(value) for name, value in settings.items()}


def settings_from(written: Mapping[str, Any], again: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that were written, and those that are given again."""
    settings = {name: again.get(name, _made(value)) for name, value in written.items()}
    for name, value in settings.items():
        if value == _AGAIN:
            raise BadInput(f"{name} is a function, which no file holds: give it again, load(path, {name}=...)")
    return settings


def _plain(value: Any) -> Any:
    kind = type(value).__name__
    if kind in _KINDS:
        return {"kind": kind, "of": [_plain(each) for each in (value if isinstance(value, tuple) else astuple(value))]}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value if isinstance(value, int | float | str | None) else _AGAIN


def _made(value: Any) -> Any:
    if isinstance(value, list):
        return [_made(each) for each in value]
    if not isinstance(value, dict) or value == _AGAIN:
        return value
    return _KINDS[value["kind"]](*map(_made, value["of"]))
