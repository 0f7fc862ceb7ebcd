"""Reviews: objects that a client creates to ask for access, rules or identity, and that are never stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from kubewright.cluster._state import State
from kubewright.cluster.access._authorizer import Authorizer
from kubewright.cluster.access._requests import AccessRequest
from kubewright.cluster.access._selectors import selector_errors, selector_parse_errors
from kubewright.cluster.access._tokens import AUDIENCES, InvalidToken, Tokens
from kubewright.cluster.access._users import user_info
from kubewright.cluster.machinery._calls import Call, User
from kubewright.cluster.machinery._failures import bad_request, invalid_as
from kubewright.cluster.machinery._field_errors import FieldError, invalid
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.machinery._responses import ApiResponse
from kubewright.cluster.output._format import output_format
from kubewright.cluster.registry._decoding import read_object
from kubewright.cluster.registry._field_managers import manager_name_of, manager_of
from kubewright.cluster.registry._store import NAMESPACE_MISMATCH

__all__ = ["review"]

_METADATA: Final = (
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
)  # in the order of the Go struct


class _Context(NamedTuple):
    """The inputs of a review."""

    call: Call
    authorizer: Authorizer
    tokens: Tokens
    now: str


def review(state: State, call: Call, authorizer: Authorizer, tokens: Tokens) -> ApiResponse:
    """Serves the POST of a review."""
    call.check_options()
    obj = read_object(state, call)
    if obj["metadata"].setdefault("namespace", call.namespace) != call.namespace:
        raise bad_request(NAMESPACE_MISMATCH)
    if not call.type.namespaced:
        del obj["metadata"]["namespace"]
    managed = manager_of(state, call.type).update(None, obj, manager_name_of(call), state.now())
    made = _REVIEWS[call.type.kind](managed, _Context(call, authorizer, tokens, state.now()))
    named = {"kind": call.type.kind, "apiVersion": call.type.api_version, **made}
    return ApiResponse(output_format(call).encode_object(state, named), status=201, warnings=call.warnings)


def _access_review(obj: JSONObject, context: _Context) -> JSONObject:
    call = context.call
    spec, own = obj["spec"], call.type.kind == "SelfSubjectAccessReview"
    errors = _errors(obj, call)
    if errors:
        raise invalid_as("", call.type, "", errors)
    user = call.user
    if not own:
        extra = {key: tuple(values) for key, values in (spec.get("extra") or {}).items()}
        user = User(spec.get("user", ""), tuple(spec.get("groups") or ()), spec.get("uid", ""), extra)
    decision = context.authorizer.decide(_question(spec, user))
    status: JSONObject = {"allowed": decision.allowed}
    if decision.reason:
        status["reason"] = decision.reason
    if unread := selector_parse_errors(spec.get("resourceAttributes") or {}):
        status["evaluationError"] = unread
    return {**obj, "status": status}


def _question(spec: JSONObject, user: User) -> AccessRequest:
    asked = spec.get("resourceAttributes")
    if asked is None:
        path = spec["nonResourceAttributes"]
        return AccessRequest(user=user, verb=path.get("verb", ""), path=path.get("path", ""))
    names = ("verb", "group", "resource", "subresource", "namespace", "name")
    return AccessRequest(user=user, **{name: asked.get(name, "") for name in names})


def _errors(obj: JSONObject, call: Call) -> list[FieldError]:
    spec, own, local = obj["spec"], call.type.kind.startswith("Self"), call.type.namespaced
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    errors = []
    if resource is not None and path is not None:
        text = "cannot be specified in combination with resourceAttributes"
        errors.append(invalid("spec.nonResourceAttributes", _in_go(path), text))
    if resource is None and path is None:
        text = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        errors.append(invalid("spec.resourceAttributes", None, text))
    if not own and not spec.get("user") and not spec.get("groups"):
        errors.append(invalid("spec.user", spec.get("user", ""), "at least one of user or group must be specified"))
    errors += selector_errors(resource or {})
    metadata = {name: value for name, value in obj["metadata"].items() if name != "managedFields"}
    if local:
        metadata.pop("namespace", None)
    if metadata:
        text = "must be empty except for namespace" if local else "must be empty"
        ordered = {name: obj["metadata"][name] for name in sorted(obj["metadata"], key=_METADATA.index)}
        errors.append(invalid("metadata", ordered, text))
    if local and resource is not None and resource.get("namespace", "") != obj["metadata"]["namespace"]:
        namespace = resource.get("namespace", "")
        errors.append(invalid("spec.resourceAttributes.namespace", namespace, "must match metadata.namespace"))
    if local and path is not None:
        errors.append(invalid("spec.nonResourceAttributes", _in_go(path), "disallowed on this kind of request"))
    return errors


def _in_go(path: JSONObject) -> JSONObject:
    """Returns the attributes by their Go field names, as the server prints them."""
    return {"Path": path.get("path", ""), "Verb": path.get("verb", "")}


def _rules_review(obj: JSONObject, context: _Context) -> JSONObject:
    namespace = obj["spec"].get("namespace", "")
    if not namespace:
        raise bad_request("no namespace on request")
    found = context.authorizer.rules_for(context.call.user, namespace)
    resource_rules, path_rules = [], []
    for rule in found.rules:
        if rule.resources:
            shown: JSONObject = {"verbs": rule.verbs, "apiGroups": rule.api_groups, "resources": rule.resources}
            if rule.resource_names:
                shown["resourceNames"] = rule.resource_names
            resource_rules.append({name: value for name, value in shown.items() if value})
        if rule.non_resource_urls:
            path_rules.append({"verbs": rule.verbs, "nonResourceURLs": rule.non_resource_urls})
    status: JSONObject = {"resourceRules": resource_rules, "nonResourceRules": path_rules, "incomplete": False}
    if found.errors:
        status["evaluationError"] = found.problem
    return {"metadata": {}, "spec": {}, "status": status}


def _self_review(obj: JSONObject, context: _Context) -> JSONObject:
    return {"metadata": {"creationTimestamp": context.now}, "status": {"userInfo": user_info(context.call.user)}}


def _token_review(obj: JSONObject, context: _Context) -> JSONObject:
    spec = obj["spec"]
    if not spec.get("token"):
        raise bad_request("token is required for TokenReview in authentication")
    audiences = tuple(spec.get("audiences") or AUDIENCES)
    try:
        user, meant = context.tokens.authenticate(spec["token"], audiences)
    except InvalidToken as error:
        status: JSONObject = {"user": {}, "error": str(error)}
    else:
        status = {"authenticated": True, "user": user_info(user), "audiences": meant}
    return {**obj, "status": status}


_REVIEWS: dict[str, Callable[[JSONObject, _Context], JSONObject]] = {
    "LocalSubjectAccessReview": _access_review,
    "SelfSubjectAccessReview": _access_review,
    "SelfSubjectReview": _self_review,
    "SelfSubjectRulesReview": _rules_review,
    "SubjectAccessReview": _access_review,
    "TokenReview": _token_review,
}
