"""The pencil that draws with matplotlib, for paper: `draw` the figure, `layers` what lies on a panel, `words` texts.

Whoever imports it without matplotlib (extra `plot`) is told how to install that.
"""

from frontguard.errors import BadInput

try:
    import matplotlib.style  # noqa: F401
except ImportError:
    raise BadInput("pictures need matplotlib: install the extra with pip install 'frontguard[plot]'") from None
