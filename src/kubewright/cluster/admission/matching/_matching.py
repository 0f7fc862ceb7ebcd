"""Whether a webhook or policy applies to a write, and in which version of the resource."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kubewright.api import Selector, SelectorError, from_dict
from kubewright.cluster._state import State
from kubewright.cluster.admission._attributes import Attributes
from kubewright.cluster.machinery._failures import not_found
from kubewright.cluster.machinery._resources import JSONObject, ResourceType

__all__ = ["is_exempt", "label_selector", "matched_type", "matches_namespace", "matches_object"]

_EXEMPT_GROUP: Final = "admissionregistration.k8s.io"
_EXEMPT: Final = frozenset(
    {
        "ValidatingWebhookConfiguration",
        "MutatingWebhookConfiguration",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
    }
)


def is_exempt(attributes: Attributes) -> bool:
    """Returns whether the write configures admission itself, which neither webhooks nor policies see."""
    type_ = attributes.type
    return type_.group == _EXEMPT_GROUP and type_.kind in _EXEMPT


def matched_type(state: State, rules: Iterable[JSONObject], policy: str, attributes: Attributes) -> ResourceType | None:
    """Returns the version of the resource that one of the rules matches; None if no rule matches.

    With the policy `Equivalent` a rule may name any version of the resource; the version of the request comes first.
    """
    rules = list(rules)
    if any(_matches(rule, attributes, attributes.type) for rule in rules):
        return attributes.type
    if policy != "Equivalent":
        return None
    others = [type_ for type_ in state.types.stored_as(attributes.type.storage) if type_ is not attributes.type]
    for rule in rules:
        for other in others:
            if _matches(rule, attributes, other):
                return other
    return None


def _matches(rule: JSONObject, attributes: Attributes, type_: ResourceType) -> bool:
    return (
        _in_scope(rule.get("scope") or "*", attributes, type_)
        and _named(rule.get("operations"), attributes.operation)
        and _named(rule.get("apiGroups"), type_.group)
        and _named(rule.get("apiVersions"), type_.version)
        and any(_names(each, type_.plural, attributes.subresource) for each in rule.get("resources") or ())
    )


def _named(listed: list[str] | None, wanted: str) -> bool:
    return any(each in ("*", wanted) for each in listed or ())


def _names(pattern: str, plural: str, subresource: str) -> bool:
    resource, _, sub = pattern.partition("/")
    return resource in ("*", plural) and sub in ("*", subresource)


def _in_scope(scope: str, attributes: Attributes, type_: ResourceType) -> bool:
    """Returns whether the scope matches. A Namespace counts as cluster-scoped, although `namespace` is its own name."""
    is_namespace = type_.storage == "/namespaces"
    if scope == "Namespaced":
        return not is_namespace and bool(attributes.namespace)
    return scope != "Cluster" or is_namespace or not attributes.namespace


def matches_namespace(state: State, selector: Selector, attributes: Attributes) -> bool:
    """Returns whether the selector matches the namespace of a write, or the labels of a Namespace itself.

    Cluster-scoped objects always match. Raises a 404 for a namespace that does not exist.
    """
    is_namespace = attributes.type.storage == "/namespaces"
    if selector.selects_everything or (not attributes.namespace and not is_namespace):
        return True
    if is_namespace and not attributes.subresource and attributes.object is not None:
        return selector.matches(attributes.object["metadata"].get("labels"))
    found = state.storage.get("/namespaces", "", attributes.namespace)
    if found is None:
        namespaces = state.types.find("", "v1", "namespaces")
        assert namespaces is not None
        raise not_found(namespaces, attributes.namespace)
    return selector.matches(found.labels)


def matches_object(selector: Selector, *objects: JSONObject | None) -> bool:
    """Returns whether the selector matches one of the objects, the new or the old one."""
    return selector.selects_everything or any(
        selector.matches((obj.get("metadata") or {}).get("labels")) for obj in objects if obj is not None
    )


def label_selector(given: JSONObject | None) -> Selector:
    """Returns the selector of a label selector that the server has accepted."""
    from kubewright.api.meta.v1 import LabelSelector

    try:
        return Selector.from_label_selector(from_dict(LabelSelector, given or {}))
    except SelectorError:  # validation rejects these
        return Selector.nothing()
