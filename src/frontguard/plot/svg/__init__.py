"""The pencil that draws SVG."""
