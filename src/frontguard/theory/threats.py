"""Threat models: what an attacker may do with ε of the measurements, and the constants that follow.

Each model is a type that owns its constants, so that no caller ever decides mathematics by comparing a name;
docs/glossary.md has them in a table. The first three are those of Section 3.1 and equations 3 and 4 of Korkmaz, Ceyani,
Bozgan, Tekin, arXiv 2206.02666: each measurement is replaced *with probability* ε. The fourth is ours: *any share* ε of
them is, whichever (docs/theory.md, (l)). So is the fifth, of what disturbs measurements *without knowing whose they
are* (docs/theory.md, (hh)).

Of n observations as many as chance keeps, at a rate of keep(p), are less ⌊taken · n⌋, so that in the long run the share
lasting(p) = keep(p) − taken is left.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar, Self

from frontguard._common.checks import checked_share, real_number
from frontguard.errors import BadArgument, BadInput
from frontguard.phrases import did_you_mean


@dataclass(frozen=True)
class Threat(ABC):
    """An attacker that replaces measurements: each with probability `eps` = ε, or a share ε of them; 0 ≤ ε < 1/2.

    From one half on, the replaced measurements are the majority and no estimate of a median can be trusted.

    Parameters
    ----------
    eps
        ε; where metrics have one each, the largest: what is proved for it holds for all of them.
    by_column
        The ε of each metric, where they differ.

    Raises
    ------
    BadInput
        ε is not in [0, 1/2).

    >>> mixed = Prescient(0.1, (0.1, 0.0))
    >>> mixed.of(1), mixed.raised(0.05).by_column, mixed.at(0.05).by_column, mixed.at(0.2), mixed.least
    (Prescient(eps=0.0), (0.1, 0.05), (0.05, 0.0), Prescient(eps=0.2), 0.0)
    """

    eps: float
    by_column: tuple[float, ...] = field(default=(), repr=False)

    name: ClassVar[str]
    """The name of the model on command lines and in tables."""

    lemma_events: ClassVar[int] = 0
    """The number of rare events that share δ in Lemmas 1 and 2; 0 if they do not speak of the model."""

    chooses_hits: ClassVar[bool] = True
    """The attacker chooses which measurements are replaced, so that this may have to do with their values."""

    foresees: ClassVar[bool] = True
    """Replacements may give away what later measurements will be."""

    needs_chance: ClassVar[bool] = False
    """It may be declared only where chance decides whose measurement is disturbed."""

    def __post_init__(self) -> None:
        values = tuple(real_number(each, f"eps (ε) of {type(self).__name__}") for each in (*self.by_column, self.eps))
        for value in values:
            if not 0.0 <= value < 0.5:
                raise BadInput(
                    f"eps (ε) of {type(self).__name__} must satisfy 0 <= eps < 1/2: from one half on, the "
                    f"replaced measurements are the majority and the median says nothing; got {value!r}"
                )
        object.__setattr__(self, "eps", max(values[:-1] or values))
        object.__setattr__(self, "by_column", values[:-1] if len(set(values[:-1])) > 1 else ())

    def of(self, column: int) -> Self:
        """Return the attacker of one column of intervals."""
        return type(self)(self.by_column[column]) if self.by_column else self

    def at(self, eps: float) -> Self:
        """Return the same attacker with this ε at most in each column; with a larger one than now, with it in all."""
        return type(self)(eps, tuple(min(eps, each) for each in self.by_column) if eps <= self.eps else ())

    def raised(self, eps: float) -> Self:
        """Return the same attacker with this ε at least, in each column."""
        return type(self)(max(eps, self.eps), tuple(max(eps, each) for each in self.by_column))

    @property
    def least(self) -> float:
        """The smallest ε of a column."""
        return min(self.by_column, default=self.eps)

    @property
    def shift(self) -> float:
        """h(ε): how far the attacker can move the median, in quantile levels of the clean rewards.

        ε where it chooses its hits: each takes a reward from one side of the median and puts it on the other.
        """
        return self.eps

    def largest_eps(self, t_bar: float) -> float:
        """The supremum, itself excluded, of the ε for which h(ε) < t̄ = `t_bar`."""
        return checked_t_bar(t_bar)

    @property
    def has_lemmas(self) -> bool:
        """True if Lemmas 1 and 2, and R-PSI, which rests on them, speak of the model."""
        return self.lemma_events > 0

    @property
    def confidence_parts(self) -> int:
        """The number of rare events that share δ: δ̃ = δ / confidence_parts (equations 3 and 4)."""
        if not self.has_lemmas:
            raise BadArgument(
                "threat",
                must="replace each measurement with probability eps for Lemmas 1 and 2, on which R-PSI rests: it "
                "must be Oblivious(eps), Prescient(eps) or Malicious(eps)",
                got=f"{self!r}, any share of the measurements, which the certified policy covers",
            )
        return self.lemma_events

    @property
    @abstractmethod
    def surviving(self) -> tuple[float, float]:
        """The numbers a and b of keep(p) = a p − b: what is left of a mean μ in [0, 1] is a μ − b likewise."""

    def keep(self, p: float) -> float:
        """Least probability that an event of the rewards, of probability `p`, happens and is not replaced by chance."""
        if not 0.0 <= real_number(p, "p of keep") <= 1.0:
            raise BadInput(f"p of keep must be a probability, 0 <= p <= 1; got {float(p)!r}")
        factor, less = self.surviving
        return max(0.0, factor * p - less)

    @property
    def taken(self) -> float:
        """The share of an arm's measurements that the attacker may take away afterwards, from whatever chance kept."""
        return 0.0

    def lasting(self, p: float) -> float:
        """keep(p) − taken: the share of all measurements that, of an event of probability `p`, is left in the long run.

        >>> Malicious(0.2).lasting(0.5) == Share(0.2).lasting(0.5), Share(0.2).keep(0.5)
        (True, 0.5)
        """
        return max(0.0, self.keep(p) - self.taken)

    @property
    def order_hits(self) -> float:
        """The probability of hits, independent of all else, with which it feigns as well that one law is the larger.

        >>> Prescient(0.1).order_hits, Malicious(0.1).order_hits, Share(0.1).order_hits, EvenHanded(0.1).order_hits
        (0.1, 0.2, 0.0, 0.0)
        """
        return 0.0 if self.taken else self.eps

    def check(self, t_bar: float) -> None:
        """Refuse an ε with which the median can be moved beyond the levels 1/2 ± t̄, where nothing bounds it.

        >>> Malicious(0.3).check(0.25)
        Traceback (most recent call last):
        ...
        frontguard.errors.BadInput: eps must be below 0.25 for the malicious threat with t_bar = 0.25: ...
        """
        limit = self.largest_eps(t_bar)
        # Both, because near the limit h may round up to t̄ although ε is below its supremum.
        if not (self.eps < limit and self.shift < t_bar):
            raise BadInput(
                f"eps must be below {limit:.6g} for the {self.name} threat with t_bar = {t_bar:.6g}: the "
                f"attacker shifts the median by h = {self.shift:.6g} in quantile level, and the spread bound "
                f"R holds up to t_bar only; got eps = {self.eps!r}"
            )


