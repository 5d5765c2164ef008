"""A plan in words: what an identification would cost, what it can promise at all, and what to beware of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR
from typing import TYPE_CHECKING

import numpy as np

from frontguard.objectives import Objective, differences_in_units
from frontguard.phrases import joined, number_of, percent, percentage, rounded, rounded_up
from frontguard.planning.cost import MOST_ARMS, CostPlan, SimulatedCost
from frontguard.planning.reach import means_below_floor
from frontguard.planning.sizes import FARTHEST_OF_ITEMS, FARTHEST_OF_SAMPLES, SizePlan
from frontguard.planning.task import Task
from frontguard.statements import Statement
from frontguard.studies.settings import Settings
from frontguard.words.arm_table import names_in_short
from frontguard.words.asked import limit_in_words, never_told, what_counts, where_lies
from frontguard.words.certificate import tolerance
from frontguard.words.terminal import TextColumn, titled

if TYPE_CHECKING:
    from rich.console import Group

FEW_ROWS = 50
"""Rows of an arm below which a pilot's quantiles are worth a warning."""


def _widths(task: Task, widths: Sequence[float]) -> str:
    """Widths in the units of the metrics, once if they are all the same."""
    pairs = zip(task.metrics, widths, strict=True)
    each = [percentage(width) if metric.relative else f"{width:.3g}" for metric, width in pairs]
    if len(set(each)) == 1:
        return each[0]
    return ", ".join(f"{width} in {metric.name}" for metric, width in zip(task.metrics, each, strict=True))


def _arms(task: Task) -> str:
    """Return what was simulated."""
    if task.blocks is not None:
        return f"the pilot's arms, on the {task.blocks.shape[1]:,} items that all of them have"
    if task.pilot is not None:
        counted = "; a pull is a cluster, of which one row counts" if task.pilot.block_of_row is not None else ""
        return f"the pilot's arms{counted}"
    if task.question.paired:
        return (
            f"{_random_arms(task)}, which agree on an item by chance alone: pairs that are more alike need fewer pulls"
        )
    return _random_arms(task)


def _random_arms(task: Task) -> str:
    """Return what was drawn."""
    assumed = ", of values that vary by about their tolerance (--gaussian or --pilot: by how much)" * task.assumed
    if task.medians_only:
        return f"random normal arms{assumed}" if task.span is None else f"random normal arms, span {task.span:.3g}"
    drawn = task.columns.metrics
    kinds = [
        ("normal values", any(each.has_quantile or each.sigma is not None for each in drawn)),
        ("rates, of values that are 0 or 1 on the scale of their bounds", any(each.bounds for each in drawn)),
        ("exact values", any(each.exact for each in drawn)),
    ]
    return f"random arms: {joined([name for name, there in kinds if there])}{assumed}"


def _among(task: Task) -> str:
    """Return of which arms the goal speaks, where these must keep to limits."""
    limits = joined([limit_in_words(gate) for gate in task.columns.gates])
    return Statement.AMONG_WITHIN(limits=limits) if limits else ""


def answer(made: CostPlan) -> str:
    """The plan in a sentence."""
    task, row = made.task, made.of("certified")
    goal = f"tolerance {_widths(task, differences_in_units(task.metrics, task.accuracy))}{_among(task)}"
    if task.question.baseline is not None:
        goal += f" against {task.question.baseline}"
    if not made.possible:
        if made.possible_up_to is None:
            return Statement.NEVER(goal=goal)
        refused = Statement.NO_METHOD_WITHOUT_SHAPES
        if task.pilot is None:
            refused = Statement.NO_METHOD if task.medians_only else Statement.NO_METHOD_FOR_RATES
        most = percent(made.possible_up_to, ROUND_CEILING, 2)
        limit = f"beyond a contamination of {most}" if made.possible_up_to > 5e-4 else "once any lie"
        return refused(goal=goal, limit=limit, eps=percent(task.threat.eps, digits=2))
    if not row.runs:
        return f"{goal} is not simulated: {row.note}."
    spent = (
        "" if row.cost is None or task.question.cost is None else f", {rounded(row.cost, 3)} {task.question.cost.unit}"
    )
    said = f"Expect {_pulls(row)} pulls ({_pulls(row, task.arms)} an arm{spent}) for {goal}"
    if row.certified < row.runs:
        said += _but(row)
    for other in made.costs:
        if (other.policy, other.attack) == ("certified", "worst"):
            said += f"; {_pulls(other)} under the worst attack"
            if other.certified < other.runs:
                said += _but(other)
    return f"{said}."


