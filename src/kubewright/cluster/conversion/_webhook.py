"""Objects from one version of a resource to another, also where a webhook has to be asked.

Most of the server reads objects without waiting. A webhook must be waited for, so whoever is about to read objects that
only one can convert lets it be asked first: `ready` before entries are read, `converting` around code that converts by
itself. What was converted is remembered by the conversion, so that the reading finds it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import TypeVar

from kubewright.cluster.machinery._answers import encode
from kubewright.cluster.machinery._resources import JSONObject, ResourceType
from kubewright.cluster.storage._storage import Entry

__all__ = ["RemoteConversion", "Unconverted", "convert", "converting", "read_back", "ready", "to_storage"]

T = TypeVar("T")


class Unconverted(Exception):
    """An object is needed in a version that nobody has converted it to yet; `resolve` sees to it."""

    def __init__(self, resolve: Callable[[], Awaitable[None]]) -> None:
        super().__init__("an object was not converted before it was read")
        self.resolve = resolve


class RemoteConversion:
    """A conversion that somebody else does, who has to be waited for."""

    def __init__(self) -> None:
        self._as_stored: dict[str, ResourceType] = {}

    def as_stored(self, type_: ResourceType, entry: Entry) -> ResourceType:
        """The resource in the version that an object is stored in, served or not: nothing has to be converted."""
        version = entry.version or type_.stored_version
        found = self._as_stored.get(version)
        if found is None:
            found = replace(type_, version=version.rpartition("/")[2], stored_version=version, conversion=None)
            self._as_stored[version] = found
        return found

    async def prepare(self, entries: Iterable[Entry]) -> None:
        """Convert stored objects to this version, so that `shown` has them. Raises the refusal."""
        raise NotImplementedError

    def shown(self, entry: Entry) -> JSONObject:
        """A stored object in this version; a fresh copy. Raises `Unconverted`."""
        raise NotImplementedError

    def between(self, obj: JSONObject, target: ResourceType) -> JSONObject:
        """An object of any version in another one. Raises `Unconverted`."""
        raise NotImplementedError

    def to_storage(self, obj: JSONObject) -> JSONObject:
        """The object as it is stored. Raises `Unconverted`."""
        raise NotImplementedError

    def from_storage(self, obj: JSONObject) -> JSONObject:
        """Not possible: what is stored does not say in which version; see `shown`."""
        raise NotImplementedError


async def ready(type_: ResourceType, entries: Iterable[Entry]) -> None:
    """Let stored objects be converted that are about to be read in this version. Raises the refusal."""
    if isinstance(type_.conversion, RemoteConversion):
        await type_.conversion.prepare(entries)


async def converting(operation: Callable[[], T]) -> T:
    """The outcome of something that converts objects by itself. It is begun again after each that had to be asked for.

    Raises the refusal of a conversion that fails.
    """
    while True:
        try:
            return operation()
        except Unconverted as missing:
            await missing.resolve()


async def to_storage(type_: ResourceType, obj: JSONObject) -> JSONObject:
    """An object as it is stored. Raises the refusal of a conversion that fails."""
    conversion = type_.conversion
    if conversion is None:
        return obj
    return await converting(lambda: conversion.to_storage(obj))


async def read_back(type_: ResourceType, obj: JSONObject) -> JSONObject:
    """What would be read of an object if it were stored: a dry run shows that. Raises the refusal of a conversion."""
    conversion = type_.conversion
    if not isinstance(conversion, RemoteConversion):
        return obj
    stored = {**await to_storage(type_, obj)}
    version, metadata = stored.pop("apiVersion"), stored["metadata"]
    stored.pop("kind", None)
    entry = Entry(metadata.get("namespace", ""), metadata["name"], 0, encode(stored), metadata.get("labels"), version)
    await conversion.prepare([entry])
    return conversion.shown(entry)


async def convert(obj: JSONObject, source: ResourceType, target: ResourceType) -> JSONObject:
    """An object of one version as another version of the same resource shows it; a new object, unless they are one."""
    if source is target:
        return obj
    conversion = target.conversion
    if isinstance(conversion, RemoteConversion):
        return await converting(lambda: conversion.between(obj, target))
    stored = obj if source.conversion is None else source.conversion.to_storage(obj)
    shown = stored if conversion is None else conversion.from_storage(stored)
    return {**shown, "apiVersion": target.api_version, "kind": target.kind}
