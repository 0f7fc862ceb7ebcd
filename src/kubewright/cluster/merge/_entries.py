"""The entries of managedFields: who owns what."""

from __future__ import annotations

from collections.abc import Mapping
from json import dumps
from typing import Any, NamedTuple

from kubewright.cluster.merge._trees import Tree, ordered, parse

__all__ = ["Entries", "Manager", "Owned", "is_reset", "read_entries", "written"]


class Manager(NamedTuple):
    """Whom an entry belongs to. A manager that applies has one entry for all versions, so it has no version here."""

    name: str
    operation: str
    api_version: str
    subresource: str

    def identity(self) -> str:
        """The text by which the server sorts managers."""
        parts = {"manager": self.name, "operation": self.operation}
        if self.api_version:
            parts["apiVersion"] = self.api_version
        if self.subresource:
            parts["subresource"] = self.subresource
        return dumps(parts, separators=(",", ":"), ensure_ascii=False)


class Owned(NamedTuple):
    """What a manager owns: a set of fields, the version in which they are named, and when it last changed."""

    tree: Tree
    api_version: str
    time: str | None


Entries = dict[Manager, Owned]


def manager_of(name: str, operation: str, api_version: str, subresource: str) -> Manager:
    """The manager of a request."""
    return Manager(name or "unknown", operation, "" if operation == "Apply" else api_version, subresource)


def read_entries(managed_fields: Any) -> Entries:
    """The entries of an object. Raises ValueError in the server's words when one is not valid."""
    entries: Entries = {}
    for index, entry in enumerate(managed_fields or ()):
        operation, version = entry.get("operation"), entry.get("apiVersion")
        if operation not in ("Apply", "Update"):
            raise ValueError("operation must be `Apply` or `Update`")
        if not version:
            raise ValueError("apiVersion must not be empty")
        kind = entry.get("fieldsType")
        if not kind:
            raise ValueError(f"missing fieldsType in managed fields entry {index}")
        if kind != "FieldsV1":
            raise ValueError(f'invalid fieldsType "{kind}" in managed fields entry {index}')
        manager = Manager(
            entry.get("manager", ""),
            operation,
            "" if operation == "Apply" else version,
            entry.get("subresource") or "",
        )
        entries[manager] = Owned(parse(entry.get("fieldsV1") or {}), version, entry.get("time"))
    return entries


def is_reset(managed_fields: Any) -> bool:
    """Whether a request asks for managedFields to be emptied."""
    return isinstance(managed_fields, list) and (not managed_fields or managed_fields == [{}])


def written(entries: Mapping[Manager, Owned]) -> list[dict[str, Any]]:
    """The entries as an object carries them, in the server's order."""
    order = sorted(
        entries.items(),
        key=lambda item: (
            item[0].operation,
            item[1].time or "",
            item[0].name,
            item[1].api_version,
            item[0].subresource,
        ),
    )
    return [_written(manager, owned) for manager, owned in order]


def _written(manager: Manager, owned: Owned) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "manager": manager.name,
        "operation": manager.operation,
        "apiVersion": owned.api_version,
    }
    if owned.time is not None:
        entry["time"] = owned.time
    entry["fieldsType"] = "FieldsV1"
    entry["fieldsV1"] = ordered(owned.tree)
    if manager.subresource:
        entry["subresource"] = manager.subresource
    return entry
