"""Policies decide which arm to pull next and when to stop: ask, tell, done, result.

Read in this order:

- `base`: the contract, and the turn-taking that all policies share;
- `certified`: the policy of this library, around the rule of `pareto.rule`; `holding`: the samples that it keeps and
  lends;
- `baseline`: its goal where candidates are compared with a baseline;
- `rpsi`: the paper's Algorithm 1; `auer`: what the paper compares it with;
- `forecast`: how many pulls a certified policy still needs.
"""

from frontguard.policies.auer import AuerA1, AuerA1M
from frontguard.policies.base import Policy
from frontguard.policies.certified import Certified
from frontguard.policies.rpsi import RPSI

__all__ = ["RPSI", "AuerA1", "AuerA1M", "Certified", "Policy"]
