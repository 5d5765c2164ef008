"""Rows of a log become sorted measurements by arm, from which everything is read at ranks.

Knows errors and objectives, and nothing of where rows come from. Where to start reading:

- `ordered`: what comes out, and logs put together
- `rows`: rows in memory, with arms as numbers, laid out by arm and sorted
- `spill`: rows that do not fit in memory, by way of temporary files (`ordered_from` is the usual way in)
- `progress`: how far it is
"""
