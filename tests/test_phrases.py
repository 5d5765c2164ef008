"""Numbers, durations and hints as people write them."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from frontguard.phrases import (
    LEAST_NAME,
    cut_in_the_middle,
    duration,
    fitting_names,
    listed,
    natural,
    number,
    percent,
    rounded,
)


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_numbers_and_durations_are_short(value: float) -> None:
    assert len(number(value)) <= 11
    if 0.0 <= value < 1e9:
        assert len(duration(value)) <= 12


@given(st.integers(0, 10**9))
def test_a_rounded_forecast_is_within_a_tenth(pulls: int) -> None:
    assert abs(int(rounded(pulls).replace(",", "")) - pulls) <= 0.1 * pulls


@given(st.floats(0.0, 1.0))
def test_a_share_is_never_rounded_to_all_or_nothing_nor_far(share: float) -> None:
    shown = {way: percent(share, way) for way in (ROUND_FLOOR, ROUND_HALF_UP, ROUND_CEILING)}
    assert (share in (0.0, 1.0)) == any(text in ("0%", "100%") for text in shown.values())
    low, near, high = (float(text.removesuffix("%")) / 100.0 for text in shown.values())
    assert low - 1e-11 <= share <= high + 1e-11
    assert abs(near - share) <= 0.0005 + 1e-11


# Names ----------------------------------------------------------------------------------------------------------------

some_names = st.lists(st.text(st.sampled_from("aAbB01279-/#…名🎉é"), max_size=24), max_size=30)


@given(some_names, st.integers(1, 40))
def test_names_that_are_cut_fit_and_stay_different(names: list[str], most: int) -> None:
    cut = fitting_names(names, most)
    assert all(cell_len(short) <= max(most, LEAST_NAME) for short in cut)
    assert len(set(cut)) == len(set(names))
    assert all(short == name for name, short in zip(names, cut, strict=True) if cell_len(name) <= most)


@given(st.text(st.sampled_from("ab名🎉é-"), max_size=60), st.integers(3, 40))
def test_a_name_that_is_cut_has_its_beginning_and_its_end(name: str, most: int) -> None:
    cut = cut_in_the_middle(name, most)
    assert cell_len(cut) <= most
    if cut != name:
        head, _, tail = cut.partition("…")
        assert name.startswith(head)
        assert name.endswith(tail)
        assert cell_len(cut) >= most - 2  # wide characters leave a cell on either side


def test_names_sort_as_people_sort_them() -> None:
    sizes = ["rust/1024", "rust/128", "Rust/64", "c/9", "c/10", "c/0010", "c", "", "9" * 5000, "8" * 5000]
    expected = ["", "8" * 5000, "9" * 5000, "c", "c/9", "c/0010", "c/10", "Rust/64", "rust/128", "rust/1024"]
    assert sorted(sizes, key=natural) == expected


@given(st.lists(st.integers(0, 10**6), max_size=20), st.text(max_size=5))
def test_numbers_within_names_sort_as_numbers(numbers: list[int], before: str) -> None:
    if before[-1:] in set("0123456789"):
        before += "x"
    by_name = sorted((f"{before}{each}" for each in numbers), key=natural)
    assert by_name == [f"{before}{each}" for each in sorted(numbers)]


@given(st.lists(st.text(max_size=8), max_size=8, unique=True))
def test_the_natural_order_is_one_for_any_names(names: list[str]) -> None:
    turned = names[::-1]
    assert sorted(names, key=natural) == sorted(turned, key=natural)


def test_a_sentence_lists_a_handful_of_names() -> None:
    assert listed([str(i) for i in range(5)]) == "0, 1, 2, 3, 4"
    assert listed([str(i) for i in range(12)]) == "0, 1, 2, 3, 4 … and 7 more"
