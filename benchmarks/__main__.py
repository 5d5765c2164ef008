"""All speed ratios, each measured in one run: `make bench`, or `python -m benchmarks samples` for one of them.

Some parts take minutes and run by name only: `certified` (pulls beside R-PSI's), `choices` (what the certified
policy's own choices cost), `means` (boxes of means beside betting and the Beta mixture, and their cost beside
medians), `models` (studies of rates beside exact prices, under every attacker), `storage` (tells beside Optuna's),
`follow` (an update of who watches a study, and what its writer notices), `cold` (commands with no machine code on
disk), `skyline` (verdicts beside public skylines) and `logs` (beside the medians of Polars and DuckDB; see there for
how to make it smaller).
"""

from __future__ import annotations

import sys
from importlib import import_module

from benchmarks.tables import Row

PARTS = ("engine", "samples", "decisions")


def main() -> int:
    rows: list[Row] = []
    for part in sys.argv[1:] or PARTS:
        rows += import_module(f"benchmarks.{part}").main()
    missed = [row for row in rows if not row.reached]
    print(
        f"\n{len(rows) - len(missed)} of {len(rows)} ratios reached"
        + "".join(f"\nMISSED: {row.what}" for row in missed)
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