@dataclass(frozen=True)
class _IndependentHits(Threat):
    """Hits are independent of the rewards: each is observed with probability 1 − ε, whatever it is."""

    lemma_events: ClassVar[int] = 2
    chooses_hits: ClassVar[bool] = False

    @property
    def shift(self) -> float:
        """h(ε) = ε / (2(1−ε)): replacements all on one side make the level 1/(2(1−ε)) the median."""
        return self.eps / (2.0 * (1.0 - self.eps))

    @property
    def surviving(self) -> tuple[float, float]:
        """1 − ε and 0."""
        return 1.0 - self.eps, 0.0

    def largest_eps(self, t_bar: float) -> float:
        """2t̄ / (1+2t̄), the solution of h(ε) = t̄."""
        level = checked_t_bar(t_bar)
        return 2.0 * level / (1.0 + 2.0 * level)


@dataclass(frozen=True)
class Oblivious(_IndependentHits):
    """Chooses its replacements beforehand, seeing neither rewards nor hits (broken sensors).

    >>> threat = Oblivious(0.2)
    >>> threat.shift, threat.keep(0.5), threat.confidence_parts
    (0.125, 0.4, 2)
    """

    name: ClassVar[str] = "oblivious"
    foresees: ClassVar[bool] = False


@dataclass(frozen=True)
class Prescient(_IndependentHits):
    """Chooses replacements knowing all rewards and hits, but not where to hit (review bombing).

    Its constants are the oblivious attacker's: Lemma 1 never uses that replacements are chosen blindly.

    >>> round(Prescient(0.1).largest_eps(0.49), 6)
    0.494949
    """

    name: ClassVar[str] = "prescient"


