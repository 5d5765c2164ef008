"""UVA/PADOVA: 36 pairs of a meal and an insulin bolus as arms; time above and below the safe range as
objectives (Section 6.3).

The tables are part of the package: our own simulation with simglucose 0.2.11 (J. Xie, MIT licence) of one
patient, rebuilt by `python -m tools.rebuild_diabetes`. Objectives are minus the minutes,
standardised over the 36 arms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from frontguard._common.typing import Floats, Ints
from frontguard.experiments.datasets import bundled_rows

ARMS_TABLE = "uva_padova_36.csv"
DENSE_TABLE = "uva_padova_dense.csv"
_COLUMNS = ("carbs_g", "bolus_u", "minutes_above", "minutes_below")


@dataclass(frozen=True, eq=False)
class Treatments:
    """The arms, and what happens when the meal was miscounted.

    `points` (36, 2) are the standardised objectives: points · deviation + centre are minus the minutes. `carbs` and
    `bolus` (36,) name the arms. `miscounted` (n, 2) are the outcomes of the same bolus with another meal,
    `miscounted_arm` (n,) the arm that each belongs to.
    """

    carbs: Floats
    bolus: Floats
    points: Floats
    centre: Floats
    deviation: Floats
    miscounted: Floats
    miscounted_arm: Ints


def bundled_treatments() -> Treatments:
    """Read the tables of the package.

    >>> treatments = bundled_treatments()
    >>> treatments.points.shape, treatments.points.std(axis=0).round(12).tolist()
    ((36, 2), [1.0, 1.0])
    """
    carbs, bolus, minutes = _read(ARMS_TABLE)
    other_carbs, other_bolus, other_minutes = _read(DENSE_TABLE)
    centre, deviation = minutes.mean(axis=0), minutes.std(axis=0)
    arms, rows = np.nonzero((bolus[:, None] == other_bolus) & (carbs[:, None] != other_carbs))
    return Treatments(
        carbs=carbs,
        bolus=bolus,
        points=(minutes - centre) / deviation,
        centre=centre,
        deviation=deviation,
        miscounted=(other_minutes[rows] - centre) / deviation,
        miscounted_arm=arms,
    )


def _read(table: str) -> tuple[Floats, Floats, Floats]:
    """Carbohydrates and bolus (n,), and minus the minutes above and below the safe range (n, 2): to be maximised."""
    numbers = np.array([[float(row[column]) for column in _COLUMNS] for row in bundled_rows(table)])
    return numbers[:, 0], numbers[:, 1], -numbers[:, 2:]
