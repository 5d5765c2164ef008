"""A first mistake: what measures is at fault when every first pull of every arm fails alike, and not the arms."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from frontguard.measure.drive import Finished, FirstMistake
from frontguard.storage.contract import Pull
from frontguard.studies.measurement import Measurement
from frontguard.studies.replay import PROBE

ENOUGH_ARMS = 20
"""So many different arms that fail alike from the start are taken for all."""


class FirstPulls:
    """Holds back the first pulls as long as all of them fail alike; raises when that can be no accident.

    Then `what` measures is at fault, and a study that has counted its mistakes would be spoilt for when it is mended.
    `in_words` says why one failed; alike are those of one `cause`, unless `alike` says otherwise.
    """

    def __init__(
        self,
        arms: int,
        what: str,
        *,
        in_words: Callable[[Pull, Measurement], str] = lambda pull, came: came.reason,
        alike: bool = True,
    ) -> None:
        self._arms = min(arms, ENOUGH_ARMS)
        self._what, self._in_words, self._alike = what, in_words, alike

    def __call__(self, finished: Sequence[Finished]) -> bool:
        """Whether to go on holding them back."""
        causes = {came.cause for _, came in finished}
        if "" in causes or (self._alike and len(causes) > 1):
            return False
        if len(finished) >= PROBE and len({pull.index for pull, _ in finished}) >= self._arms:
            pull, came = finished[0]
            raise FirstMistake(
                f"{self._what} failed in all of the first {len(finished)} pulls, which were not counted; that of "
                f"{pull.arm!r}: {self._in_words(pull, came)}"
            )
        return True
