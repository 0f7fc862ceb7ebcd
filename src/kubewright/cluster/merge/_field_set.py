"""`FieldSet`: a set of fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kubewright.cluster.merge import _trees
from kubewright.cluster.merge._elements import format_step, key_step, value_step
from kubewright.cluster.merge._trees import Tree

__all__ = ["FieldSet", "path"]


def path(*parts: str | dict[str, Any] | tuple[Any]) -> tuple[str, ...]:
    """Returns the path of a field. Keys of a list element are a dict, the value of a set element is a tuple.

    >>> path("spec", "containers", {"name": "nginx"}, "image")
    ('f:spec', 'f:containers', 'k:{"name":"nginx"}', 'f:image')
    """
    return tuple(
        f"f:{part}" if isinstance(part, str) else key_step(part) if isinstance(part, dict) else value_step(part[0])
        for part in parts
    )


class FieldSet:
    """Fields of an object, as managedFields write them. Immutable; equal when the same fields are in them.

    >>> both = FieldSet.parse({"f:spec": {"f:replicas": {}}}) | FieldSet.of(path("spec"))
    >>> both.fields_v1()
    {'f:spec': {'.': {}, 'f:replicas': {}}}
    >>> str(both)
    '.spec\\n.spec.replicas'

    A field and the fields below it are separate members: removing `.spec` leaves `.spec.replicas`.
    """

    __slots__ = ("tree",)

    def __init__(self, tree: Tree = _trees.EMPTY) -> None:
        self.tree = tree

    @classmethod
    def parse(cls, fields_v1: Any) -> FieldSet:
        """Parses a FieldsV1 (decoded JSON). Raises ValueError."""
        return cls(_trees.parse(fields_v1))

    @classmethod
    def of(cls, *fields: tuple[str, ...]) -> FieldSet:
        """Returns the set of these fields; see `path`."""
        return cls(_trees.tree_of(*fields))

    def fields_v1(self) -> dict[str, Any]:
        """Returns the set in the form of managedFields, in the server's order."""
        return _trees.ordered(self.tree)

    def __or__(self, other: FieldSet) -> FieldSet:
        return FieldSet(_trees.union(self.tree, other.tree))

    def __and__(self, other: FieldSet) -> FieldSet:
        return FieldSet(_trees.intersection(self.tree, other.tree))

    def __sub__(self, other: FieldSet) -> FieldSet:
        return FieldSet(_trees.difference(self.tree, other.tree))

    def without_below(self, other: FieldSet) -> FieldSet:
        """Returns the set without these fields and everything below them."""
        return FieldSet(_trees.recursive_difference(self.tree, other.tree))

    def __contains__(self, field: tuple[str, ...]) -> bool:
        return _trees.has(self.tree, *field)

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return _trees.paths(self.tree)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        return bool(self.tree)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FieldSet) and self.tree == other.tree

    def __hash__(self) -> int:
        return hash(frozenset(self))

    def __str__(self) -> str:
        return "\n".join("".join(map(format_step, field)) for field in self)

    def __repr__(self) -> str:
        return f"FieldSet({dict(self.tree)!r})"
