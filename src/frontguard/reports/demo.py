"""The report on the demonstration: sabotaged treatments, bombed reviews, compiler flags beside a noisy neighbour."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from frontguard.demo.reviews import BOMBED, CONTAMINATION, Reviews
from frontguard.demo.treatments import OBJECTIVES, Demo
from frontguard.documents.base import Origin
from frontguard.logs.analysis import Analysis
from frontguard.objectives import Objective
from frontguard.plot.picture import Picture
from frontguard.reports.analysis import analysis_report, origin_steps
from frontguard.reports.make import report_of, shown
from frontguard.reports.model import Fact, Figure, Report, Section, Subject
from frontguard.results import Result
from frontguard.words import analysis as summary
from frontguard.words.certificate import guarantee

_METRICS = tuple(Objective(name, "minimize") for name in OBJECTIVES)


def _in_minutes(found: Demo, result: Result) -> Result:
    """The result in minutes, of which fewer are better: inner values are minutes with a minus."""
    certificate = result.certificate
    return replace(
        result,
        estimates=result.estimates * found.deviation - found.centre,
        lower=result.lower * found.deviation - found.centre,
        upper=result.upper * found.deviation - found.centre,
        metrics=_METRICS,
        certificate=replace(
            certificate,
            accuracy=_each(certificate.accuracy, found),
            coverage=_each(certificate.coverage, found),
            relative=(False, False),
        ),
    )


def _each(amount: float | tuple[float, ...], found: Demo) -> tuple[float, ...]:
    return tuple((np.asarray(amount) * found.deviation).tolist())


def demo_report(found: Demo, origin: Origin | None = None) -> Report:
    """The report on the demonstration."""
    robust = _in_minutes(found, found.robust)
    kept, by_means, total = len(found.found(found.robust)), len(found.found(found.by_means)), len(found.truth)
    accuracy, coverage = found.margins()["accuracy"], found.margins()["coverage"]
    lies = f"{found.contamination:.0%}"
    return report_of(
        Subject(
            kind="demo",
            title="Demonstration: the best of 36 sabotaged treatments",
            answer=(
                f"{kept} of the {total} treatments on the true front are returned by {found.robust.policy}, "
                f"{by_means} by a method "
                f"that looks at means ({found.by_means.policy}), although a saboteur replaced {lies} of the records "
                "of these "
                f"{total} by the worst that can be recorded."
            ),
            status=found.robust.status,
            result=robust,
            guarantee=(
                f"With probability {robust.certificate.confidence:.0%}, whatever a prescient attacker puts into "
                f"{lies} of the records: "
                f"no returned treatment is beaten by another by more than {accuracy[0]:.0f} minutes above and "
                f"{accuracy[1]:.0f} below "
                "the safe range at once, and for every treatment on the front a returned one is at most "
                f"{coverage[0]:.0f} and "
                f"{coverage[1]:.0f} minutes worse. The method with means promises nothing here: it assumes that "
                "nobody lies.",
            ),
            anytime=True,
            spread="subgaussian noise of the standardised minutes, with σ = 0.025, as in the paper",
            facts=(
                Fact(
                    "By medians",
                    f"{found.robust.policy}, {found.robust.pulls:,} pulls, {len(found.robust.pareto_set)} returned",
                ),
                Fact(
                    "By means",
                    f"{found.by_means.policy}, {found.by_means.pulls:,} pulls, {len(found.by_means.pareto_set)} "
                    "returned",
                ),
            ),
            pictures=tuple(_shown(found)),
            steps=tuple(origin_steps(origin or Origin())),
            warnings=found.robust.warnings,
            more=(_reviews_part(found.reviews), _flags_part(found.flags)),
        )
    )


def _shown(found: Demo) -> list[Figure]:
    from frontguard.demo.pictures import demo_picture

    picture: Picture = demo_picture(found)
    return [shown("What both methods make of the same records", picture)]


def _reviews_part(reviews: Reviews) -> Section:
    from frontguard.demo.pictures import reviews_picture

    found = reviews.analysis
    words = (
        f"A campaign gave {BOMBED} one star {reviews.bombs} times within three days: {reviews.share:.0%} of its "
        "reviews. By means "
        f"{' and '.join(reviews.by_means)} took its place.",
        f"What is certain, if up to {CONTAMINATION:.0%} of the reviews may be lies: {summary.by_verdict(found)}",
        *_said(found),
    )
    picture: Picture = reviews_picture(reviews)
    return Section(
        "A log that is there already: reviews", words, shown=(shown("Reviews", picture),), tables=(_table(found),)
    )


def _flags_part(found: Analysis) -> Section:
    from frontguard import plot

    words = (
        f"{len(found.arms)} sets of GCC flags for a small C program, its time (1 is plain -O2) and its size, measured "
        f"{found.pulls:,} times beside a noisy neighbour.",
        summary.by_verdict(found),
        *_said(found),
    )
    return Section(
        "A real job: compiler flags",
        words,
        shown=(shown("Compiler flags", plot.front(found)),),
        tables=(_table(found),),
    )


def _said(found: Analysis) -> list[str]:
    return [
        said
        for said in (guarantee(found, anytime=found.anytime), summary.robustness(found), summary.by_means(found))
        if said
    ]


def _table(found: Analysis) -> Any:
    return analysis_report(found).table
