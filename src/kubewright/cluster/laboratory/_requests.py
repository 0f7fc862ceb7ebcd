"""Requests as hooks and faults see them, and which of them match."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Self

import msgspec

from kubewright.api.wire import UNREADABLE
from kubewright.cluster._state import State
from kubewright.cluster.laboratory._journal import JournalEntry
from kubewright.cluster.machinery._calls import Call
from kubewright.cluster.machinery._failures import Failure
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.registry._create import next_generated_name
from kubewright.cluster.registry._decoding import decode_body

__all__ = ["READS", "WRITES", "Incoming", "Matches", "Served", "matcher", "verb_of"]

WRITES: Final = frozenset({"create", "update", "patch", "delete", "deletecollection"})
READS: Final = frozenset({"get", "list", "watch"})
_VERBS: Final = WRITES | READS | {"apply", "write"}
_EVENTS: Final = frozenset({"events", "events.events.k8s.io"})
_APPLY: Final = "application/apply-patch"


class _Metadata(msgspec.Struct, rename="camel"):
    name: str = ""
    generate_name: str = ""


class _Named(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


_named: Final = msgspec.json.Decoder(_Named)
_any: Final = msgspec.json.Decoder()


def verb_of(call: Call) -> str:
    """Returns the verb of a call; `apply` for a server-side apply."""
    applies = call.verb == "patch" and call.header("Content-Type").startswith(_APPLY)
    return "apply" if applies else call.verb


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """A resource request before it is served, as hooks see it.

    `number` counts the requests since the first use of the laboratory. `verb` is `apply` for a server-side apply,
    which is a `patch` otherwise. `name` is that of the path, or of the body of a create; with a `generateName`, it is
    the name that the server will generate, unless an admission plugin or another create at the same moment changes it.
    `client` is the User-Agent header.
    """

    number: int
    verb: str
    resource: str
    namespace: str
    name: str
    subresource: str
    user: str
    client: str
    dry_run: bool
    _call: Call = field(repr=False, compare=False)
    _state: State = field(repr=False, compare=False)

    @property
    def writes(self) -> bool:
        """Returns whether the request is a write and not a dry run."""
        return self.verb not in READS and not self.dry_run

    @property
    def body(self) -> Any:  # JSON
        """Returns a copy of the decoded body: an object, the list of a JSON Patch; None if there is no readable one."""
        raw = self._call.request.body
        if not raw:
            return None
        try:
            return _any.decode(raw)
        except UNREADABLE:
            pass  # YAML or protobuf
        try:
            return decode_body(self._state, self._call, self._call.type)
        except Failure:  # the server reports it
            return None

    @property
    def current(self) -> JSONObject | None:
        """Returns a copy of the stored object that the request names; None if it does not exist."""
        found = self._state.storage.get(self._call.type.storage, self.namespace, self.name) if self.name else None
        return None if found is None else found.decode()

    @classmethod
    def of(cls, call: Call, state: State, number: int) -> Self:
        """Returns the attributes of a call before it is served."""
        return cls(
            number=number,
            verb=verb_of(call),
            resource=call.type.qualified,
            namespace=call.namespace,
            name=call.name or _name_in(call, state),
            subresource=call.subresource,
            user=call.user.name,
            client=call.header("User-Agent"),
            dry_run=call.dry_run,
            _call=call,
            _state=state,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A request after it was served and before its response is sent, as hooks with `when="after"` see it.

    `status` is the status of the response. `entries` are the entries of the journal that it made: one for each object
    that it wrote.
    """

    request: Incoming
    status: int
    entries: tuple[JournalEntry, ...]


def _name_in(call: Call, state: State) -> str:
    if call.verb != "create" or not call.request.body:
        return ""
    try:
        metadata = _named.decode(call.request.body).metadata
    except UNREADABLE:  # another format, or invalid: the server reports it
        return ""
    if metadata.name or not metadata.generate_name:
        return metadata.name
    return next_generated_name(state, call.type, call.namespace, metadata.generate_name)


Matches = Callable[[Incoming], bool]


def matcher(
    *,
    verb: str,
    resource: str,
    namespace: str = "",
    name: str = "",
    subresource: str | None = None,
    user: str = "",
    client: str = "",
) -> Matches:
    """Returns a function that matches requests. An empty argument matches everything.

    The verb `write` matches all writes except dry runs and, without a resource, except writes of Events. Raises
    ValueError for an unknown verb.
    """
    if verb and verb not in _VERBS:
        raise ValueError(f"unknown verb {verb!r}; use one of {', '.join(sorted(_VERBS))}")

    def matches(incoming: Incoming) -> bool:
        return (
            (not verb or _is_meant(verb, incoming, resource))
            and (not resource or incoming.resource == resource)
            and (not namespace or incoming.namespace == namespace)
            and (not name or incoming.name == name)
            and (subresource is None or incoming.subresource == subresource)
            and (not user or incoming.user == user)
            and (not client or client in incoming.client)
        )

    return matches


def _is_meant(verb: str, incoming: Incoming, resource: str) -> bool:
    if incoming.dry_run:
        return False
    if verb == "write":
        return incoming.writes and (bool(resource) or incoming.resource not in _EVENTS)
    return verb == incoming.verb or (verb == "patch" and incoming.verb == "apply")
