"""A Sphinx extension: writes `llms.txt`, the list of all pages for programs that read the documentation.

The format is that of llmstxt.org: a title, a summary, and for each part of the site its pages, with the first sentence
of each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from sphinx.application import Sphinx

_TOCTREE = re.compile(r"```\{toctree\}\n:caption: (?P<caption>[^\n]+)\n(?::[^\n]*\n)*\n(?P<entries>.*?)```", re.DOTALL)
_ENTRY = re.compile(r"(?:(?P<title>.+) <(?P<target>.+)>|(?P<page>.+))")


def setup(app: Sphinx) -> dict[str, object]:
    """Writes the file after the build."""
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True}


def _write(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        text = llms(Path(app.srcdir))
        (Path(app.outdir) / "llms.txt").write_text(text, encoding="utf-8")


def llms(folder: Path) -> str:
    """Returns the content for the pages in a folder, in the order of its `index.md`."""
    index = (folder / "index.md").read_text(encoding="utf-8")
    lines = ["# Kubewright", "", f"> {_summary(index)}"]
    for part in _TOCTREE.finditer(index):
        lines += ["", f"## {part['caption']}", ""]
        for entry in filter(None, part["entries"].splitlines()):
            found = _ENTRY.fullmatch(entry.strip())
            assert found is not None
            page = found["target"] or found["page"]
            text = (folder / f"{page}.md").read_text(encoding="utf-8")
            title = found["title"] or next(_headings(text))
            lines.append(f"- [{title}]({page}.html): {_summary(text)}")
    return "\n".join(lines) + "\n"


def _headings(text: str) -> Iterator[str]:
    return (line[2:].strip() for line in text.splitlines() if line.startswith("# "))


def _summary(text: str) -> str:
    """Returns the first sentence after the title, without markup."""
    _, _, body = text.partition("\n\n")
    paragraph = " ".join(body.partition("\n\n")[0].split())
    plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)|[*`]", lambda found: found[1] or "", paragraph)
    return re.split(r"(?<=[.:!?]) (?=[A-Z])", plain)[0]
