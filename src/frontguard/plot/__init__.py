"""Pictures of results, studies and experiments: `frontguard.plot.front(result)` and others make a `Picture`, which can
be shown in a notebook, drawn with matplotlib or plotly, or saved.

Names are imported on first use; `__init__.pyi` lists them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
