"""The first apply to an object that was made by create or update: what the server noted about our field manager then.

The server keeps what a manager applied apart from what it created or updated, and an apply removes only what an earlier
apply set. So the one entry is turned into the other, once, as client-go's csaupgrade does for kubectl.
"""

from __future__ import annotations

from typing import Any

__all__ = ["updates_as_applied"]


def updates_as_applied(entries: list[dict[str, Any]], manager: str, api_version: str) -> list[dict[str, Any]] | None:
    """The entries as if the manager had applied what it wrote by create and update; None when it wrote nothing so.

    For an object to which the manager has applied nothing yet: what it updates later is meant to stay beside that.
    Finalizers are left as they are: one that was added by an update is a promise, and no apply may take it back.
    """
    for index, entry in enumerate(entries):
        who = (entry.get("manager"), entry.get("operation"), entry.get("apiVersion"), entry.get("subresource") or "")
        if who == (manager, "Update", api_version, ""):
            fields, finalizers = _split(entry.get("fieldsV1") or {})
            applied = entry | {"operation": "Apply", "fieldsV1": fields}
            rest = [entry | {"fieldsV1": finalizers}] if finalizers else []
            return [*entries[:index], applied, *rest, *entries[index + 1 :]]
    return None


def _split(fields: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields without the finalizers, and the finalizers."""
    metadata = fields.get("f:metadata", {})
    if "f:finalizers" not in metadata:
        return fields, {}
    others = {name: value for name, value in metadata.items() if name != "f:finalizers"}
    return fields | {"f:metadata": others}, {"f:metadata": {"f:finalizers": metadata["f:finalizers"]}}
