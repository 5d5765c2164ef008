"""`frontguard plan`: what an identification would cost, and what it can promise at all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from frontguard.cli import options
from frontguard.cli.screen import console, print_json, say
from frontguard.errors import BadInput

if TYPE_CHECKING:  # what computes is imported when it is needed: `frontguard --help` stays fast
    from frontguard.objectives import Objective
    from frontguard.planning.cost import CostPlan
    from frontguard.planning.task import Pilot
    from frontguard.question import Question
    from frontguard.theory.spread import Gaussian, Subgaussian

SIZES = "How many sessions, questions or answers"


@options.command(
    *("tolerance", "maximize", "minimize", "limit", "contamination", "confidence", "json"),
    *("baseline", "paired", "pair", "items", "cluster", "independent", "cost"),
    *("quantile", "mean", "exact", "threat", "goal"),
    arms=options.whole(2, "How many candidates (without a pilot)."),
    objectives=options.whole(1, "How many metrics (if they are not named)."),
    tests=options.whole(1, "A gate of so many tests, or of two logs (1): how many sessions a side it takes.", SIZES),
    noise=options.text("AMOUNT", "With --tests: the deviation of a test between sessions, 1%.", SIZES),
    lost=options.text("SHARE", "Answers to the same questions: the share that the worse of two arms wins, 6%.", SIZES),
    rate=options.text("SHARE", "Answers to other questions: the share that the better of two arms solves, 60%.", SIZES),
    difference=options.text(
        "AMOUNT", "What is to be found: 10%, or 0.05 of a rate.", SIZES, shown="of a suite, twice the tolerance"
    ),
    size=options.whole(1, "How many sessions, questions or answers of an arm there are: what they find.", SIZES),
    pilot=options.path("LOG", "Earlier measurements, a log as of frontguard analyze."),
    arm=options.text("COLUMN", "Column of the pilot that names the arm."),
    sigma=options.texts(
        "NUMBER",
        "The rewards are subgaussian with this deviation; METRIC=0.2: its mean counts, and values of this metric have "
        "that deviation (with contamination 0 only).",
        options.STATISTICS,
    ),
    gaussian=options.number("NUMBER", "The rewards are normal with this deviation.", options.STATISTICS),
    span=options.number(
        "NUMBER", "Between the medians of the best and worst arm.", options.STATISTICS, shown="a guess, see docs"
    ),
    coverage=options.texts(
        "AMOUNT", "By how much an arm of the front may be missed.", options.STATISTICS, shown="as --tolerance"
    ),
    runs=options.whole(1, "Simulated runs for every policy and attack.", options.MEASURING, value=20),
    seed=options.whole(0, "The same seed gives the same plan.", options.MEASURING, value=0),
)
def plan(
    spec: Annotated[
        Path | None,
        typer.Argument(metavar="SPEC.toml", help="A spec of frontguard run: its arms, metrics, tolerances and threat."),
    ] = None,
    *,
    runs: int,
    seed: int,
    **given: Any,
) -> None:
    """Say how many pulls an answer takes, and what can be promised."""
    from frontguard.planning.cost import plan as planned
    from frontguard.words.terminal import ProgressDisplay

    given["spec"] = spec
    if any(given[name] is not None for name in ("tests", "lost", "rate", "difference", "size")):
        _print_sizes(given)
        return
    options.refuse(given, ("noise",), "is of a suite: give --tests")
    plain = [text for text in given["sigma"] or () if "=" not in text]
    given["sigma"] = [text for text in given["sigma"] or () if "=" in text]
    question, named = _question(given)
    measured, span = None, given["span"]
    if given["pilot"] is None:
        options.refuse(given, ("arm", "pair", "cluster"), "belongs to a pilot log: give --pilot")
        if named is None:
            raise BadInput("--arms and --objectives are needed, or a spec, or a pilot log (--pilot)")
        question = replace(question, spread=_spread(question.columns.metrics, plain, given["gaussian"], span))
    else:
        spread = {"sigma": plain, "gaussian": given["gaussian"], "span": span}
        options.refuse(spread, spread, "cannot be combined with --pilot, which shows how rewards spread")
        measured, question = _pilot(given, question)
        if given["arms"] not in (None, measured.arms):
            raise BadInput(f"--arms: {given['pilot']} has {measured.arms}, got {given['arms']}; leave it away")
    with ProgressDisplay() as progress:
        made = planned(named, question=question, pilot=measured, span=span, runs=runs, seed=seed, watcher=progress)
    if given["json"]:
        from frontguard.words.plan import answer, warnings

        told = {"answer": answer(made), **made.to_dict(), "warnings": list(warnings(made))}
        print_json(told.items())
    else:
        _print(made)


def _pilot(given: dict[str, Any], question: Question) -> tuple[Pilot, Question]:
    """Return the pilot, and the question with the rates that its columns are."""
    from frontguard.planning.task import read_pilot

    if given["arm"] is None:
        raise BadInput("--arm: name the column of the pilot that says which arm a row belongs to")
    measured, counted = read_pilot(given["pilot"], given["arm"], question)
    pairs = zip(counted.columns.metrics, question.columns.metrics, strict=True)
    for name in dict.fromkeys(new.name for new, old in pairs if new.statistic != old.statistic):
        say(f"{name!r} is true or false: the rate is what counts")
    return measured, counted


def _print_sizes(given: dict[str, Any]) -> None:
    """Print how many measurements a comparison takes, and what so many find."""
    from frontguard.planning.sizes import Kind, lost_in, plan_sizes
    from frontguard.question import Question
    from frontguard.words.plan import sizes

    of_study = ("spec", "sigma", "gaussian", "span", "baseline", "objectives", "coverage", "cost")
    options.refuse(given, of_study, "is of a study, and sizes are those of a comparison")
    kinds: dict[str, Kind] = {"tests": "suite", "lost": "pairs", "rate": "rates"}
    chosen = [name for name in kinds if given[name] is not None] or ["lost"][: given["pilot"] is not None]
    if len(chosen) != 1:
        raise BadInput("--difference and --size go with one of --tests, --lost, --rate, or a pilot with --pair")
    kind, many, spread = kinds[chosen[0]], given["arms"] or 2, given[chosen[0]]
    if kind == "suite":
        options.refuse(given, ("arms", "pilot"), "is of a study or of questions, and --tests of a suite")
        many, spread = given["tests"], given["noise"]
        if spread is None:
            raise BadInput("--noise: wanted the deviation of a test between sessions, such as 1%; got none")
    named = [*(given["maximize"] or ()), *(given["minimize"] or ())]
    if not named:
        given["minimize" if kind == "suite" else "maximize"] = ["seconds" if kind == "suite" else "solved"]
    if kind != "suite" and not given["mean"]:
        given["mean"] = named or ["solved"]
    asked = Question.of(None, given["threat"], **options.asked(given))
    if given["pilot"] is not None:
        options.refuse(given, ("lost", "rate"), "is what the pilot shows")
        if not given["pair"]:
            raise BadInput("--pair: name the column of the pilot that says which question a row answers")
        measured, asked = _pilot(given, asked)
        spread, many = lost_in(measured), given["arms"] or measured.arms
    made = plan_sizes(asked, kind, many, spread, difference=given["difference"], size=given["size"])
    if given["json"]:
        print_json({"answer": " ".join(sizes(made)), **made.to_dict()}.items())
        return
    for line in sizes(made):
        console().print(line)


def _question(given: dict[str, Any]) -> tuple[Question, int | list[str] | None]:
    """Return the question and the arms, or their number: of a spec and options, or of options alone."""
    from frontguard.cli.run import spec_of
    from frontguard.question import Question

    file, arms = given["spec"], given["arms"]
    if file is not None:
        spec = spec_of(file, (), given)
        question, arms = spec.question, [arm.name for arm in spec.arms]
    else:
        count, named = given["objectives"], [*(given["maximize"] or ()), *(given["minimize"] or ())]
        if named and count not in (None, len(named)):
            raise BadInput(f"--objectives: {len(named)} of them are named, got {count}; leave it away")
        if not named and given["pilot"] is not None:
            raise BadInput("name at least one column of the pilot with --maximize or --minimize")
        if not named and count is None:
            raise BadInput("--arms and --objectives are needed, or a spec, or a pilot log (--pilot)")
        if not named:
            named = given["maximize"] = [f"objective {d + 1}" for d in range(count)]
        question = Question.of(None, given["threat"], **options.asked(given))
    if file is None and not any(each.inner_tolerance for each in question.objectives):
        raise BadInput("--tolerance: wanted the difference that does not matter, 0.1 or METRIC=0.1; got none")
    if file is None and given["pilot"] is None:
        for each in question.objectives:
            if each.relative:
                raise BadInput(f"--tolerance {each.tolerance}: a percentage needs a pilot log (--pilot)")
    if given["baseline"] is not None:
        question = replace(question, baseline=given["baseline"])
    return question.but(coverage=_coverage(question, given["coverage"])), arms


def _coverage(question: Question, texts: list[str] | None) -> list[float] | None:
    """Return coverages, one for all objectives or by name; None where they are the tolerances."""
    from frontguard.objectives import parse_tolerance

    names = [each.name for each in question.objectives]
    given = options.by_metric("coverage", texts, lambda _, text: text, names)
    if given is None:
        return None
    found = []
    for each in question.objectives:
        text = given.get(each.name, each.tolerance) if isinstance(given, dict) else given
        amount, relative = parse_tolerance(text, "coverage")
        if relative != each.relative and amount > 0.0:
            raise BadInput(
                f"--coverage of {each.name!r}: both tolerances must be percentages or both numbers; got {text!r} with "
                f"--tolerance {each.tolerance!r}"
            )
        found.append(math.log1p(amount) if relative else amount)
    return found


def _spread(
    metrics: Sequence[Objective], sigma: list[str], gaussian: float | None, span: float | None
) -> Gaussian | Subgaussian | None:
    """Return the spread of rewards whose quantiles count, without a pilot; None if there are none such."""
    from frontguard.theory.spread import Gaussian, Subgaussian

    if span is not None and not 0.0 < span < math.inf:
        raise BadInput(f"--span: wanted a positive number, got {span}")
    if not any(metric.has_quantile for metric in metrics):
        spread = {"sigma": sigma, "gaussian": gaussian}
        options.refuse(spread, spread, "is of metrics whose quantile counts, and there is none")
        return None
    if len(sigma) + (gaussian is not None) > 1:
        raise BadInput(
            "how far rewards spread must be said in one way: --sigma (subgaussian), --gaussian (normal) or --pilot"
        )
    if gaussian is not None:
        return Gaussian(gaussian)
    return Subgaussian(options.read_number("sigma", sigma[0])) if sigma else None


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
