"""The site that `make docs` builds.

The source folder is the repository: CHANGELOG, CONTRIBUTING and the examples are pages where they are.
"""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tools.reference import as_text

from frontguard import __version__

project = "frontguard"
author = copyright = "The frontguard developers"
version = release = __version__

extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.autosummary"]
root_doc = "docs/index"
include_patterns = ["docs/**.md", "docs/api/*.rst", "CHANGELOG.md", "CONTRIBUTING.md", "examples/*/README.md"]
exclude_patterns = [".*", "src", "tests", "tools", "audit", "benchmarks", "gallery", "build", "**/__pycache__"]

myst_enable_extensions = ["deflist"]
myst_heading_anchors = 4
templates_path = ["docs/_templates"]  # autosummary looks from the source folder
autosummary_generate = True
default_role = "code"
autodoc_typehints = "none"
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_title = "frontguard"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["_static/index.html"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "show_prev_next": True,
    "navigation_depth": 2,
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}


def _as_numpydoc(app, what, name, item, options, lines):
    """Give a docstring the sections that it has from elsewhere; its texts in single backticks are code."""
    text = as_text(item) if what in ("class", "exception", "function") else "\n".join(lines)
    said, prompt, examples = text.partition("\n>>> ")
    said = re.sub(
        r"(?<![`\\:])`([^`\n]+)`(?!`)(?=(\w?))", lambda found: f"``{found[1]}``" + ("\\ " if found[2] else ""), said
    )
    lines[:] = (said.replace("*", "\\*") + prompt + examples).split("\n")


def setup(app):
    """Have docstrings read as above."""
    app.connect("autodoc-process-docstring", _as_numpydoc, priority=400)  # before numpydoc reads it
