"""`Hooks`: the webhooks of one kind of configuration, read again after a change."""

from __future__ import annotations

from typing import Final

import msgspec

from kubewright.api import Selector
from kubewright.cluster.admission.matching import label_selector
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.storage._storage import Entry, Storage

__all__ = ["Hook", "Hooks"]

_GROUP: Final = "admissionregistration.k8s.io"


class Hook(msgspec.Struct, frozen=True):
    """One webhook of a configuration. `key` is unique, even among webhooks of the same name."""

    configuration: str
    key: str
    name: str
    spec: JSONObject
    namespaces: Selector
    objects: Selector

    @property
    def fails(self) -> bool:
        """Returns whether a failed call rejects the write."""
        return self.spec.get("failurePolicy") != "Ignore"

    @property
    def seconds(self) -> int:
        """Returns the timeout of a call."""
        return self.spec.get("timeoutSeconds") or 10


class Hooks:
    """All webhooks of one kind, ordered by the name of their configuration, then by position."""

    def __init__(self, storage: Storage, plural: str) -> None:
        self._storage = storage
        self._name = f"{_GROUP}/{plural}"
        self._entries: list[Entry] = []
        self._read: list[Hook] = []

    def all(self) -> list[Hook]:
        """Returns every webhook."""
        if not self._storage.count(self._name):
            return []
        entries = list(self._storage.entries(self._name))
        if entries != self._entries:  # comparing is cheap: unchanged entries are identical
            self._entries = entries
            self._read = [
                hook for entry in entries for hook in _hooks_of(entry.name, entry.decode().get("webhooks") or [])
            ]
        return self._read


def _hooks_of(configuration: str, webhooks: list[JSONObject]) -> list[Hook]:
    made = []
    seen: dict[str, int] = {}
    for spec in webhooks:
        name = spec.get("name", "")
        seen[name] = seen.get(name, -1) + 1
        made.append(
            Hook(
                configuration=configuration,
                key=f"{configuration}/{name}/{seen[name]}",
                name=name,
                spec=spec,
                namespaces=label_selector(spec.get("namespaceSelector")),
                objects=label_selector(spec.get("objectSelector")),
            )
        )
    return made
