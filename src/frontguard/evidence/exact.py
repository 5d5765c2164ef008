"""Exact values: what is the same whenever it is measured is its own interval, whatever was declared of attackers."""

from __future__ import annotations

import numpy as np

from frontguard._common.compiled import kernel
from frontguard.evidence.ordered import Samples, ranked
from frontguard.evidence.samples import Record


@kernel
def exact_interval(samples: Samples, record: Record) -> tuple[float, float]:
    """The value; everything where there is none, and nothing, an empty interval, where two differ."""
    if record.count == 0:
        return -np.inf, np.inf
    return ranked(samples, record, record.count - 1), ranked(samples, record, 0)
