"""The first apply to an object that was made by create or update: what the server noted about our field manager then.

The server keeps what a manager applied apart from what it created or updated, and an apply removes only what an earlier
apply set. So the one entry is turned into the other, once, as client-go's csaupgrade does for kubectl.
"""

from __future__ import annotations

from typing import Any

__all__ = ["updates_as_applied"]


def updates_as_applied(entries: list[dict[str, Any]], manager: str, api_version: str) -> list[dict[str, Any]] | None:
    """The entries as if the manager had applied what it wrote by create and update; None when it wrote nothing so.

    None too when it has applied already: what it updated since then was meant to stay beside what it applies.
    Finalizers are left as they are: one that was added by an update is a promise, and no apply may take it back.
    """
    if any(entry.get("manager") == manager and _is_applied(entry) for entry in entries):
        return None
    for index, entry in enumerate(entries):
        if (
            entry.get("manager") == manager
            and entry.get("operation") == "Update"
            and entry.get("apiVersion") == api_version
        ):
            if entry.get("subresource"):
                continue
            fields, kept = _without_finalizers(entry.get("fieldsV1") or {})
            applied = entry | {"operation": "Apply", "fieldsV1": fields}
            rest = [entry | {"fieldsV1": kept}] if kept else []
            return [*entries[:index], applied, *rest, *entries[index + 1 :]]
    return None


def _is_applied(entry: dict[str, Any]) -> bool:
    return entry.get("operation") == "Apply" and not entry.get("subresource")


def _without_finalizers(fields: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    metadata = fields.get("f:metadata")
    if not isinstance(metadata, dict) or "f:finalizers" not in metadata:
        return fields, {}
    others = {name: value for name, value in metadata.items() if name != "f:finalizers"}
    return fields | {"f:metadata": others}, {"f:metadata": {"f:finalizers": metadata["f:finalizers"]}}
