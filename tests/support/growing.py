"""One growing sample with a plain interface: `evidence.samples` are kernels over many columns."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from frontguard.evidence.samples import empty_pool, empty_table, median, push, reserve


class GrowingSample:
    """One growing sample with its exact median.

    >>> sample = GrowingSample([3.0, 1.0, 2.0])
    >>> sample.extend([10.0])
    >>> sample.median(), len(sample)
    (2.5, 4)
    """

    def __init__(self, values: npt.ArrayLike = ()) -> None:
        self._table = empty_table(1)
        self._pool = empty_pool(1)
        self.extend(values)

    def extend(self, values: npt.ArrayLike) -> None:
        """Add values, infinite ones too."""
        array = np.ascontiguousarray(values, np.float64).reshape(-1)
        self._pool = reserve(self._pool, self._table, 0, len(array), True)
        push(self._pool, self._table, 0, array)

    def __len__(self) -> int:
        return int(self._table["count"][0])

    def median(self) -> float:
        """The value in the middle; for an even number of values the mean of the two in the middle."""
        return float(median(self._pool, self._table, 0))
