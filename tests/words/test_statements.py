"""Every sentence that is printed as certain: generated once, in the table of docs/theory.md, and said nowhere else."""

from __future__ import annotations

import ast
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from frontguard import Gaussian, Objective, Prescient, Question, notices, plot
from frontguard.comparisons.effects import Comparison, Contrast, Effect, Span
from frontguard.comparisons.outcomes import Check, GatePair, LimitCheck, Outcome
from frontguard.limits import Limit, columns_for
from frontguard.planning.cost import CostPlan
from frontguard.planning.task import Task
from frontguard.results import IfCleaner, Intervals, Kept, Needed, Profile, StudyDetails
from frontguard.statements import NOTHING, Statement
from frontguard.verdicts import Feasibility, Verdict
from frontguard.words import answers, gate, plan
from frontguard.words.answers import front_in_words
from frontguard.words.asked import keeping_in_words
from frontguard.words.certificate import (
    assumptions,
    certainty,
    certificate_against_goal,
    effort,
    explanation,
    guarantee,
    sentence,
    true_values,
)
from frontguard.words.comparisons import beside_in_words, choice_in_words
from tests.words.results import FEASIBLE, SECONDS, certificate, of_gate, of_log, result

ROOT = Path(__file__).parents[2]
THEORY = (ROOT / "docs" / "theory.md").read_text(encoding="utf-8")

KEEP, BEATEN, MATCHED, OPEN, EXCLUDED_ARMS = (
    Verdict.KEEP,
    Verdict.BEATEN,
    Verdict.MATCHED,
    Verdict.UNDECIDED,
    Verdict.EXCLUDED,
)


# All that can be said -------------------------------------------------------------------------------------------------


def everything() -> Iterator[str]:
    """Sentences of all rooms, of results made by hand so that each statement is among them."""
    yield from _of_certificates()
    yield from _of_answers()
    yield from _of_explanations()
    yield from _of_logs()
    yield from _of_refusals()
    yield from _of_notices()
    yield from _of_limits()
    yield from _of_comparisons()
    yield from _of_gates()
    yield from _of_lists()


_FAILED = {"a": Counter({"exit code 1": 2})}


def _of_certificates() -> Iterator[str]:
    five = [KEEP, BEATEN, MATCHED, OPEN, EXCLUDED_ARMS]
    each = Question.of(minimize="seconds", limits=["mean(solved)>=0.5"])
    mixed = replace(result(five, [SECONDS], status="budget"), question=each)
    yield certainty(replace(mixed, question=each.but(contamination="auto")))
    yield from (certainty(mixed), guarantee(mixed), sentence(replace(mixed.certificate, by_column=(0.1, 0.0))))
    for metrics in ([SECONDS], FEASIBLE[:1], [*FEASIBLE], [SECONDS, Objective("bytes", "minimize")]):
        for promise in (
            certificate(),
            certificate(0.4, 0.3, threat="share"),
            certificate(threat="even-handed"),
            certificate(0.0, math.inf),
        ):
            found = result(five, metrics, status="budget", promise=promise)
            yield guarantee(replace(found, study=StudyDetails("s", _FAILED)))
            for anytime in (True, False):
                yield guarantee(replace(found, log=of_log(5), anytime=anytime))
    yield guarantee(result([KEEP], promise=certificate(contamination=0.0)))
    yield guarantee(replace(result([KEEP]), question=Question(FEASIBLE[:1], blocks=True)))
    for promise in (certificate(excluded=("x",), arms=2), certificate(math.inf, math.inf)):
        yield sentence(promise)
    for void in ("running", "contamination", "bias", "medians"):
        promise = certificate(confidence=None, void=void)
        yield sentence(promise)
        yield guarantee(result(five, promise=promise))
        yield front_in_words(result(five, promise=promise))
        unproved = result([KEEP, BEATEN, MATCHED], promise=promise, decided_by=[1, 0, 0])
        yield from (explanation(unproved, arm) for arm in range(3))
        yield true_values(unproved, "intervals")
    few = notices.TooFewPulls(names=("a",), arms=1, of=1, most=3, metrics=1, first=9, whole=9)
    yield answers.answer(result([OPEN], status="budget", notices=(few,)))
    yield from assumptions(result(five, study=StudyDetails("s", _FAILED)))
    for clean in (0.0, 0.1):
        yield certainty(result(five, promise=certificate(contamination=clean)))
    yield effort(replace(result(five), anytime=False))
    yield true_values(result([KEEP]), "intervals")
    yield certificate_against_goal(certificate(0.3, 0.4), FEASIBLE)


