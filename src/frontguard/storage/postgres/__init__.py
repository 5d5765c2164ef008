"""Studies on a PostgreSQL server, for workers on many machines. In the order of reading:

- `connections`: opened when needed, replaced when lost; tables and functions, and how they keep the guarantees
- `storage`: the contract by these functions
"""
