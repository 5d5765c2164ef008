"""Pictures of results with matplotlib (extra `plot`): boxes and verdicts, readable in print and for the colour-blind.

A verdict has a colour, a shape and a filling, so that each of them alone would do. The colours are Okabe and Ito's.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from frontguard.errors import BadInput
from frontguard.results import Result, Verdict

if TYPE_CHECKING:
    from frontguard.demo import Demo
    from frontguard.reviews import Reviews

Floats = npt.NDArray[np.float64]

STYLES: dict[Verdict, dict[str, Any]] = {
    Verdict.IN: {"color": "#0072B2", "marker": "o", "markersize": 7, "zorder": 5},
    Verdict.OUT: {"color": "#999999", "marker": "x", "markersize": 6, "zorder": 3},
    Verdict.COVERED: {"color": "#E69F00", "marker": "s", "markersize": 6, "zorder": 4, "markerfacecolor": "none"},
    Verdict.UNDECIDED: {"color": "#CC79A7", "marker": "^", "markersize": 7, "zorder": 4},
}
TRUTH: dict[str, Any] = {
    "marker": "o",
    "markersize": 15,
    "markerfacecolor": "none",
    "color": "#D55E00",
    "markeredgewidth": 1.6,
}


def pyplot() -> Any:
    """matplotlib's pyplot without a display, or a clear word on how to get it."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise BadInput("pictures need matplotlib: pip install 'frontguard[plot]'") from error
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def plot_result(result: Result, path: str | Path | None = None) -> Any:
    """Draw a result: one panel for every pair of objectives, or bars for a single one. Returns the figure."""
    plt = pyplot()
    M = len(result.objectives)
    if M == 1:
        figure, axes = plt.subplots(figsize=(6, 1.2 + 0.3 * len(result.arms)), layout="constrained")
        _draw_bars(axes, result)
    else:
        figure, grid = plt.subplots(M - 1, M - 1, figsize=(1.5 + 4.5 * (M - 1), 1 + 4 * (M - 1)), squeeze=False,
                                    layout="constrained")  # fmt: skip
        for row in range(M - 1):
            for column in range(M - 1):
                if column > row:
                    grid[row, column].set_visible(False)
                else:
                    draw_boxes(grid[row, column], result, columns=(column, row + 1))
                    grid[row, column].set_xlabel(result.objectives[column])
                    grid[row, column].set_ylabel(result.objectives[row + 1])
    _legend(figure, result.verdict_codes)
    if path is not None:
        figure.savefig(path, dpi=150)
        plt.close(figure)
    return figure


def draw_boxes(
    axes: Any,
    result: Result,
    *,
    columns: tuple[int, int] = (0, 1),
    centre: Floats | None = None,
    lower: Floats | None = None,
    upper: Floats | None = None,
) -> None:
    """Draw every arm's box and, at its estimate, its verdict. Other units than the result's may be given."""
    from matplotlib.patches import Rectangle

    centre = result.medians if centre is None else centre
    lower = result.bounds[0] if lower is None else lower
    upper = result.bounds[1] if upper is None else upper
    x, y = columns
    for i, code in enumerate(result.verdict_codes):
        style = STYLES[Verdict(int(code))]
        corner, opposite = lower[i, [x, y]], upper[i, [x, y]]
        if np.isfinite([corner, opposite]).all():
            axes.add_patch(
                Rectangle(tuple(corner), *(opposite - corner), facecolor=style["color"], alpha=0.12, linewidth=0)
            )
            axes.add_patch(Rectangle(tuple(corner), *(opposite - corner), fill=False, edgecolor=style["color"],
                                     alpha=0.45, linewidth=0.7))  # fmt: skip
        axes.plot(centre[i, x], centre[i, y], linestyle="none", **style)
    axes.grid(alpha=0.2)
    axes.margins(0.06)
    axes.autoscale_view()


def _draw_bars(axes: Any, result: Result) -> None:
    medians, (low, high) = result.medians, result.bounds
    for i, code in enumerate(result.verdict_codes):
        style = STYLES[Verdict(int(code))]
        axes.plot([low[i, 0], high[i, 0]], [i, i], color=style["color"], linewidth=2, alpha=0.5)
        axes.plot(medians[i, 0], i, linestyle="none", **style)
    axes.set_yticks(range(len(result.arms)), result.arms)
    axes.invert_yaxis()
    axes.set_xlabel(result.objectives[0])
    axes.grid(alpha=0.2, axis="x")


def _legend(figure: Any, codes: npt.NDArray[np.int64], *, ringed: str | None = None) -> None:
    """Explain below the figure the marks of the verdicts that occur, and what is ringed."""
    from matplotlib.lines import Line2D

    words = {
        Verdict.IN: "returned",
        Verdict.OUT: "put out",
        Verdict.COVERED: "covered by a returned one",
        Verdict.UNDECIDED: "undecided",
    }
    styles = {words[v]: STYLES[v] for v in words if (codes == v).any()}
    if ringed is not None:
        styles[ringed] = TRUTH
    handles = [Line2D([], [], label=word, **{**style, "linestyle": "none"}) for word, style in styles.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False)


