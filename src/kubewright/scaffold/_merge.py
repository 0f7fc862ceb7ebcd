"""`merge`: what two sides made of one text, in one text again.

This is diff3. Lines of the base that both sides kept hold the text together; between two of them each side has its own
piece. A piece that only one side changed is taken from it; one that both changed alike is taken once; one that they
changed differently is a conflict, and is left to a person.
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
    """A piece that both sides changed, and not alike."""

    line: int
    """Where it begins in the user's text, counted from 1."""
    ours: str
    base: str
    theirs: str

    def shown(self, base: str, theirs: str) -> str:
        """With the markers that git's diff3 style has; `base` and `theirs` are what those two are called."""
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
    """The text in pieces: those that are settled, and the conflicts between them."""

    pieces: tuple[str | Conflict, ...]

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        """The pieces that are left to a person."""
        return tuple(piece for piece in self.pieces if isinstance(piece, Conflict))

    def text(self, base: str = "base", theirs: str = "theirs") -> str:
        """The whole text; a conflict has markers around its sides."""
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
    """Merge what two sides made of `base`."""
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
    """The three texts cut at the same places: before and after every line that both sides kept."""
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
    """Where the lines of the base are in a side that has kept them."""
    blocks = difflib.SequenceMatcher(None, base, side, autojunk=False).get_matching_blocks()
    return {block.a + step: block.b + step for block in blocks for step in range(block.size)}


def _code(text: str) -> list[str]:
    """Returns the lines without comments and docstrings of one line. `##` begins the help of a make target."""
    lines = (line.partition(" ## ")[0].strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#") and not _DOCSTRING.fullmatch(line)]


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"
