"""Policies decide which arm to pull next and when to stop: ask, tell, done, result."""

from frontguard.policies.auer import AuerA1, AuerA1M
from frontguard.policies.base import Policy
from frontguard.policies.certified import Certified
from frontguard.policies.rpsi import RPSI

__all__ = ["RPSI", "AuerA1", "AuerA1M", "Certified", "Policy"]
