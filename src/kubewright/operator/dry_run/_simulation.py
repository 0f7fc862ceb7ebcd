"""`Simulation`: the objects that a dry run has written, as they would be. No server has them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import msgspec

from kubewright.client import Request
from kubewright.redaction import Redacted

__all__ = ["ObjectAddress", "SimulatedObject", "Simulation"]

_FIRST_VERSION: Final = 2**60
"""The first simulated resourceVersion: newer than every one of a server."""


class ObjectAddress(NamedTuple):
    """The address of an object: the path of its collection in all namespaces, its namespace and its name."""

    collection: str
    namespace: str
    name: str

    @classmethod
    def of(cls, request: Request, name: str = "") -> ObjectAddress:
        """Returns the address that a request is about."""
        plural = request.resource.partition("/")[0].partition(".")[0]
        root = request.path.split("/")[: 3 if request.path.startswith("/api/") else 4]  # /api/v1, /apis/GROUP/VERSION
        return cls("/".join([*root, plural]), request.namespace, name or request.name)


class SimulatedObject(Redacted, msgspec.Struct, eq=False):
    """An object that the dry run has written."""

    redacted = frozenset({"base", "state", "answers", "claimed"})

    address: ObjectAddress
    base: dict[str, Any] | None
    """The object on the server before the first write; None if it does not exist."""
    state: dict[str, Any] | None
    """The object as it would be now; None if it would be deleted."""
    answers: dict[tuple[str, str], dict[str, Any]] = msgspec.field(default_factory=dict)
    """The last answer to an apply, by field manager and subresource; and to a create."""
    claimed: list[dict[str, Any]] | None = None
    """Managed fields that were written, and that the server does not have."""
    owns_status: bool = False
    """Whether the status was written at /status, so that other writes do not contain it."""
    recreated: bool = False
    """Whether it was deleted and created again."""
    notes: list[str] = msgspec.field(default_factory=list)
    """Aspects of the object that could not be simulated."""

    @property
    def is_new(self) -> bool:
        """Whether the server has no object to write to: it does not exist, or is deleted in this run."""
        return self.base is None or self.recreated

    def note(self, text: str) -> None:
        """Adds a note, once."""
        if text not in self.notes:
            self.notes.append(text)


class Simulation:
    """All objects that a dry run has written, in the order of the first write.

    `changed` is called with each new state, or None for a deletion.
    """

    def __init__(self) -> None:
        self.objects: dict[ObjectAddress, SimulatedObject] = {}
        self.frozen = False
        """Whether watches deliver nothing any more: the run uses the state of its start."""
        self.other_writes: list[str] = []
        """Writes whose result cannot be shown, such as evictions."""
        self.changed: Callable[[ObjectAddress, bytes | None], None] = lambda address, raw: None
        self._version = _FIRST_VERSION
        self._locks: dict[ObjectAddress, asyncio.Lock] = {}

    def lock(self, address: ObjectAddress) -> asyncio.Lock:
        """Returns the lock of an object: the writes of two controllers are simulated one after the other."""
        return self._locks.setdefault(address, asyncio.Lock())

    def set(self, found: SimulatedObject, state: dict[str, Any] | None) -> bytes:
        """Stores the new state of an object, with its own resourceVersion. Returns it as JSON."""
        self._version += 1
        if state is not None:
            state = state | {"metadata": state["metadata"] | {"resourceVersion": str(self._version)}}
        found.state = state
        self.objects[found.address] = found
        raw = b"" if state is None else msgspec.json.encode(state)
        self.changed(found.address, raw or None)
        return raw

    def in_collection(self, collection: str, namespace: str) -> list[SimulatedObject]:
        """Returns the written objects of a collection, in one namespace or in all."""
        return [
            one
            for address, one in self.objects.items()
            if address.collection == collection and namespace in ("", address.namespace)
        ]
