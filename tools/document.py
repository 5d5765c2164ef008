"""Put the measured tables into a Markdown page: python -m tools.document RESULTS_DIR PAGE.

RESULTS_DIR is the output directory of `frontguard reproduce`: its tables.md replaces what stands in PAGE
between the two marker lines, so that no number of the page is typed by hand.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from frontguard.errors import BadInput

BEGIN = "<!-- measured tables: begin -->"
END = "<!-- measured tables: end -->"


def with_tables(page: str, tables: str, *, where: str = "page") -> str:
    """The page with `tables` between its markers.

    >>> print(with_tables(f"before\\n{BEGIN}\\nold\\n{END}\\nafter\\n", "new\\n"))
    before
    <!-- measured tables: begin -->
    <BLANKLINE>
    new
    <BLANKLINE>
    <!-- measured tables: end -->
    after
    <BLANKLINE>
    """
    if page.count(BEGIN) != 1 or page.count(END) != 1 or page.index(BEGIN) > page.index(END):
        raise BadInput(f"{where}: wanted one line {BEGIN!r} and after it one line {END!r}")
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n\n{tables.strip()}\n\n{END}{after}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Update the page named on the command line; 2 when that cannot be done."""
    parser = argparse.ArgumentParser(prog="python -m tools.document", description=__doc__)
    parser.add_argument("results", type=Path, help="output directory of `frontguard reproduce`")
    parser.add_argument("page", type=Path, help="Markdown page with the two marker lines")
    given = parser.parse_args(arguments)
    try:
        page, tables = (path.read_text(encoding="utf-8") for path in (given.page, given.results / "tables.md"))
        page = with_tables(page, tables, where=str(given.page))
    except (BadInput, OSError) as error:
        print(f"frontguard: {error}", file=sys.stderr)
        return 2
    given.page.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
