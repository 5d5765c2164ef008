"""The style sheet: whether what it paints can be read."""

from __future__ import annotations

import re
from importlib import resources


def luminance(colour: str) -> float:
    """Relative luminance of an sRGB colour, as WCAG 2 defines it."""
    parts = [int(colour[i : i + 2], 16) / 255.0 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_words_can_be_read_on_their_ground_in_both_themes() -> None:
    text = (resources.files("frontguard.web") / "static" / "page.css").read_text(encoding="utf-8")
    palettes = [
        dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", block))
        for block in re.findall(r":root[^{]*\{([^}]*--ink[^}]*)\}", text)
    ]
    assert len(palettes) == 3  # light, dark by the system, dark by choice
    assert palettes[1] == palettes[2]
    for palette in palettes:
        for ink in ("ink", "soft", "accent", "in", "undecided", "covered", "out", "warn", "good"):
            for ground in ("ground", "sheet", "warn-ground") if ink in ("ink", "soft", "warn") else ("ground", "sheet"):
                light, dark = sorted((luminance(palette[ink]), luminance(palette[ground])), reverse=True)
                assert (light + 0.05) / (dark + 0.05) >= 4.5, (ink, ground)
