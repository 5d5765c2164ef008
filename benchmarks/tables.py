"""How a measured ratio is shown beside the one that is wanted."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Row:
    """A ratio, and what it should be."""

    what: str
    ratio: float
    at_most: float | None = None
    at_least: float | None = None

    @property
    def reached(self) -> bool:
        return (self.at_most is None or self.ratio <= self.at_most) and (
            self.at_least is None or self.ratio >= self.at_least
        )

    def __post_init__(self) -> None:
        wanted = ""
        if self.at_most is not None:
            wanted = f"  (wanted at most {self.at_most:g}: {'reached' if self.reached else 'MISSED'})"
        if self.at_least is not None:
            wanted = f"  (wanted at least {self.at_least:g}: {'reached' if self.reached else 'MISSED'})"
        print(f"  {self.ratio:8.2f} ×  {self.what}{wanted}", flush=True)


def heading(text: str) -> None:
    print(f"\n{text}", flush=True)
