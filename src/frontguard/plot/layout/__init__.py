"""What the renderers share; knows pictures and no renderer.

- `frames`: what part of the plane a panel shows, and where things that go on for ever end.
- `scales`: where a value lies on an axis, and which values are named there. `sheet`: a panel where it is drawn.
- `names`: names on one line, not too long, and harmless; how wide they are.
- `labels`: what is written beside marks, where there is room.
"""
