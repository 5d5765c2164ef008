"""Studies in an SQLite file, for any number of processes of one machine. In the order of reading:

- `storage`: the contract in short transactions
- `file`: the one connection of a process: opening, waiting, forks, and what goes wrong, in words of the user
- `log`: the tables, and rows in and out, with their checksums
"""
