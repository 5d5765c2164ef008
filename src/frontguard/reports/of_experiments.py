"""The reports on `frontguard reproduce` and on the demonstration: methods side by side, where the truth is known."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace

from frontguard import __version__, plot
from frontguard.demo.cases import BOMBED, CONTAMINATION, Demo, Reviews
from frontguard.demo.pictures import demo_picture, reviews_picture
from frontguard.experiments.results import Row, as_record
from frontguard.experiments.setup import TITLES
from frontguard.experiments.tables import row_cells, row_headings
from frontguard.logs.analysis import Analysis
from frontguard.phrases import article, joined, percent
from frontguard.reports.arms import arms_table, failed_pulls, report_of
from frontguard.reports.model import Column, Entry, Fact, Figure, Report, ReportTable, Section, certain
from frontguard.reports.of_results import origin_steps
from frontguard.results import Origin, Result
from frontguard.words import analysis as summary
from frontguard.words.certificate import guarantee, status_in_words
from frontguard.words.instead import take_instead

# The paper's experiments ----------------------------------------------------------------------------------------------


GOAL = 0.9
"""The paper asks for success with probability 1 − δ = 0.9."""


def experiments_report(rows: Sequence[Row], origin: Origin | None = None) -> Report:
    """The report on rows of results."""
    datasets = list(dict.fromkeys(TITLES.get(row.dataset, row.dataset) for row in rows))
    records = [as_record(row) for row in rows]
    runs = sorted({row.runs for row in rows})
    return Report(
        title=f"The paper's experiments again: {', '.join(datasets)}",
        kind="reproduce",
        answer=_summary(rows),
        status="reproduced",
        status_words=status_in_words("reproduced"),
        facts=(
            Fact("Rows", f"{len(rows):,}"),
            Fact("Runs behind each row", f"{runs[0]:,}" if len(runs) == 1 else f"{runs[0]:,} to {runs[-1]:,}"),
            Fact("Policies", ", ".join(dict.fromkeys(row.policy_title for row in rows))),
            Fact("Contamination ε", ", ".join(f"{eps:g}" for eps in sorted({row.epsilon for row in rows}))),
        ),
        pictures=(Figure("Samples and success against contamination", plot.sample_complexity(rows)),),
        table=_table(rows),
        parts=certain(
            (
                "A run succeeds if every arm that it returns is at most 2D + α from the true front, and for every arm "
                "of the true front a returned one is at most 2D worse (Definition 5 of the paper). D is what no number "
                "of samples can take away from the attacker; α is the accuracy that was asked for.",
                "RSR is the share of successful runs, with its exact 95 % interval; SC the samples of a run, with its "
                "standard error; RO the share of the true front that was returned; r-F1 weighs what was missed against "
                "what was wrong.",
            ),
            _assumptions(rows),
        ),
        warnings=tuple(_warnings(rows)),
        reproduce=tuple(origin_steps(origin or _derived(rows))),
        columns={name: [record[name] for record in records] for name in records[0]},
    )


def _derived(rows: Sequence[Row]) -> Origin:
    """A command that computes such rows, as far as they tell: their seed they do not."""
    arguments = ["frontguard", "reproduce", rows[0].dataset if len({row.dataset for row in rows}) == 1 else "all"]
    arguments += ["--runs", str(max(row.runs for row in rows))]
    for policy in dict.fromkeys(row.policy for row in rows):
        arguments += ["--policy", policy]
    for eps in sorted({row.epsilon for row in rows}):
        arguments += ["--contamination", f"{eps:g}"]
    return Origin(version=f"{__version__} (of this report)", command=shlex.join(arguments))


def _summary(rows: Sequence[Row]) -> str:
    """Who succeeds everywhere, who does not, and how the samples compare with the published ones."""
    titles = dict.fromkeys((row.policy, row.policy_title) for row in rows)
    always, sometimes = [], []
    for policy, title in titles:
        least = min((row for row in rows if row.policy == policy), key=lambda row: row.score.rsr)
        if least.score.rsr >= GOAL:
            always.append(title)
        else:
            sometimes.append(
                f"{title} does not (at worst {percent(least.score.rsr)} of its runs, at ε = {least.epsilon:g})"
            )
    if always:
        verb = "succeeds" if len(always) == 1 else "succeed"
        always = [f"{joined(always)} {verb} in at least {percent(GOAL)} of the runs at every contamination"]
    sentence = "; ".join(always + sometimes) + "."
    ratios = [row.score.sc.mean / row.published.sc for row in rows if row.published and row.published.sc > 0]
    if ratios:
        between = f"{min(ratios):.2f}" if len(ratios) == 1 else f"{min(ratios):.2f} to {max(ratios):.2f}"
        sentence += f" Where the paper has numbers, our runs took {between} times as many samples."
    certified, rpsi = (
        {(r.dataset, r.variant, r.epsilon): r for r in rows if r.policy == name} for name in ("certified", "rpsi")
    )
    fewer = [
        rpsi[key].score.sc.mean / row.score.sc.mean
        for key, row in certified.items()
        if key in rpsi and row.score.sc.mean > 0
    ]
    if fewer:
        sentence += (
            f" The certified policy needs {_times(min(fewer))} to {_times(max(fewer))} times fewer samples than R-PSI."
        )
    return sentence


def _times(ratio: float) -> str:
    return f"{ratio:.1f}" if ratio < 10 else f"{ratio:.0f}"


def _table(rows: Sequence[Row]) -> ReportTable:
    """The terminal's table, with the data named where there are several."""
    several = len({row.title for row in rows}) > 1
    named = row_headings(rows)[1:]
    columns = [Column("policy"), *([Column("data")] if several else [])]
    columns += [Column(heading, number=True) for heading in named]
    made = [
        (
            Entry(row.policy_title),
            *([Entry(row.title)] if several else []),
            *(
                Entry(text, float(text.split()[0]) if text else None)
                for text in row_cells(row)[: len(row_headings(rows)) - 1]
            ),
        )
        for row in rows
    ]
    return ReportTable("Results beside the published ones", tuple(columns), tuple(made))


def _assumptions(rows: Sequence[Row]) -> list[str]:
    said = []
    for dataset, variant in dict.fromkeys((row.dataset, row.variant) for row in rows):
        some = [row for row in rows if (row.dataset, row.variant) == (dataset, variant)]
        threats = joined(list(dict.fromkeys(row.threat for row in some)))
        said.append(
            f"{some[0].title}: the policies are told of {article(threats)} attacker; {some[0].pareto_arms} arms are "
            f"truly on the front; α = {some[0].accuracy:g}."
        )
    said.append("All policies see the same rewards in the same run: rewards belong to the seed, the run and the arm.")
    return said


def _warnings(rows: Sequence[Row]) -> list[str]:
    few = min(row.runs for row in rows)
    if few >= 100:
        return []
    runs = "run stands" if few == 1 else "runs stand"
    return [f"Only {few} {runs} behind some rows; the published ones are averages over 100."]


# The demonstration ----------------------------------------------------------------------------------------------------


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
