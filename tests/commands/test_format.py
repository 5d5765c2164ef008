"""Lines of keys: against texts whose lines are known because they were written one by one."""

from __future__ import annotations

import tomllib

from hypothesis import example, given
from hypothesis import strategies as st

from frontguard.commands.format import lines_of, nearest_line

TRICKY = '''\
title = "a # no comment"  # a comment with "quotes" and [brackets]
a.b."c d".'e.f' = 1
list = [
  1, # one
  "two ]",
  [3, [
    4]],
  { x = 1, y = [ 2,
    3 ] },
]
text = """
[not.a.table]
key = 1 \\""" still
"""""
raw = \'\'\'
[[nor.this]]
\'\'\'

[table."quoted name"] # [x]
  key = 2024-01-01 07:00:00
[[row]]
name = "first"
[row.inner]
deep = true
[[row]]
name = "second"
  [[row.inner]]
  deep = 1
  [[row.inner]]
  deep = 2
'''
EXPECTED = {
    ("title",): 1,
    ("a", "b", "c d", "e.f"): 2,
    ("list",): 3,
    ("list", 0): 4,
    ("list", 1): 5,
    ("list", 2, 1, 0): 7,
    ("list", 3, "y", 1): 9,
    ("text",): 11,
    ("raw",): 15,
    ("table", "quoted name", "key"): 20,
    ("row", 0, "name"): 22,
    ("row", 0, "inner", "deep"): 24,
    ("row", 1): 25,
    ("row", 1, "inner", 0, "deep"): 28,
    ("row", 1, "inner", 1, "deep"): 30,
}


def paths_in(value, path=()):
    yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from paths_in(inner, (*path, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from paths_in(inner, (*path, number))


def test_lines_of_a_tricky_text():
    lines = lines_of(TRICKY)
    assert {path: lines.get(path) for path in EXPECTED} == EXPECTED
    assert set(paths_in(tomllib.loads(TRICKY))) - {()} == set(lines)


def test_what_is_missing_has_the_line_of_what_is_around_it():
    assert nearest_line(lines_of(TRICKY), ("row", 1, "weight")) == 25
    assert nearest_line(lines_of(TRICKY), ("nothing", "here")) is None


keys = st.text("abc", min_size=1, max_size=3)
scalars = st.sampled_from(
    ["1", "-2.5", "true", '"a # [b"', "'c]'", '"""\nx\n"""', "[1, 2]", "[\n1,\n# x\n2\n]", "{ a = 1 }"]
)


@given(st.lists(st.tuples(keys, scalars, st.integers(0, 2)), unique_by=lambda each: each[0], max_size=8), st.booleans())
def test_lines_of_texts_that_were_built_line_by_line(pairs, table):
    text = "[[t]]\n[[t]]\n" if table else ""
    expected = {}
    for key, value, blanks in pairs:
        text += "\n" * blanks
        expected[("t", 1, key) if table else (key,)] = text.count("\n") + 1
        text += f"{key} = {value} # {key} = 0\n"
    tomllib.loads(text)
    lines = lines_of(text)
    assert {path: lines[path] for path in expected} == expected


@given(st.text("[]{}\"'=.#,\n ab\\", max_size=40))
@example('"\\="')
def test_what_is_no_toml_does_no_harm(text):
    lines_of(text)
