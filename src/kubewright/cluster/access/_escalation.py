"""Checks against privilege escalation by roles and bindings, and against creation by PUT or apply without permission.

A role may contain only permissions that its writer has, unless the writer may `escalate` roles. A binding may refer
only to a role whose permissions its writer has, unless the writer may `bind` that role.
"""

from __future__ import annotations

from typing import Final

import msgspec

from kubewright.cluster.access._authorizer import Authorizer
from kubewright.cluster.access._rbac import GROUP, RoleRef
from kubewright.cluster.access._requests import AccessRequest, forbidden_resource, quoted, quoted_list
from kubewright.cluster.access._rules import EVERYTHING, Rule, describe, uncovered
from kubewright.cluster.admission import Attributes, Plugin
from kubewright.cluster.machinery._calls import User
from kubewright.cluster.machinery._failures import Failure, not_found
from kubewright.cluster.machinery._resources import JSONObject, ResourceType

__all__ = ["CreationByUpdate", "NoEscalation"]

_SUPERUSERS: Final = "system:masters"
_KINDS: Final = {"Role": "roles", "ClusterRole": "clusterroles"}
_BINDINGS: Final = ("rolebindings", "clusterrolebindings")
_COLLECTOR_FIELDS: Final = (
    "ownerReferences",
    "finalizers",
    "managedFields",
)  # fields that the garbage collector changes


class CreationByUpdate(Plugin):
    """Requires the `create` permission for objects that PUT or apply creates."""

    name = "Authorization"

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    def handles(self, attributes: Attributes) -> bool:
        """Returns whether the object is created by a verb other than POST."""
        return attributes.operation == "CREATE" and attributes.verb in ("update", "patch")

    def validate(self, attributes: Attributes) -> None:
        """Checks the permission here because only now the server knows that the object does not exist."""
        self._authorizer.check(
            AccessRequest(
                user=attributes.user,
                verb="create",
                group=attributes.type.group,
                resource=attributes.type.plural,
                namespace=attributes.namespace,
                name=attributes.name,
            )
        )


class NoEscalation(Plugin):
    """Rejects roles and bindings that grant more than their writer has."""

    name = "RBAC"

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    def handles(self, attributes: Attributes) -> bool:
        """Returns whether a user other than a superuser writes a role or binding."""
        return (
            attributes.type.group == GROUP
            and attributes.operation in ("CREATE", "UPDATE")
            and _SUPERUSERS not in attributes.user.groups
        )

    def mutate(self, attributes: Attributes) -> None:
        """Checks after all other mutating plugins and before validation."""
        obj = attributes.object
        if obj is None or (attributes.old is not None and _changes_only_collector_fields(obj, attributes.old)):
            return
        if attributes.type.plural in _KINDS.values():
            self._check_role(attributes, obj)
        elif attributes.type.plural in _BINDINGS:
            self._check_binding(attributes, obj)

    def _check_role(self, attributes: Attributes, obj: JSONObject) -> None:
        namespace = attributes.namespace
        resource = attributes.type.plural
        # A POST has no name in its path.
        name = attributes.name if attributes.verb != "create" else ""
        ask = AccessRequest(
            user=attributes.user, verb="escalate", group=GROUP, resource=resource, namespace=namespace, name=name
        )
        if self._authorizer.decide(ask).allowed:
            return
        rules = msgspec.convert(obj.get("rules") or [], list[Rule])
        self._check_rules(attributes, rules)
        if (_aggregates(obj) or _aggregates(attributes.old)) and uncovered(
            self._authorizer.rules_for(attributes.user, namespace).rules, EVERYTHING
        ):
            raise self._refused(attributes, "must have cluster-admin privileges to use the aggregationRule")

    def _check_binding(self, attributes: Attributes, obj: JSONObject) -> None:
        ref = msgspec.convert(obj.get("roleRef") or {}, RoleRef)
        namespace = attributes.namespace
        resource = _KINDS.get(ref.kind)
        if resource is not None:
            ask = AccessRequest(
                user=attributes.user,
                verb="bind",
                group=ref.api_group,
                resource=resource,
                namespace=namespace,
                name=ref.name,
            )
            if self._authorizer.decide(ask).allowed:
                return
        rules = self._authorizer.rules_of(ref, namespace)
        if rules is None:
            raise _missing_role(ref, attributes.type)
        self._check_rules(attributes, list(rules))

    def _check_rules(self, attributes: Attributes, rules: list[Rule]) -> None:
        user, owned = attributes.user, self._authorizer.rules_for(attributes.user, attributes.namespace)
        missing = uncovered(owned.rules, rules)
        if missing:
            text = _escalation_message(user) + "\n".join(describe(missing))
            if owned.errors:
                text += f"; resolution errors: [{owned.problem}]"
            raise self._refused(attributes, text)

    def _refused(self, attributes: Attributes, problem: str) -> Failure:
        assert attributes.object is not None
        name = attributes.object["metadata"].get("name", "")
        return forbidden_resource(GROUP, attributes.type.plural, name, problem)


def _aggregates(role: JSONObject | None) -> bool:
    return bool(((role or {}).get("aggregationRule") or {}).get("clusterRoleSelectors"))


def _escalation_message(user: User) -> str:
    who = f"user {quoted(user.name)} (groups={quoted_list(user.groups)})"
    return f"{who} is attempting to grant RBAC permissions not currently held:\n"


def _missing_role(ref: RoleRef, bindings: ResourceType) -> Failure:
    """Returns the error for a missing role. The real server names the binding's resource in it."""
    if ref.kind not in _KINDS:
        return Failure(500, "", f"unsupported role reference kind: {quoted(ref.kind)}")
    return not_found(bindings, ref.name)


def _changes_only_collector_fields(obj: JSONObject, old: JSONObject) -> bool:
    """Returns whether the write changes only fields that the garbage collector changes."""

    def rest(of: JSONObject) -> JSONObject:
        return {
            **of,
            "metadata": {name: each for name, each in of["metadata"].items() if name not in _COLLECTOR_FIELDS},
        }

    return rest(obj) == rest(old)
