"""What a notebook shows of a result and of an analysis."""

from __future__ import annotations

from gallery import studies
from gallery.shots import Studio, shot


def _cell(studio: Studio, shows: str, *, dark: bool = False) -> bytes:
    # The font and the width of a cell's output, as notebooks have them.
    colours = "background:#111;color:#eee" if dark else "background:#fff;color:#111"
    page = (
        "<!doctype html><meta charset=utf-8><link rel=icon href=data:,>"
        f"<body style='margin:16px;font:14px/1.4 system-ui,sans-serif;{colours}'>{shows}"
    )
    path = studio.folder / "notebook.html"
    path.write_text(page, "utf-8")
    opened = studio.page((900, 400), dark=dark)
    opened.page.goto(path.as_uri())
    return studio.photograph(opened, full=True, most=1200)


@shot("notebook", "Notebooks", "A study's result at the end of a cell.")
def result(studio: Studio) -> bytes:
    return _cell(studio, studies.machines().result()._repr_html_())


@shot("notebook-analysis", "Notebooks", "An analysis, in a dark notebook.")
def analysis(studio: Studio) -> bytes:
    from frontguard.demo.cases import analyze_flags

    return _cell(studio, studio.once("flags", analyze_flags)._repr_html_(), dark=True)
