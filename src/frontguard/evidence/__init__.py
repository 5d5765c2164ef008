"""From measurements to intervals: what a sample says of an arm's true quantile or mean, whatever an attacker does.

May know: theory, objectives, errors. It knows nothing of verdicts: what intervals mean for a choice among arms is
`pareto`.

Read in this order:

- `boundaries`: how many of n observations surely lie on the right side of a quantile, at one n or at every n at once;
- `samples`: growing samples of many arms in one pool of memory, with their medians;
- `ordered`: those that are kept sorted, read at any rank, or as the different values and how often each came;
- `statistics`: what of an arm's values counts, and how a mean becomes an inner value;
- `means`: the capital of bets against a mean of values in [0, 1], at every n at once;
- `boxes`: intervals that hold at every number of pulls, as one array with named columns.
"""
