"""Changes to the `managedFields` entries of our field manager, to be made before an apply.

The server keeps what a manager applied apart from what it created or updated. An apply removes only fields that an
earlier apply set. So after a create, the create entry is converted into an apply entry, once, as client-go's csaupgrade
does for kubectl. A field that must keep its value when an apply leaves it out is first removed from the entry.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kubewright.cache import creator_of
from kubewright.controller.fields._field_sets import FieldSet, part_in, union

__all__ = ["created_as_applied", "released", "status_fields", "status_taken_over"]

_IDENTITY = ("manager", "operation", "apiVersion", "subresource")


def created_as_applied(entries: list[dict[str, Any]], manager: str, api_version: str) -> list[dict[str, Any]] | None:
    """Returns the entries as if the manager had applied the object that it created; None if it did not create it.

    For an object to which the manager has applied nothing yet. A create that is meant to be followed by applies has its
    own manager name (`creator_of`). Otherwise the manager's own update entry is converted: the object was made by a
    plain create, or by an earlier program. In that case finalizers stay in the update entry, because no apply may
    remove a finalizer that was added by an update.
    """
    identities = [tuple(entry.get(key) or "" for key in _IDENTITY) for entry in entries]
    for name in (creator_of(manager), manager):
        if (name, "Update", api_version, "") in identities:
            index = identities.index((name, "Update", api_version, ""))
            entry, fields = entries[index], entries[index].get("fieldsV1") or {}
            fields, finalizers = _split(fields) if name == manager else (fields, {})
            applied = entry | {"manager": manager, "operation": "Apply", "fieldsV1": fields}
            rest = [entry | {"fieldsV1": finalizers}] if finalizers else []
            return [*entries[:index], applied, *rest, *entries[index + 1 :]]
    return None


def released(entries: list[dict[str, Any]], manager: str, paths: Iterable[str]) -> list[dict[str, Any]]:
    """Returns the entries as if the manager had never applied the fields at these paths (`spec.replicas`)."""
    routes = [[f"f:{name}" for name in path.split(".")] for path in paths]

    def without(entry: dict[str, Any]) -> dict[str, Any]:
        if (entry.get("manager"), entry.get("operation"), entry.get("subresource") or "") != (manager, "Apply", ""):
            return entry
        fields = entry.get("fieldsV1") or {}
        for route in routes:
            fields = _without(fields, route)
        return entry | {"fieldsV1": fields}

    return [without(entry) for entry in entries]


def status_fields(entries: list[dict[str, Any]], manager: str, operation: str = "Apply") -> FieldSet:
    """Returns the fields below `status` that a manager has written at /status by this operation."""
    found: FieldSet = {}
    for entry in entries:
        if _at_status(entry, manager, operation):
            found = union(found, (entry.get("fieldsV1") or {}).get("f:status") or {})
    return found


def status_taken_over(
    entries: list[dict[str, Any]], manager: str, former: str, api_version: str, only: Any = None
) -> list[dict[str, Any]] | None:
    """Returns the entries as if `manager` had applied the status that was updated before; None if nothing changes.

    Earlier releases wrote the status as updates of the `former` manager. The server removes a field that a manager no
    longer applies only if no other entry has it, so those updates would keep every field. `only` limits this to the
    fields that it has values for. The remaining fields belong to other controllers.
    """
    taken: FieldSet = status_fields(entries, manager, "Update")
    rest: FieldSet = status_fields(entries, former, "Update")
    ours, rest = (rest, {}) if only is None else part_in(rest, only)
    taken = union(taken, ours)
    if not taken:
        return None
    kept = [one for one in entries if not any(_at_status(one, name, "Update") for name in (manager, former))]
    applied = union(status_fields(entries, manager), taken)
    before = next((one for one in entries if any(_at_status(one, name, "Update") for name in (manager, former))), {})
    head = {"apiVersion": api_version, "fieldsType": "FieldsV1", "subresource": "status"}
    head |= {"time": before["time"]} if before.get("time") else {}
    made = [head | {"manager": manager, "operation": "Apply", "fieldsV1": {"f:status": applied}}]
    if rest:
        made.append(head | {"manager": former, "operation": "Update", "fieldsV1": {"f:status": rest}})
    return [*(one for one in kept if not _at_status(one, manager, "Apply")), *made]


def _at_status(entry: dict[str, Any], manager: str, operation: str) -> bool:
    identity = (entry.get("manager"), entry.get("operation"), entry.get("subresource"))
    return identity == (manager, operation, "status")


def _without(fields: dict[str, Any], route: list[str]) -> dict[str, Any]:
    name, *rest = route
    if name not in fields:
        return fields
    others = {other: value for other, value in fields.items() if other != name}
    inner = _without(fields[name], rest) if rest else {}
    # A struct without remaining fields is not ours either.
    return others | ({name: inner} if inner else {})


def _split(fields: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the fields without the finalizers, and the finalizers."""
    metadata = fields.get("f:metadata", {})
    if "f:finalizers" not in metadata:
        return fields, {}
    others = {name: value for name, value in metadata.items() if name != "f:finalizers"}
    return fields | {"f:metadata": others}, {"f:metadata": {"f:finalizers": metadata["f:finalizers"]}}
