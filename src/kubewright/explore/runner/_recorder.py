"""`Recorder`: every write of a run, and the objects at checkpoints."""

from __future__ import annotations

import hashlib
from typing import Any, Final

import msgspec

from kubewright.cluster import Cluster
from kubewright.cluster.laboratory import JournalEntry
from kubewright.explore.model import Write
from kubewright.explore.runner._actors import ACTORS
from kubewright.explore.worlds import EXTERNAL, unlike
from kubewright.operator.definition import Invariant, broken_invariants

__all__ = ["NOISE", "Recorder"]

NOISE: Final = frozenset(
    {
        "events",
        "events.events.k8s.io",
        "leases.coordination.k8s.io",
        "nodes",
        "csinodes.storage.k8s.io",
        "customresourcedefinitions.apiextensions.k8s.io",
        "apiservices.apiregistration.k8s.io",
        "endpoints",
        "endpointslices.discovery.k8s.io",
        "mutatingwebhookconfigurations.admissionregistration.k8s.io",
        "validatingwebhookconfigurations.admissionregistration.k8s.io",
    }
)
"""Resources that the cluster writes all the time, or that are not part of a story."""


class Recorder:
    """Records the writes since its start. `changes` counts those that change more than times and versions."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._clock = cluster.state.clock
        self._resources: dict[str, str] = {}
        self.writes: list[Write] = []
        self.numbers: dict[int, int] = {}
        """The numbers of the operator's writes, by the numbers of all requests."""
        self.changes = 0
        self.step = 0
        self._initial: set[tuple[str, str, str]] = set()
        self.invariants: dict[str, Invariant] = {}
        """Invariants of the operator that held until now."""
        self.broken: list[tuple[float, str, str]] = []
        self._world = cluster.lab.world()

    def start(self) -> None:
        """Starts to record. Objects that exist now are not part of checkpoints unless they change."""
        self._initial = {self._key(storage, entry) for storage, entry in self._cluster.state.storage.dump()}
        self._cluster.lab.on_write(self._record)

    def _record(self, entry: JournalEntry) -> None:
        event = entry.event
        if entry.resource in NOISE or event is None:
            return
        previous, gone = event.previous, event.kind == "DELETED"
        write = Write(
            time=self._clock.monotonic(),
            step=self.step,
            actor=ACTORS.get(entry.user, ""),
            verb=entry.verb,
            resource=entry.resource,
            namespace=entry.namespace,
            name=entry.name,
            before=None if previous is None else previous.raw,
            after=None if gone else event.entry.raw,
            request=self.numbers.get(entry.request, 0),
        )
        self.writes.append(write)
        self._initial.discard(write.key)
        if previous is None or gone or unlike(previous.decode(), event.entry.decode()):
            self.changes += 1
        for name, reason in broken_invariants(self.invariants, self._world) if self.invariants else ():
            del self.invariants[name]
            what = f"{write.verb} of {write.resource} {write.namespace}/{write.name} by {write.actor or 'the cluster'}"
            self.broken.append((write.time, name, f"{reason}, after {what}"))

    def digest(self) -> str:
        """Returns a digest of the journal: all requests and writes of all clients, with times and bytes."""
        found = hashlib.blake2b(digest_size=16)
        for entry in self._cluster.lab.journal:
            parts = (entry.time, entry.user, entry.client, entry.verb, entry.resource, entry.namespace, entry.name)
            found.update(f"{parts} {entry.subresource} {entry.status} {entry.revision} {entry.type}".encode())
            if entry.event is not None:
                found.update(entry.event.entry.raw)
        return found.hexdigest()

    def world(self) -> dict[tuple[str, str, str], dict[str, Any]]:
        """Returns the objects that exist now, except initial ones and noise."""
        found = {}
        for storage, entry in self._cluster.state.storage.dump():
            key = self._key(storage, entry)
            if key[0] not in NOISE and key not in self._initial:
                found[key] = entry.decode()
        for name, external in self._cluster.lab.externals.items():
            state = msgspec.to_builtins(external.state, str_keys=True)
            found[f"{EXTERNAL}{name}", "", name] = {"metadata": {"name": name}, "state": state}
        return found

    def _key(self, storage: str, entry: Any) -> tuple[str, str, str]:
        return (self._resource(storage), entry.namespace, entry.name)

    def _resource(self, storage: str) -> str:
        if storage not in self._resources:
            group, _, plural = storage.partition("/")
            types = [type_ for type_ in self._cluster.state.types if type_.storage == storage]
            self._resources[storage] = types[0].qualified if types else f"{plural}.{group}" if group else plural
        return self._resources[storage]
