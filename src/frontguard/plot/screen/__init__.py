"""The pencil that draws with plotly."""
