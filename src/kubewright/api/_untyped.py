"""`Untyped`: an object of a kind without a class."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec

from kubewright.api._object import Object, ResourceInfo

__all__ = ["Untyped"]


class Untyped(Object):
    """An object with typed metadata. Everything else is plain JSON, with JSON names.

    `Untyped.kind_of("example.com/v1", "Foo", plural="foos")` returns a class for the client's verbs. The client can
    also look it up on the server: `await client.kind("example.com/v1", "Foo")`. Then `foo["spec"]["replicas"] = 3`
    works as with a dict.
    """

    content: dict[str, Any] = msgspec.field(default_factory=dict)

    @staticmethod
    def kind_of(
        api_version: str,
        kind: str,
        *,
        plural: str,
        namespaced: bool = True,
        singular: str | None = None,
        subresources: Collection[str] = (),
    ) -> type[Untyped]:
        """Returns a class for one kind, for the client's verbs.

        `subresources` are those that the server has: `{"status"}` if the status is written at /status, as for most
        kinds.
        """
        if isinstance(subresources, str):
            raise TypeError(f"subresources is a set of names, such as {{{subresources!r}}}, not a string")
        group, _, version = api_version.rpartition("/")
        metaclass: Any = type(Untyped)
        made: type[Untyped] = metaclass(kind, (Untyped,), {"__module__": __name__, "__doc__": f"Untyped {kind}."})
        made.__resource__ = ResourceInfo(
            group=group,
            version=version,
            kind=kind,
            plural=plural,
            singular=singular or kind.lower(),
            namespaced=namespaced,
            subresources=frozenset(subresources),
        )
        return made

    def __getitem__(self, field: str) -> Any:
        return self.content[field]

    def __setitem__(self, field: str, value: Any) -> None:
        self.content[field] = value

    def __delitem__(self, field: str) -> None:
        del self.content[field]

    def __contains__(self, field: str) -> bool:
        return field in self.content

    def get(self, field: str, default: Any = None) -> Any:
        """Returns a top-level field, or the default if it is absent."""
        return self.content.get(field, default)
