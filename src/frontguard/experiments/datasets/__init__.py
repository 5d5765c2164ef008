"""The data sets, one a module, each with a function that reads it; `readers` and `safe_pickle` are their tools."""
