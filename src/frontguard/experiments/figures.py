"""The files of pictures that `frontguard reproduce` writes, and Figure 1's canvas. Needs the extra `plot`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from frontguard.experiments.results import Result
from frontguard.experiments.tables import groups_of
from frontguard.plot.on_paper import new_figure

__all__ = ["new_figure", "write_figures"]


def write_figures(results: Sequence[Result], directory: Path) -> list[Path]:
    """One picture for every data set and variant, and Figure 1; returns their paths."""
    from frontguard.experiments.figure1 import draw_figure1, find_moment
    from frontguard.plot import sample_complexity

    paths = []
    for group, rows in groups_of(results).items():
        path = directory / f"{_slug(group[0])}-{_slug(group[1])}.png"
        paths.append(sample_complexity(rows).save(path))
    path = directory / "figure1.png"
    draw_figure1(find_moment()).savefig(path, dpi=150)
    return [*paths, path]


def _slug(text: str) -> str:
    return "-".join("".join(c if c.isalnum() else " " for c in text.lower()).split())
