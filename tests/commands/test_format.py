"""Lines of keys: against texts whose lines are known because they were written one by one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from frontguard.commands.format import Complaints

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


def test_lines_of_a_tricky_text():
    complain = Complaints("tricky.toml", TRICKY)
    assert {path: complain.line(path) for path in EXPECTED} == EXPECTED


def test_what_is_missing_has_the_line_of_what_is_around_it():
    complain = Complaints("tricky.toml", TRICKY)
    assert complain.line(("row", 1, "weight")) == 25
    assert complain.line(("nothing", "here")) is None


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
    complain = Complaints("built.toml", text)
    assert {path: complain.line(path) for path in expected} == expected
