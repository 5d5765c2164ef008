"""The paper's experiments: data sets, plans, runs, metrics, tables and figures.

- `datasets`, `setup`: what is run: a data set with its attacker, at some ε; the policies; the paper's numbers.
- `runner`: running a plan in chunks, and the file that finished runs are kept in.
- `results`, `tables`: how good returned sets are, the rows that come of it, and these as tables and pictures.
"""
