"""The entries of managedFields."""

from __future__ import annotations

from collections.abc import Mapping
from json import dumps
from typing import Any, NamedTuple

from kubewright.cluster.merge._trees import Tree, ordered, parse

__all__ = ["Entries", "Manager", "Owned", "encode_entries", "is_reset", "read_entries"]


class Manager(NamedTuple):
    """The field manager of an entry. Apply entries have no version: there is one for all versions."""

    name: str
    operation: str
    api_version: str
    subresource: str

    def identity(self) -> str:
        """Returns the string that the server sorts managers by."""
        parts = {"manager": self.name, "operation": self.operation}
        if self.api_version:
            parts["apiVersion"] = self.api_version
        if self.subresource:
            parts["subresource"] = self.subresource
        return dumps(parts, separators=(",", ":"), ensure_ascii=False)


class Owned(NamedTuple):
    """The fields that a manager owns, the version that names them, and the time of the last change."""

    tree: Tree
    api_version: str
    time: str | None


Entries = dict[Manager, Owned]


def manager_of(name: str, operation: str, api_version: str, subresource: str) -> Manager:
    """Returns the manager of a request."""
    return Manager(name or "unknown", operation, "" if operation == "Apply" else api_version, subresource)


def read_entries(managed_fields: Any) -> Entries:
    """Decodes the entries of an object. Raises ValueError with the server's message for an invalid one."""
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
    """Returns whether a request resets managedFields."""
    return isinstance(managed_fields, list) and (not managed_fields or managed_fields == [{}])


def encode_entries(entries: Mapping[Manager, Owned]) -> list[dict[str, Any]]:
    """Encodes the entries, in the server's order."""
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
    return [_encode_entry(manager, owned) for manager, owned in order]


def _encode_entry(manager: Manager, owned: Owned) -> dict[str, Any]:
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
