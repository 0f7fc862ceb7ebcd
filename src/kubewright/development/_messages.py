"""What happens while a program is developed, as messages.

They are what the operator's process tells `Development`, what the views show, and what `--output json` prints: one JSON
object a line, whose `type` says what it is.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

__all__ = [
    "Applied",
    "ClusterReady",
    "ConsoleReady",
    "Ended",
    "EventSeen",
    "Failed",
    "Hint",
    "Installed",
    "KindShown",
    "Loaded",
    "Logged",
    "Message",
    "ObjectSeen",
    "Output",
    "Ready",
    "Reconciled",
    "Starting",
    "Stopped",
]


class _Message(msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="type"):
    """One thing that happened."""


class KindShown(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A kind of the program, and the columns in which `kubectl get` shows its objects."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool
    columns: list[dict[str, Any]] = msgspec.field(default_factory=list)

    @property
    def definition(self) -> str:
        """The name of its definition."""
        return f"{self.plural}.{self.api_version.rpartition('/')[0]}"


class ClusterReady(_Message, frozen=True, tag="cluster"):
    """The cluster answers. Without a kubeconfig, it is that of the usual one."""

    server: str
    kubeconfig: str | None
    embedded: bool
    context: str | None = None


class ConsoleReady(_Message, frozen=True, tag="console"):
    """The web console is served."""

    url: str


class Hint(_Message, frozen=True, tag="hint"):
    """Something that is good to know, and needs no deed."""

    text: str


class Starting(_Message, frozen=True, tag="starting"):
    """The program is loaded in a new process, because these files changed if there are any."""

    targets: list[str]
    changed: list[str]


class Loaded(_Message, frozen=True, tag="loaded"):
    """The program could be imported. `files` are those that it consists of."""

    operator: str
    kinds: list[KindShown]
    files: list[str]


class Installed(_Message, frozen=True, tag="installed"):
    """The definitions are in the cluster, as the program has them now."""

    definitions: list[str]


class Ready(_Message, frozen=True, tag="ready"):
    """The operator works. Its pages are served at `address`."""

    operator: str
    address: str


class Failed(_Message, frozen=True, tag="failed"):
    """Something does not work as it is: the text says what, with the lines of the program where it is about them.

    `files` are those that the program consists of, as far as it came.
    """

    what: Literal["import", "definitions", "start", "sample"]
    text: str
    file: str = ""
    line: int = 0
    files: list[str] = msgspec.field(default_factory=list)


class Applied(_Message, frozen=True, tag="applied"):
    """A sample is in the cluster."""

    kind: str
    namespace: str
    name: str
    file: str


class Reconciled(_Message, frozen=True, tag="reconciled"):
    """A reconcile ended."""

    kind: str
    namespace: str
    name: str
    result: str
    seconds: float
    attempt: int
    error: str


class ObjectSeen(_Message, frozen=True, tag="object"):
    """An object of one of the program's kinds is there, is different, or is gone (`state` is empty then)."""

    kind: str
    namespace: str
    name: str
    change: Literal["added", "modified", "deleted"]
    state: str


class EventSeen(_Message, frozen=True, tag="event"):
    """Somebody recorded an event about an object of one of the program's kinds."""

    kind: str
    namespace: str
    name: str
    severity: str
    reason: str
    message: str
    count: int


class Logged(_Message, frozen=True, tag="log"):
    """A line of the operator's log."""

    level: str
    logger: str
    message: str
    kind: str = ""
    namespace: str = ""
    name: str = ""
    traceback: str = ""


class Output(_Message, frozen=True, tag="output"):
    """A line that the program printed."""

    text: str


class Ended(_Message, frozen=True, tag="ended"):
    """The operator's process ended, although nobody asked it to. The next save starts it again."""

    code: int


class Stopped(_Message, frozen=True, tag="stopped"):
    """Everything has ended."""


Message: TypeAlias = (
    ClusterReady
    | ConsoleReady
    | Hint
    | Starting
    | Loaded
    | Installed
    | Ready
    | Failed
    | Applied
    | Reconciled
    | ObjectSeen
    | EventSeen
    | Logged
    | Output
    | Ended
    | Stopped
)
