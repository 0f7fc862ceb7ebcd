"""`edit_yaml`: changes only the lines of a YAML document that differ, so that comments and order stay.

Edits use the positions that the parser reports. The result is accepted only if parsing it yields the wanted object.
Otherwise the document is regenerated without comments.
"""

from __future__ import annotations

from typing import Any

from kubewright.console.forms._merging import changed_paths
from kubewright.console.forms._paths import MISSING, Path, value_at
from kubewright.console.forms._yaml import YamlSyntaxError, compose_nodes, read_yaml, write_yaml

__all__ = ["edit_yaml"]


def edit_yaml(text: str, wanted: dict[str, Any]) -> str:
    """Returns the document, edited so that it represents the wanted object."""
    if "#" not in text:
        return write_yaml(wanted)  # no comments to preserve
    try:
        before = read_yaml(text)
        for path in _places(before, wanted):
            text = _edit(text, path, value_at(wanted, path))
        if read_yaml(text) == wanted:
            return text
    except (YamlSyntaxError, LookupError):
        pass
    return write_yaml(wanted)


def _places(before: Any, wanted: Any) -> list[Path]:
    """Returns the paths to change, last one first, so that earlier indexes stay valid."""
    return list(reversed(changed_paths(before, wanted)))


def _edit(text: str, path: Path, value: Any) -> str:
    *parents, last = path
    node = _node(compose_nodes(text), tuple(parents))
    lines = text.splitlines(keepends=True)
    for at_, (key, held) in enumerate(_pairs(node)):
        if key != last:
            continue
        start, end = held.start_mark, held.end_mark
        if value is not MISSING and _is_inline(held, value):
            return text[: start.index] + _inline(value) + text[end.index :]
        first = _first_line(node, at_)
        stop = _stop_line(node, at_)
        made = "" if value is MISSING else _block(last, value, _indent(node))
        return "".join(lines[:first]) + made + "".join(lines[stop:])
    if value is MISSING or isinstance(last, int):
        raise LookupError(last)
    stop = _stop_line(node, len(node.value) - 1)
    head = "".join(lines[:stop])
    head += "" if head.endswith("\n") or not head else "\n"
    return head + _block(last, value, _indent(node)) + "".join(lines[stop:])


def _node(node: Any, path: Path) -> Any:
    for step in path:
        node = next((held for key, held in _pairs(node) if key == step), None)
        if node is None:
            raise LookupError(step)
    if node is None or (node.id != "mapping" and node.id != "sequence") or node.flow_style or not node.value:
        raise LookupError(path)
    return node


def _pairs(node: Any) -> list[tuple[str | int, Any]]:
    if node is not None and node.id == "mapping":
        return [(key.value, held) for key, held in node.value]
    return list(enumerate(node.value)) if node is not None and node.id == "sequence" else []


def _is_inline(held: Any, value: Any) -> bool:
    """Whether the new value can replace the old one within its line."""
    start, end = held.start_mark, held.end_mark
    was_inline = held.id == "scalar" and held.style not in ("|", ">") and start.line == end.line
    is_inline = value in ({}, []) or value is None or isinstance(value, bool | int | float | str)
    return was_inline and start.index < end.index and is_inline and "\n" not in str(value)


def _inline(value: Any) -> str:
    return write_yaml(value).strip()


def _first_line(node: Any, place: int) -> int:
    key = node.value[place][0] if node.id == "mapping" else node.value[place]
    if node.id == "sequence":
        raise LookupError("list elements are rewritten as a whole")
    line: int = key.start_mark.line
    if key.start_mark.column != _indent(node) or (place == 0 and node.start_mark.column != _indent(node)):
        raise LookupError("the key follows a dash")
    return line


def _stop_line(node: Any, place: int) -> int:
    """Returns the line after a member. Comments that follow it belong to the next member."""
    if node.id != "mapping":
        raise LookupError("list elements are rewritten as a whole")
    key, held = node.value[place]
    return max(_end_line(held), int(key.start_mark.line) + 1)


def _end_line(node: Any) -> int:
    """Returns the line after a node. The parser ends a block at the next token, so the last child decides."""
    if node.id != "scalar" and not node.flow_style and node.value:
        last = node.value[-1]
        return _end_line(last[1] if node.id == "mapping" else last)
    end = node.end_mark
    ends_before = node.id == "scalar" and node.style in ("|", ">") and end.column == 0
    return int(end.line) + (0 if ends_before else 1)


def _indent(node: Any) -> int:
    column: int = node.value[0][0].start_mark.column if node.id == "mapping" else node.start_mark.column
    return column


def _block(name: str | int, value: Any, indent: int) -> str:
    made = write_yaml({str(name): value})
    return "".join(f"{' ' * indent}{line}" if line.strip() else line for line in made.splitlines(keepends=True))
