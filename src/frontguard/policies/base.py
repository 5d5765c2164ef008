"""The contract of a policy: ask, tell, done, result; and the turn-taking that all of them share.

A policy decides which arms to pull next and when to stop. It knows no environment, clock or file. `ask` names the
pulls of the next batch, an arm for each; `tell` takes their values, in any order and in as many parts as one likes;
once the last value of a batch is in, the policy decides. A *rolling* policy can also be asked for a number of pulls
while others are out, and says itself when enough has come to decide anew. What is asked next depends on the values told
alone, so that a policy whose state was saved and loaded goes on exactly as if it had never stopped.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from frontguard._common.checks import checked_count
from frontguard._common.typing import Floats, Ints
from frontguard.errors import BadInput, OutOfTurn
from frontguard.evidence.samples import Table
from frontguard.notices import Notice
from frontguard.policies.saved import MOST, check_kind, check_range, read_arrays, write_arrays
from frontguard.results import Certificate, Inner, Result
from frontguard.theory.threats import Threat, threat_named
from frontguard.verdicts import Verdict

State = dict[str, npt.NDArray[Any]]


class Policy(ABC):
    """Base of all policies. A subclass says what to pull, takes values, decides, and names what it consists of.

    Its state is a few attributes, `fixed` ones and `changing` ones, each with its kind: an array, a named tuple of
    arrays, a number or a threat. That is all that saving, loading and `fresh` have to know.
    """

    name: ClassVar[str]
    rolling: ClassVar[bool] = False
    """Whether `ask` takes a number of pulls."""
    takes_failures: ClassVar[bool] = False
    """Whether NaN is welcome: that measurement failed and may have been anything."""
    fixed: ClassVar[dict[str, type[Any]]] = {"arms": int, "objectives": int}
    """What is given at the start."""
    changing: ClassVar[dict[str, type[Any]]] = {"_outstanding": np.ndarray, "_waiting": int}
    """What `_begin` makes of it, and observations change ..."""
    growing: ClassVar[frozenset[str]] = frozenset({"pool"})
    """... and which of these arrays have no shape of their own."""

    standing: Any
    """A named tuple whose `arms` are records with a `status` and who they were `decided_by`."""
    columns: Table
    pool: Floats
    """The samples, where a policy keeps any (`evidence.samples`)."""

    def __init__(self, arms: int, objectives: int) -> None:
        self.arms = checked_count(arms, "arms (K)")
        self.objectives = checked_count(objectives, "objectives (M)")

    @property
    def width(self) -> int:
        """How many values a pull has: one for each objective, and those that are only limited."""
        return self.objectives

    # What a subclass provides -----------------------------------------------------------------------------------------

    @abstractmethod
    def _begin(self) -> None:
        """Be as before the first observation. A subclass does so at the end of its `__init__`."""
        self._outstanding = np.zeros(self.arms, np.int64)  # pulls asked for and not yet told, by arm ...
        self._waiting = 0  # ... and altogether

    @property
    @abstractmethod
    def done(self) -> bool:
        """Whether the policy has stopped."""

    @abstractmethod
    def _next(self, pulls: int | None) -> Ints:
        """The arms of the next batch, in order; or, if the policy is rolling, of so many pulls beside those out."""

    @abstractmethod
    def _absorb(self, arms: Ints, values: Floats) -> None:
        """Take values (n, M) of `arms` (n,), which are in order."""

    def _enough(self, told: int) -> bool:
        """Whether to decide, now that so many pulls were told at once: when a batch is complete."""
        return told > 0 and not self._waiting

    @abstractmethod
    def _decide(self) -> None:
        """Move on with all that was told."""

    @property
    @abstractmethod
    def pulls_per_arm(self) -> Ints:
        """How often every arm (K,) was pulled."""

    @property
    @abstractmethod
    def estimates(self) -> Floats:
        """Point estimates (K, M) of what the policy compares arms by."""

    @abstractmethod
    def _bounds(self) -> tuple[Floats, Floats]:
        """Between what (K, M) the true values lie, for all that is known."""

    @abstractmethod
    def certificate(self) -> Certificate:
        """What is guaranteed of the answer."""

    @abstractmethod
    def _check_fixed(self) -> None:
        """Refuse what no policy was given, where a state is taken over that may come from a stranger: `BadInput`."""

    @abstractmethod
    def _check_changing(self) -> None:
        """Refuse what observations cannot have made of it; kinds and shapes of the arrays are right by now."""

    def outlook(self) -> Certificate | None:
        """What could be guaranteed of the arms that are likely to be returned, if that is known: for progress."""
        return None

    def _notices(self) -> tuple[Notice, ...]:
        """What the answer has to say besides."""
        return ()

    # Turn-taking ------------------------------------------------------------------------------------------------------

    @property
    def status(self) -> str:
        """Running, or how it has ended."""
        return "certified" if self.done else "running"

    def ask(self, pulls: int | None = None) -> Ints:
        """The arms to pull next, in their order: the next batch or, given `pulls`, that many which are useful together.

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
        return asked

    def tell(self, arms: npt.ArrayLike, values: npt.ArrayLike) -> None:
        """Take the values (n, M) of pulls of `arms` (n,), which were asked for. Larger is better in every objective.

        Where a policy `takes_failures`, NaN stands for a measurement that failed.
        """
        if self._enough(self._take(arms, values)):
            self._decide()

    def _expect(self, arms: Ints) -> None:
        """Count pulls of `arms` as asked for."""
        np.add.at(self._outstanding, arms, 1)
        self._waiting += len(arms)

    def _take(self, arms: npt.ArrayLike, values: npt.ArrayLike) -> int:
        """Take values that were asked for, and decide nothing yet. Returns how many pulls they are of."""
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
        self._absorb(pulled[order], told[order])
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

    # Saving -----------------------------------------------------------------------------------------------------------

    def state(self) -> State:
        """The complete state as named arrays: `from_state` makes a policy of it that goes on as this one would."""
        state = {"policy": np.array(self.name)}
        for name in (*self.fixed, *self.changing):
            value = getattr(self, name)
            if name == "pool":
                value = value[: int(self.columns["count"][-1])]  # the rest is not in use
            if isinstance(value, Threat):
                state[name] = np.array([value.name, repr(value.eps)])
            elif isinstance(value, tuple):
                state |= {f"{name}.{field}": array.copy() for field, array in value._asdict().items()}  # type: ignore[attr-defined]
            else:
                state[name] = np.array(value)
        return state

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The policy whose `state()` this is. Refuses what is none, before a kernel sees it."""
        name = str(state.get("policy"))
        if name != cls.name:
            raise BadInput(f"this is the state of {name[:60]!r}; wanted one of {cls.name!r}")
        policy = cls.__new__(cls)
        policy._take_over(cls.fixed, state)
        policy._check_size(state)
        policy._check_fixed()
        policy._begin()
        fresh = policy._arrays()
        policy._take_over(cls.changing, state)
        for each, array in policy._arrays().items():
            if each not in cls.growing:
                check_kind(each, array, fresh[each])
        check_range("pulls that are out", policy._outstanding, 0, MOST)
        if policy._waiting != policy._outstanding.sum():
            raise BadInput(f"{policy._outstanding.sum()} pulls are out; got {policy._waiting}")
        policy._check_changing()
        return policy

    def _take_over(self, kinds: dict[str, type[Any]], state: State) -> None:
        """Set the attributes of these names and kinds to what the state says."""
        for name, kind in kinds.items():
            value: Any
            try:
                if kind is Threat:
                    threat, eps = state[name].tolist()
                    value = threat_named(str(threat), float(eps))
                elif issubclass(kind, tuple):
                    value = kind(*(state[f"{name}.{field}"].copy() for field in kind._fields))  # type: ignore[attr-defined]
                elif kind is np.ndarray:
                    value = state[name].copy()
                else:
                    value = kind(state[name].item())
            except KeyError as missing:
                raise BadInput(f"{missing} is missing in the state of {self.name}") from None
            except (TypeError, ValueError, OverflowError) as error:
                raise BadInput(f"{name} in the state of {self.name} cannot be: {error}") from None
            setattr(self, name, value)

    def _check_size(self, state: State) -> None:
        """Refuse more arms or objectives than the state has values for, before room is made for them."""
        checked_count(self.arms, "arms (K)")
        checked_count(self.objectives, "objectives (M)")
        most = max(array.size for array in state.values())
        if self.arms * self.objectives > most:
            raise BadInput(f"{self.arms} arms and {self.objectives} objectives do not fit the {most} values of a state")

    def _arrays(self) -> State:
        """All arrays that observations change, by name."""
        found: State = {}
        for name, kind in self.changing.items():
            value = getattr(self, name)
            if issubclass(kind, tuple):
                found |= {f"{name}.{field}": array for field, array in value._asdict().items()}
            elif kind is np.ndarray:
                found[name] = value
        return found

    def fresh(self) -> Self:
        """The same policy without any observations."""
        policy = copy(self)
        policy._begin()
        return policy

    def save(self, path: str | Path) -> None:
        """Write the complete state to a file (numpy's .npz)."""
        write_arrays(path, self.state())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what `save` wrote. Refuses whatever else is in the file, which may come from a stranger."""
        state = read_arrays(path)
        try:
            return cls.from_state(state)
        except BadInput as error:
            raise BadInput(f"{path}: {error}") from None

    # Results ----------------------------------------------------------------------------------------------------------

    @property
    def verdict_codes(self) -> Ints:
        """The `Verdict` of every arm (K,) as a number."""
        codes: Ints = self.standing.arms["status"].copy()
        return codes

    def result(self, arm_names: Sequence[str] | None = None, objective_names: Sequence[str] | None = None) -> Result:
        """The answer so far; final once `done`."""
        pulls = self.pulls_per_arm
        seen = (pulls > 0)[:, None]
        lower, upper = self._bounds()
        names, codes = _names(arm_names, self.arms, "arm"), self.verdict_codes
        aside = tuple(names[i] for i in np.flatnonzero(codes == Verdict.SET_ASIDE).tolist())
        return Result(
            policy=self.name,
            status=self.status,
            arms=names,
            objectives=_names(objective_names, self.objectives, "objective"),
            verdict_codes=codes,
            inner=Inner(
                estimates=np.where(seen, self.estimates, np.nan),
                lower=np.where(seen, lower, -np.inf),
                upper=np.where(seen, upper, np.inf),
            ),
            pulls_per_arm=pulls,
            decided_by=self.standing.arms["decided_by"].copy(),
            certificate=replace(self.certificate(), arms=self.arms - len(aside), aside=aside),
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
