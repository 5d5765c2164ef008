"""Rows of a log become sorted measurements by arm, from which everything is read at ranks.

Knows errors, evidence and objectives, and nothing of where rows come from. Where to start reading:

- `rows`: rows in memory, with arms as numbers, laid out by arm and sorted
- `spill`: logs put together, and rows that do not fit in memory, by way of temporary files (`ordered_from` is the usual
  way in); progress
"""
