"""Experiments and their policies: data sets with the paper's parameters and attackers, and who competes on them.

An *experiment* says what happens (environment, attack) and what the policies are told (threat, spread bound, bias): on
SW-LLVM these differ, as the published row used the constants of a weaker attacker. A *setting* is one at one ε.
"""

from __future__ import annotations

import functools
import inspect
import runpy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from frontguard._common.typing import Floats, Ints
from frontguard.errors import BadArgument, BadInput
from frontguard.experiments.datasets import (
    HOW_TO_GET,
    SCORES,
    Movies,
    bundled_movies,
    bundled_recording,
    bundled_rows,
    bundled_treatments,
    read_settings,
)
from frontguard.phrases import did_you_mean
from frontguard.policies import RPSI, AuerA1, AuerA1M, Certified
from frontguard.simulation.adversaries import Adversary, other_distribution, paper_malicious, review_bomber
from frontguard.simulation.environments import Environment, bootstrap, categorical, gaussian, noisy_bootstrap
from frontguard.simulation.functions import FunctionPolicy
from frontguard.theory.spread import SpreadBound, Subgaussian
from frontguard.theory.threats import Malicious, Oblivious, Prescient, Threat

TITLES: dict[str, str] = {
    "movielens": "MovieLens",
    "sw-llvm": "SW-LLVM",
    "diabetes": "UVA/PADOVA",
    "compiler-flags": "Compiler flags",
    "synthetic": "Synthetic",
}
DATASETS = tuple(TITLES)
T_BAR = 0.49
DELTA = 0.1

AS_PUBLISHED = "as published"
AS_THEORY = "as the theory demands"


@dataclass(frozen=True, eq=False)
class Experiment:
    """A data set, the `attack` on it by ε, and what policies are told: a `threat`; a `bias`, or None for R(h)."""

    dataset: str
    variant: str
    environment: Environment
    attack: Callable[[float], Adversary]
    threat: Callable[[float], Threat]
    spread: SpreadBound
    accuracy: float
    bias: Callable[[float], float | None] = lambda eps: None
    in_table2: bool = True
    source: str = ""  # of an attacker that is a function


@dataclass(frozen=True, eq=False)
class Setting:
    """An experiment at one contamination level ε."""

    experiment: Experiment
    eps: float

    @property
    def threat(self) -> Threat:
        """The threat model that the policies are told."""
        return self.experiment.threat(self.eps)

    @property
    def bias_override(self) -> float | None:
        """D where it is not R(h)."""
        return self.experiment.bias(self.eps)

    @property
    def bias(self) -> float:
        """D, which no policy can avoid."""
        return self.experiment.spread(self.threat.shift) if self.bias_override is None else self.bias_override

    @property
    def goal(self) -> dict[str, float]:
        """The accuracy and the coverage that every policy is judged by."""
        return {"accuracy": 2 * self.bias + self.experiment.accuracy, "coverage": 2 * self.bias}

    @property
    def adversary(self) -> Adversary | None:
        """The attacker; none at ε = 0."""
        return self.experiment.attack(self.eps) if self.eps > 0 else None

    def published(self, policy: str) -> Published | None:
        """The row of Table 2 that this setting repeats, if there is one."""
        return TABLE2.get((self.experiment.dataset, policy, self.eps)) if self.experiment.in_table2 else None


def movielens(movies: Movies) -> Experiment:
    """24 movies, five age groups, lowest scores put on the Pareto arms (prescient). σ = 0.2, α = 0.2."""
    environment = categorical(movies.counts, SCORES)
    return Experiment(
        dataset="movielens",
        variant=movies.selection,
        environment=environment,
        attack=lambda eps: review_bomber(environment, eps, lowest=1.0),
        threat=Prescient,
        spread=Subgaussian(0.2),
        accuracy=0.2,
    )


def sw_llvm(points: Floats, arm_of_row: Ints) -> list[Experiment]:
    """16 groups of compiler settings, 25 %-more-likely attack, σ = 0.2, α = 0.1: as published, and as proved."""
    demanded = _under_the_papers_attack("sw-llvm", AS_THEORY, points, arm_of_row)
    published = replace(
        demanded,
        variant=AS_PUBLISHED,
        threat=Oblivious,
        bias=lambda eps: 0.0 if eps == 0.0 else None,
        in_table2=True,
    )
    return [published, demanded]


def compiler_flags() -> Experiment:
    """20 sets of GCC flags, recorded, under the attack on SW-LLVM with the theory's constants. σ = 0.2, α = 0.1."""
    return _under_the_papers_attack("compiler-flags", "recorded pulls", *bundled_recording().points())


def _under_the_papers_attack(dataset: str, variant: str, points: Floats, arm_of_row: Ints) -> Experiment:
    environment = bootstrap(points, arm_of_row)
    return Experiment(
        dataset=dataset,
        variant=variant,
        environment=environment,
        attack=lambda eps: paper_malicious(environment, eps),
        threat=Malicious,
        spread=Subgaussian(0.2),
        accuracy=0.1,
        in_table2=False,
    )


