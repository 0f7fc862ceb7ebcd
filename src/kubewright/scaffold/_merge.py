"""`merge`: a three-way merge (diff3).

Lines of the base that both sides kept divide the text into pieces. A piece that only one side changed is taken from
that side. A piece that both changed in the same way is taken once. A piece that they changed differently is a conflict.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

__all__ = ["Conflict", "Merged", "merge"]

Lines = Sequence[str]

_DOCSTRING: Final = re.compile(r'"""[^"]*"""')


@dataclass(frozen=True, slots=True)
class Conflict:
    """A piece that both sides changed differently."""

    line: int
    """The line in the user's text where it begins, counted from 1."""
    ours: str
    base: str
    theirs: str

    def shown(self, base: str, theirs: str) -> str:
        """Returns the conflict with the markers of git's diff3 style. `base` and `theirs` are the labels."""
        return "".join(
            [
                "<<<<<<< yours\n",
                _ended(self.ours),
                f"||||||| {base}\n",
                _ended(self.base),
                "=======\n",
                _ended(self.theirs),
                f">>>>>>> {theirs}\n",
            ]
        )


@dataclass(frozen=True, slots=True)
class Merged:
    """The merged text in pieces: strings, and conflicts between them."""

    pieces: tuple[str | Conflict, ...]

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        """The conflicts."""
        return tuple(piece for piece in self.pieces if isinstance(piece, Conflict))

    def text(self, base: str = "base", theirs: str = "theirs") -> str:
        """Returns the whole text. Conflicts have markers around both sides."""
        return "".join(piece.shown(base, theirs) if isinstance(piece, Conflict) else piece for piece in self.pieces)

    def without_comment_conflicts(self) -> Merged:
        """Returns the merge with the user's lines wherever the other side changed only comments and docstrings."""
        return Merged(
            tuple(
                piece.ours if isinstance(piece, Conflict) and _code(piece.base) == _code(piece.theirs) else piece
                for piece in self.pieces
            )
        )


def merge(base: str, ours: str, theirs: str) -> Merged:
    """Merges the changes of two sides to `base`."""
    pieces: list[str | Conflict] = []
    line = 1
    sides = [text.splitlines(keepends=True) for text in (base, ours, theirs)]
    for chunk in _chunks(*sides):
        was, mine, other = ("".join(part) for part in chunk)
        if mine in (other, was):
            pieces.append(other)
        elif other == was:
            pieces.append(mine)
        else:
            pieces.append(Conflict(line, mine, was, other))
        line += len(chunk[1])
    return Merged(tuple(pieces))


def _chunks(base: Lines, ours: Lines, theirs: Lines) -> Iterator[tuple[Lines, Lines, Lines]]:
    """Yields the three texts in pieces, cut before and after every line that both sides kept."""
    in_ours, in_theirs = _kept(base, ours), _kept(base, theirs)
    at = (0, 0, 0)
    for place, line in enumerate(base):
        if place not in in_ours or place not in in_theirs:
            continue
        here = (place, in_ours[place], in_theirs[place])
        if here != at:
            yield base[at[0] : here[0]], ours[at[1] : here[1]], theirs[at[2] : here[2]]
        yield [line], [line], [line]
        at = (here[0] + 1, here[1] + 1, here[2] + 1)
    if at != (len(base), len(ours), len(theirs)):
        yield base[at[0] :], ours[at[1] :], theirs[at[2] :]


def _kept(base: Lines, side: Lines) -> dict[int, int]:
    """Returns the position in `side` of each line of the base that it kept."""
    blocks = difflib.SequenceMatcher(None, base, side, autojunk=False).get_matching_blocks()
    return {block.a + step: block.b + step for block in blocks for step in range(block.size)}


def _code(text: str) -> list[str]:
    """Returns the lines without comments and docstrings of one line. `##` begins the help of a make target."""
    lines = (line.partition(" ## ")[0].strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#") and not _DOCSTRING.fullmatch(line)]


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"
