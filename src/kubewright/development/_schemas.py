"""The difference between two versions of a kind's schema, field by field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

__all__ = ["schema_changes"]

_MAX_DEPTH: Final = 12
_STRUCTURE: Final = frozenset({"properties", "items", "additionalProperties", "required", "description", "title"})


def schema_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Returns one line for each field that was added (`+`), removed (`-`) or changed (`~`), sorted by path.

    Descriptions do not count. Both arguments are OpenAPI schemas, as in a CustomResourceDefinition.
    """
    old, new = dict(_fields(before)), dict(_fields(after))
    changed = sorted(path for path in {*old, *new} if old.get(path) != new.get(path))
    return [_line(path, old.get(path), new.get(path)) for path in changed]


def _line(path: str, old: str | None, new: str | None) -> str:
    if old is None:
        return f"+ {path}: {new}"
    return f"- {path}: {old}" if new is None else f"~ {path}: {old} → {new}"


def _fields(schema: Any, path: str = "", *, required: bool = False, depth: int = 0) -> Iterator[tuple[str, str]]:
    if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
        return
    if path:
        yield path, _text(schema, required=required)
    needed = schema.get("required") or ()
    for name, member in (schema.get("properties") or {}).items():
        below = f"{path}.{name}" if path else str(name)
        yield from _fields(member, below, required=name in needed, depth=depth + 1)
    yield from _fields(schema.get("items"), f"{path}[]", depth=depth + 1)
    yield from _fields(schema.get("additionalProperties"), f"{path}.*", depth=depth + 1)


def _text(schema: Mapping[str, Any], *, required: bool) -> str:
    """Returns the type of a field and its constraints."""
    # The default of an object repeats those of its fields.
    hidden = {*_STRUCTURE, "type", *(["default"] if schema.get("properties") else [])}
    words = [str(schema.get("type", "any"))]
    words += [
        f"{name} {value if isinstance(value, str) else msgspec.json.encode(value).decode()}"
        for name, value in sorted(schema.items())
        if name not in hidden
    ]
    return ", ".join([*words, *(["required"] if required else [])])
