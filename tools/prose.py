"""Reports prose that is hard to read: long sentences, and paragraphs in which most sentences are passive.

    python -m tools.prose              # a summary, and the worst ten of each
    python -m tools.prose FILE...      # everything in these files

It reports, and never fails: a long list of names or a rule of Kubernetes can be right as it is. The goal of a page is
an average below 25 words.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["Finding", "Paragraph", "findings", "main", "paragraphs", "sentences"]

ROOT: Final = Path(__file__).resolve().parents[1]
AVERAGE: Final = 25
LONG: Final = 40
_FENCE: Final = re.compile(r"^\s*(```|~~~)")
_MARKUP: Final = re.compile(r"`[^`]*`|!?\[([^\]]*)\]\([^)]*\)|[*_]{1,2}")
_END: Final = re.compile(r"(?<=[.!?:])\s+(?=[A-Z`\[*])")
_PASSIVE: Final = re.compile(
    r"\b(?:is|are|was|were|be|been|being)\s+(?:\w+ly\s+|not\s+|never\s+|also\s+|only\s+)?"
    r"(?:\w{2,}ed|written|sent|read|made|kept|given|shown|run|set|known|found|held|built|taken|lost|done|left|chosen)\b",
    re.IGNORECASE,
)
_GENERATED: Final = re.compile(r"docs/(?:api|_build)/.*|docs/design/promises\.md|.*/versions/.*|CHANGELOG\.md")


class Paragraph(NamedTuple):
    line: int
    text: str


class Finding(NamedTuple):
    """Something to rewrite. A larger weight is worse."""

    file: str
    line: int
    weight: float
    problem: str


def paragraphs(page: str) -> Iterator[Paragraph]:
    """Yields the paragraphs and list items of a page, without code, tables, headings and comments."""
    current: list[str] = []
    begin, fenced = 1, False
    for number, line in enumerate([*page.splitlines(), ""], 1):
        fence = bool(_FENCE.match(line))
        starts_item = re.match(r"\s*(?:[-*]|\d+\.) ", line)
        apart = fence or fenced or not line.strip() or re.match(r"\s*(?:#|\||<!--|>>>|:\w+:|\()", line)
        if (apart or starts_item) and current:
            yield Paragraph(begin, " ".join(current))
            current = []
        if fence:
            fenced = not fenced
        if not apart:
            if not current:
                begin = number
            current.append(re.sub(r"^\s*(?:[-*]|\d+\.) ", "", line).strip())


def sentences(text: str) -> list[str]:
    """Returns the sentences of a paragraph. Code counts as one word, a link as its text."""
    plain = _MARKUP.sub(lambda found: found[1] or ("X" if found[0].startswith("`") else ""), text)
    return [each for each in _END.split(plain) if each.strip()]


def findings(file: str, page: str) -> Iterator[Finding]:
    """Yields what is hard to read on a page."""
    lengths: list[int] = []
    for paragraph in paragraphs(page):
        found = sentences(paragraph.text)
        for sentence in found:
            words = len(sentence.split())
            lengths.append(words)
            if words > LONG:
                start = " ".join(sentence.split()[:8])
                yield Finding(file, paragraph.line, words, f"a sentence of {words} words: {start}…")
        passive = sum(1 for sentence in found if _PASSIVE.search(sentence))
        if len(found) >= 3 and passive / len(found) > 0.6:
            yield Finding(file, paragraph.line, passive, f"{passive} of {len(found)} sentences are passive")
    if lengths and (average := sum(lengths) / len(lengths)) > AVERAGE:
        yield Finding(file, 1, average, f"{average:.0f} words in a sentence on average")


def pages() -> list[Path]:
    """Returns the pages that people write."""
    command = ["git", "ls-files", "*.md"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return [ROOT / name for name in names if not _GENERATED.fullmatch(name) and (ROOT / name).is_file()]


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the report. Returns 0."""
    named = [Path(each).resolve() for each in (sys.argv[1:] if arguments is None else arguments)]
    checked = named or pages()
    found: list[Finding] = []
    for file in checked:
        name = file.relative_to(ROOT).as_posix() if file.is_relative_to(ROOT) else str(file)
        found += findings(name, file.read_text(encoding="utf-8"))
    for label in ("a sentence of", "sentences are passive", "on average"):
        some = sorted((each for each in found if label in each.problem), key=lambda each: -each.weight)
        for each in some if named else some[:10]:
            print(f"{each.file}:{each.line}: {each.problem}")
    print(f"prose: {len(checked)} pages, {len(found)} places to rewrite (reported, not failed)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
