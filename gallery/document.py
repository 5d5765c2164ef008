"""docs/gallery.md: the shots with their captions."""

from __future__ import annotations

from collections.abc import Sequence

from gallery.shots import Shot

_OPENING = """# Gallery

Every picture, report and page, as `make gallery` photographs them in a real Chromium. All data are seeded: the command
makes these images again, but for the times of day on live pages. How pictures are made is in
[pictures.md](pictures.md), the report in [reports.md](reports.md), the live page in [serve.md](serve.md).
"""


def document(shots: Sequence[Shot]) -> str:
    """The page, as Markdown."""
    lines = [_OPENING]
    section = ""
    for shot in shots:
        if shot.section != section:
            section = shot.section
            lines.append(f"## {section}\n")
        lines.append(f"**{shot.name.replace('-', ' ').capitalize()}.** {shot.caption}\n")
        lines.append(f"![{_alternative(shot.caption)}](images/gallery/{shot.file})\n")
    return "\n".join(lines)


def _alternative(caption: str) -> str:
    first = caption.split(". ")[0].rstrip(".")
    return first.replace("[", "(").replace("]", ")")
