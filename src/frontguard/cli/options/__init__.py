"""Options: what commands take, declared once, and read and checked the same in all of them.

It may know what the command line may, and none of its commands. Where to start:

- `declared`: the options that several commands have, and the panels of `--help`.
- `values`: numbers, sizes, limits and METRIC=VALUE as options take them.
- `counted`: what counts of a metric (`--mean`, `--exact`, `--sigma`, `--quantile`).
- `beside`: `--baseline` and `--pick`, and how their answers are printed.
- `pilot`: the file of `plan --pilot`.
"""
