"""The ways in which measuring goes wrong: each cell is a small world, run through the public interface and looked at.

A cell gets a random generator and gives every answer that a user would have been shown, beside the truth. What it
simulates is life, not frontguard: workers, commands, attackers and users are made up here; studies, the loop that
measures and analyses are the real ones. Where to start:

- `contract`: what a cell is, and how a study is begun, driven and looked at.
- `studies`: pulls that are lost or fail, equal values, measurements that lie, ends without a certificate.
- `means`: rates, means and exact values in studies.
- `lists`: what is returned, a short list or the whole front.
- `limits`: limits that arms just keep to, or just do not.
- `clusters`: pulls of a host, and rows of a process, that depend on each other.
- `logs`: logs of everything.
- `gates`: candidates against a baseline, in studies and of logs.
- `pairs`: studies and logs of arms on the same items, and of finite lists.
- `costs`: pulls that have costs, and studies that go on after their certificate.
- `machines`: machines whose speed changes while they measure.
- `independent`: studies that take arms as independent of each other.
- `best`: many arms, and one metric.
"""

from __future__ import annotations

from audit.cells import best, clusters, costs, gates, independent, limits, lists, logs, machines, means, pairs, studies
from audit.cells.contract import CELLS, DELTA, Cell, Rng

__all__ = [
    "CELLS",
    "DELTA",
    "Cell",
    "Rng",
    "best",
    "clusters",
    "costs",
    "gates",
    "independent",
    "limits",
    "lists",
    "logs",
    "machines",
    "means",
    "pairs",
    "studies",
]
