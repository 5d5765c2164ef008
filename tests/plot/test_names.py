"""Names as pictures write them."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frontguard.phrases import cells_of
from frontguard.plot.picture import short, wrapped
from tests.plot.samples import HOSTILE

ANY = st.text(st.characters(exclude_categories=()), max_size=80)


@given(ANY, st.integers(1, 40))
def test_a_short_name_is_short_and_harmless(name: str, most: int) -> None:
    text = short(name, most)
    assert cells_of(text) <= most
    assert not any(unicodedata.category(c) in ("Cc", "Cs") or "\u202a" <= c <= "\u202e" for c in text)
    text.encode("utf-8")


@given(st.text("abc XYZ-0.9éß日本", max_size=30))
def test_a_name_that_fits_is_kept(name: str) -> None:
    line = " ".join(name.split())
    assert short(name, 60) == line
    if cells_of(line) > 10:
        assert short(name, 10).endswith("…")
        assert line.startswith(short(name, 10)[:-1])


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names(name: str) -> None:
    assert cells_of(short(name, 24)) <= 24
    assert "\n" not in short(name, 24)


def test_storms_of_accents_and_endless_names_are_cut() -> None:
    assert len(short("Z" + "\u0301" * 100_000 + "algo")) < 12
    assert short("x" * 1_000_000, 5) == "xxxx…"


@given(ANY, st.integers(4, 40), st.integers(1, 4))
def test_wrapped_lines_fit(text: str, most: int, lines: int) -> None:
    found = wrapped(text, most, lines)
    assert len(found) <= lines
    assert all(0 < cells_of(line) <= most or line for line in found)


def test_wrapped_words_stay_in_order_and_whole() -> None:
    text = "one two three four five six seven eight nine ten"
    assert " ".join(wrapped(text, 20, 9)) == text
    assert wrapped(text, 20, 2)[-1].endswith("…")
