"""What no number of pulls can certify, said before the first one."""

from __future__ import annotations

from collections.abc import Sequence

from frontguard.objectives import Objective
from frontguard.phrases import percentage, rounded_up
from frontguard.statements import Statement
from frontguard.words.certificate import tolerance
from frontguard.words.threats import able


def where_lies(threat: str, eps: float) -> str:
    """Under which attacker something cannot be had.

    >>> where_lies("share", 0.1), where_lies("share", 0.0)
    ("where an attacker replaces any 10% of an arm's measurements,", 'without lies')
    """
    return f"where an attacker {able(threat, eps)}," if eps else "without lies"


def below_floor(found: Sequence[tuple[Objective, float]], threat: str, eps: float) -> list[str]:
    """For each mean whose tolerance is below its floor, what that leaves open for ever, and which tolerance does not.

    >>> below_floor([(Objective("solved", tolerance=0.05, statistic="mean", bounds=(0, 1)), 1 / 9)], "prescient", 0.1)
    ['where an attacker replaces each measurement with probability 10%, the mean of solved stays uncertain by up to
    0.112, however many pulls: arms that are closer to each other than that may never be certified within 0.05, but can
    be within 0.112']
    """
    said = []
    for each, floor in found:
        least = rounded_up(floor, 3)
        said.append(
            Statement.BELOW_FLOOR(
                lies=where_lies(threat, eps),
                name=each.name,
                floor=percentage(least) if each.relative else f"{least:g}",
                tolerance=tolerance(each),
            )
        )
    return said
