"""Names in sentences: short, on one line, and different from each other."""

from __future__ import annotations

from dataclasses import replace

from frontguard import Objective, Prescient, Study
from frontguard.results import Answer
from frontguard.words import arm_table as names
from frontguard.words.arm_table import LONGEST, with_short_names


def result(arms: list[str], metric: str = "seconds") -> Answer:
    return Study(arms, [Objective(metric, "maximize")], Prescient(0.1)).result()


def test_short_names_stay_as_they_are() -> None:
    plain = result(["a", "名前", "x" * LONGEST])
    assert with_short_names(plain).arms is plain.arms


def test_long_names_are_short_and_differ() -> None:
    arms = [f"{'the same beginning ' * 9}{k}{' and the same end' * 9}" for k in range(50)]
    short = with_short_names(result(arms)).arms
    assert len(set(short)) == 50
    assert max(map(len, short)) <= LONGEST


def test_names_are_on_one_line_however_long() -> None:
    arms = ["two\nlines", "a\tb" * 4000, "c" * 100_000 + "end"]
    short = with_short_names(result(arms, metric="m" * 500)).arms
    assert short[0] == "two lines"
    assert short[2].endswith("end")
    assert all("\n" not in name and "\t" not in name and len(name) <= LONGEST for name in short)


def test_metrics_are_short_too() -> None:
    found = with_short_names(result(["a"], metric="m" * 500))
    assert len(found.objectives[0]) == len(found.metrics[0].name) == LONGEST


def test_of_very_many_names_each_is_cut_by_itself() -> None:
    many = replace(result(["x"]), arms=tuple(f"{'y' * 100}{k}" for k in range(names._MOST_COMPARED + 1)))
    assert max(map(len, with_short_names(many).arms)) <= LONGEST
