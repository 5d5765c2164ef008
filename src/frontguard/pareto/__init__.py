"""From intervals to verdicts: who is beaten, kept, matched or open, and what to sample next.

- `relations`: where arms stand, and what "dominated", "beats by more than γ", "covered" and "within limits" mean, each
  for a pair and for many arms at once;
- `rule`: what follows for the arms of a study: out, candidates, in, covered, reachable; `sampling`: what to sample;
- `judge`: the same as a final decision on a million arms; what is promised of the kept ones;
- `dominance`: batch queries over a million points, which `relations` asks.
"""