def diabetes() -> Experiment:
    """36 treatments; the miscounted meal replaces both objectives at once (oblivious). σ = 0.025, α = 0.1."""
    treatments = bundled_treatments()
    noise = 0.025
    miscounted = noisy_bootstrap(treatments.miscounted, treatments.miscounted_arm, noise)
    return Experiment(
        dataset="diabetes",
        variant="adult#006",
        environment=gaussian(treatments.points, noise),
        attack=lambda eps: other_distribution(eps, miscounted, joint=True),
        threat=Oblivious,
        spread=Subgaussian(noise),
        accuracy=0.1,
    )


SUITE: tuple[tuple[int, int], ...] = tuple((arms, objectives) for arms in (10, 20, 50) for objectives in (2, 3, 5))
"""K and M of the synthetic instances. The authors' own setting is the first."""
SIDE = 2.0
"""Medians are uniform on [0, SIDE]: wide enough that some arms can be eliminated although R-PSI's intervals are D ≈
0.24 to 0.31 wide."""


def _gaussian_instance(arms: int, objectives: int) -> Experiment:
    """A synthetic instance; the attacker drags the Pareto arms below all (prescient). σ = α = 0.1."""
    generator = np.random.default_rng(np.random.SeedSequence(0, spawn_key=(arms, objectives)))
    environment = gaussian(generator.uniform(0.0, SIDE, (arms, objectives)), 0.1)
    return Experiment(
        dataset="synthetic",
        variant=f"K={arms} M={objectives}",
        environment=environment,
        attack=lambda eps: review_bomber(environment, eps, lowest=-1.0),
        threat=Prescient,
        spread=Subgaussian(0.1),
        accuracy=0.1,
        in_table2=False,
    )


@dataclass(frozen=True)
class Selection:
    """The experiments of a command, and what had to be left out, in words."""

    experiments: list[Experiment]
    left_out: list[str]


def choose(dataset: str, data: Path | None, selection: str = "margin") -> Selection:
    """Return the experiments of a data set; `all` is the three of Table 2."""
    if dataset not in (*DATASETS, "all"):
        raise _unknown("dataset", dataset, (*DATASETS, "all"))
    if data is not None and not data.exists():
        raise BadInput(f"{data}: no such file or directory")
    if dataset not in ("sw-llvm", "all") and data is not None:
        raise BadInput(f"--data: {dataset} reads no data from outside; leave the option out")
    compilers = [] if data is None else sw_llvm(*read_settings(data))
    missing = f"its points are not part of the package; {HOW_TO_GET}"
    if dataset == "all":
        left_out = [] if compilers else [f"sw-llvm is left out: {missing}"]
        return Selection([movielens(bundled_movies(selection)), *compilers, diabetes()], left_out)
    if dataset == "sw-llvm" and not compilers:
        raise BadInput(f"sw-llvm: {missing}")
    built: dict[str, Callable[[], list[Experiment]]] = {
        "movielens": lambda: [movielens(bundled_movies(selection))],
        "sw-llvm": lambda: compilers,
        "diabetes": lambda: [diabetes()],
        "compiler-flags": lambda: [compiler_flags()],
        "synthetic": lambda: [_gaussian_instance(arms, objectives) for arms, objectives in SUITE],
    }
    return Selection(built[dataset](), [])


def settings_of(experiments: Sequence[Experiment], epsilons: Sequence[float]) -> list[Setting]:
    """Return every experiment at every ε (the levels of Table 2 if none is given); refuse an ε that is too large."""
    levels = list(dict.fromkeys(epsilons)) or list(EPSILONS)
    for experiment in experiments:
        model = experiment.threat(0.0)
        limit = model.largest_eps(T_BAR)
        for eps in levels:
            if not 0.0 <= eps < limit:
                raise BadInput(
                    f"--contamination {eps:g}: wanted 0 <= contamination < {limit:.4g} on {experiment.dataset}: there "
                    f"the {model.name} attacker can shift a median by {T_BAR} in level, beyond which R bounds nothing"
                )
    return [Setting(experiment, eps) for experiment in experiments for eps in levels]


def _unknown(what: str, got: str, known: Sequence[str]) -> BadArgument:
    return BadArgument(what, f"wanted one of {', '.join(known)}{did_you_mean(got, known)}; got {got!r}")


# The numbers of the paper's Table 2, as printed (arXiv 2206.02666): averages over 100 runs.


class Published(NamedTuple):
    """One printed row: ratio of successful runs, samples, ratio of optimal arms, r-F1."""

    rsr: float
    sc: float
    ro: float
    rf1: float


TABLE2: dict[tuple[str, str, float], Published] = {
    (row["dataset"], row["policy"], float(row["epsilon"])): Published(*(float(row[name]) for name in Published._fields))
    for row in bundled_rows("table2.csv")
}
"""(dataset, policy, ε) → the printed row."""

EPSILONS: tuple[float, ...] = tuple(sorted({eps for _, _, eps in TABLE2}))
"""The contamination levels of Table 2."""


