"""A Sphinx extension: fixes what axe-core reports about the pages of the theme.

Regions that scroll get the keyboard focus, captions of the sidebar a level, the two sidebars different names, and the
empty corner of a table is not a header.
"""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx

_FIXES = (
    (re.compile(r'(<p class="caption" role="heading")>'), r'\1 aria-level="2">'),
    (re.compile(r'<aside class="sidebar-drawer">'), '<aside class="sidebar-drawer" aria-label="All pages">'),
    (re.compile(r'<aside class="(toc-drawer[^"]*)">'), r'<aside class="\1" aria-label="On this page">'),
    (re.compile(r'<th class="head"><p></p></th>'), "<td></td>"),
    (re.compile(r"<pre>"), '<pre tabindex="0">'),
    (re.compile(r'<div class="(table-wrapper [^"]*)">'), r'<div class="\1" tabindex="0">'),
)


def setup(app: Sphinx) -> dict[str, object]:
    """Rewrites the pages after the build."""
    app.connect("build-finished", _rewrite)
    return {"parallel_read_safe": True}


def _rewrite(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        for page in Path(app.outdir).rglob("*.html"):
            text = page.read_text(encoding="utf-8")
            if (better := fixed(text)) != text:
                page.write_text(better, encoding="utf-8")


def fixed(page: str) -> str:
    """Returns a page with the fixes. Fixing it again changes nothing."""
    for pattern, replacement in _FIXES:
        page = pattern.sub(replacement, page)
    return page
