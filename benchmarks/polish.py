"""What polishing reaches on SW-LLVM at ε = 0.4: RO and pulls, beside the certificate alone and R-PSI.

`python -m benchmarks.polish docs/polish.md` writes the table into the page. SW-LLVM's points are not part of the
package; without them there are no rows. The attack of the paper hits Pareto arms more often than is declared: the same
with every arm hit with probability ε shows what that does.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from tools.document import with_tables

from benchmarks.certified import Measured, corrected, measure, name_of, settings, table
from benchmarks.tables import Row, heading
from frontguard.experiments.setup import CONTESTANTS
from frontguard.pareto.sampling import POLISH

RUNS = 100
SHARES = (POLISH, 0.02)


def cells(found: Measured) -> list[str]:
    return [f"{found.pulls:,.0f}", f"{found.score['ro']:.2f}", f"{found.score['rsr']:.2f}",
            f"{found.score['returned']:.1f}", f"{found.score['returned_off_front']:.1f}",
            found.ended_early or "–"]  # fmt: skip


def polished() -> tuple[list[Row], str]:
    """The cells at ε = 0.4, with the attack as it is and within ε."""
    heading("polishing on SW-LLVM at ε = 0.4")
    lines, rows = [], []
    for setting in settings():
        if setting.eps != 0.4 or setting.experiment.dataset != "sw-llvm":
            continue
        for what, experiment in corrected(setting.experiment)[:2]:
            changed = replace(setting, experiment=experiment)
            attack = "as it is" if what == "nothing" else what
            ways = [("R-PSI", measure(changed, CONTESTANTS["rpsi"], RUNS))]
            for share in (0.0, *SHARES):
                found = measure(changed, CONTESTANTS["certified"], RUNS, polish=share)
                ways.append((f"polished to {share:.0%}" if share else "certified", found))
                if share == POLISH:
                    named = f"{name_of(experiment)}, attack {attack}: RO when polished"
                    rows.append(Row(named, found.score["ro"], unit="", details=f"{found.pulls:,.0f} pulls"))
                    rows.append(Row(f"{named}: RSR", found.score["rsr"], at_least=0.9, unit=""))
            for way, found in ways:
                lines.append([name_of(experiment), attack, way, *cells(found)])
                print(" | ".join(lines[-1]), flush=True)
    headings = ["data", "attack", "", "pulls", "RO", "RSR", "returned", "off front", "other ends"]
    return rows, table(headings, lines)


def main(page: Path | None = None) -> list[Row]:
    rows, text = polished()
    if page is not None:
        page.write_text(with_tables(page.read_text(encoding="utf-8"), text, where=str(page)), encoding="utf-8")
    return rows


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
