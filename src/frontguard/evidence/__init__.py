"""From measurements to intervals: what a sample says of an arm's true quantile or mean, whatever an attacker does.

Read in this order:

- `confidence_sequences`: how many of n observations surely lie on the right side of a quantile, at one n or at every n;
  `bets`: the same for a mean;
- `samples`, `measurements`: growing samples of many arms in one pool of memory; sorted logs;
- `kinds`: what a kind of statistic has to say; `quantiles`, `means`, `normals`, `exact`: each of them, live and in a
  log; `statistics`: the list of them;
- `intervals`, `readers`: the intervals of all arms, live at every number of pulls and of a log; `clusters`: of
  measurements that depend on each other;
- `differences`: what two arms say together.
"""
