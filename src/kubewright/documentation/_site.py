"""`write_site`: the pages as HTML files that link to each other and have a search, for a browser without a network."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Final

from kubewright.documentation._markdown import rendered, slug
from kubewright.documentation._pages import Page
from kubewright.documentation._search import sections

__all__ = ["write_site"]

_STYLE: Final = """\
:root { color-scheme: light dark; --line: #8886; }
body { font: 16px/1.6 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 0 1rem 4rem; }
header { position: sticky; top: 0; background: Canvas; padding: .5rem 0; border-bottom: 1px solid var(--line); }
header input { font: inherit; width: 24rem; max-width: 60%; }
pre { overflow-x: auto; padding: .75rem; border: 1px solid var(--line); border-radius: 4px; }
code { font: .9em ui-monospace, monospace; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { border: 1px solid var(--line); padding: .3rem .6rem; text-align: left; vertical-align: top; }
a { color: LinkText; }
"""
_SCRIPT: Final = """\
const box = document.getElementById("search"), found = document.getElementById("found");
box.addEventListener("input", () => {
  const words = box.value.toLowerCase().split(/\\s+/).filter(Boolean);
  found.replaceChildren();
  if (!words.length || box.value.length < 2) return;
  const score = ([, title, text]) => words.reduce((sum, word) => sum + (title.toLowerCase().includes(word) ? 9 : 0) +
    text.split(word).length - 1, 0);
  const matches = ([, title, text]) => words.every(word => (title.toLowerCase() + " " + text).includes(word));
  const all = SECTIONS.filter(matches);
  for (const [address, title] of all.sort((a, b) => score(b) - score(a)).slice(0, 20)) {
    const item = document.createElement("li"), link = document.createElement("a");
    link.href = ROOT + address; link.textContent = title; item.append(link); found.append(item);
  }
});
"""


def write_site(pages: Mapping[str, Page], folder: Path) -> Path:
    """Writes all pages, their style and their search to `folder`. Returns the first page."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "style.css").write_text(_STYLE, encoding="utf-8")
    # ASCII, so that no encoding of a file on disk matters; `<` cannot end the script.
    found = json.dumps([*_sections(pages)]).replace("<", "\\u003c")
    (folder / "search.js").write_text(f"const SECTIONS = {found};\n{_SCRIPT}", encoding="utf-8")
    for page in pages.values():
        file = folder / f"{page.name}.html"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(_html(page, pages), encoding="utf-8")
    return folder / "index.html"


def _sections(pages: Mapping[str, Page]) -> list[tuple[str, str, str]]:
    return [
        (f"{page.name}.html#{slug(heading)}", f"{page.title}: {heading}", " ".join(text.lower().split()))
        for page in pages.values()
        for heading, text in sections(page.text)
    ]


def _html(page: Page, pages: Mapping[str, Page]) -> str:
    root = "../" * page.name.count("/")

    def link(target: str, label: str) -> tuple[str, str]:
        """Follows links to other pages. A link to a file that is not part of the pages has no address."""
        if re.match(r"[a-z]+:", target) or target.startswith("#"):
            return target, label or target
        name, anchor = page.linked(target), target.partition("#")[2]
        if (other := pages.get(name)) is None:
            return "", label or name
        return f"{root}{name}.html" + (f"#{anchor}" if anchor else ""), label or other.title

    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(page.title)} - Kubewright</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="stylesheet" href="{root}style.css"></head>\n'
        f'<body><header><a href="{root}index.html">Kubewright</a> '
        '<input id="search" type="search" placeholder="Search" aria-label="Search the documentation">'
        f'<ul id="found"></ul></header>\n<main>\n{rendered(page.text, link)}\n</main>\n'
        f'<script>const ROOT = "{root}";</script><script src="{root}search.js"></script></body></html>\n'
    )
