"""Where studies are kept: the contract, and its backends in memory, in an SQLite file and on a PostgreSQL server."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
