"""The first apply to an object that was made by a create: what the server noted about our field manager then.

The server keeps what a manager applied apart from what it created or updated, and an apply removes only what an earlier
apply set. So the one entry is turned into the other, once, as client-go's csaupgrade does for kubectl.
"""

from __future__ import annotations

from typing import Any

from kubewright.cache import creator_of

__all__ = ["created_as_applied"]

_IDENTITY = ("manager", "operation", "apiVersion", "subresource")


def created_as_applied(entries: list[dict[str, Any]], manager: str, api_version: str) -> list[dict[str, Any]] | None:
    """The entries as if the manager had applied what it created the object with; None when it did not create it.

    For an object to which the manager has applied nothing yet. What was created to be applied later is known by its
    name (`creator_of`). Without that, what the manager has written in its own name is taken for it: the object was made
    by a plain create, or by an earlier program. Then the finalizers are left as they are: one that was added by an
    update is a promise, and no apply may take it back.
    """
    who = [tuple(entry.get(key) or "" for key in _IDENTITY) for entry in entries]
    for name in (creator_of(manager), manager):
        if (name, "Update", api_version, "") in who:
            index = who.index((name, "Update", api_version, ""))
            entry, fields = entries[index], entries[index].get("fieldsV1") or {}
            fields, finalizers = _split(fields) if name == manager else (fields, {})
            applied = entry | {"manager": manager, "operation": "Apply", "fieldsV1": fields}
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
