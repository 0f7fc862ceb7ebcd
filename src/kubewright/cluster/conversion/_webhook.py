"""Conversion between versions of a resource, also by webhooks.

Most of the server reads objects without awaiting, but a webhook must be awaited. Code that reads such objects therefore
lets the webhook convert them first: it awaits `convert_entries` before it reads entries, or wraps code that converts by
itself in `retry_converting`. The conversion caches the results for the read that follows.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import TypeVar

from kubewright.cluster.machinery._resources import JSONObject, ResourceType
from kubewright.cluster.machinery._responses import encode
from kubewright.cluster.storage._storage import Entry

__all__ = [
    "AsyncConversion",
    "Unconverted",
    "convert",
    "convert_entries",
    "retry_converting",
    "stored_and_read",
    "to_storage",
]

T = TypeVar("T")


class Unconverted(Exception):
    """An object is not converted to the needed version yet; `resolve` converts it."""

    def __init__(self, resolve: Callable[[], Awaitable[None]]) -> None:
        super().__init__("an object was not converted before it was read")
        self.resolve = resolve


class AsyncConversion:
    """A conversion that must be awaited."""

    def __init__(self) -> None:
        self._as_stored: dict[str, ResourceType] = {}

    def as_stored(self, type_: ResourceType, entry: Entry) -> ResourceType:
        """Returns the resource in the version in which an object is stored, served or not. It needs no conversion."""
        version = entry.version or type_.stored_version
        found = self._as_stored.get(version)
        if found is None:
            found = replace(type_, version=version.rpartition("/")[2], stored_version=version, conversion=None)
            self._as_stored[version] = found
        return found

    async def prepare(self, entries: Iterable[Entry]) -> None:
        """Converts stored objects to this version, so that `shown` returns them. Raises `Failure`."""
        raise NotImplementedError

    def shown(self, entry: Entry) -> JSONObject:
        """Returns a new copy of a stored object in this version. Raises `Unconverted`."""
        raise NotImplementedError

    def between(self, obj: JSONObject, target: ResourceType) -> JSONObject:
        """Returns an object of any version in another one. Raises `Unconverted`."""
        raise NotImplementedError

    def to_storage(self, obj: JSONObject) -> JSONObject:
        """Returns the stored form of an object. Raises `Unconverted`."""
        raise NotImplementedError

    def from_storage(self, obj: JSONObject) -> JSONObject:
        """Not supported: the object does not say in which version it is stored; see `shown`."""
        raise NotImplementedError


async def convert_entries(type_: ResourceType, entries: Iterable[Entry]) -> None:
    """Converts stored objects that are about to be read in this version. Raises `Failure`."""
    if isinstance(type_.conversion, AsyncConversion):
        await type_.conversion.prepare(entries)


async def retry_converting(operation: Callable[[], T]) -> T:
    """Runs code that converts objects, again after each missing conversion was resolved. Returns its result.

    Raises `Failure` if a conversion fails.
    """
    while True:
        try:
            return operation()
        except Unconverted as missing:
            await missing.resolve()


async def to_storage(type_: ResourceType, obj: JSONObject) -> JSONObject:
    """Returns the stored form of an object. Raises `Failure` if the conversion fails."""
    conversion = type_.conversion
    if conversion is None:
        return obj
    return await retry_converting(lambda: conversion.to_storage(obj))


async def stored_and_read(type_: ResourceType, obj: JSONObject) -> JSONObject:
    """Returns an object as if it had been stored and read, for dry runs. Raises `Failure` if a conversion fails."""
    conversion = type_.conversion
    if not isinstance(conversion, AsyncConversion):
        return obj
    stored = {**await to_storage(type_, obj)}
    version, metadata = stored.pop("apiVersion"), stored["metadata"]
    stored.pop("kind", None)
    entry = Entry(metadata.get("namespace", ""), metadata["name"], 0, encode(stored), metadata.get("labels"), version)
    await conversion.prepare([entry])
    return conversion.shown(entry)


async def convert(obj: JSONObject, source: ResourceType, target: ResourceType) -> JSONObject:
    """Converts an object from one version to another. Returns a new object unless both versions are the same."""
    if source is target:
        return obj
    conversion = target.conversion
    if isinstance(conversion, AsyncConversion):
        return await retry_converting(lambda: conversion.between(obj, target))
    stored = obj if source.conversion is None else source.conversion.to_storage(obj)
    shown = stored if conversion is None else conversion.from_storage(stored)
    return {**shown, "apiVersion": target.api_version, "kind": target.kind}
