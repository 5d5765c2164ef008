"""The pencil that draws with matplotlib, for paper: `draw` the figure, `layers` what lies on a panel, `words` texts."""
