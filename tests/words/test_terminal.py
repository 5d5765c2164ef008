"""Tables of any kind on a terminal of any width."""

from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from frontguard.phrases import LEAST_NAME
from frontguard.words.terminal import TextColumn, fitted, titled, width_of
from tests.support.snapshots import said

texts = st.text(st.sampled_from("ab 1名🎉-_"), max_size=30)


@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=5), st.integers(40, 120), st.data())
def test_a_table_is_never_wider_than_asked_and_its_rows_keep_their_names(
    rows: list[tuple[str, str]], width: int, data: st.DataObject
) -> None:
    count = data.draw(st.integers(1, 6))
    names = TextColumn.of("row", [f"{place}{name}" for place, (name, _) in enumerate(rows)])
    columns = [names, *(TextColumn.of(f"c{d}", [text for _, text in rows], number=True) for d in range(count))]
    gives_way = data.draw(st.permutations(range(1, count + 1)))
    kept, gone = fitted(columns, width, gives_way)
    assert width_of(kept) <= width
    assert sorted([*(column.heading[0] for column in kept[1:]), *gone]) == [f"c{d}" for d in range(count)]
    assert kept[0].width >= min(names.width, LEAST_NAME)
    # Whatever was first to give way is gone if anything is.
    assert {f"c{place - 1}" for place in gives_way[: len(gone)]} == set(gone)


def test_what_gives_way_is_said(snapshot: SnapshotAssertion) -> None:
    columns = [TextColumn.of("policy", ["certified"]), *(TextColumn.of(f"column {d}", ["x" * 15]) for d in range(3))]
    console = Console(file=io.StringIO(), width=50, color_system=None)
    console.print(titled("A title", columns, 50, gives_way=[1], elsewhere="--json"))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert width_of(columns) == 60
    assert said(text) == snapshot
