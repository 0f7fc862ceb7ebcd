"""`Plan`: the story of a user, and the faults of a run."""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

import msgspec

__all__ = [
    "MISSING_IMAGE",
    "Apply",
    "Conditions",
    "Create",
    "Delete",
    "Fault",
    "Pause",
    "Plan",
    "Restart",
    "Revise",
    "Step",
    "Story",
    "Wait",
]

MISSING_IMAGE: Final = "registry.invalid/missing:1"
"""An image that no node can pull."""

FaultKind: TypeAlias = Literal[
    "crash",
    "fail",
    "lost",
    "hang",
    "conflict",
    "forbidden",
    "webhook-down",
    "takeover",
    "slow-watch",
    "reordered-watch",
    "expired-watch",
    "downtime",
    "restart",
    "edit",
    "remove",
    "label",
    "slow-garbage",
    "external-crash",
    "external-fail",
    "read-fail",
    "read-forbidden",
]


class Create(msgspec.Struct, frozen=True, tag="create", tag_field="do"):
    """The user creates an object."""

    object: dict[str, Any]


class Apply(msgspec.Struct, frozen=True, tag="apply", tag_field="do"):
    """The user creates an object, or merges its fields into the one that exists."""

    object: dict[str, Any]


class Revise(msgspec.Struct, frozen=True, tag="revise", tag_field="do", omit_defaults=True):
    """The user changes the spec of an object: the value at a path, or its removal with `remove`."""

    api_version: str
    kind: str
    name: str
    namespace: str
    path: tuple[str | int, ...]
    value: Any = None
    remove: bool = False


class Delete(msgspec.Struct, frozen=True, tag="delete", tag_field="do"):
    """The user deletes an object."""

    api_version: str
    kind: str
    name: str
    namespace: str


class Wait(msgspec.Struct, frozen=True, tag="wait", tag_field="do", omit_defaults=True):
    """Waits until the cluster is quiet, and takes a checkpoint. Then `rest` seconds pass."""

    rest: float = 0


class Pause(msgspec.Struct, frozen=True, tag="pause", tag_field="do"):
    """Lets this many seconds pass, without waiting for the operator."""

    seconds: float


class Restart(msgspec.Struct, frozen=True, tag="restart", tag_field="do", omit_defaults=True):
    """The operator is killed, and started again after a second.

    With `left`, the new process finds these objects in place of `made`: a process with another hash seed has left them.
    """

    left: tuple[tuple[str, dict[str, Any]], ...] = ()
    """Resources and objects."""
    made: tuple[tuple[str, str, str], ...] = ()
    """Resource, namespace and name of objects that the other process did not make."""


Step: TypeAlias = Create | Apply | Revise | Delete | Wait | Pause | Restart


class Story(msgspec.Struct, frozen=True):
    """The steps of a user, with a name for reports."""

    name: str
    steps: tuple[Step, ...]


class Fault(msgspec.Struct, frozen=True, omit_defaults=True):
    """A disturbance of a run.

    Faults of requests (`crash`, `fail`, `lost`, `hang`, `conflict`, `forbidden`, `webhook-down`, `takeover`) occur at
    the operator's write number `at`, counted from 1; `external-crash` and `external-fail` at the call number `at` of an
    external system; `read-fail` and `read-forbidden` at its read number `at`, without watches. The others occur at the
    step number `at` of the story, counted from 0. Slow watches begin before that step, and a `downtime` includes it.
    `restart`, `edit`, `remove` and `label` follow a `Wait`. With `until`, a `takeover` begins at the write `at`, which
    the standby no longer sees, and the standby takes over after the write `until`.
    """

    kind: FaultKind
    at: int
    after: bool = False
    """Whether the request took effect before the fault."""
    status: int = 0
    seconds: float = 0
    """How long the operator is down, the watch is slow, or the permission is missing."""
    resource: str = ""
    namespace: str = ""
    name: str = ""
    path: tuple[str | int, ...] = ()
    value: Any = None
    until: int = 0


class Conditions(msgspec.Struct, frozen=True, omit_defaults=True):
    """Circumstances that no correct operator depends on."""

    seed: int = 0
    start: int = 0
    """Days after the usual start of virtual time."""
    latency: float = 0.004
    """Virtual seconds of each request."""
    addresses: int = 0
    """Selects the ranges that the cluster allocates addresses from."""
    unready: bool = False
    """Whether pods run but never become ready."""
    hash_seed: int = 0
    """The PYTHONHASHSEED of the operator's process: the order of sets of strings, and what `hash()` returns."""


class Plan(msgspec.Struct, frozen=True, omit_defaults=True):
    """The steps and faults of one run. The same plan always has the same outcome if the operator is deterministic."""

    story: Story
    faults: tuple[Fault, ...] = ()
    conditions: Conditions = Conditions()
