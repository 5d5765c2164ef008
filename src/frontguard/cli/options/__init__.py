"""Options: what commands take, read and checked the same in all of them, and how `--help` shows them.

It may know what the command line may, and none of its commands. Where to start:

- `values`: numbers, sizes, limits and METRIC=VALUE as options take them.
- `counted`: what counts of a metric (`--mean`, `--exact`, `--sigma`, `--quantile`).
- `beside`: `--baseline` and `--pick`, and how their answers are printed.
- `pilot`: the file of `plan --pilot`.
- `help`: options in groups, a word for what each takes; `help_page`: how that is printed.
- `plain`: options that need no looking at.
"""
