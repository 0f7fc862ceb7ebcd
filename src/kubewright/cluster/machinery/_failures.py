"""Error responses with the status codes, reasons, messages and details of kube-apiserver.

A `Failure` may be raised anywhere while a request is served. It becomes the response: a `Status` object
(`Failure.status`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kubewright.cluster.machinery._field_errors import FieldError
from kubewright.cluster.machinery._resources import JSONObject, ResourceType

__all__ = [
    "Failure",
    "PlainFailure",
    "already_exists",
    "bad_request",
    "conflict",
    "expired",
    "forbidden",
    "internal",
    "invalid",
    "invalid_as",
    "invalid_options",
    "method_not_allowed",
    "modified",
    "name_mismatch",
    "no_such_resource",
    "not_acceptable",
    "not_found",
    "only_accepts",
    "too_large_revision",
    "uid_mismatch",
    "unauthorized",
    "unsupported",
    "unsupported_media_type",
]


class Failure(Exception):
    """A rejected request, with the Status that says why."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        details: JSONObject | None = None,
        *,
        continue_token: str = "",
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.continue_token = continue_token
        self.retry_after = retry_after

    @property
    def status(self) -> JSONObject:
        """The Status object."""
        metadata = {"continue": self.continue_token} if self.continue_token else {}
        made: JSONObject = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": metadata,
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "details": self.details,
            "code": self.code,
        }
        if self.details is None:
            del made["details"]
        if not self.reason:
            del made["reason"]
        return made


