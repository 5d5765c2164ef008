"""Results of other tools: hyperfine, pyperf, pytest-benchmark, a module each; `tables` is what they share."""
