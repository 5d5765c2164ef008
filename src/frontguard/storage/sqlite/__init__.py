"""Studies in an SQLite file."""
