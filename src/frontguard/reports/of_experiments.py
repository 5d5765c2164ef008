"""The report on `frontguard reproduce`: policies side by side, where the truth is known."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict

from frontguard import __version__, plot
from frontguard.experiments.results import Row
from frontguard.experiments.setup import TITLES
from frontguard.experiments.tables import row_cells, row_headings
from frontguard.phrases import article, joined, percent
from frontguard.reports.of_results import origin_steps
from frontguard.reports.report import Column, Entry, Fact, Figure, Report, ReportTable, certain
from frontguard.results import Origin

GOAL = 0.9
"""The paper asks for success with probability 1 − δ = 0.9."""


def experiments_report(rows: Sequence[Row], origin: Origin | None = None) -> Report:
    """The report on rows of results."""
    datasets = list(dict.fromkeys(TITLES.get(row.dataset, row.dataset) for row in rows))
    records = [asdict(row) for row in rows]
    runs = sorted({row.runs for row in rows})
    return Report(
        title=f"The paper's experiments again: {', '.join(datasets)}",
        kind="reproduce",
        answer=_summary(rows),
        status="reproduced",
        status_words="computed again",
        facts=(
            Fact("Rows", f"{len(rows):,}"),
            Fact("Runs behind each row", f"{runs[0]:,}" if len(runs) == 1 else f"{runs[0]:,} to {runs[-1]:,}"),
            Fact("Policies", ", ".join(dict.fromkeys(row.policy_title for row in rows))),
            Fact("Contamination ε", ", ".join(f"{eps:g}" for eps in sorted({row.contamination for row in rows}))),
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
    for eps in sorted({row.contamination for row in rows}):
        arguments += ["--contamination", f"{eps:g}"]
    return Origin(version=f"{__version__} (of this report)", command=shlex.join(arguments))


def _summary(rows: Sequence[Row]) -> str:
    """Say who succeeds everywhere, who does not, and how the samples compare with the published ones."""
    titles = dict.fromkeys((row.policy, row.policy_title) for row in rows)
    always, sometimes = [], []
    for policy, title in titles:
        least = min((row for row in rows if row.policy == policy), key=lambda row: row.rsr)
        if least.rsr >= GOAL:
            always.append(title)
        else:
            sometimes.append(
                f"{title} does not (at worst {percent(least.rsr)} of its runs, at ε = {least.contamination:g})"
            )
    if always:
        verb = "succeeds" if len(always) == 1 else "succeed"
        always = [f"{joined(always)} {verb} in at least {percent(GOAL)} of the runs at every contamination"]
    sentence = "; ".join(always + sometimes) + "."
    ratios = [row.sc / row.published.sc for row in rows if row.published and row.published.sc > 0]
    if ratios:
        between = f"{min(ratios):.2f}" if len(ratios) == 1 else f"{min(ratios):.2f} to {max(ratios):.2f}"
        sentence += f" Where the paper has numbers, our runs took {between} times as many samples."
    certified, rpsi = (
        {(r.dataset, r.variant, r.contamination): r for r in rows if r.policy == name} for name in ("certified", "rpsi")
    )
    fewer = [rpsi[key].sc / row.sc for key, row in certified.items() if key in rpsi and row.sc > 0]
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
        threats = joined(list(dict.fromkeys(row.told_threat for row in some)))
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
