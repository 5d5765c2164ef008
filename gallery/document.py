"""docs/gallery.md: the shots with their captions."""

from __future__ import annotations

from collections.abc import Sequence

from gallery.shots import Shot

_OPENING = """# Gallery

Every picture, report and page, as `make gallery` photographs them in a real Chromium. All data are
seeded: the command makes these images again, but for the times of day on live pages. How pictures
are made is in [pictures.md](pictures.md), the report in [reports.md](reports.md), the live page in
[serve.md](serve.md).

## Lies about insulin

<!-- long -->
```sh
frontguard demo
```

36 insulin treatments, judged by minutes above and below the safe range. A saboteur replaces 20% of
the records of the five best. frontguard lists four of these five, with a guarantee, from 1,358
measurements: in the place of the fifth, a listed one costs at most 12 minutes more above the range
and saves two hours below it. The mean-based method spends 749,863, returns 26, and none of the five
is one of them.

![Medians with a guarantee list four treatments of the true front; means return none of them](images/demo.png)
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
