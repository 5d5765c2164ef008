"""All that is measured, as ratios within one run: `make bench`, or `python -m benchmarks NAME …` for some of them.

A benchmark is a module of this folder whose `main()` gives its rows (`benchmarks.tables.Row`), as a list or one by one
as they are measured, and a line in `SHORT` or `LONG` below. LONG ones take many minutes each and run by name, or all
with `python -m benchmarks all`; the table shows what they had last time. What a run measured is kept in
`benchmarks/last` (not with `--discard`, nor at another scale), to be committed with what made it faster; `python -m
benchmarks table` shows what is kept.
"""

from __future__ import annotations

import os
import sys
import time
from importlib import import_module

from benchmarks.kept import keep, last_time
from benchmarks.tables import Row, heading, line, table

SHORT = ("start", "engine", "samples", "decisions", "opening", "analyze")
LONG = (
    "cold",  # commands with no machine code on disk
    "certified",  # pulls beside R-PSI's
    "best",  # pulls where one metric counts, beside equal parts of δ for all ends
    "limit",  # pulls beside what any method needs
    "apart",  # how often equal arms are told apart where they are taken as independent
    "choices",  # what the certified policy's own choices cost
    "means",  # intervals of means beside betting and the Beta mixture, and their cost beside medians
    "pairs",  # pulls where arms answer the same questions, beside questions of their own
    "models",  # studies of rates beside exact prices, under every attacker
    "costs",  # what it saves to weigh pulls by their cost
    "polish",  # what polishing reaches on SW-LLVM at ε = 0.4
    "storage",  # tells beside Optuna's
    "follow",  # an update of who watches a study, and what its writer notices
    "shortlist",  # the short list beside the paper's set
    "skyline",  # verdicts beside public skylines
    "logs",  # reading and sorting beside the medians of Polars and DuckDB, and out of core
    "suites",  # exit codes of gates of many benchmarks at few sessions, beside tests and thresholds
    "sessions",  # the same of real sessions of pytest-benchmark and hyperfine
    "gate",  # false alarms and detections of gates, beside thresholds on means
    "page",  # the live page in a browser
)


def measure(name: str) -> list[Row]:
    """Run one, with its rows shown as they come."""
    began = time.monotonic()
    rows = []
    for row in import_module(f"benchmarks.{name}").main():
        print(line(row), flush=True)
        rows.append(row)
    print(f"  {name} took {time.monotonic() - began:.0f} s", flush=True)
    return rows


def main(words: list[str]) -> int:
    """What the command line asks for; 2 where it asks for what is not there."""
    known = SHORT + LONG
    names = [word for word in words if not word.startswith("-")]
    wrong = [word for word in words if word not in (*known, "all", "table", "--discard")]
    if wrong:
        print(f"no such benchmark: {wrong[0]}; wanted all, table, --discard or some of {', '.join(known)}")
        return 2
    before = last_time(known)
    now: dict[str, list[Row]] = {}
    if names != ["table"]:
        chosen = known if "all" in names else tuple(dict.fromkeys(names)) or SHORT
        keeping = "--discard" not in words and float(os.environ.get("FRONTGUARD_BENCH_SCALE", "1")) == 1
        for number, name in enumerate(chosen, start=1):
            heading(f"[{number}/{len(chosen)}] {name}")
            now[name] = measure(name)
            if keeping:  # at once: a later failure loses nothing
                keep(name, now[name])
    named = set(names) - {"all", "table"}
    print("\n" + table(now, {name: rows for name, rows in before.items() if not named or name in named}))
    measured = [row for rows in (now or before).values() for row in rows if row.wanted]
    reached = sum(row.reached for row in measured)
    print(f"\n{reached} of {len(measured)} figures as wanted{'' if now else ', last time'}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
