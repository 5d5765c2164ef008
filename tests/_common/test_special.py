"""Functions of statistics against scipy's."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special

from frontguard._common.special import beta_share, chi_square_tail, log_beta, normal_quantile


@pytest.mark.parametrize("p", [1e-300, 1e-30, 1e-9, 0.001, 0.02425, 0.3, 0.5, 0.7, 0.999, 1 - 1e-12])
def test_normal_quantile(p: float) -> None:
    assert normal_quantile(p) == pytest.approx(float(special.ndtri(p)), rel=1e-13, abs=1e-15)


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 7, 63, 500, 5001])
def test_chi_square_tail(freedom: int) -> None:
    for x in (0.0, 1e-9, 0.1, 1.0, 3.84, 0.5 * freedom, freedom, 1.3 * freedom + 5, 4.0 * freedom + 50, 1e5):
        expected = float(special.chdtrc(freedom, x))
        assert chi_square_tail(freedom, x) == pytest.approx(expected, rel=1e-10, abs=1e-300), x


def test_beta() -> None:
    rng = np.random.default_rng(0)
    for a, b, x in zip(*np.exp(rng.normal(0, 2, (2, 300))), rng.random(300), strict=True):
        assert log_beta(a, b) == pytest.approx(float(special.betaln(a, b)), rel=1e-12, abs=1e-13)
        assert beta_share(a, b, x) == pytest.approx(float(special.betainc(a, b, x)), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("strength", [0.5, 2.0, 10.0])
def test_the_prior_of_ranks(strength: float) -> None:
    """As `evidence.boundaries` needs them: at the mean, for every p₀, far nearer than its safety of 1e-9."""
    for p in (*np.linspace(0.001, 0.999, 200), 1e-6, 1 - 1e-6):
        a, b = strength * p, strength * (1.0 - p)
        expected = float(special.betaln(a, b) + np.log(special.betainc(a, b, p)))
        assert log_beta(a, b) + math.log(beta_share(a, b, p)) == pytest.approx(
            expected, abs=1e-11 if p > 0.999 else 1e-12
        )
