"""The report on the demonstration: sabotaged treatments, bombed reviews, compiler flags beside a noisy neighbour."""

from __future__ import annotations

from dataclasses import replace

from frontguard import plot
from frontguard.demo.cases import BOMBED, CONTAMINATION, Demo, Reviews
from frontguard.demo.pictures import demo_picture, reviews_picture
from frontguard.logs.analysis import Analysis
from frontguard.phrases import joined, percent
from frontguard.reports.arms import arms_table, failed_pulls, report_of
from frontguard.reports.model import Fact, Figure, Report, Section
from frontguard.reports.of_log import origin_steps
from frontguard.results import Origin, Result
from frontguard.words import analysis as summary
from frontguard.words.certificate import guarantee
from frontguard.words.instead import take_instead


def demo_report(found: Demo, origin: Origin | None = None) -> Report:
    """The report on the demonstration."""
    robust = found.robust
    returned = [f"{len(each.pareto_set)} returned" for each in (found.robust, found.by_means)]
    report = report_of(
        robust,
        "demo",
        "Demonstration: the best of 36 sabotaged treatments",
        _answer(found),
        certificate=(guarantee(robust), *_left_out(robust, found.truth), *_of_means(found.by_means)),
        facts=(
            Fact("By medians", f"{found.robust.policy}, {found.robust.pulls:,} pulls, {returned[0]}"),
            Fact("By means", f"{found.by_means.policy}, {found.by_means.pulls:,} pulls, {returned[1]}"),
        ),
        parts=(_reviews_part(found.reviews), _flags_part(found.flags)),
        steps=origin_steps(origin),
    )
    return replace(report, pictures=(Figure("What both methods make of the same records", demo_picture(found)),))


def _answer(found: Demo) -> str:
    """How many of those that either method returns are on the true front."""
    robust, by_means, total = found.robust, found.by_means, len(found.truth)
    said = (
        f"Of the {len(robust.pareto_set)} of {len(robust.arms)} treatments that {robust.policy} lists, "
        f"{_how_many(found, robust)} on the true front of {total}; of the {len(by_means.pareto_set)} that a method "
        f"that looks at means ({by_means.policy}) returns, {_how_many(found, by_means)}"
    )
    if not found.contamination:
        return f"{said}. Nobody lied."
    return (
        f"{said}. A saboteur had replaced {percent(found.contamination)} of the records of these {total} by the worst "
        "that can be recorded."
    )


def _how_many(found: Demo, result: Result) -> str:
    kept = len(found.found(result))
    return {0: "none is", 1: "1 is", len(result.pareto_set): "all are"}.get(kept, f"{kept} are")


def _left_out(robust: Result, truth: list[str]) -> list[str]:
    """Of treatments on the true front that are not listed, which listed one does for each."""
    said = {name: take_instead(robust, robust.arms.index(name)) for name in truth if name not in robust.pareto_set}
    return [f"{name} is on the true front and not listed: {instead}." for name, instead in said.items() if instead]


def _of_means(by_means: Result) -> list[str]:
    if by_means.certificate.confidence is not None:
        return []
    return ["The method with means promises nothing here: it assumes that nobody lies."]


def _reviews_part(reviews: Reviews) -> Section:
    return _log_part(
        "A log that is there already: reviews",
        reviews.analysis,
        f"A campaign gave {BOMBED} one star {reviews.bombs} times within three days: {percent(reviews.share)} of its "
        f"reviews. By means {joined(reviews.by_means)} took its place.",
        f"What is certain, if each review may be a lie with probability {percent(CONTAMINATION)}: "
        f"{summary.by_verdict(reviews.analysis)}",
        picture=Figure("Reviews", reviews_picture(reviews)),
    )


def _flags_part(found: Analysis) -> Section:
    return _log_part(
        "A real job: compiler flags",
        found,
        f"{len(found.arms)} sets of GCC flags for a small C program, its time (1 is plain -O2) and its size, measured "
        f"{found.pulls:,} times beside a noisy neighbour.",
        summary.answer(found),
        picture=Figure("Compiler flags", plot.front(found)),
    )


def _log_part(heading: str, found: Analysis, *words: str, picture: Figure) -> Section:
    said = guarantee(found, anytime=found.anytime), summary.robustness(found), summary.by_means(found)
    table = arms_table(found, failed_pulls(found))
    return Section(heading, (*words, *filter(None, said)), shown=(picture,), tables=(table,))
