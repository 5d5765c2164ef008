"""From measurements to intervals: what a sample says of an arm's true quantile or mean, whatever an attacker does.

May know: theory, objectives, errors. It knows nothing of verdicts: what intervals mean for a choice among arms is
`pareto`.

Read in this order:

- `confidence_sequences`: how many of n observations surely lie on the right side of a quantile, at one n or at every n;
- `samples`: growing samples of many arms in one pool of memory, with their medians, or kept sorted;
- `statistics`: what of an arm's values counts; `quantiles`, `means`: bounds of it (of values with known bounds or a
  known deviation, and exact ones);
- `intervals`: intervals that hold at every number of pulls, as one array with named columns; differences of arms;
- `measurements`, `readers`: sorted logs, and their intervals, read of all arms at once at one look or at any;
- `clusters`, `lists`, `pairs`, `apart`: measurements that depend on each other, or are compared in pairs, in studies
  and in logs.
"""
