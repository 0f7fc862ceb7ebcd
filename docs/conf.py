"""How the documentation becomes a site. Nothing is fetched: no inventories, fonts or scripts of other hosts."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # for the extension beside this file
sys.path.insert(1, str(Path(__file__).parents[1]))  # for tools

import kubewright

project = "Kubewright"
author = "The Kubewright authors"
copyright = author  # noqa: A001  # Sphinx's name
version = release = kubewright.__version__

extensions = ["myst_parser", "_api_pages", "_llms", "_accessibility"]
exclude_patterns = ["_build"]
myst_heading_anchors = 3  # so that a link to a heading is checked like one to a page

html_theme = "furo"
html_title = "Kubewright"
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "github-dark"
