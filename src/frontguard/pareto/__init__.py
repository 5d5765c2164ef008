"""From intervals to verdicts: who is beaten, kept, matched or open, and what to sample next.

May know: evidence, verdicts, errors. The rule sees intervals only, whatever they were made of.

Read in this order:

- `relations`: what "dominated", "beats by more than γ" and "covered" mean, each for a pair and for many arms at once;
- `standing`: where arms stand and what is to be certified, the records that the rule reads and writes;
- `rule`: what follows for the arms of a study: out, candidates, in, covered, reachable; `sampling`: what to sample;
- `short_list`: the order in which arms come on the short list; `rule` also says what is promised of these;
- `judge`: the same as a final decision on a million arms;
- `dominance`: batch queries over a million points, which `judge` asks; `box_tree`: the tree behind them.
"""
