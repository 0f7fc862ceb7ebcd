"""The decision of `apply`: from the wanted and the known state to an action. Pure; read this file first.

`decide` never waits and changes nothing. The executor (`_applier`) carries out the action. After a `READ`, or a create
that failed because the object exists, it calls `decide` again with the new state.

Ownership:

- An object is *ours* if its controller is the owner for which it is applied, by uid. Without an owner, it is ours if
  our field manager has applied it before.
- An object without a controller can be *adopted*, if the caller asks for it.
- Every other object is refused: an object cannot have two controllers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, Literal, TypeAlias, TypeVar

import msgspec

from kubewright.api import Object, OwnerReference, controller_of
from kubewright.cache import Snapshot
from kubewright.controller.apply._errors import BeingDeleted, NotOwned, Outdated
from kubewright.controller.apply._immutable import ImmutablePolicy
from kubewright.controller.apply._records import ApplyRecord, same_content
from kubewright.controller.apply._request import ApplyRequest
from kubewright.controller.apply._write_conflicts import ConflictState

__all__ = [
    "CREATE",
    "READ",
    "SKIP",
    "Action",
    "Known",
    "Ownership",
    "Pause",
    "Wanted",
    "Write",
    "check_ownership",
    "decide",
    "has_written",
]

R = TypeVar("R", bound=Object)

Ownership = Literal["ours", "adopt"]


class Wanted(msgspec.Struct, Generic[R], frozen=True):
    """The request of the caller of `apply`."""

    request: ApplyRequest[R]
    owner: Object | None = None
    adopt: bool = False
    release: Sequence[str] = ()
    """Paths that are not requested any more and keep their value."""
    optimistic_lock: bool = False
    writer: str = ""
    immutable: ImmutablePolicy = "fail"


class Known(msgspec.Struct, Generic[R], frozen=True):
    """The known state of the object when the decision is made."""

    snapshot: Snapshot[R] | None
    """The object, from the cache or from the server; None if it is absent."""
    live: bool = False
    """Whether the snapshot was read from the server in this call."""
    existed: bool = False
    """Whether the cache or the server reported the object earlier in this call."""
    record: ApplyRecord | None = None
    """Our last apply of the object, if it is remembered."""
    conflict: ConflictState | None = None
    """The write conflict that pauses writes of this content now."""


class Write(msgspec.Struct, frozen=True):
    """Apply the object."""

    settle_fields: bool = False
    """Whether the managed fields must be changed first: after a create, or to release fields."""
    guarded: bool = False
    """Whether the write is valid only for the resourceVersion that was read."""
    restores: bool = False
    """Whether it restores content that another client has overwritten."""


class Pause(msgspec.Struct, frozen=True):
    """Do not write now: a write conflict pauses this content."""

    conflict: ConflictState


Action: TypeAlias = Literal["create", "read", "skip"] | Write | Pause

CREATE: Literal["create"] = "create"
"""Create the object."""
READ: Literal["read"] = "read"
"""Read the object from the server, and decide again."""
SKIP: Literal["skip"] = "skip"
"""Send nothing: the server has everything that is requested."""


def decide(wanted: Wanted[R], known: Known[R]) -> Action:
    """Returns the action that brings the object to the wanted state.

    Raises `NotOwned` and `BeingDeleted` for objects that must not be written, and `Outdated` for one that disappeared
    during the call.
    """
    snapshot, request = known.snapshot, wanted.request
    if snapshot is None:
        if not known.existed:
            return CREATE
        raise Outdated(f"{request.object} was not found on the server, but existed a moment ago; reconcile again")
    if snapshot.deleting:
        raise BeingDeleted(snapshot.object())
    if is_unchanged(request, snapshot, known.record):
        return SKIP
    # An object that we have not applied may change its owner now, and only the server knows which fields to release.
    settle_fields = bool(wanted.release) or is_first_apply(snapshot)
    if settle_fields and not known.live:
        return READ
    applied_before = snapshot.applied is not None
    ownership = check_ownership(snapshot.object(), wanted.owner, adopt=wanted.adopt, applied_before=applied_before)
    restores = is_overwritten(request, snapshot, known.record, wanted.writer)
    if restores and known.conflict is not None:
        return Pause(known.conflict)
    # The guard keeps another client from adopting the object between our read and our write.
    return Write(settle_fields=settle_fields, guarded=wanted.optimistic_lock or ownership == "adopt", restores=restores)


def is_first_apply(snapshot: Snapshot[Any]) -> bool:
    """Returns whether our field manager has not applied the object yet; it may have created it."""
    return snapshot.applied is None or snapshot.only_created


def is_unchanged(request: ApplyRequest[R], snapshot: Snapshot[R], record: ApplyRecord | None) -> bool:
    """Returns whether another apply of the same request would change nothing."""
    if record is None or record.requested != request.digest or record.applied != snapshot.applied:
        return False
    return record.resource_version == snapshot.resource_version or record.stored == request.stored_in(snapshot.raw)


def is_overwritten(request: ApplyRequest[R], snapshot: Snapshot[R], record: ApplyRecord | None, writer: str) -> bool:
    """Returns whether this writer's last request was the same, and the object has changed since.

    Each writer is compared with itself. A changed request is never a restore. Two writers that alternate restore their
    own content each time.
    """
    if record is None or record.requested_by(writer) != request.digest:
        return False
    return record.writer != writer or record.resource_version < snapshot.resource_version


def has_written(request: ApplyRequest[R], before: Snapshot[R], answer: bytes, record: ApplyRecord) -> bool:
    """Returns whether our apply changed the object: its state before, and the server's answer with its record."""
    if record.resource_version == before.resource_version:
        return False
    if before.only_created:
        return not same_content(before.raw, answer)
    # A newer resourceVersion than the cache's may come only from other clients.
    return record.applied != before.applied or record.stored != request.stored_in(before.raw)


def check_ownership(existing: Object, owner: Object | None, *, adopt: bool, applied_before: bool) -> Ownership:
    """Returns why the object may be written. Raises `NotOwned` if it must not be."""
    controller = controller_of(existing)
    if owner is None:
        if applied_before:
            return "ours"
    elif controller is not None:
        if controller.uid == owner.metadata.uid:
            return "ours"
        raise NotOwned(_controlled_by_another(existing, owner, controller), existing)
    if adopt:
        return "adopt"
    reason = f"{owner} does not control it" if owner is not None else "this operator has not applied it before"
    raise NotOwned(
        f"{existing} exists already and {reason}, so it was not changed: "
        "choose another name, delete it, or take it over with adopt=True",
        existing,
    )


def _controlled_by_another(existing: Object, owner: Object, controller: OwnerReference) -> str:
    name = f"{controller.kind} {controller.name}"
    if controller.kind == owner.kind and controller.name == owner.metadata.name:
        return (
            f"{existing} belongs to an earlier {name} (uid {controller.uid}, now {owner.metadata.uid}), "
            "so it was not changed: the garbage collector removes it"
        )
    return f"{existing} exists already and {name} (uid {controller.uid}) controls it, so it was not changed"
