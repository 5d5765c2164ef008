"""A first mistake: what measures is at fault when every first pull of every arm fails alike, and not the arms.

Or the tolerance is: one in percent can use no value at or below 0, and where most of the first ones are, it is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from frontguard.measure.drive import Finished, FirstMistake
from frontguard.objectives import Objective
from frontguard.storage.contract import Pull
from frontguard.studies.measurement import Measurement
from frontguard.studies.replay import PROBE

ENOUGH_ARMS = 20
"""So many different arms that fail alike from the start are taken for all."""


class FirstPulls:
    """Holds back the first pulls as long as all of them fail alike; raises when that can be no accident.

    Then `what` measures is at fault, and a study that has counted its mistakes would be spoilt for when it is mended.
    `in_words` says why one failed; alike are those of one `cause`, unless `alike` says otherwise. Held back are also
    first pulls of which one has a value that its tolerance cannot use.
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
        """Whether there are values that their tolerance cannot use; where most are such, that is refused on demand."""
        found = False
        for d, objective in enumerate(self._objectives):
            values = [(pull.arm, came.values[d]) for pull, came in finished]
            low = [(arm, value) for arm, value in values if objective.relative and value is not None and value <= 0.0]
            found = found or bool(low)
            if refuse and 2 * len(low) > len(finished):
                arm, value = low[0]
                said = objective.not_positive(len(low), len(finished), value, arm)
                raise FirstMistake(f"of the first pulls, which were not counted, {said}")
        return found
