"""What the pencils share; knows pictures and no pencil.

- `frames`: what part of the plane a panel shows, and where things that go on for ever end.
- `scales`: where a value lies on an axis, and which values are named there.
- `names`: names on one line, not too long, and harmless. `placing`: where words beside marks go.
"""
