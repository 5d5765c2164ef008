"""Pictures of results, studies and experiments: `frontguard.plot.front(result)` and others make a `Picture`.

A picture is data: panels with axes in the user's units, and layers of marks, boxes, lines and bands on them. It can be
shown in a notebook, drawn with matplotlib or plotly, or saved. To add one, write a function that returns a `Picture`,
and add its line to `__init__.pyi`; every renderer can draw it then.

Where to start reading:

- `picture`: what a picture is made of; the colour, mark and filling of everything, of verdicts above all; its text.
- `fronts`: the front, and which of a million arms are shown; `results`, `studies`: the other pictures.
- `frames`: what the renderers share.
- `svg`, `paper`, `plotly`: the renderers. They draw any picture and know none.

Names are imported on first use; `__init__.pyi` lists them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
