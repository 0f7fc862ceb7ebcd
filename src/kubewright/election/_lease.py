"""The Lease of an election: its holder, and versioned reads and writes."""

from __future__ import annotations

from typing import Any

import msgspec

from kubewright.api import ObjectMeta, Untyped
from kubewright.client import Client, NotFound
from kubewright.election._timing import LONGEST_LEASE

__all__ = ["LeaseLock", "LeaseRecord"]

# Untyped, for two reasons: any content of the Lease can be read, and fields of others (labels, a strategy, fields of
# later versions) survive a full update. Only get, create and update are needed, as in client-go.
_Lease = Untyped.kind_of("coordination.k8s.io/v1", "Lease", plural="leases")

_MOST_TRANSITIONS = 2**31 - 1
_LONGEST_NAME = 256


class LeaseRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a Lease.

    The times are strings as its holder wrote them: they distinguish versions and are not compared.
    """

    holder: str = ""
    duration: float | None = None
    acquire_time: str = ""
    renew_time: str = ""
    transitions: int = 0

    @classmethod
    def of(cls, lease: Untyped) -> LeaseRecord:
        """Reads a Lease. Missing and invalid fields are treated as empty."""
        spec = lease.get("spec")
        if not isinstance(spec, dict):
            return cls()
        seconds, transitions = _whole(spec.get("leaseDurationSeconds")), _whole(spec.get("leaseTransitions"))
        return cls(
            holder=_text(spec.get("holderIdentity")),
            duration=min(float(seconds), LONGEST_LEASE) if seconds > 0 else None,
            acquire_time=_text(spec.get("acquireTime")),
            renew_time=_text(spec.get("renewTime")),
            transitions=max(transitions, 0),
        )

    @property
    def holder_shown(self) -> str:
        """The holder for log messages: one line of limited length."""
        shown = "".join(c if c.isprintable() else "?" for c in self.holder[: _LONGEST_NAME + 1])
        return shown if len(shown) <= _LONGEST_NAME else shown[:_LONGEST_NAME] + "…"


class LeaseLock:
    """One Lease on the server.

    A write is for the version that was read; otherwise it raises `Conflict` or `NotFound`.
    """

    def __init__(self, client: Client, name: str, namespace: str) -> None:
        self._client = client
        self.name = name
        self.namespace = namespace

    async def read(self) -> Untyped | None:
        """Returns the current Lease, or None."""
        try:
            return await self._client.get(_Lease, self.name, self.namespace)
        except NotFound:
            return None

    async def create(self, record: LeaseRecord) -> Untyped:
        """Creates the Lease. Raises `AlreadyExists`."""
        lease = _Lease(metadata=ObjectMeta(name=self.name, namespace=self.namespace))
        lease["spec"] = _spec(record)
        return await self._client.create(lease)

    async def write(self, lease: Untyped, record: LeaseRecord) -> Untyped:
        """Updates the version that was read."""
        spec = lease.get("spec")
        changed = _Lease(metadata=lease.metadata, content={**lease.content})
        changed["spec"] = {**(spec if isinstance(spec, dict) else {}), **_spec(record)}
        return await self._client.replace(changed)


def _spec(record: LeaseRecord) -> dict[str, Any]:
    return {
        "holderIdentity": record.holder,
        "leaseDurationSeconds": int(record.duration or 1),
        "acquireTime": record.acquire_time,
        "renewTime": record.renew_time,
        "leaseTransitions": min(record.transitions, _MOST_TRANSITIONS),
    }


def _whole(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
