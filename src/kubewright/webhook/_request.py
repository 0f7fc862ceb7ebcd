"""`AdmissionRequest`: all that the API server tells about a request that it asks about."""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeVar, cast

import msgspec

from kubewright.api import Object, decode
from kubewright.client import Client
from kubewright.webhook._reviews import AdmissionAsked, GroupVersionKind, GroupVersionResource, User

__all__ = ["AdmissionRequest", "Operation"]

R = TypeVar("R", bound=Object)

Operation = Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]

_NOTHING = b"null"


class AdmissionRequest(Generic[R]):
    """A request that a handler is asked about. Objects are decoded when they are first looked at.

    `warn` adds a warning for whoever asked; `audit` adds an annotation to the server's audit log. What is no text,
    such as an error, is sent as its text.
    """

    __slots__ = ("_asked", "_kind", "_object", "_old", "annotations", "client", "warnings")

    def __init__(self, kind: type[R], asked: AdmissionAsked, client: Client | None = None) -> None:
        self._kind = kind
        self._asked = asked
        self._object: R | None = None
        self._old: R | None = None
        self.client = client
        """Reads and writes the cluster, as the operator; None where handlers are called without one."""
        self.warnings: list[str] = []
        self.annotations: dict[str, str] = {}

    def __repr__(self) -> str:
        asked = self._asked
        part = f"/{asked.sub_resource}" if asked.sub_resource else ""
        where = f"{asked.namespace}/{asked.name}" if asked.namespace else asked.name
        return f"<AdmissionRequest {asked.operation} {asked.resource.resource}{part} {where} by {self.user.username}>"

    @property
    def uid(self) -> str:
        """Tells this question apart from others."""
        return self._asked.uid

    @property
    def operation(self) -> Operation:
        """What is asked for: "CREATE", "UPDATE", "DELETE" or "CONNECT"."""
        return cast("Operation", self._asked.operation)

    @property
    def dry_run(self) -> bool:
        """Whether nothing will be stored: then nothing else may be changed either."""
        return bool(self._asked.dry_run)

    @property
    def user(self) -> User:
        """Who asks."""
        return self._asked.user_info

    @property
    def name(self) -> str:
        """The object's name; empty when the server will make one up from `metadata.generate_name`."""
        return self._asked.name

    @property
    def namespace(self) -> str:
        """The object's namespace; empty for kinds in none. A Namespace's own name is here too."""
        return self._asked.namespace

    @property
    def subresource(self) -> str:
        """The part that is asked for, such as "status"; empty for the whole object."""
        return self._asked.sub_resource

    @property
    def kind(self) -> GroupVersionKind:
        """The kind and version of `object`."""
        return self._asked.kind

    @property
    def resource(self) -> GroupVersionResource:
        """Where the object is."""
        return self._asked.resource

    @property
    def request_kind(self) -> GroupVersionKind:
        """The kind and version that the client used; another than `kind` when the server has converted the object."""
        return self._asked.request_kind or self._asked.kind

    @property
    def request_resource(self) -> GroupVersionResource:
        """Where the client asked."""
        return self._asked.request_resource or self._asked.resource

    @property
    def object(self) -> R | None:
        """The object as it shall become; None when it is deleted."""
        if self._object is None and (raw := self.raw_object):
            self._object = decode(self._kind, raw)
        return self._object

    @property
    def old(self) -> R | None:
        """The object as it is stored; None when it is created."""
        if self._old is None and (raw := self.raw_old):
            self._old = decode(self._kind, raw)
        return self._old

    @property
    def options(self) -> dict[str, Any]:
        """The options of the request by their names on the wire: of a DeleteOptions, a CreateOptions, and so on."""
        found = msgspec.json.decode(self._asked.options)
        return found if isinstance(found, dict) else {}

    @property
    def raw_object(self) -> bytes:
        """The JSON of `object`; empty when there is none."""
        raw = bytes(self._asked.object)
        return b"" if raw == _NOTHING else raw

    @property
    def raw_old(self) -> bytes:
        """The JSON of `old`; empty when there is none."""
        raw = bytes(self._asked.old_object)
        return b"" if raw == _NOTHING else raw

    def warn(self, message: str) -> None:
        """Tell whoever asked; `kubectl` prints it. The server shows 256 characters of it."""
        self.warnings.append(message)

    def audit(self, key: str, value: str) -> None:
        """Note something in the audit log, under a key such as "image-policy"."""
        self.annotations[key] = value
