"""Logs: the robust front of what was already measured."""
