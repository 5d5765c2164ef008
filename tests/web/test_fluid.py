"""A thousand arms and a million pulls: what a visitor is sent, and what the page is made of, must not grow with pulls.

Counts and sizes only, and tasks beside those of a small study in the same browser; times are for benchmarks/page.py.
"""

from __future__ import annotations

import pytest
from benchmarks.page import ARMS, LARGE, SMALL, costs

from tests.support.browsers import NoBrowser
from tests.support.missing import without

MOST_BYTES = 300_000  # of a page, and of an update


@pytest.mark.parametrize("most", [15_000, pytest.param(LARGE, marks=pytest.mark.audit)])
def test_many_pulls_make_no_larger_page_and_keep_it_as_fluid(most: int) -> None:
    """A study of a thousand pulls, and one of very many: of a million where there is time for it."""
    try:
        small, large = costs((SMALL, most), ARMS, updates=3, openings=False)
    except NoBrowser as error:
        without("Chromium", str(error))
        raise
    for cost in (small, large):
        assert cost.document < 2 * MOST_BYTES, cost
        assert cost.update_bytes < MOST_BYTES, cost
        assert cost.nodes < 10_000, cost
    assert large.pulls >= 10 * small.pulls
    # The same arms, in another state: more of them may be shown in full, but not ten times as many.
    assert large.document < 2.5 * small.document
    # An update sends what changed, which may be little in one state and most of the page in the other.
    assert large.update_bytes < 2.5 * max(small.update_bytes, 0.5 * small.document)
    assert large.nodes < 2.5 * small.nodes
    # Side by side in one run, with room for whatever else the machine does; the log is many times as long.
    assert large.browser < 5.0 * small.browser + 0.05
    assert large.server < 10.0 * small.server + 0.2
