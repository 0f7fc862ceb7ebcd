"""The JSON of reviews: requests of the API server, and their responses.

Objects are not decoded here, because only the handler knows their model.
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from kubewright.api.wire import UNREADABLE
from kubewright.redaction import Redacted

__all__ = [
    "ADMISSION",
    "CONVERSION",
    "AdmissionResponse",
    "BadReview",
    "ConversionReviewRequest",
    "GroupVersionKind",
    "GroupVersionResource",
    "User",
    "admission_review",
    "conversion_review",
    "decode_admission",
    "decode_conversion",
    "uid_in",
]

ADMISSION: Final = "admission.k8s.io/v1"
CONVERSION: Final = "apiextensions.k8s.io/v1"


class BadReview(Exception):
    """The body is not a valid review. The message has the reason, and nothing of the body."""

    def __init__(self, why: str, *, code: int = 400) -> None:
        super().__init__(why)
        self.code = code


class GroupVersionKind(msgspec.Struct, frozen=True):
    """A kind in a version."""

    group: str = ""
    version: str = ""
    kind: str = ""

    def __str__(self) -> str:
        return f"{self.kind} ({self.group}/{self.version})" if self.group else f"{self.kind} ({self.version})"


class GroupVersionResource(msgspec.Struct, frozen=True):
    """A resource in a version: `foos`."""

    group: str = ""
    version: str = ""
    resource: str = ""


class User(msgspec.Struct, frozen=True):
    """A user of the API server."""

    username: str = ""
    uid: str = ""
    groups: list[str] = []
    extra: dict[str, list[str]] = {}


_NULL: Final = msgspec.Raw(b"null")


class AdmissionReviewRequest(msgspec.Struct, rename="camel"):
    """The request of an AdmissionReview. Absent objects are `null`."""

    uid: str
    kind: GroupVersionKind
    resource: GroupVersionResource
    operation: str
    sub_resource: str = ""
    request_kind: GroupVersionKind | None = None
    request_resource: GroupVersionResource | None = None
    request_sub_resource: str = ""
    name: str = ""
    namespace: str = ""
    user_info: User = msgspec.field(default_factory=User)
    object: msgspec.Raw = _NULL
    old_object: msgspec.Raw = _NULL
    dry_run: bool | None = None
    options: msgspec.Raw = _NULL


class ConversionReviewRequest(msgspec.Struct, rename="camel"):
    """The request of a ConversionReview."""

    uid: str
    desired: str = msgspec.field(name="desiredAPIVersion")
    objects: list[msgspec.Raw]


class _Review(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""
    request: msgspec.Raw = _NULL


class AdmissionResponse(Redacted, msgspec.Struct, rename="camel", omit_defaults=True):
    """The response of an AdmissionReview."""

    redacted = frozenset({"patch"})

    uid: str
    allowed: bool
    status: dict[str, Any] | None = None
    patch: bytes | None = None
    patch_type: str | None = None
    warnings: list[str] | None = None
    audit_annotations: dict[str, str] | None = None


_reviews: Final = msgspec.json.Decoder(_Review)
_admissions: Final = msgspec.json.Decoder(AdmissionReviewRequest)
_conversions: Final = msgspec.json.Decoder(ConversionReviewRequest)
_encode: Final = msgspec.json.Encoder().encode
_UID: Final = re.compile(rb'"uid"\s*:\s*"([0-9A-Za-z-]{1,64})"')
_HEAD_BYTES: Final = 1024


def decode_admission(body: bytes) -> AdmissionReviewRequest:
    """Decodes the request of an AdmissionReview. Raises `BadReview`."""
    request = _request(body, ADMISSION, "AdmissionReview")
    try:
        return _admissions.decode(request)
    except UNREADABLE as error:
        raise BadReview(f"the request of the AdmissionReview is malformed: {_location(error)}") from None


def decode_conversion(body: bytes) -> ConversionReviewRequest:
    """Decodes the request of a ConversionReview. Raises `BadReview`."""
    request = _request(body, CONVERSION, "ConversionReview")
    try:
        return _conversions.decode(request)
    except UNREADABLE as error:
        raise BadReview(f"the request of the ConversionReview is malformed: {_location(error)}") from None


def _request(body: bytes, version: str, kind: str) -> msgspec.Raw:
    try:
        review = _reviews.decode(body)
    except UNREADABLE as error:
        raise BadReview(f"the body is not a valid {kind}: {_location(error)}") from None
    if review.kind != kind:
        raise BadReview(f"the body is not of the kind {kind}")
    if review.api_version != version:
        raise BadReview(f"this webhook supports only {version}: list v1 in the review versions of its configuration")
    if review.request is _NULL or bytes(review.request) == b"null":
        raise BadReview(f"the {kind} has no request")
    return review.request


def _location(error: Exception) -> str:
    """Returns where the body is invalid, without its content."""
    if isinstance(error, msgspec.ValidationError):
        _, _, at = str(error).partition(" - at `")
        return f"unexpected value at {at.rstrip('`')}" if at else "a required field is missing"
    return "it is not valid JSON"


def uid_in(body: bytes) -> str:
    """Returns the uid near the start of an invalid review: the API server drops a response without it."""
    found = _UID.search(body[:_HEAD_BYTES])
    return found[1].decode() if found else ""


def admission_review(response: AdmissionResponse) -> bytes:
    """Encodes an AdmissionReview with a response."""
    return _encode({"apiVersion": ADMISSION, "kind": "AdmissionReview", "response": response})


def conversion_review(uid: str, converted: list[Any] | None = None, *, failure: str = "") -> bytes:
    """Encodes a ConversionReview with converted objects, or with the reason of the failure."""
    result = {"status": "Failure", "message": failure} if failure else {"status": "Success"}
    response = {"uid": uid, "convertedObjects": converted or [], "result": result}
    return _encode({"apiVersion": CONVERSION, "kind": "ConversionReview", "response": response})