def _of_answers() -> Iterator[str]:
    for metrics in ([SECONDS], FEASIBLE[:1], [*FEASIBLE], [SECONDS, Objective("bytes", "minimize")]):
        for verdicts in (
            [KEEP],
            [KEEP, EXCLUDED_ARMS],
            [KEEP, BEATEN],
            [KEEP, KEEP, BEATEN],
            [KEEP, BEATEN, MATCHED, OPEN],
        ):
            yield front_in_words(result(verdicts, metrics))
            yield answers.answer(result(verdicts, metrics, status="budget"))


def _of_explanations() -> Iterator[str]:
    intervals = {"lower": [[4, 2], [0, 0]], "upper": [[5, 3], [1, 2]]}
    yield from (explanation(result([KEEP, BEATEN], decided_by=[1, 0], **intervals), arm) for arm in range(2))
    shared = (notices.InPairs(("question",), 30, 20, 30),)
    paired = replace(result([KEEP, BEATEN], decided_by=[1, 0]), apart=np.full((2, 2, 2), -0.5), notices=shared)
    yield from (explanation(paired, arm) for arm in range(2))
    yield explanation(replace(paired, notices=(notices.InRatios(2),)), 1)
    yield explanation(result([KEEP, MATCHED], decided_by=[1, 0]), 1)
    yield explanation(result([KEEP, KEEP], decided_by=[1, 0]), 0)
    yield explanation(result([KEEP, KEEP], FEASIBLE, decided_by=[1, 0]), 0)


def _of_gates() -> Iterator[str]:
    spans = Span(1.1, 1.06, 1.2), Span(1.0, 0.99, 1.01), Span(1.0, 0.9, 1.2)
    contrasts = Contrast.WORSE, Contrast.ALIKE, Contrast.OPEN
    worse, fine, opened = (
        Check(Effect(FEASIBLE[0], span, span, contrast), 0.3) for span, contrast in zip(spans, contrasts, strict=True)
    )
    (memory,) = columns_for((SECONDS,), (Limit("memory", at_most=4.0),)).gates
    kept, broken = (LimitCheck(memory, Span(3.0, 2.0, 3.5), outcome) for outcome in (Outcome.NOT_WORSE, Outcome.WORSE))
    opened, somewhere = replace(opened, if_cleaner=(Outcome.WORSE, 0.04)), replace(worse, in_some_quantile=True)
    cases = [([worse], ()), ([fine], ()), ([opened], ()), ([fine, fine], ()), ([worse, fine], ()), ([somewhere], ())]
    for checks, limits in [*cases, ([fine], (kept,)), ([fine], (broken,))]:
        pairs = tuple(GatePair(f"p{n}", "pr", "main", (check,), 9, 9, limits=limits) for n, check in enumerate(checks))
        for status in ("decided", "unreachable"):
            made = of_gate(pairs, Question(FEASIBLE[:1]), status, 18)
            yield gate.answer(made)
            yield gate.promise(made)
            yield gate.robustness(made) or ""
            yield gate.next_step(made) or ""
            checks = made.gate.checks
            yield from (gate.check_in_words(pair, check, alone=one) for pair, check in checks for one in (True, False))
    pairs = tuple(
        GatePair(name, "pr", "main", (fine,), 9, 9, tests=n) for name, n in (("p0", 1), ("p1", 1), ("all", 2))
    )
    made = of_gate(pairs, Question(FEASIBLE[:1]), "decided", 18)
    made = replace(made, gate=replace(made.gate, at_worst=(0.02,)))
    yield gate.answer(made)
    yield gate.promise(made)
    yield gate.promise(replace(made, study=StudyDetails("s")))
    yield gate.promise(replace(made, notices=(notices.InPairs(("question",), 30, 20, 30),)))


