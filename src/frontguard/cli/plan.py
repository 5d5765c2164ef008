"""`frontguard plan`: what an identification would cost, and what it can promise at all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from frontguard._common.written import checked_confidence, checked_goal
from frontguard.cli.options.counted import check_named, counted, counting
from frontguard.cli.options.declared import (
    MEASURING,
    STATISTICS,
    Confidence,
    Contamination,
    Exact,
    Goal,
    Json,
    LimitOption,
    Maximize,
    Mean,
    Minimize,
    Quantile,
    ThreatModel,
    Tolerance,
    whole_from,
)
from frontguard.cli.options.values import by_metric, known_metrics, read_limits, read_number
from frontguard.cli.screen import console, print_json, say
from frontguard.errors import BadInput

if TYPE_CHECKING:  # what computes is imported when it is needed: `frontguard --help` stays fast
    from frontguard.commands.spec import Spec
    from frontguard.objectives import Objective
    from frontguard.planning.cost import CostPlan
    from frontguard.theory.spread import Gaussian, Subgaussian


def plan(
    spec: Annotated[
        Path | None,
        typer.Argument(metavar="SPEC.toml", help="A spec of frontguard run: its arms, metrics, tolerances and threat."),
    ] = None,
    arms: Annotated[int | None, whole_from(2, "How many candidates (without a pilot).")] = None,
    objectives: Annotated[int | None, whole_from(1, "How many metrics (if they are not named).")] = None,
    tolerance: Tolerance = None,
    pilot: Annotated[
        Path | None, typer.Option(metavar="LOG", help="Earlier measurements, a log as of frontguard analyze.")
    ] = None,
    arm: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of the pilot that names the arm.")] = None,
    maximize: Maximize = None,
    minimize: Minimize = None,
    limit: LimitOption = None,
    contamination: Contamination = None,
    confidence: Confidence = None,
    json: Json = False,
    quantile: Quantile = None,
    mean: Mean = None,
    exact: Exact = None,
    sigma: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NUMBER",
            help="The rewards are subgaussian with this deviation; METRIC=0.2: its mean counts, and values of this "
            "metric have that deviation (with contamination 0 only).",
            rich_help_panel=STATISTICS,
        ),
    ] = None,
    gaussian: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", help="The rewards are normal with this deviation.", rich_help_panel=STATISTICS),
    ] = None,
    span: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            help="Between the medians of the best and worst arm.",
            rich_help_panel=STATISTICS,
            show_default="a guess, see docs",
        ),
    ] = None,
    threat: ThreatModel = None,
    goal: Goal = None,
    coverage: Annotated[
        list[str] | None,
        typer.Option(
            metavar="AMOUNT",
            help="By how much an arm of the front may be missed.",
            rich_help_panel=STATISTICS,
            show_default="as --tolerance",
        ),
    ] = None,
    runs: Annotated[int, whole_from(1, "Simulated runs for every policy and attack.", panel=MEASURING)] = 20,
    seed: Annotated[int, whole_from(0, "The same seed gives the same plan.", panel=MEASURING)] = 0,
) -> None:
    """Say how many pulls an identification would take, and what can be promised at all, before the first one."""
    import numpy as np

    from frontguard.limits import columns_for
    from frontguard.objectives import tolerances
    from frontguard.planning.cost import Task, make_plan
    from frontguard.theory.threats import USUAL, threat_of
    from frontguard.words.progress import ProgressDisplay

    wanted = None if spec is None else _read(spec, maximize, minimize)
    usual = USUAL if wanted is None else wanted.threat
    model = threat_of(threat, contamination, usual, prefix="--")
    usual_level = 0.95 if wanted is None else wanted.confidence
    level = usual_level if confidence is None else checked_confidence(confidence, "--confidence")
    aim = (wanted.goal if wanted else "list") if goal is None else checked_goal(goal, "--goal")
    plain = [text for text in sigma or () if "=" not in text]
    said = counted(mean, exact, [text for text in sigma or () if "=" in text], quantile)
    limits = read_limits(limit)
    named: Sequence[Objective]
    if wanted is not None:
        named = wanted.objectives
        limits = wanted.with_limits(limits).limits
    else:
        named = _named(maximize or [], minimize or [], objectives, in_pilot=pilot is not None)
    check_named(said, [metric.name for metric in named], declared=wanted is None)
    counting_so = tuple(counting(named, said))
    metrics, covering = _tolerances(counting_so, tolerance, coverage, named, percent=bool(pilot or wanted))
    measured, spread = None, None
    if pilot is None:
        _refuse({"--arm": arm}, "belongs to a pilot log: give --pilot")
        arms = arms if wanted is None else len(wanted.arms)
        if arms is None:
            raise BadInput("--arms and --objectives are needed, or a spec, or a pilot log (--pilot)")
        spread = _spread(columns_for(metrics, limits).metrics, plain, gaussian, span)
    else:
        _refuse(
            {"--sigma": plain, "--gaussian": gaussian, "--span": span},
            "cannot be combined with --pilot, which shows how rewards spread",
        )
        if arm is None:
            raise BadInput("--arm: name the column of the pilot that says which arm a row belongs to")
        from frontguard.cli.options.pilot import read_pilot  # which needs more than --help does

        asked = limits
        measured, metrics, limits = read_pilot(pilot, arm, metrics, asked)
        rates = [each.name for each, was in zip(metrics, counting_so, strict=True) if each.statistic != was.statistic]
        rates += [each.metric for each, was in zip(limits, asked, strict=True) if each.statistic != was.statistic]
        for name in dict.fromkeys(rates):
            say(f"{name!r} is true or false: the rate is what counts")
        if arms is not None and arms != measured.arms:
            raise BadInput(f"--arms: {pilot} has {measured.arms}, got {arms}; leave it away")
        arms = measured.arms
    task = Task(
        model,
        arms,
        len(metrics),
        round(1.0 - level, 12),
        tolerances(metrics),
        np.array(covering),
        sigma=None if spread is None else spread.sigma,
        spread=spread if any(metric.has_quantile for metric in metrics) else None,  # R is of objectives
        span=span,
        pilot=measured,
        metrics=metrics,
        goal=aim,
        limits=limits,
    )
    with ProgressDisplay() as progress:
        made = make_plan(task, runs=runs, seed=seed, watcher=progress)
    if json:
        from frontguard.words.plan import answer, warnings

        told = {"answer": answer(made), **made.to_dict(), "warnings": list(warnings(made))}
        print_json(told.items())
    else:
        _print(made)


def _refuse(given: dict[str, Any], why: str) -> None:
    for option, value in given.items():
        if value is not None and value != []:
            raise BadInput(f"{option} {why}")


def _read(file: Path, maximize: list[str] | None, minimize: list[str] | None) -> Spec:
    """The spec, which has objectives of its own."""
    from frontguard.commands.spec import read_spec

    _refuse({"--maximize": maximize, "--minimize": minimize}, f"says what {file} says: its objectives")
    return read_spec(file)


def _spread(
    metrics: Sequence[Objective], sigma: list[str], gaussian: float | None, span: float | None
) -> Gaussian | Subgaussian | None:
    """How far rewards spread whose quantiles count, without a pilot; None if there are none such."""
    from frontguard.theory.spread import Gaussian, Subgaussian

    if span is not None and not 0.0 < span < math.inf:
        raise BadInput(f"--span: wanted a positive number, got {span}")
    if not any(metric.has_quantile for metric in metrics):
        _refuse({"--sigma": sigma, "--gaussian": gaussian}, "is of metrics whose quantile counts, and there is none")
        return None
    if len(sigma) + (gaussian is not None) != 1:
        raise BadInput(
            "how far rewards spread must be said in one way: --sigma (subgaussian), --gaussian (normal) or --pilot"
        )
    return Gaussian(gaussian) if gaussian is not None else Subgaussian(read_number("sigma", sigma[0]))


def _named(maximize: list[str], minimize: list[str], objectives: int | None, *, in_pilot: bool) -> Sequence[Objective]:
    """The objectives by their names, which are columns of a pilot; or so many without one."""
    from frontguard.objectives import Objective, parse_objectives

    pairs = [*((name, "maximize") for name in maximize), *((name, "minimize") for name in minimize)]
    if pairs:
        if objectives not in (None, len(pairs)):
            raise BadInput(f"--objectives: {len(pairs)} of them are named, got {objectives}; leave it away")
        return parse_objectives(pairs)
    if in_pilot:
        raise BadInput("name at least one column of the pilot with --maximize or --minimize")
    if objectives is None:
        raise BadInput("--arms and --objectives are needed, or a spec, or a pilot log (--pilot)")
    return tuple(Objective(f"objective {d + 1}") for d in range(objectives))


def _tolerances(
    metrics: Sequence[Objective],
    tolerance: list[str] | None,
    coverage: list[str] | None,
    as_written: Sequence[Objective],
    *,
    percent: bool,
) -> tuple[tuple[Objective, ...], list[float]]:
    """The objectives with their tolerances, those of options or as a spec has them written, and inner coverages."""
    from dataclasses import replace

    from frontguard.objectives import parse_tolerance

    names = [metric.name for metric in metrics]
    of_spec = [f"{metric.name}={metric.tolerance}" for metric in as_written]
    if not tolerance and all(metric.tolerance == 0.0 for metric in as_written):
        raise BadInput("--tolerance: wanted the difference that does not matter, 0.1 or METRIC=0.1; got none")
    if tolerance and any("=" in text for text in tolerance) and percent:  # the others are as the spec has them
        said = {text.rpartition("=")[0] for text in tolerance}
        tolerance = [*tolerance, *(text for text, name in zip(of_spec, names, strict=True) if name not in said)]
    texts = {}
    for option, given in (("--tolerance", tolerance or of_spec), ("--coverage", coverage or tolerance or of_spec)):
        texts[option] = _for_each(option, given, names)
        for text in texts[option]:
            if parse_tolerance(text, option).relative and not percent:
                raise BadInput(f"{option} {text}: a percentage needs a pilot log with positive metrics (--pilot)")
    measured, covering = [], []
    for metric, tolerated, covered in zip(metrics, *texts.values(), strict=True):
        measured.append(replace(metric, tolerance=tolerated))
        amount, relative = parse_tolerance(covered)
        if relative != measured[-1].relative and amount > 0.0:
            raise BadInput(
                f"--coverage of {metric.name!r}: both tolerances must be percentages or both numbers; "
                f"got {covered!r} with --tolerance {tolerated!r}"
            )
        covering.append(math.log1p(amount) if relative else amount)
    return tuple(measured), covering


def _for_each(option: str, given: list[str], names: list[str]) -> list[str]:
    """The text of each objective: one for all, METRIC=VALUE for each, or one for each in their order.

    >>> _for_each("--tolerance", ["b=2%", "a=1"], ["a", "b"])
    ['1', '2%']
    """
    if not any("=" in text for text in given):
        if len(given) not in (1, len(names)):
            raise BadInput(f"{option}: wanted one, or {len(names)}, one for each objective; got {len(given)}")
        return given * len(names) if len(given) == 1 else given
    named = by_metric(option.removeprefix("--"), given, lambda _, text: text)
    assert isinstance(named, dict)
    known_metrics(option, named, names)
    for name in names:
        if name not in named:
            raise BadInput(f"{option}: wanted one for each objective; got none for {name!r}")
    return [named[name] for name in names]


def _print(made: CostPlan) -> None:
    from frontguard.words import plan as words

    screen = console()
    sentence = words.answer(made)
    screen.print(f"\n{sentence[0].upper()}{sentence[1:]}\n", style="bold")
    screen.print(words.table(made, screen.width))
    for line in words.facts(made):
        screen.print(line)
    for warning in words.warnings(made):
        screen.print(f"Warning: {warning}.", style="yellow")
