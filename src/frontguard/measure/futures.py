"""What futures of pulls may raise that is no failure of the pull itself. Worker processes import it: nothing heavy."""

from __future__ import annotations


class LostPull(Exception):
    """Who was at a pull is gone, and nobody knows what it would have measured."""
