"""Logs of every kind as one: arms, and the values of each metric, in batches that fit in memory.

`open_log` takes a file, a directory, a glob or a list of these, or a frame. What is wrong with the names of columns is
said when it is opened; what is wrong with a row, when its batch comes.

- `reader`: what a reader is (`LogTable`), what is asked of it, and how what is in a column becomes names and numbers
- `text_tables` (CSV and JSON lines), `typed` (Parquet and frames) and `tools` (hyperfine, pyperf, pytest-benchmark):
  the readers
- `files`: the files that a path, a directory, a glob or a list stands for
- `log`: which format files have; tables one after another become batches of pulls
"""

from frontguard.logs.sort import Batch
from frontguard.logs.sources.log import Log, open_log

__all__ = ["Batch", "Log", "open_log"]
