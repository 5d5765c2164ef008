"""Tables, pictures and the documentation's page, from results made by hand."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from frontguard.errors import BadInput
from frontguard.experiments.results import Row, figures_of
from frontguard.experiments.setup import TABLE2
from frontguard.experiments.tables import as_csv, as_json, as_markdown, terminal_tables, write_figures
from frontguard.simulation.judging import judge
from tests.support.snapshots import refused, said
from tools import document


def result(dataset: str, variant: str, policy: str, eps: float, pulls: list[int]) -> Row:
    verdict = judge([[True, False]] * len(pulls), [[1.0], [0.0]], accuracy=0.1, coverage=0.0)
    return Row(
        dataset=dataset,
        variant=variant,
        policy=policy,
        contamination=eps,
        bias=0.5,
        accuracy=0.1,
        told_threat="oblivious",
        pareto_arms=1,
        seconds=1.25,
        **figures_of(
            verdict,
            pulls,
            TABLE2.get((dataset, policy, eps)) if variant != "as the theory demands" else None,
        ),
    )


ROWS = [
    result("sw-llvm", "as published", "rpsi", 0.1, [57000, 58000]),
    result("sw-llvm", "as published", "auer-a1", 0.1, [170000, 170000]),
    result("sw-llvm", "as the theory demands", "rpsi", 0.1, [65000, 66000]),
    result("diabetes", "adult#006", "rpsi", 0.1, [5000]),
]


def test_json_has_the_promised_fields() -> None:
    rows = json.loads(as_json(ROWS))
    assert {"dataset", "policy", "contamination", "runs", "rsr", "sc", "ro", "rf1", "seconds", "variant"} <= rows[
        0
    ].keys()
    assert (rows[0]["sc"], rows[0]["published_sc"], rows[0]["seconds"]) == (57500.0, 57822.5, 1.25)
    assert (rows[0]["sc_se"], rows[0]["sc_std"]) == pytest.approx((500.0, 707.1067811865476))
    assert rows[2]["published_sc"] is None
    assert rows[3]["sc_se"] is None  # a single run has no spread, and JSON no NaN
    assert as_json([]) == "[]"


def test_csv_is_the_same_table() -> None:
    rows = list(csv.DictReader(io.StringIO(as_csv(ROWS))))
    assert [row["variant"] for row in rows] == [row["variant"] for row in json.loads(as_json(ROWS))]
    assert (rows[0]["sc"], rows[2]["published_sc"]) == ("57500.0", "")


def test_terminal_tables_show_both(snapshot: SnapshotAssertion) -> None:
    from rich.console import Console

    text = io.StringIO()
    console = Console(file=text, width=200)
    for table in terminal_tables(ROWS, width=200):
        console.print(table)
    shown = text.getvalue()
    assert "57500 ± 500" in shown
    assert "57822" in shown
    assert said(shown) == snapshot


def test_eighty_columns_are_enough() -> None:
    from rich.console import Console

    text = io.StringIO()
    console = Console(file=text, width=80)
    for table in terminal_tables(ROWS, width=80):
        console.print(table)
    shown = text.getvalue()
    assert "57500 (57822)" in shown
    assert "Auer-A1" in shown
    assert "…" not in shown


def test_markdown_goes_into_the_page(tmp_path: Path) -> None:
    (tmp_path / "tables.md").write_text(as_markdown(ROWS), encoding="utf-8")
    page = tmp_path / "page.md"
    page.write_text(f"# Title\n\n{document.BEGIN}\nold numbers\n{document.END}\n\nThe end.\n", encoding="utf-8")
    for _ in range(2):  # twice is the same as once
        assert document.main([str(tmp_path), str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert "old numbers" not in text
    assert text.count("### SW-LLVM (as published), 2 runs") == 1
    assert text.endswith("The end.\n")
    table = [line for line in text.splitlines() if line.startswith("|")]
    widths = {line.count("|") for line in table}
    assert widths == {9, 14}  # with and without published columns; |P| would break a row


def test_a_page_without_markers_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
) -> None:
    with refused(BadInput, snapshot):
        document.with_tables("no markers", "x")
    assert document.main([str(tmp_path / "absent"), str(tmp_path / "absent.md")]) == 2
    assert said(capsys.readouterr().err) == snapshot


def test_pictures_show_ours_and_the_published_points() -> None:
    pytest.importorskip("matplotlib")
    from frontguard.plot import sample_complexity

    figure = sample_complexity(ROWS[:2]).matplotlib()
    samples, success = figure.axes
    labels = {text.get_text() for text in figure.legends[0].get_texts()}
    assert labels == {"R-PSI", "R-PSI, paper", "Auer-A1", "Auer-A1, paper"}
    drawn = {float(np.asarray(line.get_ydata())[0]) for line in samples.lines}
    assert {57500.0, 57822.5, 170000.0, 174599.9} <= drawn
    assert samples.get_yscale() == "log"
    hollow = [line for line in success.lines if line.get_markerfacecolor() == "none" and line.get_marker() != "None"]
    assert len({line.get_marker() for line in hollow}) == 2  # told apart without colour


def test_a_file_for_every_data_set_and_variant(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    names = [path.name for path in write_figures(ROWS, tmp_path)]
    assert names == [
        "sw-llvm-as-published.png",
        "sw-llvm-as-the-theory-demands.png",
        "diabetes-adult-006.png",
    ]
    assert all((tmp_path / name).read_bytes()[:8] == b"\x89PNG\r\n\x1a\n" for name in names)


def test_without_matplotlib_the_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    for name in [name for name in sys.modules if name.startswith("frontguard.plot.paper")]:
        monkeypatch.delitem(sys.modules, name)
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with refused(BadInput, snapshot):
        write_figures(ROWS, tmp_path)
