"""The documentation of this release, without a network: its pages, a full-text search, and a site for a browser.

The wheel contains the Markdown pages. In a checkout, the pages are those of its folder `docs`. `write_site` renders
them to HTML when a user opens them.
"""

from __future__ import annotations

from kubewright.documentation._pages import Page, pages, readable
from kubewright.documentation._search import Hit, search
from kubewright.documentation._site import write_site

__all__ = ["Hit", "Page", "pages", "readable", "search", "write_site"]
