"""Makes the gallery: `make gallery`, or `python -m gallery --only front` for the shots whose name has "front" in it.

The screenshots go to docs/images/gallery, and docs/gallery.md shows them with their captions. Needs a Chromium, which
the tests find or fetch: see tests/support/browsers.py.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.support.browsers import running_browser

from gallery import live, notebooks, pictures, reports
from gallery.document import document
from gallery.shots import Studio, in_order

__all__ = ["live", "main", "notebooks", "pictures", "reports"]  # each of them adds its shots

DOCS = Path(__file__).parents[1] / "docs"


def main() -> int:
    """Take all shots, or those that are named."""
    parser = argparse.ArgumentParser(prog="python -m gallery", description=__doc__)
    parser.add_argument("--only", action="append", metavar="NAME", help="a part of a shot's name; repeat for several")
    parser.add_argument("--list", action="store_true", help="say which there are, and take none")
    arguments = parser.parse_args()
    shots = in_order()
    wanted = [shot for shot in shots if not arguments.only or any(part in shot.name for part in arguments.only)]
    if arguments.list or not wanted:
        print("\n".join(shot.name for shot in (wanted or shots)))
        return 0 if wanted else 2
    images = DOCS / "images" / "gallery"
    images.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="gallery-") as folder,
        running_browser() as browser,
        Studio(browser, Path(folder), images) as studio,
    ):
        for shot in wanted:
            begun = time.monotonic()
            studio.take(shot)
            size = (images / shot.file).stat().st_size / 1024
            print(f"{shot.file:44} {size:6.0f} kB {time.monotonic() - begun:6.1f} s", flush=True)
    if not arguments.only:
        for path in set(images.glob("*.png")) - {images / shot.file for shot in shots}:
            path.unlink()  # of a shot that is no more
    (DOCS / "gallery.md").write_text(document(shots), encoding="utf-8")
    total = sum(path.stat().st_size for path in images.glob("*.png")) / 2**20
    print(f"{len(wanted)} shots; all pictures of the gallery are {total:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
