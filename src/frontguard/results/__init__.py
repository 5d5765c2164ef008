"""What a policy, a study or an analysis answers: facts only, and no words or pictures.

May know: verdicts, notices, objectives, limits, comparisons, replacing. Read in this order:

- `result`: the answer, with a verdict, a box and the pulls of every arm, and what can be asked of it;
- `certificate`: what it guarantees;
- `facts`: boxes, how arms stand to limits, what pulls cost, and a guess where nothing is certain yet;
- `by_arm`: values by arm in pieces, for a million of them, and what arms are made of.
"""

from frontguard.results.by_arm import AT_A_TIME, ArmParts, ByArm, TableByArm, finite_rows
from frontguard.results.certificate import Certificate
from frontguard.results.facts import CostSoFar, Guess, Inner, Kept
from frontguard.results.result import WORDS, Drawing, Result, said_once

__all__ = [
    "AT_A_TIME",
    "WORDS",
    "ArmParts",
    "ByArm",
    "Certificate",
    "CostSoFar",
    "Drawing",
    "Guess",
    "Inner",
    "Kept",
    "Result",
    "TableByArm",
    "finite_rows",
    "said_once",
]
