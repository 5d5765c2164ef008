"""Reports to send: one HTML file, Markdown or CSV, of studies, analyses, experiments and their JSON.

`write_report(thing, path)` does it all. Names are imported on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
