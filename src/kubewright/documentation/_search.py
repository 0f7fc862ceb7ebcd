"""`search`: finds the sections of pages that contain all words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kubewright.documentation._pages import Page

__all__ = ["Hit", "search", "sections"]


@dataclass(frozen=True)
class Hit:
    """A section that contains all words."""

    page: str
    heading: str
    line: str
    """The first line with one of the words."""


def search(among: Iterable[Page], words: str, *, limit: int = 20) -> list[Hit]:
    """Returns sections with all words, in any case; those with words in their heading or page name come first.

    A heading has the word `ctx.clock` if it has `clock`: sections explain an attribute under its own name.
    """
    wanted = [word.lower() for word in words.split()]
    ranked: list[tuple[int, int, Hit]] = []
    for page in among:
        for heading, text in sections(page.text):
            everything = f"{page.name} {page.title} {heading} {text}".lower()
            if not wanted or not all(word in everything for word in wanted):
                continue
            line = next((one for one in text.splitlines() if any(word in one.lower() for word in wanted)), "")
            titled = sum(word.rpartition(".")[2] in heading.lower() for word in wanted) * 2 + sum(
                word in page.name for word in wanted
            )
            often = sum(text.lower().count(word) for word in wanted)
            ranked.append((-titled, -often, Hit(page.name, heading, " ".join(line.split())[:120])))
    ranked.sort(key=lambda one: (one[0], one[1], one[2].page))
    return [hit for _, _, hit in ranked[:limit]]


def sections(text: str) -> Iterator[tuple[str, str]]:
    """Yields heading and text of each section. A `#` in a block of code is not a heading."""
    heading, lines, fence = "", list[str](), ""
    for line in text.splitlines():
        if marker := re.match(r" *(```+|~~~+)", line):
            fence = "" if fence and marker[1].startswith(fence) else fence or marker[1]
        if not fence and (found := re.match(r"#{1,6} +(.+)", line)):
            if heading or lines:
                yield heading, "\n".join(lines)
            heading, lines = found[1].replace("`", ""), []
        else:
            lines.append(line)
    yield heading, "\n".join(lines)