def _of_comparisons() -> Iterator[str]:
    whole, above = Span(0.1, -1.0, 1.0), Span(0.2, 0.1, 0.3)
    relative = Effect(Objective("seconds", "minimize", "5%"), above, Span(1.2, 1.1, 1.3), Contrast.WORSE)
    yield str(Comparison("pr", "main", (relative,), 0.95))
    for metric in (Objective("score", "maximize", tolerance=0.5), Objective("score", "maximize")):
        for contrast in Contrast:
            for difference, ratio in ((whole, None), (above, Span(1.1, 1.0, 1.2)), (Span(-0.2, -0.3, -0.1), None)):
                yield str(Comparison("pr", "main", (Effect(metric, difference, ratio, contrast),), 0.95))
    found = result([KEEP, KEEP, OPEN], [SECONDS, Objective("bytes", "minimize")])
    for asked in ({"rule": "knee"}, {"weights": {"seconds": 1, "bytes": 1}}, {"limit": "bytes<=-2"}):
        yield choice_in_words(found.pick(**asked))
    wide = replace(found, inner=Intervals(found.inner.estimates, found.inner.lower - 9, found.inner.upper + 9))
    yield choice_in_words(wide.pick(weights={"seconds": 1}))
    yield choice_in_words(wide.pick(limit="bytes<=-5"))
    clear = result([KEEP, BEATEN], lower=[[4, 2], [0, 0]], upper=[[5, 3], [1, 1]])
    yield choice_in_words(clear.pick(weights={"seconds": 1}))
    yield choice_in_words(replace(found, certificate=certificate(confidence=None, void="bias")).pick("knee"))
    yield beside_in_words(found.against(found.arms[0]))
    yield plot.forest(found, found.arms[0]).description


def _of_logs() -> Iterator[str]:
    levels, counts = np.array([0.1, 0.2, 0.3]), np.array([1, 1, 0])
    decided_by = [-1, 0, 0]
    for front, first in ((0.3, 0.2), (0.5, 0.2)):
        profile = Profile(np.array([0.29, first, math.nan]), front, levels, counts, 0.001)
        found = result([KEEP, BEATEN, OPEN], decided_by=decided_by, log=of_log(3, profile=profile))
        yield answers.robustness(found) or ""
        picture = plot.robustness(found)
        yield picture.description
        yield from (panel.note for panel in picture.panels)
    for metrics in ([*FEASIBLE], [SECONDS, Objective("bytes", "minimize")]):
        log = of_log(3, mean_front=np.array([False, True, False]))
        means = result([KEEP, BEATEN, OPEN], metrics, decided_by=decided_by, log=log)
        yield answers.by_means(means) or ""
        picture = plot.front(means)
        yield picture.description
        yield from (look.label for look in picture.legend)
    for level, status in ((0.04, "unreachable"), (0.0, "budget")):
        cleaner = (IfCleaner(level, np.array([int(KEEP), int(BEATEN), int(OPEN)])),)
        yield answers.answer(result([KEEP, OPEN, OPEN], status=status, log=of_log(3, if_cleaner=cleaner)))
    from frontguard.cli.demo import bombed_in_words  # what the demonstration says of its bombed movie

    yield from (bombed_in_words(result([verdict, KEEP]), "a") for verdict in (KEEP, BEATEN))


def _of_refusals() -> Iterator[str]:
    open_log = result([OPEN, OPEN], status="unreachable")
    for limit in range(1, 6):
        one = np.array([0])
        needed = Needed(one, one - 1, one - 1, one - 1, one - 1, np.array([limit]))
        yield from answers.blocked(replace(open_log, log=of_log(2, needed=needed)))
    for state in (StudyDetails("s", _FAILED), StudyDetails("s", _FAILED, reachable=certificate(0.4, 0.5))):
        yield answers.answer(result([OPEN, OPEN], status="unreachable", study=state))
    for pilot in (None, SimpleNamespace(names=("a", "b"), block_of_row=None)):
        asked = Question.of([("x", "maximize")], Prescient(0.3), tolerance=0.1, spread=Gaussian(1.0))
        task = replace(Task(asked, ("a", "b")))
        object.__setattr__(task, "pilot", pilot)
        for limit in (None, 0.1):
            made: Any = CostPlan(task, (0.5,), ("a",), None, limit, limit, {}, None, None, ())  # type: ignore[arg-type]
            row = SimpleNamespace(policy="certified", attack="none")
            yield plan.answer(replace(made, costs=(row,)))
            yield from plan.facts(made)
    rate = Objective("solved", "maximize", tolerance=0.1, statistic="mean", bounds=(0, 1))
    both = Question.of([rate, Objective("x", "maximize", tolerance=0.1)], Prescient(0.3), spread=Gaussian(1.0))
    mixed = Task(both, ("a", "b"))
    made = CostPlan(mixed, (0.5, 0.2), None, None, 0.1, 0.1, {}, None, None, ())
    row = SimpleNamespace(policy="certified", attack="none")
    yield plan.answer(replace(made, costs=(row,)))  # type: ignore[arg-type]
    yield from plan.facts(made)
    yield from plan.warnings(made)


