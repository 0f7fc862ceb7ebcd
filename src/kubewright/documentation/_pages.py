"""`pages`: finds the Markdown pages of this installation."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Page", "pages", "readable"]

_GENERATED = ("api", "_build")  # built by `make docs`, from docstrings
_NOTES = re.compile(
    r"^ *(?P<fence>```+|~~~+).*?^ *(?P=fence) *$|`[^`\n]+`|(?P<note><!--.*?-->\n?)", re.DOTALL | re.MULTILINE
)


@dataclass(frozen=True)
class Page:
    """A page of the documentation."""

    name: str
    """Its path without the ending: `reconcile`, `migration/kopf`."""
    text: str
    """Markdown."""

    @property
    def title(self) -> str:
        """Returns its first heading."""
        found = re.search(r"^# +(.+)$", self.text, re.MULTILINE)
        return found[1].replace("`", "") if found else self.name

    def linked(self, target: str) -> str:
        """Returns the name of the page that a link of this page leads to, whether it exists or not."""
        path = target.partition("#")[0]
        return posixpath.normpath(posixpath.join(posixpath.dirname(self.name), path)).removesuffix(".md")


def pages() -> Mapping[str, Page]:
    """Returns all pages by name, sorted. Empty if this installation has none."""
    folder = _folder()
    if folder is None:
        return {}
    files = sorted(folder.rglob("*.md"))
    kept = [file for file in files if file.relative_to(folder).parts[0] not in _GENERATED]
    names = [file.relative_to(folder).with_suffix("").as_posix() for file in kept]
    return {name: Page(name, file.read_text(encoding="utf-8")) for name, file in zip(names, kept, strict=True)}


def readable(page: Page) -> str:
    """Returns a page's Markdown without notes for tests."""
    return _NOTES.sub(lambda found: "" if found["note"] else found[0], page.text)


def _folder() -> Path | None:
    here = Path(__file__).parent
    in_checkout = here.parents[2] / "docs"
    for folder in (here / "pages", in_checkout):
        if (folder / "index.md").is_file():
            return folder
    return None
