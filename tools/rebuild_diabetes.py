"""Rebuild the UVA/PADOVA tables of the package with simglucose: python -m
tools.rebuild_diabetes DIRECTORY.

Needs the extra `diabetes`. The patient starts in the default steady state; minute 0 receives the whole meal
as announced carbohydrate (the model eats it at 5 g a minute) and basal plus bolus insulin, every other minute
basal insulin. Glucose is the noise-free subcutaneous value of minutes 1 to 360. About 0.2 s a simulation, two
minutes for both tables.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from frontguard.errors import BadInput
from frontguard.experiments.datasets import ARMS_TABLE, DENSE_TABLE
from frontguard.pareto.dominance import pareto_mask, suboptimality_gaps

PATIENT = "adult#006"
MINUTES = 360
SAFE_LOW, SAFE_HIGH = 100.0, 140.0
MEALS: tuple[int, ...] = (20, 36, 52, 68, 84, 100)
BOLUSES: tuple[int, ...] = (3, 5, 7, 9, 11, 13)
DENSE_MEALS: tuple[int, ...] = tuple(range(5, 151, 5))
DENSE_BOLUSES: tuple[int, ...] = tuple(range(17))


@dataclass(frozen=True)
class Outcome:
    """What a meal (g of carbohydrate) and a bolus (units of insulin) do to the patient's glucose (mg/dL)."""

    carbs: int
    bolus: int
    minutes_above: int
    minutes_below: int
    lowest: float
    highest: float


Simulator = Callable[[int, int], Outcome]


def simulator() -> Simulator:
    """A function from (carbs, bolus) to the outcome, run by simglucose."""
    try:
        import pandas as pd
        from simglucose.patient import t1dpatient as model
    except ImportError as error:
        raise BadInput(
            f"rebuilding the tables needs simglucose 0.2.11 and setuptools below 81 ({error}): "
            "install the extra with pip install 'frontguard[diabetes]'"
        ) from None
    patients = pd.read_csv(model.PATIENT_PARA_FILE)
    row = patients[patients["Name"] == PATIENT].iloc[0]
    # A plain namespace instead of the pandas row: the same numbers, twenty times faster to look up in every
    # step.
    parameters: Any = SimpleNamespace(**{name: v if isinstance(v, str) else float(v) for name, v in row.items()})
    start = row.iloc[2:15].to_numpy(dtype=float)
    basal = parameters.u2ss * parameters.BW / 6000  # units a minute

    def simulate(carbs: int, bolus: int) -> Outcome:
        patient = model.T1DPatient(parameters, init_state=start)
        glucose = []
        for minute in range(MINUTES):
            first = minute == 0
            patient.step(model.Action(CHO=float(carbs) if first else 0.0, insulin=basal + (bolus if first else 0.0)))
            glucose.append(float(patient.observation.Gsub))
        above, below = sum(g > SAFE_HIGH for g in glucose), sum(g < SAFE_LOW for g in glucose)
        return Outcome(carbs, bolus, above, below, round(min(glucose), 3), round(max(glucose), 3))

    return simulate


def simulate_grid(simulate: Simulator, boluses: Sequence[int], meals: Sequence[int]) -> Iterator[Outcome]:
    """All pairs, the bolus in the outer loop: the order of the tables."""
    return (simulate(carbs, bolus) for bolus in boluses for carbs in meals)


def write_tables(directory: Path) -> None:
    """Simulate both grids and write the two tables of the package into `directory`."""
    simulate = simulator()
    directory.mkdir(parents=True, exist_ok=True)
    _write_arms(directory / ARMS_TABLE, list(simulate_grid(simulate, BOLUSES, MEALS)))
    _write_dense(directory / DENSE_TABLE, simulate_grid(simulate, DENSE_BOLUSES, DENSE_MEALS))


def _fields(outcome: Outcome) -> list[object]:
    minutes = [outcome.minutes_above, outcome.minutes_below]
    return [PATIENT, outcome.carbs, outcome.bolus, *minutes, outcome.lowest, outcome.highest]


_HEADER = ["patient", "carbs_g", "bolus_u", "minutes_above", "minutes_below", "bg_min", "bg_max"]


def _write_dense(path: Path, outcomes: Iterator[Outcome]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(_HEADER)
        table.writerows(_fields(outcome) for outcome in outcomes)


def _write_arms(path: Path, outcomes: list[Outcome]) -> None:
    minutes = -np.array([(o.minutes_above, o.minutes_below) for o in outcomes], np.float64)
    points = (minutes - minutes.mean(axis=0)) / minutes.std(axis=0)
    front, gaps = pareto_mask(points), suboptimality_gaps(points)
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["arm", *_HEADER, "y0", "y1", "pareto", "gap"])
        for arm, outcome in enumerate(outcomes):
            table.writerow([arm, *_fields(outcome), *points[arm].tolist(), int(front[arm]), float(gaps[arm])])


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the tables into the directory named on the command line; 2 when that cannot be done."""
    parser = argparse.ArgumentParser(prog="python -m tools.rebuild_diabetes", description=__doc__)
    parser.add_argument("directory", type=Path, help="where to write the two tables")
    directory = parser.parse_args(arguments).directory
    try:
        write_tables(directory)
    except BadInput as error:
        print(f"frontguard: {error}", file=sys.stderr)
        return 2
    print(f"wrote {directory / ARMS_TABLE} and {directory / DENSE_TABLE}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
