"""The style sheet: whether what it paints can be read, in the colours that pictures have."""

from __future__ import annotations

import re

from frontguard.plot.picture import COLOURS
from frontguard.verdicts import Verdict
from frontguard.web.app import static_files

Colour = tuple[float, ...]

PLAIN = {"black": (0.0, 0.0, 0.0), "white": (1.0, 1.0, 1.0)}


def read(colour: str) -> Colour:
    return tuple(int(colour[i : i + 2], 16) / 255.0 for i in (1, 3, 5))


def luminance(colour: Colour) -> float:
    """Relative luminance of an sRGB colour, as WCAG 2 defines it."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def palette(block: str, marks: dict[str, str]) -> dict[str, Colour]:
    """The colours of a block of the style sheet: as they are written, or mixed of a mark's colour and another."""
    found = {name: read(colour) for name, colour in re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", block)}
    mixed = re.findall(r"--([a-z-]+): color-mix\(in srgb, var\(--mark-([a-z]+)\) (\d+)%, (black|white)\);", block)
    for name, mark, share, other in mixed:
        part = int(share) / 100.0
        found[name] = tuple(part * a + (1.0 - part) * b for a, b in zip(read(marks[mark]), PLAIN[other], strict=True))
    return found


def test_words_can_be_read_on_their_ground_in_both_themes() -> None:
    text = static_files()[0]["page.css"].decode()
    marks = dict(re.findall(r"--mark-([a-z]+): (#[0-9A-Fa-f]{6});", text))
    blocks = re.findall(r":root[^{]*\{([^}]*--ink[^}]*)\}", text)
    palettes = [palette(block, marks) for block in blocks]
    assert len(palettes) == 3  # light, dark by the system, dark by choice
    assert palettes[1] == palettes[2]
    for each in palettes:
        for ink in ("ink", "soft", "accent", "keep", "undecided", "matched", "beaten", "warn", "good"):
            for ground in ("ground", "sheet", "warn-ground") if ink in ("ink", "soft", "warn") else ("ground", "sheet"):
                light, dark = sorted((luminance(each[ink]), luminance(each[ground])), reverse=True)
                assert (light + 0.05) / (dark + 0.05) >= 4.5, (ink, ground)


def test_verdicts_have_the_colours_of_pictures_and_no_others() -> None:
    text = static_files()[0]["page.css"].decode()
    marks = dict(re.findall(r"--mark-([a-z]+): (#[0-9A-Fa-f]{6});", text))
    assert marks == {
        "keep": COLOURS[Verdict.KEEP],
        "undecided": COLOURS[Verdict.UNDECIDED],
        "matched": COLOURS[Verdict.MATCHED],
        "beaten": COLOURS[Verdict.BEATEN],
        "excluded": COLOURS[Verdict.EXCLUDED],
    }
    assert not re.findall(r"--(?:in|undecided|covered|out): #", text)
