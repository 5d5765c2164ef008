"""Table 2 as data: a few literals read off the paper by eye, and its completeness."""

from __future__ import annotations

import pytest

from frontguard.experiments.setup import EPSILONS, TABLE2, Published


@pytest.mark.parametrize(
    ("dataset", "policy", "eps", "row"),
    [
        ("movielens", "rpsi", 0.4, Published(1.0, 105847.2, 1.0, 1.0)),
        ("sw-llvm", "rpsi", 0.4, Published(1.0, 222906.8, 0.92, 1.0)),
        ("diabetes", "rpsi", 0.2, Published(1.0, 7232.8, 1.0, 1.0)),
        ("movielens", "auer-a1", 0.05, Published(0.0, 59092.6, 0.0, 0.92)),
        ("sw-llvm", "auer-a1", 0.2, Published(0.78, 80767.7, 0.0, 0.9)),
        ("diabetes", "auer-a1", 0.3, Published(0.0, 1946291.2, 0.71, 0.75)),
        ("movielens", "auer-a1-m", 0.4, Published(1.0, 45058.0, 0.83, 1.0)),
        ("sw-llvm", "auer-a1-m", 0.3, Published(0.5, 23726.7, 0.03, 0.71)),
        ("diabetes", "auer-a1-m", 0.0, Published(1.0, 637868.3, 1.0, 1.0)),
    ],
)
def test_literals(dataset: str, policy: str, eps: float, row: Published) -> None:
    assert TABLE2[dataset, policy, eps] == row


def test_the_table_is_whole() -> None:
    assert len(TABLE2) == 3 * 3 * len(EPSILONS)
    assert TABLE2.get(("sw-llvm", "rpsi", 0.15)) is None
