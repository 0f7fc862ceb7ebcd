"""YAML that follows a form: the text changes where the object does, so comments and order stay.

Each edit of the text is made by the places that the parser tells, and believed only if reading the text again gives the
object that is wanted. Where it does not, the object is written anew, and the comments are gone.
"""

from __future__ import annotations

from typing import Any

from kubewright.console.forms._merging import changed_paths
from kubewright.console.forms._paths import MISSING, Path, value_at
from kubewright.console.forms._yaml import YamlSyntaxError, compose_nodes, read_yaml, write_yaml

__all__ = ["edit_yaml"]


def edit_yaml(text: str, wanted: dict[str, Any]) -> str:
    """The text, changed so that it means what is wanted."""
    if "#" not in text:
        return write_yaml(wanted)  # nothing to keep
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
    """What to change, the last first, so that earlier places keep their numbers."""
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
    """Whether a value can take the place of another one inside its line."""
    start, end = held.start_mark, held.end_mark
    was_inline = held.id == "scalar" and held.style not in ("|", ">") and start.line == end.line
    is_inline = value in ({}, []) or value is None or isinstance(value, bool | int | float | str)
    return was_inline and start.index < end.index and is_inline and "\n" not in str(value)


def _inline(value: Any) -> str:
    return write_yaml(value).strip()


def _first_line(node: Any, place: int) -> int:
    key = node.value[place][0] if node.id == "mapping" else node.value[place]
    if node.id == "sequence":
        raise LookupError("elements are written anew")
    line: int = key.start_mark.line
    if key.start_mark.column != _indent(node) or (place == 0 and node.start_mark.column != _indent(node)):
        raise LookupError("behind a dash")
    return line


def _stop_line(node: Any, place: int) -> int:
    """The line after the last one of a member; comments that follow it belong to the next one."""
    if node.id != "mapping":
        raise LookupError("elements are written anew")
    key, held = node.value[place]
    return max(_end_line(held), int(key.start_mark.line) + 1)


def _end_line(node: Any) -> int:
    """The line after a node. The parser ends a block only where the next thing begins, so its last part is asked."""
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
