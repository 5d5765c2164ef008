"""The import contract sees every import, and says what the table does not allow.

That the package itself keeps its contract is asked by `make imports`.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.support.snapshots import said
from tools import contract

TABLE = """
| threat | what it may do |
| --- | --- |
| `Oblivious` | little |

| room | holds | may know |
| --- | --- | --- |
| `_tools` | tools of all | nothing |
| `low`, `words` | numbers; texts | numpy |
| `middle` | what is made of them | `low`, `words`; scipy, late |
| `high` | the rest | `middle` |
"""

HOUSE = {
    "__init__.py": "",
    "_tools.py": "",
    "low.py": "from house import _tools\n",
    "words.py": "",
    "middle/__init__.py": "from house.middle import part\n",
    "middle/part.py": "from house import low\ndef say():\n    from house.words import __name__\n",
    "high.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from house.middle.part import say\n",
}


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package that keeps the table: it imports at the top, late and for types."""
    for name, text in HOUSE.items():
        file = tmp_path / "house" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    (tmp_path / "design.md").write_text(TABLE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(contract, "PACKAGE", "house")
    monkeypatch.setattr(contract, "TABLE", tmp_path / "design.md")
    return tmp_path / "house"


def test_the_table_is_read() -> None:
    assert contract.allowed(TABLE) == {
        "_tools": set(), "low": set(), "words": set(), "middle": {"low", "words"}, "high": {"middle"},
    }  # fmt: skip


def test_a_house_that_keeps_its_table(
    house: Path, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
) -> None:
    assert contract.main() == 0
    out, err = capsys.readouterr()
    assert (said(out), err) == (snapshot, "")


@pytest.mark.parametrize(
    ("file", "code", "said"),
    [
        ("high.py", "import house.low\n", "high knows low, which its row does not allow"),
        ("high.py", "def late():\n    from house import words\n", "high knows words, which its row does not allow"),
        ("new.py", "", "new has no row"),
        ("_tools.py", "import house.words\n", "_tools knows words, which its row does not allow"),
        ("_tools.py", "import house.low\n", "packages know each other in a circle: "),
        ("middle/part.py", "-", "middle may know low, and does not"),
        ("low.py", "import house.high\n", "packages know each other in a circle: "),
    ],
)
def test_what_is_wrong_is_said(
    file: str, code: str, said: str, house: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (house / file).write_text("" if code == "-" else HOUSE.get(file, "") + code)
    assert contract.main() == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert any(line.startswith(said) for line in err.splitlines())


def test_a_row_of_a_room_that_has_gone(
    house: Path, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
) -> None:
    (house / "high.py").unlink()
    assert contract.main() == 1
    assert said(capsys.readouterr().err) == snapshot
