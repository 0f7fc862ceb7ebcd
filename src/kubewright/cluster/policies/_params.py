"""The parameter objects of a binding."""

from __future__ import annotations

from kubewright.cluster._state import State
from kubewright.cluster.admission.matching import label_selector
from kubewright.cluster.conversion._stored import decoded
from kubewright.cluster.machinery._resources import JSONObject, ResourceType
from kubewright.cluster.policies._definitions import Binding, Policy

__all__ = ["ParamsError", "params_of"]


class ParamsError(Exception):
    """The parameters of a binding could not be resolved."""


def params_of(state: State, policy: Policy, binding: Binding, namespace: str) -> list[JSONObject | None]:
    """Returns the parameters; the policy is evaluated once for each. A None stands for a policy without parameters."""
    kind, reference = policy.spec.get("paramKind"), binding.spec.get("paramRef")
    if kind is None or reference is None:
        return [None]
    type_ = _type(state, kind)
    if type_ is None:
        group, _, version = kind["apiVersion"].rpartition("/")
        shown = f"{group}/{version}, Kind={kind['kind']}"
        raise ParamsError(f"failed to find resource referenced by paramKind: '{shown}'")
    found = _found(state, type_, reference, namespace)
    if not found and reference.get("parameterNotFoundAction") == "Deny":
        raise ParamsError("no params found for policy binding with `Deny` parameterNotFoundAction")
    return [*found]


def _type(state: State, kind: JSONObject) -> ResourceType | None:
    group, _, version = kind["apiVersion"].rpartition("/")
    return state.types.of_kind(group, kind["kind"], version)


def _found(state: State, type_: ResourceType, reference: JSONObject, namespace: str) -> list[JSONObject]:
    where = ""
    if type_.namespaced:
        where = reference.get("namespace") or namespace
        if not where:
            text = "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
            raise ParamsError(text)
    elif reference.get("namespace"):
        raise ParamsError("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
    if name := reference.get("name"):
        entry = state.storage.get(type_.storage, where, name)
        return [] if entry is None else [decoded(type_, entry)]
    selector = label_selector(reference.get("selector"))
    return [
        decoded(type_, entry)
        for entry in state.storage.entries(type_.storage)
        if (not where or entry.namespace == where) and selector.matches(entry.labels)
    ]
