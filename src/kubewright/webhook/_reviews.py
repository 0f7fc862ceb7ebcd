"""Reviews on the wire: what the API server asks, and what it is answered.

Objects stay undecoded here: which model they have, the handler knows.
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
    "AdmissionAnswer",
    "BadReview",
    "ConversionAsked",
    "GroupVersionKind",
    "GroupVersionResource",
    "User",
    "admission_review",
    "asked_admission",
    "asked_conversion",
    "conversion_review",
    "uid_in",
]

ADMISSION: Final = "admission.k8s.io/v1"
CONVERSION: Final = "apiextensions.k8s.io/v1"


class BadReview(Exception):
    """What came is no review that can be answered. The text says why, without anything of what came."""

    def __init__(self, why: str, *, code: int = 400) -> None:
        super().__init__(why)
        self.code = code


class GroupVersionKind(msgspec.Struct, frozen=True):
    """A kind, in one version."""

    group: str = ""
    version: str = ""
    kind: str = ""

    def __str__(self) -> str:
        return f"{self.kind} ({self.group}/{self.version})" if self.group else f"{self.kind} ({self.version})"


class GroupVersionResource(msgspec.Struct, frozen=True):
    """Where objects of a kind are, in one version: `foos`."""

    group: str = ""
    version: str = ""
    resource: str = ""


class User(msgspec.Struct, frozen=True):
    """Who asks."""

    username: str = ""
    uid: str = ""
    groups: list[str] = []
    extra: dict[str, list[str]] = {}


_NULL: Final = msgspec.Raw(b"null")


class AdmissionAsked(msgspec.Struct, rename="camel"):
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


class ConversionAsked(msgspec.Struct, rename="camel"):
    """The request of a ConversionReview."""

    uid: str
    desired: str = msgspec.field(name="desiredAPIVersion")
    objects: list[msgspec.Raw]


class _Review(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""
    request: msgspec.Raw = _NULL


class AdmissionAnswer(Redacted, msgspec.Struct, rename="camel", omit_defaults=True):
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
_admissions: Final = msgspec.json.Decoder(AdmissionAsked)
_conversions: Final = msgspec.json.Decoder(ConversionAsked)
_encode: Final = msgspec.json.Encoder().encode
_UID: Final = re.compile(rb'"uid"\s*:\s*"([0-9A-Za-z-]{1,64})"')
_BEGINNING: Final = 1024


def asked_admission(body: bytes) -> AdmissionAsked:
    """The request in an AdmissionReview; raises `BadReview`."""
    request = _request(body, ADMISSION, "AdmissionReview")
    try:
        return _admissions.decode(request)
    except UNREADABLE as error:
        raise BadReview(f"the request of the AdmissionReview is malformed: {_told(error)}") from None


def asked_conversion(body: bytes) -> ConversionAsked:
    """The request in a ConversionReview; raises `BadReview`."""
    request = _request(body, CONVERSION, "ConversionReview")
    try:
        return _conversions.decode(request)
    except UNREADABLE as error:
        raise BadReview(f"the request of the ConversionReview is malformed: {_told(error)}") from None


def _request(body: bytes, version: str, kind: str) -> msgspec.Raw:
    try:
        review = _reviews.decode(body)
    except UNREADABLE as error:
        raise BadReview(f"the body is no {kind}: {_told(error)}") from None
    if review.kind != kind:
        raise BadReview(f"the body is not of the kind {kind}")
    if review.api_version != version:
        raise BadReview(f"this webhook speaks {version}: list v1 in the review versions of its configuration")
    if review.request is _NULL or bytes(review.request) == b"null":
        raise BadReview(f"the {kind} has no request")
    return review.request


def _told(error: Exception) -> str:
    """Where it is wrong, without what stands there."""
    if isinstance(error, msgspec.ValidationError):
        _, _, at = str(error).partition(" - at `")
        return f"at {at.rstrip('`')} is something else than expected" if at else "something is missing"
    return "it is no valid JSON"


def uid_in(body: bytes) -> str:
    """The uid of a review that cannot be read, as it stands near the beginning: an answer without it would be lost."""
    found = _UID.search(body[:_BEGINNING])
    return found[1].decode() if found else ""


def admission_review(answer: AdmissionAnswer) -> bytes:
    """An AdmissionReview with this response."""
    return _encode({"apiVersion": ADMISSION, "kind": "AdmissionReview", "response": answer})


def conversion_review(uid: str, converted: list[Any] | None = None, *, failure: str = "") -> bytes:
    """A ConversionReview with these objects, or with why there are none."""
    result = {"status": "Failure", "message": failure} if failure else {"status": "Success"}
    response = {"uid": uid, "convertedObjects": converted or [], "result": result}
    return _encode({"apiVersion": CONVERSION, "kind": "ConversionReview", "response": response})
