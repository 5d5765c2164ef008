"""Measuring: a study is asked for pulls, workers evaluate them, and the study is told what came back.

- `drive`: the loop, of commands too; a first mistake is not stored as data
- `executors`: who evaluates a Python function: this thread, threads, processes, any executor; `dask`: a Dask cluster
- `identify`: the function that users call
"""
