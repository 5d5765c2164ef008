"""The paper's experiments: data sets, plans, runs, metrics, tables and figures.

Where to start reading:

- `setup`: what is run: an experiment is a data set with its attacker, a setting is an experiment at one ε; the numbers
  that the paper printed, and the policies that compete.
- `runner`: running a plan in chunks, and the file that finished runs are kept in.
- `results`: how good returned sets are, and the rows that come of it.
- `tables`: rows as tables and pictures.
- `datasets`: what reads the data sets.
"""
