"""The AdmissionRequest that webhooks receive and that expressions read."""

from __future__ import annotations

from kubewright.cluster.admission._attributes import Attributes, kind_of
from kubewright.cluster.machinery._resources import JSONObject, ResourceType

__all__ = ["admission_request", "expression_request"]


def admission_request(
    attributes: Attributes, type_: ResourceType, uid: str, obj: JSONObject | None, old: JSONObject | None
) -> JSONObject:
    """Returns the request of an AdmissionReview, with the resource in the version that the webhook asks for."""
    request: JSONObject = {"uid": uid, "kind": kind_of(type_, attributes.subresource), "resource": _resource(type_)}
    if attributes.subresource:
        request["subResource"] = attributes.subresource
    request["requestKind"] = kind_of(attributes.type, attributes.subresource)
    request["requestResource"] = _resource(attributes.type)
    if attributes.subresource:
        request["requestSubResource"] = attributes.subresource
    for name, value in (("name", attributes.name), ("namespace", attributes.namespace)):
        if value:
            request[name] = value
    request |= {
        "operation": attributes.operation,
        "userInfo": _user(attributes),
        "object": obj,
        "oldObject": old,
        "dryRun": attributes.dry_run,
        "options": attributes.options or None,
    }
    return request


def expression_request(attributes: Attributes, type_: ResourceType) -> JSONObject:
    """Returns the part of the AdmissionRequest that expressions can read."""
    request = admission_request(attributes, type_, "", None, None)
    for name in ("uid", "object", "oldObject"):
        del request[name]
    return request


def _resource(type_: ResourceType) -> JSONObject:
    return {"group": type_.group, "version": type_.version, "resource": type_.plural}


def _user(attributes: Attributes) -> JSONObject:
    user = attributes.user
    shown: JSONObject = {"username": user.name, "uid": user.uid, "groups": list(user.groups)}
    shown["extra"] = {name: list(values) for name, values in user.extra.items()}
    return {name: value for name, value in shown.items() if value}
