"""The demonstration: sabotaged treatments, bombed reviews and compiler flags, as `frontguard demo` shows them."""

from frontguard.demo.treatments import Demo, analyze_flags, run_demo

__all__ = ["Demo", "analyze_flags", "run_demo"]
