"""Reads the fenced blocks of a page: ```` ```python ````, and MyST's ```` ```{code-block} python ```` with its options.

A comment on the line before a block is its note: `<!-- not run: why -->` excludes it from a run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

__all__ = ["ROOT", "Block", "blocks", "name"]

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(
    r"(?:^<!-- (?P<note>[^\n]*?) -->\n)?^```(?:\{code-block\} )?(?P<language>\w+)\n"
    r"(?P<options>(?::[\w-]+:[^\n]*\n)*)\n*(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """A block on a page. `line` is the number of lines before its code, `note` the comment before it."""

    page: Path
    line: int
    language: str
    options: Mapping[str, str]
    code: str
    note: str

    @property
    def place(self) -> str:
        return f"{name(self.page)}:{self.line + 1}"

    @property
    def is_doctest(self) -> bool:
        return self.code.lstrip().startswith(">>>")

    def compiled(self) -> CodeType:
        """Compiles Python, with the line numbers of the page, so that a traceback shows the place."""
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        code = compile("\n" * self.line + self.code, str(self.page), "exec", flags=flags, dont_inherit=True)
        assert isinstance(code, CodeType)
        return code


def blocks(page: Path, *languages: str) -> list[Block]:
    """Returns the blocks of a page in these languages. Default: all."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            page,
            text.count("\n", 0, found.start("code")),
            found["language"],
            dict(re.findall(r"^:([\w-]+): *(.*?)$", found["options"], re.MULTILINE)),
            found["code"],
            found["note"] or "",
        )
        for found in _BLOCK.finditer(text)
        if not languages or found["language"] in languages
    ]


def name(page: Path) -> str:
    """Returns the path of a page as tests and messages show it."""
    return page.relative_to(ROOT).as_posix() if page.is_relative_to(ROOT) else page.name
