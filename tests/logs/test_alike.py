"""Whether rows look alike: what differs is said, what does not is not, and the ranks are those of scipy."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats
from syrupy.assertion import SnapshotAssertion

from frontguard import Objective, analyze, gate
from frontguard.logs import checks
from frontguard.logs.checks import chance_of, differences, ends_of
from frontguard.logs.sort import LEAST_MEMORY, Batch, RowOrder, ordered_from
from frontguard.notices import NeighboursAlike, Notice, OneAfterTheOther, RowsDiffer, RowsRepeated
from frontguard.results import Answer
from tests.cli.commands import run
from tests.support.snapshots import said

RNG = np.random.default_rng(7)


def differing(found: Answer) -> RowsDiffer | None:
    hints = [notice for notice in found.notices if isinstance(notice, RowsDiffer)]
    assert len(hints) <= 1
    return hints[0] if hints else None


def write(path: Path, medians: dict[str, float], pulls: int = 40) -> Path:
    """A file in which the arms take turns, with values of 5 % around their medians."""
    rows = [f"{arm},{median * RNG.lognormal(0.0, 0.05)!r}" for _ in range(pulls) for arm, median in medians.items()]
    path.write_text("\n".join(["arm,seconds", *rows, ""]))
    return path


@pytest.mark.parametrize("seed", range(20))
def test_the_test_is_that_of_kruskal_and_wallis(seed: int) -> None:
    rng = np.random.default_rng(seed)
    parts = [rng.normal(rng.normal(), 1.0, rng.integers(8, 80)) for _ in range(rng.integers(2, 6))]
    if seed % 2:
        parts = [part.round() for part in parts]  # ties
    assert chance_of([*parts, np.arange(7.0)]) == pytest.approx(stats.kruskal(*parts).pvalue, rel=1e-9)
    ends = ends_of(parts)
    low, high = (parts[number] for number in ends.parts)
    share = stats.mannwhitneyu(high, low).statistic / (len(low) * len(high))
    assert ends.effect == pytest.approx(share - 0.5)
    assert ends.medians == (min(map(np.median, parts)), max(map(np.median, parts)))


def test_files_that_differ_are_named_with_their_medians(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    write(tmp_path / "monday.csv", {"a": 1.3, "b": 2.0, "c": 5.0})
    write(tmp_path / "tuesday.csv", {"a": 11.0, "b": 2.0, "c": 5.0})
    write(tmp_path / "wednesday.csv", {"a": 1.3, "b": 2.9, "c": 5.0})
    ran = run("analyze", "monday.csv", "tuesday.csv", "wednesday.csv", "--minimize", "seconds", "--json", cwd=tmp_path)
    answer = json.loads(ran.stdout)
    (hint,) = [notice for notice in answer["notices"] if notice["kind"] == "rows_differ"]
    assert (hint["arm"], hint["objective"], hint["between"]) == ("a", "seconds", "files")
    assert hint["parts"][1] == "tuesday.csv"
    assert hint["medians"] == pytest.approx([1.3, 11.0], rel=0.05)
    assert (hint["arms"], hint["of"]) == (2, 3)
    assert 0.0 < hint["chance"] < 1e-8
    (warning,) = [line for line in answer["warnings"] if "look alike" in line]
    assert said(warning) == snapshot
    (tmp_path / "a.json").write_text(ran.stdout)
    assert run("report", "a.json", "-o", "r.md", cwd=tmp_path).returncode == 0
    assert warning.split(":")[0] in (tmp_path / "r.md").read_text()


def test_batches_in_one_file_and_a_drift_are_seen_by_the_order_of_rows(tmp_path: Path) -> None:
    first, second = write(tmp_path / "1.csv", {"a": 1.3, "b": 2.0}), write(tmp_path / "2.csv", {"a": 11.0, "b": 2.0})
    rows = first.read_text() + second.read_text().partition("\n")[2]
    (tmp_path / "both.csv").write_text(rows)
    hint = differing(analyze(tmp_path / "both.csv", minimize="seconds"))
    assert hint is not None
    assert (hint.arm, hint.between, hint.arms, hint.of) == ("a", "rows", 1, 2)
    assert hint.medians == pytest.approx((1.3, 11.0), rel=0.05)
    assert (hint.parts[0] in "12", hint.parts[1] in "34") == (True, True)
    wide = {"arm": ["a"] * 200, "x": np.linspace(0.0, 3.0, 200) + RNG.normal(0.0, 0.5, 200)}
    hint = differing(analyze(wide, maximize="x"))
    assert hint is not None
    assert hint.parts == ("1", "4")
    long = {"arm": wide["arm"], "metric": ["x"] * 200, "value": wide["x"]}
    again = differing(analyze(long, maximize="x"))
    assert again == hint
    middle = {"arm": ["a"] * 200, "x": RNG.normal(0.0, 1.0, 200) + 4.0 * (np.arange(200) // 50 == 2)}
    hint = differing(analyze(middle, maximize="x"))  # which halves would hide
    assert hint is not None
    assert hint.parts[1] == "3"
    assert "quarter 3 of its rows" in str(hint)


def test_a_difference_that_does_not_matter_is_none(tmp_path: Path) -> None:
    write(tmp_path / "1.csv", {"a": 1.0}, 200)
    write(tmp_path / "2.csv", {"a": 1.2}, 200)
    for tolerance, contamination, wanted in ((0, 0.1, True), ("10%", 0.1, True), ("30%", 0.1, False), (0, 0.4, True)):
        found = analyze(
            [tmp_path / "1.csv", tmp_path / "2.csv"],
            minimize="seconds",
            tolerance=tolerance,
            contamination=contamination,
        )
        assert (differing(found) is not None) == wanted, (tolerance, contamination)


def test_what_is_seen_does_not_depend_on_memory_nor_on_the_number_of_files(tmp_path: Path) -> None:
    rows = 60_000
    arms, values = RNG.integers(0, 5, rows), RNG.normal(size=rows)
    late = values + 3.0 * ((arms == 2) & (np.arange(rows) > rows // 2))
    names = pl.Series([f"arm {arm}" for arm in arms])
    found = set()
    for memory in (LEAST_MEMORY, 1 << 30):
        for files in (1, 2, 10, 200):
            watched = RowOrder(files)
            cut = np.linspace(0, rows, files + 1).astype(int)
            batches = [Batch(names[a:b], [late[a:b]], n) for n, (a, b) in enumerate(pairwise(cut))]
            ordered = ordered_from(batches, ["x"], memory=memory, folder=tmp_path, watched=watched)
            shown = [f"{number}.csv" for number in range(files)]
            (hint,) = differences(
                watched, shown, ordered.arms, ordered.metrics, [Objective("x", "maximize")], {"x": 0.1}
            )
            assert (hint.arm, hint.arms, hint.of) == ("arm 2", 1, 5)
            assert hint.between == ("files" if files > 1 else "rows")
            found.add((files, hint))
    assert len(found) == 4


# False alarms ---------------------------------------------------------------------------------------------------------

SHAPES: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "lognormal": lambda rng, n: rng.lognormal(0.0, 1.0, n),
    "Cauchy": lambda rng, n: rng.standard_cauchy(n),
    "ratings": lambda rng, n: rng.integers(1, 6, n).astype(float),
    "nearly constant": lambda rng, n: (rng.random(n) < 0.05).astype(float),
    "replaced": lambda rng, n: np.where(rng.random(n) < 0.1, 1e6, rng.normal(size=n)),
    "failing": lambda rng, n: np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n)),
}


def clean_logs(shape: str, logs: int) -> Iterator[tuple[Notice, ...]]:
    rng = np.random.default_rng([5, *map(ord, shape)])
    for _ in range(logs):
        files, arms, rows = int(rng.integers(1, 5)), int(rng.integers(1, 12)), int(rng.integers(60, 900))
        watched = RowOrder(files)
        cut = np.sort(np.r_[0, rng.integers(0, rows, files - 1), rows])
        names = pl.Series([f"{arm}" for arm in rng.integers(0, arms, rows)])
        values = SHAPES[shape](rng, rows)
        batches = [Batch(names[a:b], [values[a:b]], n) for n, (a, b) in enumerate(pairwise(cut))]
        ordered = ordered_from([each for each in batches if len(each)], ["x"], memory=1 << 30, watched=watched)
        shown = [f"{number}.csv" for number in range(files)]
        yield differences(watched, shown, ordered.arms, ordered.metrics, [Objective("x", "maximize")], {"x": 0.1})


@pytest.mark.parametrize("shape", list(SHAPES))
def test_clean_logs_raise_no_alarm(shape: str) -> None:
    """Of 150 each of seven shapes none may, at a level of one in ten thousand: 1 % would be more than ten of all."""
    assert [found for found in clean_logs(shape, 150) if found] == []


def test_the_level_is_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """At one in ten, and without the least effect, clean logs raise alarms about as often as they may: no more."""
    monkeypatch.setattr(checks, "CHANCE", 0.1)
    monkeypatch.setattr(checks, "EFFECT", -1.0)
    alarms = sum(bool(found) for shape in ("normal", "ratings") for found in clean_logs(shape, 200))
    assert stats.binomtest(alarms, 400, 0.1, alternative="greater").pvalue > 1e-3
    assert alarms > 4


# Rows side by side, copies, dates -------------------------------------------------------------------------------------


def hints(found: Answer, kind: type[Notice]) -> list[Notice]:
    return [each for each in found.notices if isinstance(each, kind)]


def slow(rng: np.random.Generator, rows: int, keeps: float) -> np.ndarray:
    """A machine that is slower for a while, and quicker for a while."""
    noise = rng.normal(0, 0.02 * np.sqrt(1 - keeps**2), rows)
    return 1.0 + np.array(list(accumulate(noise, lambda before, new: keeps * before + new)))


def test_rows_that_resemble_those_beside_them_are_seen(snapshot: SnapshotAssertion) -> None:
    for seed in range(5):
        rng = np.random.default_rng([seed, 3])
        steady, drifting = ({"arm": ["app"] * 120, "seconds": slow(rng, 120, keeps)} for keeps in (0.0, 0.95))
        assert not hints(analyze(steady, minimize="seconds"), NeighboursAlike)
        found = analyze(drifting, minimize="seconds")
        assert len([*hints(found, NeighboursAlike), *hints(found, RowsDiffer)]) == 1
    assert said("\n".join(map(str, hints(gate(steady, drifting, minimize="seconds"), NeighboursAlike)))) == snapshot


@pytest.mark.parametrize("times", [2, 3])
def test_a_log_in_which_every_row_stands_several_times_is_seen(times: int, snapshot: SnapshotAssertion) -> None:
    once = np.random.default_rng(4).lognormal(0, 0.1, (2, 30)).round(3)
    log = {"arm": np.repeat(["a", "b"], 30 * times), "seconds": np.tile(once, (1, times)).ravel()}
    assert said(*hints(analyze(log, minimize="seconds"), RowsRepeated)) == snapshot
    log = {"arm": np.repeat(["a", "b"], 30), "seconds": once.ravel()}
    assert not hints(analyze(log, minimize="seconds"), RowsRepeated)


def test_copies_are_seen_where_they_make_the_certificate() -> None:
    once = np.random.default_rng(4).normal([[1.0], [1.3]], 0.01, (2, 5))
    honest, twice = (
        {"arm": np.repeat(["a", "b"], 5 * times), "seconds": np.tile(once, (1, times)).ravel()} for times in (1, 2)
    )
    assert not analyze(honest, minimize="seconds", tolerance=0.01).pareto_set
    found = analyze(twice, minimize="seconds", tolerance=0.01)
    assert (found.pareto_set, len(hints(found, RowsRepeated))) == (["a"], 1)


@pytest.mark.parametrize("rows", [4, 6, 8])
def test_few_whole_numbers_are_no_copies(rows: int) -> None:
    seen = 0
    for seed in range(60):
        values = np.random.default_rng([seed, 6]).integers(1, 7, 2 * rows)
        log = {"arm": ["a", "b"] * rows, "seconds": values}
        seen += bool(hints(analyze(log, minimize="seconds", quantile=0.5, profile=False), RowsRepeated))
    assert seen <= 1


def test_few_different_values_are_no_copies() -> None:
    for seed in range(20):
        stars = np.random.default_rng([seed, 5]).integers(1, 6, 400).astype(float)
        log = {"arm": ["a", "b"] * 200, "stars": stars}
        assert not hints(analyze(log, maximize="stars", statistic="mean", bounds=(1, 5), profile=False), RowsRepeated)


def test_logs_that_were_measured_one_after_the_other_are_seen(snapshot: SnapshotAssertion) -> None:
    rng = np.random.default_rng(6)

    def log(day: int) -> dict[str, Any]:
        started = [f"2026-03-0{day}T10:{minute:02}" for minute in range(40)]
        return {"arm": ["app"] * 40, "seconds": rng.normal(1, 0.01, 40), "started": started}

    assert said(*hints(gate(log(1), log(2), minimize="seconds"), OneAfterTheOther)) == snapshot
    assert not hints(gate(log(1), log(1), minimize="seconds"), OneAfterTheOther)
