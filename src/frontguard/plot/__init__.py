"""Pictures of results, studies and experiments: `frontguard.plot.front(result)` and others make a `Picture`.

- `picture`: what a picture is made of, and the colour, mark and filling of everything, verdicts above all.
- `fronts`: the front, and which of a million arms are shown; `results`, `studies`: the other pictures.
- `frames`: what the renderers share.
- `svg`, `paper`, `plotly`: the renderers. They draw any picture and know none.

To add a picture, write a function that returns a `Picture` and add its line to `__init__.pyi`, which lists all names.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
