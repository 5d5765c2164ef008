"""A log that is read and sorted by the workers of a Dask cluster, with the same answer as on one machine.

`cluster` is what the client does, and reads boxes through; `on_workers` what the workers do.
"""
