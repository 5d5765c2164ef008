"""The demonstration: sabotaged treatments, bombed reviews and compiler flags, as `frontguard demo` shows them.

`cases` runs the demonstration and reads its logs, `pictures` draws them. May know experiments (whose
data sets they use) and pictures; not reports, page and command line.
"""

from frontguard.demo.cases import Demo, analyze_flags, run_demo

__all__ = ["Demo", "analyze_flags", "run_demo"]
