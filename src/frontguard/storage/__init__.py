"""Where studies are kept: a log of pulls and the leases on them, in memory, in a file or on a server.

A storage knows errors and NumPy, nothing of arms, policies or studies. In the order of reading:

- `contract`: the guarantees, what is asked (`Pull`) and stored (`Tell`, `Told`), and how a lease ends
- `memory`: the contract in its most obvious form
- `open`: a path or an address becomes a storage
- `sqlite`: a file, for the processes of one machine
- `postgres`: a server, for workers on many machines
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
