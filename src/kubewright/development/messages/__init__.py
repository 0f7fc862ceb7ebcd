"""Messages about a program under development.

The operator's process sends them to `Development`, views show them, and `--output json` prints them: one JSON object
per line, with its `type`.
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
    """An event."""


class KindShown(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A kind of the program, and the columns that `kubectl get` shows."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool
    columns: list[dict[str, Any]] = msgspec.field(default_factory=list)

    @property
    def definition(self) -> str:
        """The name of the definition."""
        return f"{self.plural}.{self.api_version.rpartition('/')[0]}"


class ClusterReady(_Message, frozen=True, tag="cluster"):
    """The cluster is ready. Without a kubeconfig, it is that of the default one."""

    server: str
    kubeconfig: str | None
    embedded: bool
    context: str | None = None


class ConsoleReady(_Message, frozen=True, tag="console"):
    """The web console is served."""

    url: str


class Hint(_Message, frozen=True, tag="hint"):
    """A hint that needs no action."""

    text: str


class Starting(_Message, frozen=True, tag="starting"):
    """The program is loaded in a new process, because of these changed files, if any."""

    targets: list[str]
    changed: list[str]


class Loaded(_Message, frozen=True, tag="loaded"):
    """The program was imported. `files` are the files that it consists of, `extensions` those of its console."""

    operator: str
    kinds: list[KindShown]
    files: list[str]
    extensions: list[str] = []


class Installed(_Message, frozen=True, tag="installed"):
    """The definitions are installed in their current form.

    `changes` are the fields that differ from the previously installed form, by definition.
    """

    definitions: list[str]
    changes: dict[str, list[str]] = msgspec.field(default_factory=dict)


class Ready(_Message, frozen=True, tag="ready"):
    """The operator runs. Its pages are served at `address`."""

    operator: str
    address: str


class Failed(_Message, frozen=True, tag="failed"):
    """Something failed. The text says what, with the lines of the program that caused it.

    `files` are the files that were loaded so far.
    """

    what: Literal["import", "definitions", "start", "sample"]
    text: str
    file: str = ""
    line: int = 0
    files: list[str] = msgspec.field(default_factory=list)


class Applied(_Message, frozen=True, tag="applied"):
    """A sample was applied."""

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
    trigger: str = ""

    @property
    def is_routine(self) -> bool:
        """Whether a resync ran it, and it succeeded: the object has not changed."""
        return self.trigger.endswith("resync") and self.result == "success"


class ObjectSeen(_Message, frozen=True, tag="object"):
    """An object of the program's kinds was created, changed or deleted (`state` is empty then)."""

    kind: str
    namespace: str
    name: str
    change: Literal["added", "modified", "deleted"]
    state: str


class EventSeen(_Message, frozen=True, tag="event"):
    """An event was recorded about an object of the program's kinds."""

    kind: str
    namespace: str
    name: str
    severity: str
    reason: str
    message: str
    count: int


class Logged(_Message, frozen=True, tag="log"):
    """A line of the operator's log, or a warning of the cluster or the console."""

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
    """The operator's process exited unexpectedly. The next save restarts it."""

    code: int


class Stopped(_Message, frozen=True, tag="stopped"):
    """Everything has stopped."""


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
