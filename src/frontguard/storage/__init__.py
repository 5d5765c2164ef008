"""Storages of studies: a log of pulls and the leases on them, in memory, in a file or on a server.

- `contract`: the guarantees, the records, how a lease ends, studies in memory, and the storage of an address
- `sqlite`: a file, for the processes of one machine; `sqlite_file`: the one connection of a process to it
- `postgres`: a server, for workers on many machines
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
