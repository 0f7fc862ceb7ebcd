"""Fields that a schema does not know: finding them, and taking them away."""

from __future__ import annotations

from typing import Any

from kubewright.cluster.schema._node import Schema

__all__ = ["prune", "unknown_fields"]


def prune(schema: Schema, obj: Any) -> list[str]:
    """Remove, in place, what the schema does not know. The paths of what was removed: `spec.list[0].nope`.

    They are sorted as the server sorts them: the object's own metadata comes first, that of embedded objects last.
    """
    return _Search(remove=True).paths(schema, obj)


def unknown_fields(schema: Schema, obj: Any) -> list[str]:
    """The paths of what the schema does not know, as `prune` has them; nothing is removed."""
    return _Search(remove=False).paths(schema, obj)


class _Search:
    """One look through an object. What is found has the rank by which it is sorted first."""

    def __init__(self, *, remove: bool) -> None:
        self._remove = remove
        self._found: list[tuple[int, str]] = []
        self._rank = 1

    def paths(self, schema: Schema, obj: Any) -> list[str]:
        if type(obj) is dict and type(obj.get("metadata")) is dict and (metadata := schema.fields["metadata"]):
            self._rank = 0
            self._map(metadata, obj["metadata"], "metadata")
            self._rank = 1
        self._walk(schema, obj, "")
        return [path for _, path in sorted(dict.fromkeys(self._found))]

    def _walk(self, schema: Schema, value: Any, path: str) -> None:
        if type(value) is dict:
            self._map(schema, value, path)
        elif type(value) is list and schema.items is not None:
            for index, item in enumerate(value):
                if type(item) is dict or type(item) is list:
                    self._walk(schema.items, item, f"{path}[{index}]")

    def _map(self, schema: Schema, value: dict[str, Any], path: str) -> None:
        unknown = []
        others = schema.element if "additionalProperties" in schema.source else None
        for name, item in value.items():
            inner = schema.fields[name] or others
            where = f"{path}.{name}" if path else name
            if inner is None:
                if not _keeps_unknown(schema):
                    unknown.append(name)
                    self._found.append((self._rank, where))
            elif (type(item) is dict or type(item) is list) and where != "metadata":
                rank, self._rank = self._rank, 2 if schema.embedded and name == "metadata" else self._rank
                self._walk(inner, item, where)
                self._rank = rank
        if self._remove:
            for name in unknown:
                del value[name]


def _keeps_unknown(schema: Schema) -> bool:
    """A custom resource says so; a built-in struct without fields (a RawExtension) is whatever it is."""
    return schema.preserve_unknown or (bool(schema.name) and not schema.known)
