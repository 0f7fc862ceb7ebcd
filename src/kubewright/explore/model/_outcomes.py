"""`Outcome`: the requests, writes, objects and errors of a run."""

from __future__ import annotations

from typing import Any

import msgspec

__all__ = ["Checkpoint", "Failure", "Key", "Outcome", "Sent", "World", "Write"]

Key = tuple[str, str, str]
"""An object: resource with group (`deployments.apps`), namespace, name."""
World = dict[Key, dict[str, Any]]
"""Objects by key."""


class Sent(msgspec.Struct):
    """A write request of the operator: a boundary at which faults occur."""

    number: int
    time: float
    step: int
    verb: str
    resource: str
    namespace: str
    name: str
    subresource: str
    status: int = 0
    """The status of the response; 0 without one."""
    fault: str = ""
    """The fault that hit this request."""
    incarnation: int = 1
    cause: str = ""
    """The reconcile that sent it: its controller, object and trigger."""

    @property
    def key(self) -> Key:
        """The object that it writes."""
        return (self.resource, self.namespace, self.name)


class Write(msgspec.Struct):
    """A write that the server stored. `before` and `after` are JSON; None for a new or a deleted object."""

    time: float
    step: int
    actor: str
    """`operator`, `user`, `other` (a foreign writer of a fault), or empty for the cluster's own controllers."""
    verb: str
    resource: str
    namespace: str
    name: str
    before: bytes | None
    after: bytes | None
    request: int = 0
    """The number of the operator's request."""

    @property
    def key(self) -> Key:
        """The object."""
        return (self.resource, self.namespace, self.name)


class Failure(msgspec.Struct):
    """An exception that a reconcile raised, or an error in the operator's log."""

    time: float
    step: int
    type: str
    message: str
    traceback: str = ""
    during_fault: bool = False
    parsing: bool = False
    """Whether the program failed to parse a value by mistake. False if it rejects the value on purpose."""


class Checkpoint(msgspec.Struct):
    """The objects at a `Wait`, after the cluster became quiet."""

    step: int
    time: float
    quiet: bool
    world: World
    sent: int
    """The number of the operator's writes so far."""
    rest: tuple[int, int] = (0, 0)
    """The first and the last of the operator's writes while it rested, as positions in `requests`."""


class Outcome(msgspec.Struct):
    """The requests, writes, objects and errors of a run."""

    checkpoints: list[Checkpoint] = []
    requests: list[Sent] = []
    writes: list[Write] = []
    failures: list[Failure] = []
    refused: list[tuple[int, str]] = []
    """Steps of the user that the server refused, with the message."""
    hits: list[bool] = []
    """Whether each fault of the plan occurred."""
    calls: list[Sent] = []
    """Calls of external systems, numbered from 1: `resource` is the system, `verb` the method."""
    reads: list[Sent] = []
    """Reads of the operator, numbered from 1: get and list, not watch."""
    invariants: list[tuple[float, str, str]] = []
    """Invariants of the user that were false: time, name, and the reason with the write."""
    escapes: list[str] = []
    """Calls that escape determinism: real clocks, sockets, threads."""
    over_budget: bool = False
    """Whether the operator exceeded the budget of writes."""
    broken: str = ""
    """Why the run could not be completed; empty if it was."""
    watched: list[str] = []
    """Resources that the operator watches."""
    journal: str = ""
    """A digest of the cluster's journal: every request and every write, with times and bytes. Equal for equal runs."""
    lines: dict[str, list[int]] = {}
    """The lines of the operator's functions that were reached, by file."""
    permitted: list[str] = []
    """Verbs and resources that the operator's generated roles allow: `create configmaps`."""
