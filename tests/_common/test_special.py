"""Functions of statistics against scipy's."""

from __future__ import annotations

import pytest
from scipy import special

from frontguard._common.special import chi_square_tail, normal_quantile


@pytest.mark.parametrize("p", [1e-300, 1e-30, 1e-9, 0.001, 0.02425, 0.3, 0.5, 0.7, 0.999, 1 - 1e-12])
def test_normal_quantile(p: float) -> None:
    assert normal_quantile(p) == pytest.approx(float(special.ndtri(p)), rel=1e-13, abs=1e-15)


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 7, 63, 500, 5001])
def test_chi_square_tail(freedom: int) -> None:
    for x in (0.0, 1e-9, 0.1, 1.0, 3.84, 0.5 * freedom, freedom, 1.3 * freedom + 5, 4.0 * freedom + 50, 1e5):
        expected = float(special.chdtrc(freedom, x))
        assert chi_square_tail(freedom, x) == pytest.approx(expected, rel=1e-10, abs=1e-300), x
