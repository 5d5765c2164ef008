"""The demonstration: sabotaged treatments, bombed reviews and compiler flags, as `frontguard demo` shows them.

`treatments` runs the demonstration, `reviews` is its second part, `pictures` draws both. May know experiments (whose
data sets they use) and pictures; not reports, page and command line.
"""

from frontguard.demo.treatments import Demo, analyze_flags, run_demo

__all__ = ["Demo", "analyze_flags", "run_demo"]
