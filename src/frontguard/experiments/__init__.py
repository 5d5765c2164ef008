"""The paper's experiments: data sets, plans, runs, metrics, tables and figures."""
