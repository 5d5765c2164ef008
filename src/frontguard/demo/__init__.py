"""The demonstration: sabotaged treatments, bombed reviews and compiler flags, as `frontguard demo` shows them.

`cases` runs the demonstration and reads its logs, `pictures` draws them.
"""

from frontguard.demo.cases import Demo, analyze_flags, run_demo

__all__ = ["Demo", "analyze_flags", "run_demo"]
