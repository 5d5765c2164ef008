"""What a policy, a study or an analysis answers: facts only, and no words or pictures.

May know: verdicts, notices, objectives, limits, comparisons, and the schema where JSON is read. Read in this order:

- `result`: the answer, with a verdict, a box and the pulls of every arm, and what can be asked of it;
- `certificate`: what it guarantees;
- `facts`: boxes, how arms stand to limits, what pulls cost, a guess where nothing is certain yet, how it was made.
"""

from frontguard.results.certificate import Certificate
from frontguard.results.facts import ArmParts, CostSoFar, Guess, Inner, Kept, Origin
from frontguard.results.result import WORDS, Drawing, Result

__all__ = [
    "WORDS",
    "ArmParts",
    "Certificate",
    "CostSoFar",
    "Drawing",
    "Guess",
    "Inner",
    "Kept",
    "Origin",
    "Result",
]
