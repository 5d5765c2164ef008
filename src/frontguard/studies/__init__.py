"""Studies: durable adaptive runs that many workers share, and that go on after a crash as if nothing had happened.

A `Study` hands out pulls and takes what they measured; its storage keeps the log; the policy's state is a replay of
that. Names are imported on first use: a process that only evaluates a function needs none of them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