def sizes(made: SizePlan) -> tuple[str, str]:
    """Return how many measurements find a difference, and which one so many find; and what that rests on."""
    suite, metric, asked = made.kind == "suite", made.question.objectives[0], made.question
    said, spread = (_suite_sizes(made), _amount(made, made.spread)) if suite else (_sizes(made), percent(made.spread))
    rests = {
        "suite": f"Noise {spread} between sessions",
        "pairs": f"{made.many:,} arms, the worse of two wins {spread} of the questions",
        "rates": f"{made.many:,} arms, the better of two solves {spread}",
    }[made.kind]
    tolerated = tolerance(metric) if metric.inner_tolerance else "nothing"
    return said, (
        f"{rests}, {tolerated} tolerated: {percent(asked.confidence)} confidence, up to "
        f"{percent(asked.threat.of(0).eps)} of the {'sessions' if suite else 'answers'} wrong."
    )


def _amount(made: SizePlan, value: float) -> str:
    if made.kind != "suite":
        return f"{round(100.0 * value, 1):g} points"
    return percentage(float(f"{value:.2g}")) if made.question.objectives[0].relative else f"{value:.2g}"


def _count(count: int | None, made: SizePlan) -> str:
    farthest = FARTHEST_OF_SAMPLES if made.kind == "suite" else FARTHEST_OF_ITEMS
    return f"more than {farthest:,}" if count is None else f"{count:,}"


def _suite_sizes(made: SizePlan) -> str:
    equal, worse = f"{number_of(made.many, 'equal test')}", _amount(made, made.difference or 0.0)
    said = []
    for way in made.ways:
        passes, finds = _count(way.passes, made), _count(way.finds, made)
        live = "Live, in blocks: " * (way.name == "runs")
        said.append(
            f"{live}{passes} {way.name} a side pass {equal} (9 of 10 times), {finds} find one that is {worse} worse "
            "(4 of 5 times)"
        )
        if made.size is not None:
            least = "none, however much worse" if way.least is None else f"one that is {_amount(made, way.least)} worse"
            said[-1] += f", {made.size:,} find {least}"
    return f"{'. '.join(said)}."


def _sizes(made: SizePlan) -> str:
    unit = "questions" if made.kind == "pairs" else "answers of each arm"
    where = {"gate": "in a gate" if len(made.ways) > 1 else "", "analyze": "with analyze --pair"}
    said = []
    if made.size is not None:
        each = [(_amount(made, way.least) if way.least else "nothing", where[way.name]) for way in made.ways]
        said.append(f"{made.size:,} {unit} find {', '.join(' '.join(filter(None, one)) for one in each)}")
    if made.difference is not None:
        each = [(_count(way.finds, made), where[way.name]) for way in made.ways]
        found = ", ".join(" ".join(filter(None, one)) for one in each)
        said.append(f"{unit} that find {_amount(made, made.difference)}: {found}")
    told = "; ".join(said)
    return f"{told[0].upper()}{told[1:]} (4 of 5 times)."


def _but(row: SimulatedCost) -> str:
    return f" (which then is reached in {row.certified} of {row.runs} runs only)"


def _pulls(row: SimulatedCost, arms: int = 1) -> str:
    """Return the least and the most that runs took, of so many arms each: of a few runs, a mean may lie anywhere."""
    least, most = rounded(row.least / arms, 2), rounded(row.most / arms, 2)
    if row.capped:
        return f"more than {least}"
    return f"about {most}" if least == most else f"{least} to {most}"


def _who(row: SimulatedCost) -> str:
    return f"{row.policy}{' under the worst attack' if row.attack == 'worst' else ''}"


def warnings(made: CostPlan) -> list[str]:
    """Return what a reader of the numbers should know, each with a next step where there is one."""
    task = made.task
    said = below_floor(means_below_floor(task.metrics, task.threat), task.threat.name, task.question.contaminations)
    if task.pilot is None and task.arms > MOST_ARMS:
        said.append(f"pulls are those of {MOST_ARMS} arms, multiplied; with many arms more are put out early")
    if made.possible and not made.safe:
        upto = "at no contamination" if made.safe_up_to is None else f"only up to {_up_to(made.safe_up_to)}"
        said.append(
            f"safe against every attack {upto}: beyond, one may put the goal out of the certified policy's reach; "
            "a larger --tolerance or --coverage helps"
        )
    return [*said, *_of_limits(made), *_of_runs(made), *_of_pilot(task)]


def _of_limits(made: CostPlan) -> Iterator[str]:
    asked, threat = made.task.question, made.task.threat
    yield from (never_told(floor.gate, asked.contaminations, "keep") for floor in made.limits if not floor.within)
    yield from (never_told(floor.gate, asked.contaminations, "beaten") for floor in made.limits if not floor.beyond)
    for floor in made.limits:
        if floor.open_arms:
            arms, keep = names_in_short(floor.open_arms), "keeps" if len(floor.open_arms) == 1 else "keep"
            lies = where_lies(threat.name, threat.eps).rstrip(",")
            stays = Statement.LIMIT_STAYS_OPEN(lies=lies, arms=arms, keep=keep, limits=limit_in_words(floor.gate))
            yield f"if measurements go on like the pilot's, {stays}"


