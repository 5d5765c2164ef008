"""The renderer that draws SVG, for reports, notebooks and the live page. It needs no library.

`draw` lays out panels and the legend, `axes` what stands around a panel, `layers` what lies on it: marks, paths and
words as SVG, and the pen that draws them.
"""
