"""Pulls made by running commands: specs, processes, metrics, the terminal view."""
