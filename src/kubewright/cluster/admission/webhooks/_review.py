"""AdmissionReview: the request to a webhook, and its response."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from kubewright.cluster.machinery._failures import Failure
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.redaction import Redacted

__all__ = [
    "KNOWN_VERSIONS",
    "Response",
    "ReviewError",
    "read_response",
    "refusal_of",
    "review_of",
]

KNOWN_VERSIONS: Final = ("v1", "v1beta1")
_GROUP: Final = "admission.k8s.io"
_LOWEST_CODE: Final = 400


class ReviewError(Exception):
    """An invalid response, with the message of the real server."""


class Response(Redacted, msgspec.Struct, rename="camel"):
    """The response of an AdmissionReview. `status` is the Status of a rejected write."""

    redacted = frozenset({"patch"})

    uid: str = ""
    allowed: bool = False
    patch: bytes | None = None
    patch_type: str | None = None
    audit_annotations: dict[str, str] | None = None
    warnings: list[str] | None = None
    status: dict[str, Any] | None = None


class _Review(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""
    response: Response | None = None


_reviews: Final = msgspec.json.Decoder(_Review)


def review_of(versions: list[str], request: JSONObject) -> JSONObject:
    """Returns the review to send, in the first version that both sides support. Raises `ReviewError`."""
    version = next((each for each in versions if each in KNOWN_VERSIONS), None)
    if version is None:
        raise ReviewError(
            "could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)"
        )
    return {"kind": "AdmissionReview", "apiVersion": f"{_GROUP}/{version}", "request": request}


def read_response(content: bytes, review: JSONObject, *, mutating: bool) -> Response:
    """Decodes the response of a review. Raises `ReviewError`."""
    try:
        answer = _reviews.decode(content)
    except msgspec.ValidationError as error:
        raise ReviewError(f"failed to call webhook: {error}") from None
    except msgspec.DecodeError as error:
        problem = f"couldn't get version/kind; json parse error: {error}"
        raise ReviewError(f"failed to call webhook: {problem}") from None
    if answer.api_version and answer.api_version != review["apiVersion"]:
        got, wanted = answer.api_version.rpartition("/")[2], review["apiVersion"].rpartition("/")[2]
        problem = f"converting ({got}.{answer.kind}) to ({wanted}.AdmissionReview): unknown conversion"
        raise ReviewError(f"failed to call webhook: {problem}")
    try:
        return _verified(answer, review, mutating)
    except ReviewError as error:
        raise ReviewError(f"received invalid webhook response: {error}") from None


def _verified(answer: _Review, review: JSONObject, mutating: bool) -> Response:
    response = answer.response
    if response is None:
        raise ReviewError("webhook response was absent")
    if review["apiVersion"] != f"{_GROUP}/v1":  # the real server does not check v1beta1
        response.patch_type = "JSONPatch" if response.patch else None
        return response
    uid = review["request"]["uid"]
    if response.uid != uid:
        raise ReviewError(f'expected response.uid="{uid}", got "{response.uid}"')
    wanted, got = f"{_GROUP}/v1, Kind=AdmissionReview", f"{answer.api_version}, Kind={answer.kind}"
    if got != wanted:
        raise ReviewError(f"expected webhook response of {wanted}, got {got}")
    if mutating:
        if response.patch and response.patch_type is None:
            raise ReviewError("webhook returned response.patch but not response.patchType")
        if not response.patch and response.patch_type is not None:
            raise ReviewError("webhook returned response.patchType but not response.patch")
        if response.patch_type == "":
            raise ReviewError('webhook returned invalid response.patchType of ""')
    elif response.patch:
        raise ReviewError("validating webhook may not return response.patch")
    elif response.patch_type is not None:
        raise ReviewError("validating webhook may not return response.patchType")
    return response


def refusal_of(name: str, status: JSONObject | None) -> Failure:
    """Returns the failure for a write that a webhook denied."""
    status = status or {}
    why = status.get("message") or status.get("reason")
    text = f'admission webhook "{name}" denied the request' + (f": {why}" if why else " without explanation")
    code = max(status.get("code") or 0, _LOWEST_CODE)
    return Failure(code, status.get("reason") or "", text, status.get("details"))
