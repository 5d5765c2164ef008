"""Writing reports down: by the ending, all at once, or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

import frontguard
from frontguard.errors import BadInput
from frontguard.reports import write as writing
from frontguard.reports.report import Report
from frontguard.reports.write import format_of, report_on, save, write_report
from tests.reports.samples import flags, open_analysis, rows, rows_json, study_in
from tests.support.snapshots import refused


def test_the_ending_says_how(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    starts = {"a.html": "<!doctype html>", "b.md": "# ", "c.csv": '"arm"', "d.HTM": "<!doctype", "e.markdown": "# "}
    for name, start in starts.items():
        path = frontguard.write_report(flags(), tmp_path / name)
        assert path.read_text(encoding="utf-8").startswith(start)
    assert flags().report(str(tmp_path / "x"), "csv").read_text().startswith('"arm"')
    assert len(os.listdir(tmp_path)) == 6  # and nothing besides
    with refused(BadInput, snapshot):
        format_of("report.pdf")
    with refused(BadInput, snapshot):
        format_of("report.html", "pdf")


def test_whatever_fails_leaves_the_old_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "report.csv"
    path.write_text("old")

    def breaks(report: Report, format: str) -> Iterator[str]:
        yield "half"
        raise RuntimeError("no")

    monkeypatch.setattr(writing, "text_of", breaks)
    with pytest.raises(RuntimeError):
        save(report_on(flags()), path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["report.csv"]


def test_where_it_cannot_be_written(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    with refused(BadInput, snapshot):
        write_report(flags(), tmp_path / "nowhere" / "report.html")
    (tmp_path / "folder.html").mkdir()
    with refused(BadInput, snapshot):
        write_report(flags(), tmp_path / "folder.html")


def test_a_link_is_followed_and_permissions_stay(tmp_path: Path) -> None:
    real = tmp_path / "real.md"
    real.write_text("old")
    real.chmod(0o640)
    (tmp_path / "link.md").symlink_to(real)
    write_report(flags(), tmp_path / "link.md")
    assert (tmp_path / "link.md").is_symlink()
    assert real.read_text(encoding="utf-8").startswith("# ")
    assert real.stat().st_mode & 0o777 == 0o640


def test_of_what_a_report_can_be_made(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    study = study_in(tmp_path / "s.db")
    kinds = [report_on(each).kind for each in (study, study.result(), flags(), rows(), rows_json(), tmp_path / "s.db")]
    assert kinds == ["study", "run", "analysis", "reproduce", "reproduce", "study"]
    study.close()
    with refused(BadInput, snapshot):
        report_on(1.5)
    with refused(BadInput, snapshot):
        report_on(tmp_path / "nothing.json")


# Notebooks ------------------------------------------------------------------------------------------------------------


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))


def test_a_notebook_shows_answer_picture_and_table() -> None:
    study = study_in(None)
    for shown in (study.result(), open_analysis(), flags()):
        text = shown._repr_html_()
        tags = Tags(text).seen
        assert [tag for tag, _ in tags].count("table") == 1
        assert "svg" in {tag for tag, _ in tags}
        assert not {tag for tag, _ in tags} & {"script", "style", "link", "iframe", "img", "b"}
        assert not [name for _, attributes in tags for name in attributes if name == "style" or name.startswith("on")]
        assert report_on(shown).answer.split(":")[0].replace("<", "&lt;") in text
    twice = flags()._repr_html_() + flags()._repr_html_()
    ids = [attributes["id"] for _, attributes in Tags(twice).seen if "id" in attributes]
    assert len(ids) == len(set(ids))  # or the second picture would take its patterns from the first