def _of_notices() -> Iterator[str]:
    few: dict[str, Any] = {"names": ("a",), "arms": 1, "of": 2, "most": 3}
    asked: dict[str, Any] = {"metrics": 1, "confidence": 0.95}
    yield from map(
        str,
        (
            notices.SpreadRefuted(1, 2),
            notices.ContaminationRefuted(1, 2, 0.1),
            notices.ContaminationRefuted(1, 2, 0.1, ("a",)),
            notices.ContaminationRefuted(1, 2, 0.1, ("a",), in_blocks=True),
            notices.TooFewPulls(**few),
            notices.TooFewPulls(**few, **asked, contamination=0.1, first=5, whole=73),
            notices.TooFewPulls(**few, **asked, contamination=0.4, first=5),
            notices.TooFewClusters(**few, columns=("process",), **asked, contamination=0.1, first=5, whole=73),
            notices.InClusters(("process",), 30, 3, 1, 2, 0.4),
            notices.InClusters(("process",), 30, 3, 1, 2, 0.4, by_median=True),
            notices.InPairs(("question",), 30, 20, 30, 30, 1, 0.0, 2),
            notices.InPairs(("question",), 30, 20, 30, 30, 1, 0.1, 2),
            notices.IndependentArms(2),
            notices.InRatios(2),
            notices.RatiosContradicted(1, 2),
            notices.FailuresAlarm("a", None, 9, 0.1, 5, 9, (("exit code 1", 5),), 1e-9),
            notices.FailuresAlarm("a", None, 9, 0.1, 5, 9, (("exit code 1", 5),), 0.0, allowed=0),
            notices.DriftAlarm("a", "x", 9, 0.1, 1.0, 0.9, 0.6),
            notices.SpreadAlarm("a", "x", 9, 0.1, 1.0, False, 3, 7),
        ),
    )


def _of_limits() -> Iterator[str]:
    """Of a limit on a metric that is no objective: within, beyond, open."""
    keeping = {
        Feasibility.FEASIBLE: (-2.0, -1.0),
        Feasibility.OPEN: (-5.0, -3.0),
        Feasibility.INFEASIBLE: (-7.0, -6.0),
    }
    gates = columns_for((SECONDS,), (Limit("memory", at_most=4.0, tolerance=0.5),)).gates

    def kept(*stand: Feasibility) -> Kept:
        ends = np.array([keeping[each] for each in stand])
        return Kept(gates, np.array(stand)[:, None], Intervals(ends.mean(axis=1)[:, None], ends[:, :1], ends[:, 1:]))

    within, opened, beyond = Feasibility
    for metrics in ([SECONDS], [SECONDS, Objective("bytes", "minimize")]):
        whole = result([KEEP, BEATEN, BEATEN, OPEN], metrics, decided_by=[1, 0, -1, 0])
        whole = whole.keeping_to(kept(within, within, beyond, opened))
        yield guarantee(whole)
        yield sentence(whole.certificate)
        yield front_in_words(whole)
        yield answers.answer(replace(whole, status="budget"))
        yield from (explanation(whole, arm) for arm in range(4))
        yield from (look.label for look in plot.front(whole).legend)
        yield from (keeping_in_words(whole.limits, arm, 0) for arm in range(4))
    none = result([BEATEN, BEATEN]).keeping_to(kept(beyond, beyond))
    yield front_in_words(none)
    yield guarantee(none)
    yield answers.answer(result([OPEN, BEATEN], status="unreachable").keeping_to(kept(opened, beyond)))


