"""The fields of an object that its page shows: `facts_of`.

The operator determines the layout. Printer columns provide names and come first, the sections and labels of the form
group fields, and the schema adds descriptions. Everything is bounded, because objects are untrusted input.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final, NamedTuple, TypeAlias

from kubewright.console.kinds import Kind
from kubewright.console.objects._redaction import REDACTED
from kubewright.console.objects._untrusted import as_list, as_map

__all__ = ["Fact", "FactGroup", "facts_of"]

Path: TypeAlias = tuple[str, ...]

_FACTS: Final = 24
_VISITED: Final = 400
_MAX_DEPTH: Final = 3
_ELEMENTS: Final = 5
_LENGTH: Final = 200
_SIMPLE: Final = re.compile(r"\.((?:spec|status)(?:\.[A-Za-z][A-Za-z0-9_]*)+)")
_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_OMITTED: Final = frozenset([("status", "conditions"), ("status", "observedGeneration")])


class Fact(NamedTuple):
    """One field with its value, as text."""

    name: str
    value: str
    path: str
    description: str = ""


class FactGroup(NamedTuple):
    """Fields that belong together."""

    title: str
    facts: tuple[Fact, ...]
    omitted: int = 0
    """How many fields are only in the YAML."""


def facts_of(kind: Kind, obj: Mapping[str, Any]) -> list[FactGroup]:
    """Returns the fields of an object in groups: a summary, the declared sections of the form, spec and status."""
    columns = _column_names(kind)
    labels = {**kind.form.labels, **columns}
    fields = {path: value for part in ("spec", "status") for path, value in _leaves(obj.get(part), (part,))}

    def fact(path: Path) -> Fact:
        schema = _schema_at(kind, path)
        name = labels.get(path) or _text(schema.get("title")) or _words(path)
        value = REDACTED if schema.get("format") == "password" else _value(fields[path])
        return Fact(name, value, ".".join(path), _text(schema.get("description")))

    groups = [FactGroup("Summary", tuple(_summary(kind, obj)))]
    left = dict.fromkeys([*(path for path in columns if path in fields), *fields])
    for section in kind.form.sections:
        shown = [path for path in left if any(path[: len(one)] == one for one in section.fields)]
        groups.append(_group(section.title, [fact(path) for path in shown[:_FACTS]], len(shown)))
        for path in shown:
            del left[path]
    for title in ("Spec", "Status"):
        shown = [path for path in left if path[0] == title.lower()]
        groups.append(_group(title, [fact(path) for path in shown[:_FACTS]], len(shown)))
    return [group for group in groups if group.facts]


def _group(title: str, facts: list[Fact], count: int) -> FactGroup:
    return FactGroup(title, tuple(facts), count - len(facts))


def _column_names(kind: Kind) -> dict[Path, str]:
    """Returns the names of the columns that show one field of the spec or status."""
    found: dict[Path, str] = {}
    for column in map(as_map, as_list(kind.definition.get("additionalPrinterColumns"))):
        parts = _SIMPLE.fullmatch(_text(column.get("jsonPath")))
        if parts is not None:
            found.setdefault(tuple(parts[1].split(".")), _text(column.get("name")))
    return found


def _summary(kind: Kind, obj: Mapping[str, Any]) -> Iterator[Fact]:
    """Yields the columns that do not show one field: counts of a Deployment, restarts of a pod."""
    simple = set(_column_names(kind).values())
    cells = kind.printer.cells(obj)
    for column in kind.columns:
        value = cells.get(column.field)
        if column.type != "date" and column.name not in simple and value not in (None, "", "<none>", "<unknown>"):
            yield Fact(column.name, _value(value), "", column.description)


def _leaves(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """Yields the fields below a map, down to a few levels. Deeper maps count as one field."""

    def below(node: Any, at: Path) -> Iterator[tuple[Path, Any]]:
        for name, member in node.items():
            place = (*at, str(name))
            if place in _OMITTED:
                continue
            if isinstance(member, dict) and member and len(place) <= _MAX_DEPTH and len(member) <= _FACTS:
                yield from below(member, place)
            elif member not in (None, "", [], {}):
                yield place, member

    return islice(below(value, path), _VISITED) if isinstance(value, dict) else iter(())


def _schema_at(kind: Kind, path: Path) -> Mapping[str, Any]:
    node = as_map(kind.schema)
    for name in path:
        node = as_map(as_map(node.get("properties")).get(name))
    return node


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return f"{len(value):,} {'field' if len(value) == 1 else 'fields'}"
    if isinstance(value, list):
        if any(isinstance(one, dict | list) for one in value):
            return f"{len(value):,} {'item' if len(value) == 1 else 'items'}"
        more = f" and {len(value) - _ELEMENTS:,} more" if len(value) > _ELEMENTS else ""
        return ", ".join(_value(one) for one in value[:_ELEMENTS]) + more
    text = str(value)
    return text if len(text) <= _LENGTH else f"{text[:_LENGTH]}…"


def _words(path: Path) -> str:
    """Returns a name for a path: `status.readyReplicas` is `Ready replicas`."""
    parts = [" ".join(_WORDS.findall(name)) or name for name in path[1:]]
    words = [word if word.isupper() and len(word) > 1 else word.lower() for word in " / ".join(parts).split(" ")]
    text = " ".join(words)
    return text[:1].upper() + text[1:]


def _text(value: Any) -> str:
    return value[:_LENGTH] if isinstance(value, str) else ""
