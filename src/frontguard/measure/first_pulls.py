"""A first mistake: what measures is at fault when every first pull of every arm fails alike, and not the arms.

Or what was declared is: a tolerance in percent can use no value at or below 0, and a mean none beyond its bounds; where
most of the first values are such, that is refused. True or false, where something else was declared than that a rate
counts, is refused at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from frontguard.measure.drive import Finished, FirstMistake
from frontguard.objectives import Objective
from frontguard.storage.contract import Pull
from frontguard.studies.measurement import BOOLEAN, Measurement
from frontguard.studies.replay import PROBE

ENOUGH_ARMS = 20
"""So many different arms that fail alike from the start are taken for all."""


class FirstPulls:
    """Holds back the first pulls as long as all of them fail alike; raises when that can be no accident.

    Then `what` measures is at fault, and a study that has counted its mistakes would be spoilt for when it is mended.
    `in_words` says why one failed; alike are those of one `cause`, unless `alike` says otherwise. Held back are also
    first pulls of which one has a value that its tolerance or bounds cannot use.
    """

    def __init__(
        self,
        arms: int,
        objectives: Sequence[Objective],
        what: str,
        *,
        in_words: Callable[[Pull, Measurement], str] = lambda pull, came: came.reason,
        alike: bool = True,
    ) -> None:
        self._arms = min(arms, ENOUGH_ARMS)
        self._objectives = objectives
        self._what, self._in_words, self._alike = what, in_words, alike

    def __call__(self, finished: Sequence[Finished]) -> bool:
        """Whether to go on holding them back."""
        for pull, came in finished:
            if came.cause == BOOLEAN:
                said = self._in_words(pull, came)
                raise FirstMistake(f"the first pull of arm {pull.arm!r}, which was not counted: {said}")
        enough = len(finished) >= PROBE and len({pull.index for pull, _ in finished}) >= self._arms
        if self._unusable(finished, refuse=enough) and not enough:
            return True
        causes = {came.cause for _, came in finished}
        if "" in causes or (self._alike and len(causes) > 1):
            return False
        if enough:
            pull, came = finished[0]
            raise FirstMistake(
                f"{self._what} failed in all of the first {len(finished)} pulls, which were not counted; that of "
                f"{pull.arm!r}: {self._in_words(pull, came)}"
            )
        return True

    def _unusable(self, finished: Sequence[Finished], *, refuse: bool) -> bool:
        """Whether there are values that cannot be used as declared; where most are such, that is refused on demand."""
        found = False
        for d, objective in enumerate(self._objectives):
            values = [(pull.arm, came.values[d]) for pull, came in finished]
            numbers = [(arm, value) for arm, value in values if value is not None and not isinstance(value, bool)]
            wrong = [(arm, value) for arm, value in numbers if objective.fault(value)]
            found = found or bool(wrong)
            if refuse and 2 * len(wrong) > len(finished):
                arm, value = wrong[0]
                said = objective.unusable(len(wrong), len(finished), value, arm)
                raise FirstMistake(f"of the first pulls, which were not counted, {said}")
        return found
