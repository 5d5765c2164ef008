"""Measuring: a study is asked for pulls, workers evaluate them, and the study is told what came back.

Commands go through the same loop. In the order of reading:

- `drive`: the loop; a first mistake is not stored as data
- `executors`: who evaluates a Python function: this thread, threads, processes, any executor; `dask`: a Dask cluster
- `identify`: the function that users call
"""
