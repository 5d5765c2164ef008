"""What each picture shows: functions that take facts and return a `Picture`. They know no renderer.

`front` (with lists and pairs) is the one to read first; `parallel`, `pulls` and `robustness` are of results as well,
`studies` (shrinking, certainty, rate) and `measurements` of studies, `experiments` of the paper's.
"""
