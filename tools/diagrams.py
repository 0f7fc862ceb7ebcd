"""Draws the diagrams of the documentation: each `docs/diagrams/NAME.diagram` becomes `NAME.svg` beside it.

    python -m tools.diagrams            # draws all
    python -m tools.diagrams --check    # fails if a picture is out of date

A source has one statement on each line; `#` begins a comment:

    title Data flow                                       # for readers who do not see the picture
    box store 1 0 Store: bytes and a header               # name, column, row, label: second line
    box yours 3 1 green Reconcile: your function          # a color: blue (default), green, gray or red
    note 1 0 cache/                                       # small text above the box in that cell
    arrow store queue key                                 # from, to, label
    dashed store yours reads                              # the same, dashed
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple
from xml.sax.saxutils import escape, quoteattr

__all__ = ["DiagramError", "draw", "main"]

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDER: Final = ROOT / "docs" / "diagrams"
_COLORS: Final = {"blue": "#2b5fa8", "green": "#2f6f4f", "gray": "#4a5568", "red": "#9b2c2c"}
_LINE: Final = "#7a8496"  # readable on white and on black
_WIDTH, _HEIGHT, _GAP_X, _GAP_Y, _MARGIN = 150, 64, 60, 66, 26


class DiagramError(ValueError):
    """A source cannot be drawn. The message has the line."""


class Box(NamedTuple):
    column: float
    row: float
    color: str
    label: str
    detail: str

    @property
    def left(self) -> float:
        return _MARGIN + self.column * (_WIDTH + _GAP_X)

    @property
    def top(self) -> float:
        return _MARGIN + self.row * (_HEIGHT + _GAP_Y)

    @property
    def center(self) -> tuple[float, float]:
        return self.left + _WIDTH / 2, self.top + _HEIGHT / 2


class Arrow(NamedTuple):
    start: str
    end: str
    label: str
    dashed: bool


@dataclass
class Diagram:
    """The statements of a source."""

    title: str = ""
    boxes: dict[str, Box] = field(default_factory=dict)
    arrows: list[Arrow] = field(default_factory=list)
    notes: list[tuple[float, float, str]] = field(default_factory=list)


def parse(text: str) -> Diagram:
    """Reads a source. Raises `DiagramError`."""
    found = Diagram()
    for number, line in enumerate(text.splitlines(), 1):
        statement, _, rest = line.partition("#")[0].strip().partition(" ")
        try:
            if statement == "title":
                found.title = rest
            elif statement == "box":
                name, column, row, label = rest.split(maxsplit=3)
                color, _, after = label.partition(" ")
                color, label = (color, after) if color in _COLORS else ("blue", label)
                label, _, detail = label.partition(":")
                found.boxes[name] = Box(float(column), float(row), color, label.strip(), detail.strip())
            elif statement == "note":
                column, row, label = rest.split(maxsplit=2)
                found.notes.append((float(column), float(row), label))
            elif statement in ("arrow", "dashed"):
                start, end, *label_words = rest.split(maxsplit=2)
                found.arrows.append(Arrow(start, end, " ".join(label_words), statement == "dashed"))
            elif statement:
                raise DiagramError(f"line {number}: unknown statement {statement!r}")
        except ValueError as error:
            if isinstance(error, DiagramError):
                raise
            raise DiagramError(f"line {number}: {line.strip()!r} is incomplete") from error
    for arrow in found.arrows:
        if missing := {arrow.start, arrow.end} - found.boxes.keys():
            raise DiagramError(f"an arrow names the box {min(missing)!r}, which does not exist")
    if not found.title:
        raise DiagramError("the title is missing")
    return found


def draw(text: str) -> str:
    """Returns the SVG of a source. Raises `DiagramError`."""
    diagram = parse(text)
    width = max(box.left for box in diagram.boxes.values()) + _WIDTH + _MARGIN
    height = max(box.top for box in diagram.boxes.values()) + _HEIGHT + _MARGIN
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}"'
            f' font-family="system-ui, sans-serif" role="img" aria-label={quoteattr(diagram.title)}>',
            f"<title>{escape(diagram.title)}</title>",
            '<defs><marker id="a" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7"'
            f' orient="auto-start-reverse"><path d="M0 0 L10 5 L0 10 z" fill="{_LINE}"/></marker></defs>',
            *_arrows(diagram),
            *(part for box in diagram.boxes.values() for part in _box(box)),
            *_notes(diagram),
            "</svg>\n",
        ]
    )


def _box(box: Box) -> Iterator[str]:
    x, y = box.center
    yield (
        f'<rect x="{box.left:g}" y="{box.top:g}" width="{_WIDTH}" height="{_HEIGHT}" rx="8"'
        f' fill="{_COLORS[box.color]}"/>'
    )
    yield _text(x, y + (-4 if box.detail else 5), box.label, size=15, fill="#fff", more=' font-weight="600"')
    if box.detail:
        yield _text(x, y + 16, box.detail, size=11.5, fill="#eef2f8")


def _notes(diagram: Diagram) -> Iterator[str]:
    for column, row, label in diagram.notes:
        box = Box(column, row, "", "", "")
        yield _text(box.center[0], box.top - 8, label, size=11.5, fill=_LINE, more=' font-style="italic"')


def _arrows(diagram: Diagram) -> Iterator[str]:
    pairs = {(arrow.start, arrow.end) for arrow in diagram.arrows}
    for arrow in diagram.arrows:
        start, end = diagram.boxes[arrow.start], diagram.boxes[arrow.end]
        (x1, y1), (x2, y2) = _edge(start, end), _edge(end, start)
        if (arrow.end, arrow.start) in pairs:  # two arrows between the same boxes are drawn beside each other
            shift = 14 if arrow.start < arrow.end else -14
            x1, x2 = (x1 + shift, x2 + shift) if abs(x1 - x2) < abs(y1 - y2) else (x1, x2)
            y1, y2 = (y1 + shift, y2 + shift) if abs(x1 - x2) >= abs(y1 - y2) else (y1, y2)
        dashes = ' stroke-dasharray="5 4"' if arrow.dashed else ""
        yield (
            f'<path d="M{x1:.1f} {y1:.1f} L{x2:.1f} {y2:.1f}" stroke="{_LINE}" stroke-width="2" fill="none"'
            f' marker-end="url(#a)"{dashes}/>'
        )
        if arrow.label:
            vertical = start.column == end.column
            above = 7 if start.row == end.row else 18  # a line that rises or falls needs more room
            x, y = (x1 + x2) / 2 + (10 if vertical else 0), (y1 + y2) / 2 + (4 if vertical else -above)
            anchor = "start" if vertical else "middle"
            yield _text(x, y, arrow.label, size=12, fill=_LINE, anchor=anchor)


def _edge(box: Box, other: Box) -> tuple[float, float]:
    """Returns the point where the line between two boxes leaves the first one."""
    (x, y), (to_x, to_y) = box.center, other.center
    dx, dy = to_x - x, to_y - y
    scale = min(
        (_WIDTH / 2 + 2) / abs(dx) if dx else float("inf"),
        (_HEIGHT / 2 + 2) / abs(dy) if dy else float("inf"),
    )
    return x + dx * scale, y + dy * scale


def _text(x: float, y: float, text: str, *, size: float, fill: str, anchor: str = "middle", more: str = "") -> str:
    position = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {position} font-size="{size:g}"{more} fill="{fill}">{escape(text)}</text>'


def main(arguments: Sequence[str] | None = None) -> int:
    """Draws all diagrams, or with `--check` compares them. Returns 1 if one differs or cannot be drawn."""
    parser = argparse.ArgumentParser(prog="python -m tools.diagrams", description="Draws the diagrams of the docs.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a picture would change")
    check: bool = parser.parse_args(arguments).check
    failed = 0
    for source in sorted(FOLDER.glob("*.diagram")):
        picture = source.with_suffix(".svg")
        try:
            wanted = draw(source.read_text(encoding="utf-8"))
        except DiagramError as error:
            print(f"{source.relative_to(ROOT)}: {error}", file=sys.stderr)
            failed = 1
            continue
        if picture.is_file() and picture.read_text(encoding="utf-8") == wanted:
            continue
        if check:
            print(f"{picture.relative_to(ROOT)} is out of date; run: python -m tools.diagrams", file=sys.stderr)
            failed = 1
        else:
            picture.write_text(wanted, encoding="utf-8")
    return failed


if __name__ == "__main__":
    sys.exit(main())
