"""`frontguard plan`: what an identification would cost, and what it can promise at all."""

from __future__ import annotations

import csv
import difflib
import json as json_module
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from frontguard.errors import BadInput

if TYPE_CHECKING:  # what computes is imported when it is needed: `frontguard --help` stays fast
    from rich.table import Table

    from frontguard.objectives import Objective
    from frontguard.planning.cost import CostPlan, SimulatedCost, Task
    from frontguard.planning.reach import Pilot

FEW_ROWS = 50
"""Rows of an arm below which a pilot's quantiles are worth a warning."""


def plan(
    accuracy: Annotated[
        list[str],
        typer.Option(help="By how much a returned arm may be beaten; 0.1, or 2% on a pilot. Repeat for each."),
    ],
    contamination: Annotated[float, typer.Option(help="Share of the measurements that may be replaced.")],
    arms: Annotated[int | None, typer.Option(help="How many candidates (without a pilot).")] = None,
    objectives: Annotated[int | None, typer.Option(help="How many metrics (without a pilot).")] = None,
    threat: Annotated[str, typer.Option(help="oblivious, prescient or malicious.")] = "prescient",
    confidence: Annotated[float, typer.Option(help="Probability with which the answer must hold.")] = 0.95,
    coverage: Annotated[
        list[str] | None, typer.Option(help="By how much an arm of the front may be missed (without: as --accuracy).")
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
    runs: Annotated[int, typer.Option(help="Simulated runs for every policy and attack.")] = 20,
    seed: Annotated[int, typer.Option(help="The same seed gives the same plan.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print the plan as JSON on stdout.")] = False,
) -> None:
    """Say how many pulls an identification would take, and what can be promised at all, before the first one."""
    if runs < 1:
        raise BadInput(f"--runs: wanted at least 1, got {runs}")
    if seed < 0:
        raise BadInput(f"--seed: wanted a number from 0, got {seed}")
    if not 0.0 < confidence < 1.0:
        raise BadInput(f"--confidence: wanted a probability between 0 and 1, such as 0.95; got {confidence}")
    from frontguard.theory.threats import threat_named

    model = threat_named(threat, contamination)
    delta = round(1.0 - confidence, 12)
    if pilot is None:
        _refuse({"--arm": arm, "--maximize": maximize, "--minimize": minimize}, "belongs to a pilot log: give --pilot")
        task = _without_pilot(model, delta, arms, objectives, accuracy, coverage, sigma, gaussian, span)
    else:
        _refuse(
            {"--sigma": sigma, "--gaussian": gaussian, "--span": span},
            "cannot be combined with --pilot, which shows how rewards spread",
        )
        task = _with_pilot(model, delta, pilot, arm, maximize or [], minimize or [], accuracy, coverage)
        for name, given, found in (("--arms", arms, task.arms), ("--objectives", objectives, task.objectives)):
            if given is not None and given != found:
                raise BadInput(f"{name}: {pilot} has {found}, got {given}; leave it away")
    from frontguard.planning.cost import make_plan
    from frontguard.words.progress import shown_progress

    with shown_progress() as progress:
        made = make_plan(task, runs=runs, seed=seed, watcher=progress)
    if json:
        print(json_module.dumps(_as_dict(made)))
    else:
        _print(made)


def _refuse(given: dict[str, Any], why: str) -> None:
    for option, value in given.items():
        if value is not None and value != []:
            raise BadInput(f"{option} {why}")


def _without_pilot(
    model: Any,
    delta: float,
    arms: int | None,
    objectives: int | None,
    accuracy: list[str],
    coverage: list[str] | None,
    sigma: float | None,
    gaussian: float | None,
    span: float | None,
) -> Task:
    from frontguard.objectives import Objective
    from frontguard.planning.cost import Task
    from frontguard.theory.spread import Gaussian, Subgaussian

    if arms is None or objectives is None:
        raise BadInput("--arms and --objectives are needed, or a pilot log (--pilot)")
    if arms < 2 or objectives < 1:
        wanted = ("--arms", 2, arms) if arms < 2 else ("--objectives", 1, objectives)
        raise BadInput("{}: wanted at least {}, got {}".format(*wanted))
    if (sigma is None) == (gaussian is None):
        raise BadInput(
            "how far rewards spread must be said in one way: --sigma (subgaussian), --gaussian (normal) or --pilot"
        )
    if span is not None and not 0.0 < span < math.inf:
        raise BadInput(f"--span: wanted a positive number, got {span}")
    for option, texts in (("--accuracy", accuracy), ("--coverage", coverage or [])):
        for text in texts:
            if "%" in text:
                raise BadInput(f"{option} {text}: a percentage needs a pilot log with positive metrics (--pilot)")
    spread = Gaussian(gaussian) if gaussian is not None else Subgaussian(sigma or 0.0)
    metrics = tuple(Objective(f"objective {d + 1}") for d in range(objectives))
    metrics, covering = _tolerances(metrics, accuracy, coverage)
    return Task(
        model, arms, objectives, delta, [m.inner_tolerance for m in metrics], covering,  # type: ignore[arg-type]
        sigma=spread.sigma, spread=spread, span=span, metrics=metrics,
    )  # fmt: skip


def _with_pilot(
    model: Any,
    delta: float,
    path: Path,
    arm: str | None,
    maximize: list[str],
    minimize: list[str],
    accuracy: list[str],
    coverage: list[str] | None,
) -> Task:
    from frontguard.objectives import parse_objectives
    from frontguard.planning.cost import Task

    if arm is None:
        raise BadInput("--arm: name the column of the pilot that says which arm a row belongs to")
    if not maximize and not minimize:
        raise BadInput("name at least one column of the pilot with --maximize or --minimize")
    pairs = [*((name, "maximize") for name in maximize), *((name, "minimize") for name in minimize)]
    metrics, covering = _tolerances(parse_objectives(pairs), accuracy, coverage)
    pilot = read_pilot(path, arm, metrics)
    return Task(
        model, pilot.arms, pilot.objectives, delta,
        [m.inner_tolerance for m in metrics], covering, pilot=pilot, metrics=metrics,  # type: ignore[arg-type]
    )  # fmt: skip


def _tolerances(
    metrics: tuple[Objective, ...], accuracy: list[str], coverage: list[str] | None
) -> tuple[tuple[Objective, ...], list[float]]:
    """The objectives with their accuracies as tolerances, and inner coverages: one text for all, or one for each."""
    from dataclasses import replace

    from frontguard.objectives import parse_tolerance

    texts = {}
    for option, given in (("--accuracy", accuracy), ("--coverage", coverage or accuracy)):
        if len(given) not in (1, len(metrics)):
            raise BadInput(f"{option}: wanted one, or {len(metrics)}, one for each objective; got {len(given)}")
        texts[option] = given * len(metrics) if len(given) == 1 else given
    for text in texts["--accuracy"]:
        parse_tolerance(text, "--accuracy")
    measured = tuple(
        replace(metric, tolerance=text if parse_tolerance(text).relative else float(text))
        for metric, text in zip(metrics, texts["--accuracy"], strict=True)
    )
    covering = []
    for metric, text in zip(measured, texts["--coverage"], strict=True):
        amount, relative = parse_tolerance(text, "--coverage")
        if relative != metric.relative and amount > 0.0:
            raise BadInput(
                f"--coverage of {metric.name!r}: both tolerances must be percentages or both numbers; "
                f"got {text!r} with --accuracy {metric.tolerance!r}"
            )
        covering.append(math.log1p(amount) if relative else amount)
    return measured, covering


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
                            f"{path}, line {reader.line_num}: {metric.name!r} must be positive, since its tolerance "
                            f"{metric.tolerance!r} is relative; got {value:g}"
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
    near = difflib.get_close_matches(name, header, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(header) or 'no header'}"
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


def _shown(task: Task, widths: Sequence[float]) -> str:
    """Widths in the units of the metrics, once if they are all the same."""
    parts = [
        f"{width:.3g}" if not metric.relative else f"{100.0 * width:.3g} %"
        for metric, width in zip(task.metrics, widths, strict=True)
    ]
    if len(set(parts)) == 1:
        return parts[0]
    return ", ".join(f"{part} in {metric.name}" for part, metric in zip(parts, task.metrics, strict=True))


def answer(made: CostPlan) -> str:
    """The plan in a sentence."""
    from frontguard.planning.cost import in_units

    task, row = made.task, made.of("certified")
    goal = f"accuracy {_shown(task, in_units(task, task.accuracy))}"
    if not made.possible:
        if made.possible_up_to is None:
            return f"{goal} cannot be had: not even without contamination."
        who = "no method" if task.pilot is None else "no method that assumes nothing about shapes"
        limit = f"beyond a contamination of {made.possible_up_to:.2%}" if made.possible_up_to > 5e-4 else "once any lie"
        return f"{goal} cannot be promised: {limit} {who} can, and {task.threat.eps:.2%} are declared."
    if not row.runs:
        return f"{goal} is not simulated: {row.note}."
    said = f"Expect {_pulls(row)} pulls ({_rounded(row.mean / task.arms):,} an arm) for {goal}"
    if row.certified < row.runs:
        said += _but(row)
    for other in made.costs:
        if (other.policy, other.attack) == ("certified", "worst"):
            said += f"; {_pulls(other)} under the worst attack"
            if other.certified < other.runs:
                said += _but(other)
    return f"{said}."


def _but(row: SimulatedCost) -> str:
    return f" (which then is reached in {row.certified} of {row.runs} runs only)"


def _pulls(row: SimulatedCost) -> str:
    return f"{'more than' if row.capped else 'about'} {_rounded(row.mean):,}"


def _rounded(number: float) -> int:
    """To three digits: the fourth is noise."""
    return int(float(f"{number:.3g}"))


def _who(row: SimulatedCost) -> str:
    return f"{row.policy}{' under the worst attack' if row.attack == 'worst' else ''}"


def warnings(made: CostPlan) -> list[str]:
    """What a reader of the numbers should know, each with a next step where there is one."""
    task = made.task
    from frontguard.planning.cost import MOST_ARMS

    said = []
    if task.pilot is None and task.arms > MOST_ARMS:
        said.append(f"pulls are those of {MOST_ARMS} arms, multiplied; with many arms more are put out early")
    if made.possible and not made.safe:
        upto = "at no contamination" if made.safe_up_to is None else f"only up to {made.safe_up_to:.2%}"
        said.append(
            f"safe against every attack {upto}: beyond, one may put the goal out of the certified policy's reach; "
            "a larger --accuracy or --coverage helps"
        )
    unreachable = [f"{_who(row)} {row.unreachable} of {row.runs}" for row in made.costs if row.unreachable]
    if unreachable:
        said.append(f"runs that ended because the goal was out of reach: {', '.join(unreachable)}")
    capped = [f"{_who(row)} {row.capped} of {row.runs}" for row in made.costs if row.capped]
    if capped:
        said.append(f"runs that were cut off, so that more pulls are needed than the table says: {', '.join(capped)}")
    said += [row.note for row in made.costs if row.note and row.attack == "none"]
    rpsi = made.of("R-PSI")
    if rpsi.accuracy is not None and rpsi.coverage is not None:
        from frontguard.planning.cost import in_units

        beyond = any(r > g * (1 + 1e-9) for r, g in zip(rpsi.accuracy, task.accuracy, strict=True))
        if beyond or any(r > g * (1 + 1e-9) for r, g in zip(rpsi.coverage, task.coverage, strict=True)):
            said.append(
                f"R-PSI cannot promise this goal: its pulls are for accuracy "
                f"{_shown(task, in_units(task, rpsi.accuracy))} and coverage "
                f"{_shown(task, in_units(task, rpsi.coverage))}"
            )
    if task.pilot is not None:
        import numpy as np

        said.append("the pilot is taken as clean: if part of it lies, so do these numbers")
        rows = int(np.bincount(task.pilot.arm_of_row).min())
        if rows < FEW_ROWS:
            said.append(f"an arm has only {rows} rows in the pilot: its quantiles are rough")
        if task.pilot.failed:
            said.append(
                f"measurements of the pilot failed ({task.pilot.failed}): the floor counts them, simulated runs do not"
            )
    return said


def _floor(made: CostPlan) -> str:
    task = made.task
    who = f"with ε = {task.threat.eps:g} {task.threat.name}"
    if task.pilot is None:
        return f"{who} no method separates arms closer than {_shown(task, made.floor)}"
    arms = made.floor_arms or ()
    where = ", ".join(f"{metric.name} of {arm}" for metric, arm in zip(task.metrics, arms, strict=True))
    return f"{who} medians stay uncertain by {_shown(task, made.floor)} (at most, for {where}), however many pulls"


def _up_to(limit: float | None) -> str:
    return "none" if limit is None else f"{limit:.2%}"


def _print(made: CostPlan) -> None:
    from rich.console import Console

    console = Console() if sys.stdout.isatty() else Console(width=120)
    sentence = answer(made)
    console.print(f"\n[bold]{sentence[0].upper()}{sentence[1:]}[/bold]\n", highlight=False)
    console.print(_table(made))
    first = ", ".join(f"{number} ({name})" for name, number in made.first_pulls.items())
    source = "the pilot's arms" if made.task.pilot is not None else f"random normal arms, span {made.task.span:.3g}"
    lines = [
        f"Simulated on {source}.",
        f"Floor: {_floor(made)}.",
        f"Nothing can be said before so many pulls of an arm: {first}.",
        f"Largest contamination: {_up_to(made.possible_up_to)} for any method, {_up_to(made.safe_up_to)} for the "
        "certified policy's boxes to allow the goal under every attack.",
    ]
    if made.theorem1_worst_case is not None and made.theorem1_gaps is not None:
        lines.append(
            f"Theorem 1 bounds R-PSI's pulls by {_rounded(made.theorem1_gaps):,} with these gaps, "
            f"{_rounded(made.theorem1_worst_case):,} with any."
        )
    for line in lines:
        console.print(line, highlight=False, markup=False)
    for warning in warnings(made):
        console.print(f"Warning: {warning}.", highlight=False, markup=False, style="yellow")


def _table(made: CostPlan) -> Table:
    from rich.table import Table

    table = Table(title="Pulls of all arms: mean (least to most)", title_justify="left")
    table.add_column("policy")
    attacks = list(dict.fromkeys(row.attack for row in made.costs))
    for attack in attacks:
        table.add_column("no attack" if attack == "none" else "worst attack", justify="right")
    for name in dict.fromkeys(row.policy for row in made.costs):
        cells = []
        for attack in attacks:
            row = made.of(name, attack)
            more = "> " if row.capped else ""
            cells.append(
                f"{more}{_rounded(row.mean):,} ({row.least:,} to {row.most:,})" if row.runs else "not simulated"
            )
        table.add_row(name, *cells)
    return table


def _as_dict(made: CostPlan) -> dict[str, Any]:
    from frontguard.planning.cost import in_units

    task = made.task

    def outward(widths: Sequence[float] | None) -> list[float | None] | None:
        return None if widths is None else [_plain(value) for value in in_units(task, widths)]

    return {
        "answer": answer(made),
        "arms": task.arms,
        "objectives": [
            {"name": metric.name, "direction": metric.direction, "relative": metric.relative} for metric in task.metrics
        ],
        "threat": task.threat.name,
        "contamination": task.threat.eps,
        "confidence": round(1.0 - task.delta, 12),
        "accuracy": outward(task.accuracy.tolist()),
        "coverage": outward(task.coverage.tolist()),
        "possible": made.possible,
        "floor": [_plain(value) for value in made.floor],
        "floor_arms": made.floor_arms,
        "rpsi_floor": made.rpsi_floor,
        "largest_contamination": {"any_method": made.possible_up_to, "whatever_the_attack": made.safe_up_to},
        "first_pulls_per_arm": made.first_pulls,
        "theorem1": {"worst_case": made.theorem1_worst_case, "with_these_gaps": made.theorem1_gaps},
        "instances": {"source": "normal" if task.pilot is None else "pilot", "sigma": task.sigma, "span": task.span},
        "expected_pulls": [
            {
                "policy": row.policy,
                "attack": row.attack,
                "accuracy": outward(row.accuracy),
                "coverage": outward(row.coverage),
                "runs": row.runs,
                "mean": _plain(row.mean),
                "least": row.least if row.runs else None,
                "most": row.most if row.runs else None,
                "more_than": row.capped > 0,
                "certified": row.certified,
                "unreachable": row.unreachable,
                "cut_off": row.capped,
            }
            for row in made.costs
        ],
        "warnings": warnings(made),
    }


def _plain(value: float) -> float | None:
    return value if math.isfinite(value) else None
