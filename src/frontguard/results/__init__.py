"""The answer of a policy, a study, an analysis and a gate: facts only, and no words or pictures.

- `answer`: the answer, with a verdict, intervals and the pulls of every arm, and what can be asked of it;
- `facts`: what it guarantees, limits, costs, a guess; what only a complete log tells, and the state of a study.
"""

from frontguard.comparisons.effects import Intervals as Intervals
from frontguard.results.answer import Answer as Answer
from frontguard.results.facts import LIMITS as LIMITS
from frontguard.results.facts import WORDS as WORDS
from frontguard.results.facts import ArmParts as ArmParts
from frontguard.results.facts import Certificate as Certificate
from frontguard.results.facts import CostSoFar as CostSoFar
from frontguard.results.facts import Guess as Guess
from frontguard.results.facts import IfCleaner as IfCleaner
from frontguard.results.facts import Kept as Kept
from frontguard.results.facts import LogDetails as LogDetails
from frontguard.results.facts import Needed as Needed
from frontguard.results.facts import Origin as Origin
from frontguard.results.facts import Profile as Profile
from frontguard.results.facts import StudyDetails as StudyDetails