def _of_runs(made: CostPlan) -> Iterator[str]:
    task = made.task
    for why, counted in (
        ("runs that ended because the goal was out of reach", "unreachable"),
        ("runs that were cut off, so that more pulls are needed than the table says", "capped"),
    ):
        each = [f"{_who(row)} {getattr(row, counted)} of {row.runs}" for row in made.costs if getattr(row, counted)]
        if each:
            yield f"{why}: {', '.join(each)}"
    unattacked = [row for row in made.costs if row.attack == "none"]
    yield from (row.note for row in unattacked if row.note)
    for row in unattacked:
        if row.policy == "R-PSI" and row.accuracy is not None and row.coverage is not None:
            promised, asked = (*row.accuracy, *row.coverage), (*task.accuracy, *task.coverage)
            accuracy, coverage = (differences_in_units(task.metrics, each) for each in (row.accuracy, row.coverage))
            if any(r > g * (1 + 1e-9) for r, g in zip(promised, asked, strict=True)):
                yield (
                    f"R-PSI cannot promise this goal: its pulls are for accuracy {_widths(task, accuracy)} and "
                    f"coverage {_widths(task, coverage)}"
                )


def _of_pilot(task: Task) -> Iterator[str]:
    if task.pilot is None:
        return
    yield "the pilot is taken as clean: if part of it lies, so do these numbers"
    rows = int(np.bincount(task.pilot.arm_of_row).min())
    if rows < FEW_ROWS:
        yield f"an arm has only {rows} rows in the pilot: its {what_counts(task.metrics)} are rough"
    if task.pilot.failed:
        yield f"measurements of the pilot failed ({task.pilot.failed}): the floor counts them, simulated runs do not"


def facts(made: CostPlan) -> list[str]:
    """Return what the table rests on, and what can be had at all."""
    first = ", ".join(f"{pulls} ({name})" for name, pulls in made.first_pulls.items())
    return [
        f"Simulated on {_arms(made.task)}.",
        f"Nothing can be said before so many pulls of an arm: {first}.",
        f"Largest contamination: {_up_to(made.safe_up_to)} under every attack, {_up_to(made.possible_up_to)} for any "
        "method.",
    ]


def below_floor(
    found: Sequence[tuple[Objective, float]], threat: str, contaminations: Mapping[str, float]
) -> list[str]:
    """Return for each mean with a tolerance below its floor what stays open for ever, and which tolerance does not.

    >>> solved = Objective("solved", "maximize", tolerance=0.05, statistic="mean", bounds=(0, 1))
    >>> below_floor([(solved, 1 / 9)], "prescient", {"solved": 0.1})
    ['where an attacker replaces each measurement with probability 10%, the mean of solved stays uncertain by up to
    0.112, however many pulls: arms that are closer to each other than that may never be certified within 0.05, but can
    be within 0.112']
    """
    said = []
    for each, floor in found:
        least = rounded_up(floor, 3)
        said.append(
            Statement.BELOW_FLOOR(
                lies=where_lies(threat, contaminations[each.name]),
                name=each.name,
                floor=percentage(least) if each.relative else f"{least:g}",
                tolerance=tolerance(each),
            )
        )
    return said


def out_of_reach(settings: Settings) -> list[str]:
    """Return what no number of pulls will tell of the limits and the means of a study that begins."""
    asked, threat = settings.question, settings.question.threat
    said = [never_told(gate, asked.contaminations, "keep") for gate in settings.never_within()]
    return said + below_floor(means_below_floor(asked.objectives, threat), threat.name, asked.contaminations)


def _up_to(limit: float | None) -> str:
    return "none" if limit is None else percent(limit, ROUND_FLOOR, 2)


def table(made: CostPlan, width: int) -> Group:
    """The expected pulls by policy and attack, for rich to print."""
    attacks = list(dict.fromkeys(row.attack for row in made.costs))
    policies = list(dict.fromkeys(row.policy for row in made.costs))
    columns = [TextColumn.of("policy", policies)]
    for attack in attacks:
        cells = [_mean(made.of(name, attack)) for name in policies]
        columns.append(TextColumn.of("no attack" if attack == "none" else "worst attack", cells, number=True))
    return titled("Pulls of all arms: mean (least to most)", columns, width, elsewhere="--json")


def _mean(row: SimulatedCost) -> str:
    if not row.runs:
        return "not simulated"
    return f"{'> ' if row.capped else ''}{rounded(row.mean, 3)} ({row.least:,} to {row.most:,})"
