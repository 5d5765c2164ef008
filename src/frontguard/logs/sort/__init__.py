"""Rows of a log become sorted measurements by arm."""
