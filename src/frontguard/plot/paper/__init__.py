"""The pencil that draws with matplotlib."""
