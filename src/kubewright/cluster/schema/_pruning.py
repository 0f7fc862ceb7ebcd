"""Unknown fields: finding and removing them."""

from __future__ import annotations

from typing import Any

from kubewright.cluster.schema._node import Schema

__all__ = ["prune", "unknown_fields"]


def prune(schema: Schema, obj: Any) -> list[str]:
    """Removes unknown fields in place. Returns their paths: `spec.list[0].nope`.

    The paths are in the server's order: the object's own metadata first, that of embedded objects last.
    """
    return _Search(remove=True).paths(schema, obj)


def unknown_fields(schema: Schema, obj: Any) -> list[str]:
    """Returns the paths of unknown fields, like `prune`, without removing them."""
    return _Search(remove=False).paths(schema, obj)


class _Search:
    """One traversal of an object. Each result has the rank that it is sorted by first."""

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
    """Returns whether a schema preserves unknown fields; a built-in struct without fields (RawExtension) does, too."""
    return schema.preserve_unknown or (bool(schema.name) and not schema.known)
