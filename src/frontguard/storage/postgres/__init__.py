"""Studies on a PostgreSQL server, for workers on many machines. In the order of reading:

- `schema`: tables and functions on the server, and how they keep the guarantees
- `storage`: the contract by these functions
- `connections`: opened when needed, replaced when lost
"""
