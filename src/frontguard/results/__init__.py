"""What a policy, a study, an analysis and a gate answer: facts only, and no words or pictures.

- `answer`: the answer, with a verdict, intervals and the pulls of every arm, and what can be asked of it;
- `facts`: what it guarantees, limits, costs, a guess; what only a complete log tells, and the state of a study.
"""

from frontguard.comparisons.effects import Intervals
from frontguard.results.answer import Answer
from frontguard.results.facts import (
    LIMITS,
    WORDS,
    ArmParts,
    Certificate,
    CostSoFar,
    Guess,
    IfCleaner,
    Kept,
    LogDetails,
    Needed,
    Origin,
    Profile,
    StudyDetails,
)

__all__ = [
    "LIMITS",
    "WORDS",
    "Answer",
    "ArmParts",
    "Certificate",
    "CostSoFar",
    "Guess",
    "IfCleaner",
    "Intervals",
    "Kept",
    "LogDetails",
    "Needed",
    "Origin",
    "Profile",
    "StudyDetails",
]
