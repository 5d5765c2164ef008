"""The paper's experiments: data sets, plans, runs, metrics, tables and figures.

May know whatever a policy, a log or a picture is; not the demonstration, reports, page and command line.

Where to start reading:

- `plan`: what is run: an experiment is a data set with its attacker, a setting is an experiment at one ε;
  and the numbers that the paper printed.
- `contestants`: the policies that compete.
- `runner`, `store`: running a plan in chunks, and the file that finished runs are kept in.
- `metrics`, `results`: how good returned sets are, and the rows that come of it.
- `tables`, `figures`: rows as tables and pictures.
- `datasets`: one module a data set; `readers` and `safe_pickle` read files that a user has.
"""
