"""The tail of chi-square against scipy's."""

from __future__ import annotations

import pytest
from scipy import special

from frontguard.logs.checks import chi_square_tail


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 7, 63, 500, 5001])
def test_chi_square_tail(freedom: int) -> None:
    for x in (0.0, 1e-9, 0.1, 1.0, 3.84, 0.5 * freedom, freedom, 1.3 * freedom + 5, 4.0 * freedom + 50, 1e5):
        expected = float(special.chdtrc(freedom, x))
        assert chi_square_tail(freedom, x) == pytest.approx(expected, rel=1e-10, abs=1e-300), x