def plot_demo(demo: Demo, path: str | Path) -> None:
    """Draw what both methods of the demonstration found, side by side, in minutes."""
    plt = pyplot()
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 6), sharex=True, sharey=True, layout="constrained")
    for axes, result, title in (
        (left, demo.robust, f"medians with a guarantee ({demo.robust.policy})"),
        (right, demo.by_means, f"means ({demo.by_means.policy})"),
    ):
        draw_boxes(
            axes,
            result,
            centre=demo.minutes(result.estimates),
            lower=demo.minutes(result.upper),
            upper=demo.minutes(result.lower),
        )
        for name in demo.truth:
            i = result.arms.index(name)
            axes.plot(*demo.true_minutes[i], linestyle="none", zorder=6, **TRUTH)
        found = f"{len(demo.found(result))} of {len(demo.truth)} on the true front returned"
        axes.set_title(f"{title}\n{found}, {result.pulls:,} pulls")
        axes.set_xlabel("minutes above 140 mg/dL   (less is better)")
    left.set_ylabel("minutes below 100 mg/dL   (less is better)")
    figure.suptitle(
        f"36 treatments; {demo.contamination:.0%} of the records of the best ones replaced by a saboteur",
        fontsize=13,
    )
    codes = np.concatenate([demo.robust.verdict_codes, demo.by_means.verdict_codes])
    _legend(figure, codes, ringed="truly on the front")
    figure.savefig(path, dpi=150)
    plt.close(figure)


def plot_reviews(reviews: Reviews, path: str | Path) -> None:
    """Draw the review log's movies by means, where the campaign moves one, and by medians with their intervals."""
    from frontguard.logs.summary import table_order
    from frontguard.reviews import AGES, BOMBED

    plt = pyplot()
    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 6), layout="constrained")
    found = reviews.analysis
    _draw_means(left, reviews)
    left.set_title(f"means: the front seems to be\n{' and '.join(reviews.by_means)}")
    left.set_xlabel(f"mean stars from viewers of {AGES[0]}")
    left.set_ylabel(f"mean stars from viewers of {AGES[1]}")
    medians, (low, high) = found.medians, found.bounds
    order = table_order(found).tolist()
    for row, i in enumerate(order):
        style = STYLES[Verdict(int(found.verdict_codes[i]))]
        for d, shift in enumerate((-0.16, 0.16)):
            ends = [low[i, d] - 0.06, high[i, d] + 0.06]  # so that an interval of one star can be seen
            line = {"color": style["color"], "linewidth": 5, "alpha": 0.4, "solid_capstyle": "round"}
            right.plot(ends, [row + shift] * 2, **line)
            right.plot(medians[i, d], row + shift, linestyle="none", **{**style, "markersize": 5})
    right.set_yticks(range(len(order)), [f"{'✱ ' if found.arms[i] == BOMBED else ''}{found.arms[i]}" for i in order])
    right.invert_yaxis()
    right.set_xlim(0.8, 5.2)
    right.set_xlabel(f"median stars with its interval, {AGES[0]} above {AGES[1]}")
    right.set_title(
        f"medians with a guarantee: certainly on the front is\n{' and '.join(found.pareto_set) or 'no movie yet'}"
    )
    right.grid(alpha=0.2, axis="x")
    figure.suptitle(
        f"{found.pulls * len(AGES):,} reviews of {len(found.arms)} movies; a campaign (✱) wrote {reviews.share:.0%} of "
        f"those of {BOMBED}, all with one star",
        fontsize=13,
    )
    _legend(figure, found.verdict_codes, ringed="the front by means")
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _draw_means(axes: Any, reviews: Reviews) -> None:
    """Where means put the movies: those they call the front ringed, and how far the campaign moved the bombed one."""
    from frontguard.reviews import BOMBED

    found = reviews.analysis
    bombed = found.arms.index(BOMBED)
    for i, (x, y) in enumerate(found.means.tolist()):
        axes.plot(x, y, linestyle="none", **STYLES[Verdict(int(found.verdict_codes[i]))])
        if found.mean_front[i]:
            axes.plot(x, y, linestyle="none", zorder=6, **TRUTH)
            axes.annotate(found.arms[i], (x, y), xytext=(12, -4), textcoords="offset points", fontsize=9)
        elif i == bombed:
            place = {"xytext": (-9, -4), "textcoords": "offset points", "ha": "right"}
            axes.annotate(found.arms[i], (x, y), fontsize=9, **place)
    axes.annotate(
        "",
        xy=found.means[bombed],
        xytext=reviews.true_means[bombed],
        arrowprops={"arrowstyle": "->", "color": "#D55E00", "linewidth": 1.5},
    )
    axes.annotate(
        "without the campaign", reviews.true_means[bombed], xytext=(-6, 6), textcoords="offset points", ha="right",
        fontsize=9,
    )  # fmt: skip
    axes.plot(*reviews.true_means[bombed], marker=".", color="#D55E00")
    axes.grid(alpha=0.2)
    axes.margins(0.12)
