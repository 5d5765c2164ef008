"""Studies: durable adaptive runs that many workers share, and that go on after a crash as if nothing had happened.

A `Study` hands out pulls and takes what they measured; its storage keeps the log; the policy's state is a replay of it.

- `study`: ask, tell, result
- `measurement`: what came back of a pull, the checks that it passes, and the names of those who measure
- `replay`: policy, answer and alarms as a function of the log
- `settings`: what a study is about, as its storage keeps it
- `pulls`: their items, what was begun, what was told as a frame, which of them count, why they failed, what they cost
- `alarms`: evidence that data are dirtier than declared, and hints for the eye
- `follow`: a study followed from outside, and at one moment

Names are imported on first use: a process that only evaluates a function needs none of them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
