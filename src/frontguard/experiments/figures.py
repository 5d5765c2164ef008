"""Pictures of results: samples and success against ε for every policy, with the published points. Needs the
extra `plot`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from frontguard.errors import BadInput
from frontguard.experiments.results import Result
from frontguard.experiments.tables import groups_of, title_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Colours by Okabe and Ito, told apart by the colour-blind; marker and dashes tell the policies apart without
# any colour.
LOOKS: tuple[dict[str, Any], ...] = (
    {"color": "#0072B2", "marker": "o", "linestyle": "-"},
    {"color": "#D55E00", "marker": "s", "linestyle": "--"},
    {"color": "#009E73", "marker": "^", "linestyle": "-."},
    {"color": "#CC79A7", "marker": "D", "linestyle": ":"},
)


def new_figure(**options: Any) -> Figure:
    """A figure of its own that needs no display; says how to install matplotlib where it is missing."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise BadInput("figures need matplotlib: install the extra with pip install 'frontguard[plot]'") from None
    figure = Figure(**options, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def against_epsilon(rows: Sequence[Result], title: str) -> Figure:
    """Samples (left, logarithmic) and success (right) of one data set against ε; hollow marks are the
    paper's.
    """
    figure = new_figure(figsize=(9.0, 3.8))
    samples, success = figure.subplots(1, 2)
    policies = list(dict.fromkeys((row.policy, row.policy_title) for row in rows))
    for (policy, name), look in zip(policies, _looks(len(policies)), strict=True):
        own = sorted((row for row in rows if row.policy == policy), key=lambda row: row.epsilon)
        _samples(samples, own, name, look)
        _success(success, own, name, look)
    samples.set(yscale="log", ylabel="samples (mean of runs, bars: 95 %)", title="Sample complexity")
    success.set(ylim=(-0.05, 1.08), ylabel="ratio of successful runs (95 %)", title="Success")
    for axes in (samples, success):
        axes.set_xlabel("contamination ε")
        axes.grid(visible=True, alpha=0.3)
    figure.suptitle(title)
    handles, labels = samples.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=max(1, len(handles)), frameon=False)
    return figure


def _looks(count: int) -> list[dict[str, Any]]:
    return [LOOKS[i % len(LOOKS)] for i in range(count)]


def _samples(axes: Axes, rows: Sequence[Result], name: str, look: dict[str, Any]) -> None:
    bars = [0.0 if row.runs == 1 else row.score.sc.high - row.score.sc.mean for row in rows]
    axes.errorbar(
        [row.epsilon for row in rows],
        [row.score.sc.mean for row in rows],
        bars,
        capsize=3,
        label=name,
        **look,
    )
    _published(axes, [(row.epsilon, row.published.sc) for row in rows if row.published], f"{name}, paper", look)


def _success(axes: Axes, rows: Sequence[Result], name: str, look: dict[str, Any]) -> None:
    below = [row.score.rsr - row.score.rsr_low for row in rows]
    above = [row.score.rsr_high - row.score.rsr for row in rows]
    ratios = [row.score.rsr for row in rows]
    axes.errorbar([row.epsilon for row in rows], ratios, [below, above], capsize=3, label=name, **look)
    _published(axes, [(row.epsilon, row.published.rsr) for row in rows if row.published], f"{name}, paper", look)


def _published(axes: Axes, points: list[tuple[float, float]], name: str, look: dict[str, Any]) -> None:
    if points:
        horizontal, vertical = zip(*points, strict=True)
        axes.plot(
            horizontal,
            vertical,
            linestyle="none",
            marker=look["marker"],
            markersize=10,
            markerfacecolor="none",
            color=look["color"],
            label=name,
        )


def write_figures(results: Sequence[Result], directory: Path) -> list[Path]:
    """One picture for every data set and variant, and Figure 1; returns their paths."""
    from frontguard.experiments.figure1 import draw_figure1, find_moment

    paths = []
    for group, rows in groups_of(results).items():
        path = directory / f"{_slug(group[0])}-{_slug(group[1])}.png"
        against_epsilon(rows, title_of(group)).savefig(path, dpi=150)
        paths.append(path)
    path = directory / "figure1.png"
    draw_figure1(find_moment()).savefig(path, dpi=150)
    return [*paths, path]


def _slug(text: str) -> str:
    return "-".join("".join(c if c.isalnum() else " " for c in text.lower()).split())
