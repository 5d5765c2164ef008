"""What each picture shows: functions that take facts and return a `Picture`. They know no renderer.

`front` (with lists, pairs and parallel) is the one to read first; `results` (pulls, forest, robustness) are of results
as well, `studies` (shrinking, certainty, rate, measurements) of studies, `experiments` of the paper's.
"""
