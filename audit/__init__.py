"""The audit: simulated studies and logs, end to end, and how often what was printed of them is false.

`python -m audit` runs it; docs/audit.md has its last table.

A *cell* is one way in which measuring goes wrong: workers that die on long runs, failures that depend on the value,
ties, an attacker who watches. It makes a small world whose true quantiles are known, runs it through the public
interface (`Study`, the loop of `run` and `identify`, `analyze`), and looks at the answer as a user would, again and
again. A run counts as false when a single statement in any of its answers is. The share of such runs must not exceed δ,
and an exact binomial limit says how certain that is. Where to start:

- `cells`: the ways in which measuring goes wrong, a function each: of studies, of means, of logs.
- `worlds`: arms with known laws, and those who replace measurements.
- `truth`: which statements of an answer are false.
- `runner`: runs a cell and counts.
"""