class PlainFailure(Exception):
    """An error in plain text, which the real server returns for paths outside its resources."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text


def _details(type_: ResourceType, name: str, **more: Any) -> JSONObject:
    made: JSONObject = {"name": name, "group": type_.group, "kind": type_.plural, **more}
    return {field: value for field, value in made.items() if value}


def not_found(type_: ResourceType, name: str) -> Failure:
    """404: the object does not exist."""
    return Failure(404, "NotFound", f'{type_.qualified} "{name}" not found', _details(type_, name))


def no_such_resource() -> Failure:
    """404: the resource does not exist."""
    return Failure(404, "NotFound", "the server could not find the requested resource", {})


def already_exists(type_: ResourceType, name: str) -> Failure:
    """409: an object with that name exists."""
    return Failure(409, "AlreadyExists", f'{type_.qualified} "{name}" already exists', _details(type_, name))


def conflict(type_: ResourceType, name: str, problem: str, *, as_kind: bool = False) -> Failure:
    """409: the stored object is not what the writer expects. Preconditions of deletes name the kind."""
    details = _details(type_, name)
    what = type_.qualified
    if as_kind:
        group = type_.storage.partition("/")[0]  # all versions of Events are stored in the core group
        what = f"{type_.kind}.{group}" if group else type_.kind
        details = {part: value for part, value in details.items() if part != "group" or group} | {"kind": type_.kind}
    return Failure(409, "Conflict", f'Operation cannot be fulfilled on {what} "{name}": {problem}', details)


def modified(type_: ResourceType, name: str) -> Failure:
    """409: the object was modified since the client read it."""
    text = "the object has been modified; please apply your changes to the latest version and try again"
    return conflict(type_, name, text)


def invalid(type_: ResourceType, name: str, errors: Sequence[FieldError]) -> Failure:
    """422: the object is invalid."""
    group = type_.strategy.error_group
    return _invalid(type_.group if group is None else group, type_.kind, name, errors)


def invalid_as(kind: str, type_: ResourceType, name: str, errors: Sequence[FieldError]) -> Failure:
    """422 that names something other than the kind: the resource, or the kind in the body."""
    return _invalid(type_.group, kind, name, errors)


def invalid_options(kind: str, errors: Sequence[FieldError]) -> Failure:
    """422: the options of a request (`CreateOptions`) are invalid."""
    return _invalid("meta.k8s.io", kind, "", errors)


def _invalid(group: str, kind: str, name: str, errors: Sequence[FieldError]) -> Failure:
    causes = [{"reason": error.reason, "message": error.message, "field": error.field} for error in errors]
    different = list(dict.fromkeys(str(error) for error in errors))
    listed = f"[{', '.join(different)}]" if len(different) > 1 else different[0]
    details = {"name": name, "group": group, "kind": kind, "causes": causes}
    full = f"{kind}.{group}" if group else kind
    return Failure(
        422,
        "Invalid",
        f'{full} "{name}" is invalid: {listed}',
        {field: value for field, value in details.items() if value},
    )


def forbidden(type_: ResourceType, name: str, problem: str, causes: Sequence[JSONObject] = ()) -> Failure:
    """403: admission forbids the request."""
    message = f'{type_.qualified} "{name}" is forbidden: {problem}'
    return Failure(403, "Forbidden", message, _details(type_, name, causes=list(causes)))


def bad_request(message: str) -> Failure:
    """400: the request is malformed."""
    return Failure(400, "BadRequest", message)


def name_mismatch(given: str, name: str) -> Failure:
    """400: the name in the body is not the one in the path."""
    if not given:
        return bad_request(f"the name of the object ({name} based on URL) was undeterminable: name must be provided")
    return bad_request(f"the name of the object ({given}) does not match the name on the URL ({name})")


def unauthorized() -> Failure:
    """401: the client is not authenticated."""
    return Failure(401, "Unauthorized", "Unauthorized")


def method_not_allowed() -> Failure:
    """405: the resource does not support the verb."""
    text = "the server does not allow this method on the requested resource"
    return Failure(405, "MethodNotAllowed", text, {})


def not_acceptable(accepted: str) -> Failure:
    """406: the server cannot produce any media type that the client accepts."""
    text = f"406: Not Acceptable\n\nAvailable representations: {accepted}"
    return Failure(406, "NotAcceptable", text, {})


def only_accepts(accepted: str) -> Failure:
    """406: the endpoint produces the media type, but not in the requested form."""
    return Failure(406, "NotAcceptable", f"only the following media types are accepted: {accepted}")


def unsupported_media_type(accepted: str) -> Failure:
    """415: the server cannot decode the media type of the body."""
    text = f"the body of the request was in an unknown format - accepted media types include: {accepted}"
    return Failure(415, "UnsupportedMediaType", text)


def expired(message: str, continue_token: str = "") -> Failure:
    """410: the requested revision is compacted."""
    return Failure(410, "Expired", message, continue_token=continue_token)


def too_large_revision(asked: int, current: int) -> Failure:
    """504: the requested revision did not appear within the timeout."""
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    text = f"Timeout: Too large resource version: {asked}, current: {current}"
    return Failure(504, "Timeout", text, {"causes": [cause], "retryAfterSeconds": 1}, retry_after=1)


def internal(problem: str) -> Failure:
    """500: an error of the server."""
    return Failure(500, "InternalError", f"Internal error occurred: {problem}", {"causes": [{"message": problem}]})


def uid_mismatch(type_: ResourceType, namespace: str, name: str, wanted: str, found: str) -> Failure:
    """409: the object has another uid than the writer expects. The message is that of the real server's storage."""
    prefix = _PREFIXES.get(type_.qualified, type_.plural)
    place = f"{type_.group}/{type_.plural}" if type_.custom else prefix
    key = "/".join(part for part in ("/registry", place, namespace, name) if part)
    text = f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}"
    problem = f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: {text}"
    return conflict(type_, name, problem)


_PREFIXES = {
    "services": "services/specs",
    "endpoints": "services/endpoints",
    "nodes": "minions",
    "ingresses.networking.k8s.io": "ingress",
    "customresourcedefinitions.apiextensions.k8s.io": "apiextensions.k8s.io/customresourcedefinitions",
}


def unsupported(what: str) -> Failure:
    """501: the embedded cluster does not support this. It never accepts and ignores a feature."""
    return Failure(501, "NotImplemented", f"the embedded cluster does not support {what}")