@dataclass(frozen=True)
class ExperimentPolicy:
    """A policy in an experiment. `arguments` is all that determines it."""

    name: str
    title: str
    kind: Callable[..., Any]
    arguments: Callable[[Setting], dict[str, Any]]
    by_default: bool = True  # whether a command that names no policy runs it
    source: str = ""  # of a function: what its stored runs depend on

    def build(self, setting: Setting) -> Any:
        """A fresh policy for this setting."""
        return self.kind(**self.arguments(setting))


def _size(setting: Setting) -> dict[str, Any]:
    environment = setting.experiment.environment
    return {"arms": environment.arms, "objectives": environment.objectives}


def _rpsi(setting: Setting) -> dict[str, Any]:
    return {
        **_size(setting),
        "threat": setting.threat,
        "spread": setting.experiment.spread,
        "accuracy": setting.experiment.accuracy,
        "delta": DELTA,
        "t_bar": T_BAR,
        "bias": setting.bias_override,
    }


def _certified(setting: Setting) -> dict[str, Any]:
    """The guarantee that R-PSI gives: accuracy 2D + α, coverage 2D."""
    return {**_certified_without_spread(setting), "spread": setting.experiment.spread, "t_bar": T_BAR}


def _certified_without_spread(setting: Setting) -> dict[str, Any]:
    """Return the guarantee of R-PSI without R. At large ε that may be out of reach: it stops at a budget."""
    return {
        **_size(setting),
        "threat": setting.threat,
        **setting.goal,
        "delta": DELTA,
        "max_pulls": MOST_PULLS,
    }


MOST_PULLS = 1_000_000


def _auer(setting: Setting) -> dict[str, Any]:
    return {**_size(setting), "accuracy": setting.experiment.accuracy, "delta": DELTA}


CONTESTANTS: dict[str, ExperimentPolicy] = {
    contestant.name: contestant
    for contestant in (
        ExperimentPolicy("rpsi", "R-PSI", RPSI, _rpsi),
        ExperimentPolicy("certified", "certified", Certified, _certified),
        ExperimentPolicy("certified-no-r", "certified without R", Certified, _certified_without_spread, False),
        ExperimentPolicy("auer-a1", "Auer-A1", AuerA1, _auer),
        ExperimentPolicy("auer-a1-m", "Auer-A1-M", AuerA1M, _auer),
    )
}


def contestants_named(names: Sequence[str]) -> list[ExperimentPolicy]:
    """Return the policies of these names, which may be FILE.py:FUNCTION, in this order; the usual ones of none."""
    usual = [contestant for contestant in CONTESTANTS.values() if contestant.by_default]
    return [_contestant(name) for name in dict.fromkeys(names)] or usual


def _contestant(name: str) -> ExperimentPolicy:
    if name in CONTESTANTS:
        return CONTESTANTS[name]
    if ":" not in name:
        raise _unknown("policy", name, [*CONTESTANTS, "FILE.py:FUNCTION"])
    play, source = function_of(name, "policy")

    def arguments(setting: Setting) -> dict[str, Any]:
        told = {**_rpsi(setting), **setting.goal}
        return {"play": _telling(play, told), **_size(setting)}

    return ExperimentPolicy(play.__name__, play.__name__, FunctionPolicy, arguments, source=source)


def attacked_by(experiments: Sequence[Experiment], name: str) -> list[Experiment]:
    """Return the experiments with another attacker of the same threat in each: the function FILE.py:FUNCTION."""
    attack, source = function_of(name, "attack")

    def attacking(experiment: Experiment) -> Experiment:
        def adversary(eps: float) -> Adversary:
            usual = experiment.attack(eps)
            told = {"environment": experiment.environment, "eps": eps}
            return Adversary(usual.threat, usual.joint, attack=_telling(attack, told))

        variant = f"{experiment.variant}, {attack.__name__}"
        return replace(experiment, variant=variant, attack=adversary, in_table2=False, source=source)

    return [attacking(experiment) for experiment in experiments]


def function_of(name: str, argument: str) -> tuple[Callable[..., Any], str]:
    """Return the function FILE.py:FUNCTION, which is the user's own code, and the text of its file."""
    file, _, wanted = name.rpartition(":")
    try:
        source = Path(file).read_text(encoding="utf-8")
        scope = runpy.run_path(file)
    except OSError as error:
        raise BadArgument(argument, f"{file}: {error.strerror or error}; wanted FILE.py:FUNCTION") from None
    if not callable(found := scope.get(wanted)):
        functions = [key for key, value in scope.items() if callable(value) and not key.startswith("_")]
        raise BadArgument(argument, f"{file} has no function {wanted!r}{did_you_mean(wanted, functions)}")
    return found, source


def _telling(function: Callable[..., Any], told: dict[str, Any]) -> Callable[..., Any]:
    """Return a function that is told what else its signature names."""
    named = {name: told[name] for name in inspect.signature(function).parameters if name in told}
    named = {name: value for name, value in named.items() if name not in ("arms", "objectives")}
    return functools.wraps(function)(functools.partial(function, **named)) if named else function
