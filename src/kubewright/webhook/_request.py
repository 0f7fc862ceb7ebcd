"""`AdmissionRequest`: the request of an AdmissionReview, for handlers."""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeVar, cast

import msgspec

from kubewright.api import Object, decode
from kubewright.client import Client
from kubewright.webhook.reviews._reviews import AdmissionReviewRequest, GroupVersionKind, GroupVersionResource, User

__all__ = ["AdmissionRequest", "Operation"]

R = TypeVar("R", bound=Object)

Operation = Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]

_NOTHING = b"null"


class AdmissionRequest(Generic[R]):
    """The request that a handler decides about. Objects are decoded on first access.

    `warn` adds a warning for the client; `audit` adds an annotation to the audit log of the API server. A value that is
    not a string, such as an exception, is sent as its string.
    """

    __slots__ = ("_kind", "_object", "_old", "_review", "annotations", "client", "warnings")

    def __init__(self, kind: type[R], review: AdmissionReviewRequest, client: Client | None = None) -> None:
        self._kind = kind
        self._review = review
        self._object: R | None = None
        self._old: R | None = None
        self.client = client
        """The operator's client; None if the handler is called without one."""
        self.warnings: list[str] = []
        self.annotations: dict[str, str] = {}

    def __repr__(self) -> str:
        review = self._review
        part = f"/{review.sub_resource}" if review.sub_resource else ""
        where = f"{review.namespace}/{review.name}" if review.namespace else review.name
        return f"<AdmissionRequest {review.operation} {review.resource.resource}{part} {where} by {self.user.username}>"

    @property
    def uid(self) -> str:
        """The unique ID of the review."""
        return self._review.uid

    @property
    def operation(self) -> Operation:
        """The operation: "CREATE", "UPDATE", "DELETE" or "CONNECT"."""
        return cast("Operation", self._review.operation)

    @property
    def dry_run(self) -> bool:
        """Whether the request is a dry run. Then the handler must have no side effects."""
        return bool(self._review.dry_run)

    @property
    def user(self) -> User:
        """The user who sent the request."""
        return self._review.user_info

    @property
    def name(self) -> str:
        """The object's name; empty if the server will generate it from `metadata.generate_name`."""
        return self._review.name

    @property
    def namespace(self) -> str:
        """The object's namespace; empty for cluster-scoped kinds. For a Namespace, its own name."""
        return self._review.namespace

    @property
    def subresource(self) -> str:
        """The subresource, such as "status"; empty for the object itself."""
        return self._review.sub_resource

    @property
    def kind(self) -> GroupVersionKind:
        """The kind and version of `object`."""
        return self._review.kind

    @property
    def resource(self) -> GroupVersionResource:
        """The resource of the object."""
        return self._review.resource

    @property
    def request_kind(self) -> GroupVersionKind:
        """The kind and version of the client's request; differs from `kind` if the server converted the object."""
        return self._review.request_kind or self._review.kind

    @property
    def request_resource(self) -> GroupVersionResource:
        """The resource of the client's request."""
        return self._review.request_resource or self._review.resource

    @property
    def object(self) -> R | None:
        """The new state of the object; None for a deletion."""
        if self._object is None and (raw := self.raw_object):
            self._object = decode(self._kind, raw)
        return self._object

    @property
    def old(self) -> R | None:
        """The stored state of the object; None for a creation."""
        if self._old is None and (raw := self.raw_old):
            self._old = decode(self._kind, raw)
        return self._old

    @property
    def options(self) -> dict[str, Any]:
        """The options of the request by their JSON names: of a DeleteOptions, a CreateOptions, and so on."""
        found = msgspec.json.decode(self._review.options)
        return found if isinstance(found, dict) else {}

    @property
    def raw_object(self) -> bytes:
        """The JSON of `object`; empty if there is none."""
        raw = bytes(self._review.object)
        return b"" if raw == _NOTHING else raw

    @property
    def raw_old(self) -> bytes:
        """The JSON of `old`; empty if there is none."""
        raw = bytes(self._review.old_object)
        return b"" if raw == _NOTHING else raw

    def warn(self, message: str) -> None:
        """Adds a warning for the client, which `kubectl` prints. The server truncates it to 256 characters."""
        self.warnings.append(message)

    def audit(self, key: str, value: str) -> None:
        """Adds an annotation to the audit log, under a key such as "image-policy"."""
        self.annotations[key] = value
