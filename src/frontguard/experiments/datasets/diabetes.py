"""UVA/PADOVA: 36 pairs of a meal and an insulin bolus as arms; time above and below the safe range as
objectives (Section 6.3).

The tables are part of the package: our own simulation with simglucose 0.2.11 (J. Xie, MIT licence) of one
patient, rebuilt by `python -m tools.rebuild_diabetes`. Objectives are minus the minutes,
standardised over the 36 arms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from frontguard._typing import Floats, Ints
from frontguard.experiments.datasets.readers import TableLine, bundled_text, rows_of

ARMS_TABLE = "uva_padova_36.csv"
DENSE_TABLE = "uva_padova_dense.csv"
_COLUMNS = ("carbs_g", "bolus_u", "minutes_above", "minutes_below")


@dataclass(frozen=True, eq=False)
class Treatments:
    """The arms, and what happens when the meal was miscounted.

    `points` (36, 2) are the standardised objectives: points · deviation + centre are minus the minutes. `carbs` and
    `bolus` (36,) name the arms. `miscounted`
    (n, 2) are the outcomes of the same bolus with another meal, `miscounted_arm` (n,) the arm that each
    belongs to.
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
    arms = list(rows_of(bundled_text(ARMS_TABLE), _COLUMNS, where=ARMS_TABLE))
    dense = list(rows_of(bundled_text(DENSE_TABLE), _COLUMNS, where=DENSE_TABLE))
    carbs, bolus = _column(arms, "carbs_g"), _column(arms, "bolus_u")
    other_carbs, other_bolus = _column(dense, "carbs_g"), _column(dense, "bolus_u")
    minutes = _minutes(arms)
    centre, deviation = minutes.mean(axis=0), minutes.std(axis=0)
    others = (_minutes(dense) - centre) / deviation
    rows, owners = [], []
    for arm in range(len(arms)):
        miscounted = np.flatnonzero((other_bolus == bolus[arm]) & (other_carbs != carbs[arm]))
        rows.append(others[miscounted])
        owners.append(np.full(len(miscounted), arm))
    return Treatments(
        carbs=carbs,
        bolus=bolus,
        points=(minutes - centre) / deviation,
        centre=centre,
        deviation=deviation,
        miscounted=np.concatenate(rows),
        miscounted_arm=np.concatenate(owners).astype(np.int64),
    )


def _column(rows: list[TableLine], name: str) -> Floats:
    return np.array([row.real(name) for row in rows])


def _minutes(rows: list[TableLine]) -> Floats:
    """Minus the minutes above and below the safe range: to be maximised."""
    return -np.column_stack([_column(rows, "minutes_above"), _column(rows, "minutes_below")])
