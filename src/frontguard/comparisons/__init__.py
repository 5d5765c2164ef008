"""Comparisons of arms by their intervals: which one is better, by how much, which to take, what a front is worth.

- `effects`: two arms, the difference and the ratio in each metric, and what is certain of them;
- `outcomes`: what follows for candidates and their baseline;
- `picks`: one arm to take, how sure that is, which one does for another, and what options ask for beside an answer;
- `hypervolume`: what a front dominates.
"""