def _of_lists() -> Iterator[str]:
    """Of short lists: what is enough, what to take instead, what is best."""
    intervals = {"lower": [[4, 2], [0, 0], [3, 2]], "upper": [[5, 3], [1, 2], [4, 3]], "goal": "list"}
    for coverage in (0.0, 0.4):
        promise = certificate(0.1, coverage)
        for verdicts in (
            [KEEP, KEEP, BEATEN],
            [KEEP, BEATEN, BEATEN],
            [KEEP, EXCLUDED_ARMS, EXCLUDED_ARMS],
            [KEEP, KEEP, KEEP],
        ):
            found = result(verdicts, [*FEASIBLE], promise=promise, decided_by=[1, 0, 0], **intervals)
            yield front_in_words(found)
            yield from (explanation(found, arm) for arm in range(3))
    yield from (look.label for look in plot.front(found).legend)


def test_each_statement_can_be_said(monkeypatch: pytest.MonkeyPatch) -> None:
    said = set()

    def recorded(self: Statement, **fields: object) -> str:
        said.add(self)
        return self.text.format(**fields)

    monkeypatch.setattr(Statement, "__call__", recorded)
    text = "\n".join(everything())
    unfielded = {each for each in Statement if "{" not in each.text and each.text in text}
    assert set(Statement) - said - unfielded == set()
    assert "{" not in text


# The table ------------------------------------------------------------------------------------------------------------

HEADING = "## What is printed, and what implies it"


def test_the_table_has_every_statement_and_no_other() -> None:
    section = THEORY.partition(HEADING)[2].partition("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| `")]
    table = {name.strip("`"): (text.strip("`"), label) for name, text, label in rows}
    assert table == {each.name: (each.text.strip(), each.rests_on) for each in Statement}


def test_what_implies_a_statement_is_in_the_docs() -> None:
    for label in {each.rests_on for each in Statement} - {NOTHING}:
        assert f"**{label[0].upper()}{label[1:]} " in THEORY or f"**{label[0].upper()}{label[1:]}.**" in THEORY, label


# Nowhere else ---------------------------------------------------------------------------------------------------------

ROOMS = ("words", "reports", "web", "plot", "cli", "demo", "commands", "studies", "logs", "planning")
CLAIMING = re.compile(
    r"\bcertainly\b|\bcertain (now|within|below)\b|longer certain|(is|are|stays) certain\b|no method|with probability|"
    r"\bguarantees?\b|\bon the (true |trade-off )?front\b|dominated by|stays? uncertain|however (many|often)",
    re.IGNORECASE,
)
NEUTRAL = {
    " So it cannot be said either up to which ε the front as a whole is certain.",
    "certain within × goal",
    "certain now",
    "What is certain",
    "“Stands up to” in the table is the largest contamination (ε) with which an arm's verdict is certain, to ",
    "; on the front by means",
    "An arm that seems beaten in one pair can be on the front by another objective.",
    "truly on the front",
    " arms are truly on the front; α = ",
    "Treatments on the true front",
    " on the true front of ",
    " is on the true front and not listed: ",
    "Medians with a guarantee",
    "Medians with a guarantee: ",
    "\nA log that is there already: by medians with a guarantee ",
    " each measurement with probability ",
    "of an arm's measurements, however many there are, up to {eps} (ε) may be replaced, whichever, ",
}
"""Headings, questions, conditions, and what is said of the truth where it is known: they claim nothing."""


def _strings(path: Path) -> Iterator[str]:
    """The texts of a module, without its docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docs = {id(each.value) for each in ast.walk(tree) if isinstance(each, ast.Expr)}
    for each in ast.walk(tree):
        if isinstance(each, ast.Constant) and isinstance(each.value, str) and id(each) not in docs:
            yield each.value


def test_nothing_certain_is_said_in_other_words() -> None:
    source = ROOT / "src" / "frontguard"
    files = [path for room in ROOMS for path in (source / room).rglob("*.py")] + [source / "notices.py"]
    said = {text for path in files for text in _strings(path) if " " in text and CLAIMING.search(text)}
    assert said - NEUTRAL == set()
    assert NEUTRAL - said == set()  # and the list has nothing that is no longer there
