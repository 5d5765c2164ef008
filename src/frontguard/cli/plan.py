"""`frontguard plan`: what an identification would cost, and what it can promise at all."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from frontguard._written import checked_confidence
from frontguard.cli.values import THREATS, by_metric, console, known_metrics, whole_from
from frontguard.errors import BadInput
from frontguard.phrases import nearest

if TYPE_CHECKING:  # what computes is imported when it is needed: `frontguard --help` stays fast
    from frontguard.objectives import Objective
    from frontguard.planning.cost import CostPlan
    from frontguard.planning.reach import Pilot
    from frontguard.theory.spread import Gaussian, Subgaussian


def plan(
    tolerance: Annotated[
        list[str],
        typer.Option(help="Difference that does not matter: 0.1, or 2% on a pilot; or METRIC=2%, repeated."),
    ],
    arms: Annotated[int | None, whole_from(2, "How many candidates (without a pilot).")] = None,
    objectives: Annotated[int | None, whole_from(1, "How many metrics (without a pilot).")] = None,
    contamination: Annotated[
        str, typer.Option(help="Probability with which each measurement may be anything (ε).")
    ] = "0.1",
    threat: Annotated[str, typer.Option(help=THREATS)] = "prescient",
    confidence: Annotated[str, typer.Option(help="Probability with which the answer must hold.")] = "0.95",
    coverage: Annotated[
        list[str] | None, typer.Option(help="By how much an arm of the front may be missed (without: as --tolerance).")
    ] = None,
    sigma: Annotated[float | None, typer.Option(help="The rewards are subgaussian with this deviation.")] = None,
    gaussian: Annotated[float | None, typer.Option(help="The rewards are normal with this deviation.")] = None,
    span: Annotated[
        float | None, typer.Option(help="Between the medians of the best and worst arm (without: a guess, see docs).")
    ] = None,
    pilot: Annotated[Path | None, typer.Option(help="Earlier measurements, a CSV file with a row for each.")] = None,
    arm: Annotated[str | None, typer.Option(help="Column of the pilot that names the arm.")] = None,
    maximize: Annotated[list[str] | None, typer.Option(help="Column to be maximised; repeat for several.")] = None,
    minimize: Annotated[list[str] | None, typer.Option(help="Column to be minimised; repeat for several.")] = None,
    runs: Annotated[int, whole_from(1, "Simulated runs for every policy and attack.")] = 20,
    seed: Annotated[int, whole_from(0, "The same seed gives the same plan.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print the plan as JSON on stdout.")] = False,
) -> None:
    """Say how many pulls an identification would take, and what can be promised at all, before the first one."""
    level = checked_confidence(confidence, "--confidence")
    import numpy as np

    from frontguard.objectives import tolerances
    from frontguard.planning.cost import Task, make_plan
    from frontguard.theory.threats import threat_of
    from frontguard.words.progress import ProgressDisplay

    model = threat_of(threat, contamination, prefix="--")
    measured, spread = None, None
    if pilot is None:
        _refuse({"--arm": arm, "--maximize": maximize, "--minimize": minimize}, "belongs to a pilot log: give --pilot")
        if arms is None or objectives is None:
            raise BadInput("--arms and --objectives are needed, or a pilot log (--pilot)")
        described, spread = _described(objectives, sigma, gaussian, span)
        metrics, covering = _tolerances(described, tolerance, coverage, with_pilot=False)
    else:
        _refuse(
            {"--sigma": sigma, "--gaussian": gaussian, "--span": span},
            "cannot be combined with --pilot, which shows how rewards spread",
        )
        if arm is None:
            raise BadInput("--arm: name the column of the pilot that says which arm a row belongs to")
        metrics, covering = _tolerances(_named(maximize or [], minimize or []), tolerance, coverage)
        measured = read_pilot(pilot, arm, metrics)
        for name, given, found in (("--arms", arms, measured.arms), ("--objectives", objectives, len(metrics))):
            if given is not None and given != found:
                raise BadInput(f"{name}: {pilot} has {found}, got {given}; leave it away")
        arms = measured.arms
    task = Task(
        model,
        arms,
        len(metrics),
        round(1.0 - level, 12),
        tolerances(metrics),
        np.array(covering),
        sigma=None if spread is None else spread.sigma,
        spread=spread,
        span=span,
        pilot=measured,
        metrics=metrics,
    )
    with ProgressDisplay() as progress:
        made = make_plan(task, runs=runs, seed=seed, watcher=progress)
    if json:
        from frontguard.documents.plan import PlanDocument

        print(PlanDocument.of(made).text())
    else:
        _print(made)


def _refuse(given: dict[str, Any], why: str) -> None:
    for option, value in given.items():
        if value is not None and value != []:
            raise BadInput(f"{option} {why}")


def _described(
    objectives: int, sigma: float | None, gaussian: float | None, span: float | None
) -> tuple[tuple[Objective, ...], Gaussian | Subgaussian]:
    """The objectives and how far rewards spread, without a pilot."""
    from frontguard.objectives import Objective
    from frontguard.theory.spread import Gaussian, Subgaussian

    if (sigma is None) == (gaussian is None):
        raise BadInput(
            "how far rewards spread must be said in one way: --sigma (subgaussian), --gaussian (normal) or --pilot"
        )
    if span is not None and not 0.0 < span < math.inf:
        raise BadInput(f"--span: wanted a positive number, got {span}")
    spread = Gaussian(gaussian) if gaussian is not None else Subgaussian(sigma or 0.0)
    return tuple(Objective(f"objective {d + 1}") for d in range(objectives)), spread


def _named(maximize: list[str], minimize: list[str]) -> tuple[Objective, ...]:
    """The objectives that are columns of a pilot."""
    from frontguard.objectives import parse_objectives

    if not maximize and not minimize:
        raise BadInput("name at least one column of the pilot with --maximize or --minimize")
    return parse_objectives([*((name, "maximize") for name in maximize), *((name, "minimize") for name in minimize)])


def _tolerances(
    metrics: tuple[Objective, ...], tolerance: list[str], coverage: list[str] | None, *, with_pilot: bool = True
) -> tuple[tuple[Objective, ...], list[float]]:
    """The objectives with their tolerances, and inner coverages."""
    from dataclasses import replace

    from frontguard.objectives import parse_tolerance

    texts = {}
    for option, given in (("--tolerance", tolerance), ("--coverage", coverage or tolerance)):
        texts[option] = _for_each(option, given, [metric.name for metric in metrics])
        for text in texts[option]:
            if parse_tolerance(text, option).relative and not with_pilot:
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


def read_pilot(path: Path, arm: str, metrics: Sequence[Objective]) -> Pilot:
    """The measurements of a CSV file with a header; arms are texts, an empty cell or NaN is a failed measurement."""
    import numpy as np

    from frontguard.objectives import inward_matrix
    from frontguard.planning.reach import Pilot

    index: dict[str, int] = {}
    owners: list[int] = []
    values: list[list[float]] = []
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            header = [name.strip() for name in next(reader, [])]
            at = _column(path, header, arm, "--arm")
            columns = [_column(path, header, m.name, f"--{m.direction}") for m in metrics]
            for row in reader:
                if not row:
                    continue
                if len(row) != len(header):
                    raise BadInput(
                        f"{path}, line {reader.line_num}: wanted {len(header)} cells as in the header, got {len(row)}"
                    )
                name = row[at].strip()
                if not name:
                    raise BadInput(f"{path}, line {reader.line_num}: the arm in column {arm!r} is empty")
                owners.append(index.setdefault(name, len(index)))
                values.append([_number(path, reader.line_num, header[c], row[c]) for c in columns])
                for metric, value in zip(metrics, values[-1], strict=True):
                    if metric.relative and value <= 0.0:
                        raise BadInput(
                            f"{path}, line {reader.line_num}: {metric.name!r} must be positive; got {value:g}: "
                            f"{metric.needs_positive}"
                        )
    except OSError as error:
        raise BadInput(f"--pilot {path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise BadInput(f"--pilot {path}: is not text in UTF-8") from None
    except csv.Error as error:
        raise BadInput(f"--pilot {path}: is not a CSV file: {error}") from None
    if len(index) < 2:
        raise BadInput(f"--pilot {path}: wanted at least two arms in column {arm!r}, got {len(index)}")
    return Pilot(tuple(index), inward_matrix(metrics, values), np.array(owners, np.int64))


def _column(path: Path, header: list[str], name: str, option: str) -> int:
    places = [place for place, heading in enumerate(header) if heading == name]
    if len(places) == 1:
        return places[0]
    if places:
        raise BadInput(f"{option} {name}: {path} has {len(places)} columns of that name")
    near = nearest(name, header, cutoff=0.5)
    hint = f"did you mean {near}?" if near else f"it has {', '.join(header) or 'no header'}"
    raise BadInput(f"{option} {name}: {path} has no such column; {hint}")


def _number(path: Path, line: int, column: str, text: str) -> float:
    """A cell as a number; NaN where the measurement failed."""
    if not text.strip():
        return math.nan
    try:
        value = float(text)
    except ValueError:
        raise BadInput(
            f"{path}, line {line}: {column!r} must be a number, or empty if it failed; got {text!r}"
        ) from None
    if math.isinf(value):
        raise BadInput(f"{path}, line {line}: {column!r} must be finite, or empty if it failed; got {text!r}")
    return value


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
