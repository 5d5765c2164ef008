"""The site that `make docs` builds.

The source folder is the repository: CHANGELOG, CONTRIBUTING and the examples are pages where they are.
"""

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
autosummary_generate = True
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
