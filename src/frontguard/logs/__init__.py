"""Logs: the robust front of what was already measured, from a few rows to hundreds of millions.

- `analyze`: the question, and the way from a log to its answer; `sides`: logs against each other, for `gate`
- `sources`: logs of every kind as batches of arms and values; `sources.reader` is the contract of all readers
- `sort`: batches become sorted measurements by arm, in memory or out of core
- `design`: which rows are one observation, and which arms are compared in pairs
- `answer`: what sorted measurements say; `robustness`: how far verdicts stand, and what is missing
- `state`: what an analysis leaves behind for later rows, `sketch`: the same in bounded memory; `of_state`, `of_study`:
  states and studies as logs
- `checks`: what a log is looked at for, beside its answer
- `on_dask`: a log that is sorted by the workers of a Dask cluster
"""