@dataclass(frozen=True)
class Malicious(Threat):
    """Chooses replacements and also which rewards to hit, with probability ε overall (man in the middle).

    It keeps p − ε, and nothing where it can afford to hit every time that the event happens.

    >>> threat = Malicious(0.2)
    >>> threat.shift, round(threat.keep(0.5), 12), threat.confidence_parts
    (0.2, 0.3, 3)
    """

    name: ClassVar[str] = "malicious"
    lemma_events: ClassVar[int] = 3

    @property
    def surviving(self) -> tuple[float, float]:
        """1 and ε."""
        return 1.0, self.eps

    @property
    def order_hits(self) -> float:
        """2ε: it hits the values that would lose, or win, most pairs."""
        return 2.0 * self.eps


@dataclass(frozen=True)
class Share(Threat):
    """Replaces any share ε of an arm's measurements, whichever, having seen all of them (some rows are wrong).

    Of the first n measurements of an arm ⌊εn⌋ at most are replaced, at every n that is looked at, in each objective.
    Chance does not enter: there is no probability of being hit, which a streak of clean measurements could make up for.

    >>> threat = Share(0.2)
    >>> threat.shift, threat.keep(0.5), threat.taken, threat.lasting(0.5)
    (0.2, 0.5, 0.2, 0.3)
    """

    name: ClassVar[str] = "share"

    @property
    def surviving(self) -> tuple[float, float]:
        """1 and 0: what is taken away is taken afterwards."""
        return 1.0, 0.0

    @property
    def taken(self) -> float:
        """ε."""
        return self.eps


@dataclass(frozen=True)
class EvenHanded(Oblivious):
    """Does not know whose measurement it disturbs: what takes its place has one law for all arms (a busy machine).

    Which arm is larger by all its quantiles does not change by it, however many are replaced.

    >>> EvenHanded(0.3).keep(0.5), EvenHanded(0.3).order_hits
    (0.35, 0.0)
    """

    name: ClassVar[str] = "even-handed"
    needs_chance: ClassVar[bool] = True

    @property
    def order_hits(self) -> float:
        """0: equal laws stay equal."""
        return 0.0


def checked_t_bar(value: object) -> float:
    """Return t̄ as a float; refuse whatever is not strictly between 0 and 1/2 (Definition 2)."""
    level = real_number(value, "t_bar (t̄)")
    if not 0.0 < level < 0.5:
        raise BadInput(
            "t_bar (t̄) must satisfy 0 < t_bar < 1/2: the spread bound R speaks of the levels 1/2 ± t_bar; "
            f"got {level!r}"
        )
    return level


def checked_threat(value: object) -> Threat:
    """Return a threat model unchanged; refuse whatever is none."""
    if not isinstance(value, Threat):
        models = [f"{model.__name__}(eps)" for model in _BY_NAME.values()]
        raise BadArgument("threat", must=f"be {', '.join(models[:-1])} or {models[-1]}", got=repr(value))
    return value


_BY_NAME: dict[str, type[Threat]] = {
    model.name: model for model in (Oblivious, Prescient, Malicious, Share, EvenHanded)
}


USUAL = Prescient(0.1)
"""Against whom an answer holds about quantiles, unless something else is said."""


def threat_of(
    threat: Threat | str | None = None, contamination: float | str | None = None, by_column: tuple[float, ...] = ()
) -> Threat:
    """Return the threat model of a name and ε, or of a model with its ε; what is left out is as usual.

    >>> threat_of(), threat_of("share"), threat_of("share", "5%"), threat_of(Malicious(0.2))
    (Prescient(eps=0.1), Share(eps=0.1), Share(eps=0.05), Malicious(eps=0.2))
    >>> threat_of(Malicious(0.2), 0.1)
    Traceback (most recent call last):
    ...
    frontguard.errors.BadArgument: contamination must be left out where threat has its own, as Malicious(eps=0.2);
    got 0.1
    """
    eps = None if contamination is None else checked_share(contamination, "contamination")
    if isinstance(threat, Threat):
        if eps is not None and eps != threat.eps:
            must = f"be left out where threat has its own, as {threat!r}"
            raise BadArgument("contamination", must=must, got=repr(contamination))
        return threat
    model = type(USUAL) if threat is None else _model(threat)
    return model(USUAL.eps if eps is None else eps, by_column)


def _model(name: object) -> type[Threat]:
    model = _BY_NAME.get(name.strip().lower()) if isinstance(name, str) else None
    if model is None:
        hint = did_you_mean(name, _BY_NAME) if isinstance(name, str) else ", or a model such as Prescient(0.1)"
        raise BadArgument("threat", must=f"be one of {', '.join(_BY_NAME)}{hint}", got=repr(name))
    return model
