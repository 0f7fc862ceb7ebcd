"""Nobody grants what they do not have: the checks on writing roles and bindings, and on creating by PUT or apply.

A role may contain only what its writer may do, unless the writer may `escalate` roles. A binding may name only a role
whose rules its writer has, unless the writer may `bind` that role.
"""

from __future__ import annotations

from typing import Final

import msgspec

from kubewright.cluster._calls import User
from kubewright.cluster._failures import Failure, not_found
from kubewright.cluster._kinds import JSONObject, ResourceType
from kubewright.cluster.access._authorizer import Authorizer
from kubewright.cluster.access._policies import GROUP, RoleRef
from kubewright.cluster.access._questions import Question, forbidden_resource, quoted, quoted_list
from kubewright.cluster.access._rules import EVERYTHING, Rule, described, uncovered
from kubewright.cluster.admission import Attributes, Plugin

__all__ = ["CreationByUpdate", "NoEscalation"]

_SUPERUSERS: Final = "system:masters"
_KINDS: Final = {"Role": "roles", "ClusterRole": "clusterroles"}
_BINDINGS: Final = ("rolebindings", "clusterrolebindings")
_OF_COLLECTORS: Final = ("ownerReferences", "finalizers", "managedFields")  # what they change in an object


class CreationByUpdate(Plugin):
    """Whoever makes an object by PUT or apply needs the permission to create it, besides that to write it."""

    name = "Authorization"

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    def handles(self, attributes: Attributes) -> bool:
        """Only what is created in another way than by POST."""
        return attributes.operation == "CREATE" and attributes.verb in ("update", "patch")

    def validate(self, attributes: Attributes) -> None:
        """The server asks at this late moment, when it knows that the object is not there."""
        self._authorizer.check(
            Question(
                user=attributes.user,
                verb="create",
                group=attributes.type.group,
                resource=attributes.type.plural,
                namespace=attributes.namespace,
                name=attributes.name,
            )
        )


class NoEscalation(Plugin):
    """Refuses roles and bindings that would give their writer, or others, more than the writer has."""

    name = "RBAC"

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    def handles(self, attributes: Attributes) -> bool:
        """Roles and bindings, written by anyone but a superuser."""
        return (
            attributes.type.group == GROUP
            and attributes.operation in ("CREATE", "UPDATE")
            and _SUPERUSERS not in attributes.user.groups
        )

    def mutate(self, attributes: Attributes) -> None:
        """The last word of the first phase, before the rules of the kind."""
        obj = attributes.object
        if obj is None or (attributes.old is not None and _only_collecting(obj, attributes.old)):
            return
        if attributes.type.plural in _KINDS.values():
            self._check_role(attributes, obj)
        elif attributes.type.plural in _BINDINGS:
            self._check_binding(attributes, obj)

    def _check_role(self, attributes: Attributes, obj: JSONObject) -> None:
        place = attributes.namespace
        resource = attributes.type.plural
        # The request's name: a POST has none.
        name = attributes.name if attributes.verb != "create" else ""
        ask = Question(
            user=attributes.user, verb="escalate", group=GROUP, resource=resource, namespace=place, name=name
        )
        if self._authorizer.decide(ask).allowed:
            return
        rules = msgspec.convert(obj.get("rules") or [], list[Rule])
        self._check_rules(attributes, rules)
        if (_aggregates(obj) or _aggregates(attributes.old)) and uncovered(
            self._authorizer.rules_for(attributes.user, place).rules, EVERYTHING
        ):
            raise self._refused(attributes, "must have cluster-admin privileges to use the aggregationRule")

    def _check_binding(self, attributes: Attributes, obj: JSONObject) -> None:
        ref = msgspec.convert(obj.get("roleRef") or {}, RoleRef)
        place = attributes.namespace
        resource = _KINDS.get(ref.kind)
        if resource is not None:
            ask = Question(
                user=attributes.user,
                verb="bind",
                group=ref.api_group,
                resource=resource,
                namespace=place,
                name=ref.name,
            )
            if self._authorizer.decide(ask).allowed:
                return
        rules = self._authorizer.rules_of(ref, place)
        if rules is None:
            raise _no_role(ref, attributes.type)
        self._check_rules(attributes, list(rules))

    def _check_rules(self, attributes: Attributes, rules: list[Rule]) -> None:
        user, owned = attributes.user, self._authorizer.rules_for(attributes.user, attributes.namespace)
        missing = uncovered(owned.rules, rules)
        if missing:
            text = _escalating(user) + "\n".join(described(missing))
            if owned.errors:
                text += f"; resolution errors: [{owned.problem}]"
            raise self._refused(attributes, text)

    def _refused(self, attributes: Attributes, problem: str) -> Failure:
        assert attributes.object is not None
        name = attributes.object["metadata"].get("name", "")
        return forbidden_resource(GROUP, attributes.type.plural, name, problem)


def _aggregates(role: JSONObject | None) -> bool:
    return bool(((role or {}).get("aggregationRule") or {}).get("clusterRoleSelectors"))


def _escalating(user: User) -> str:
    who = f"user {quoted(user.name)} (groups={quoted_list(user.groups)})"
    return f"{who} is attempting to grant RBAC permissions not currently held:\n"


def _no_role(ref: RoleRef, bindings: ResourceType) -> Failure:
    """There is no such role. The real server says so of the binding."""
    if ref.kind not in _KINDS:
        return Failure(500, "", f"unsupported role reference kind: {quoted(ref.kind)}")
    return not_found(bindings, ref.name)


def _only_collecting(obj: JSONObject, old: JSONObject) -> bool:
    """Whether nothing is changed but what garbage collection changes."""

    def rest(of: JSONObject) -> JSONObject:
        return {**of, "metadata": {name: each for name, each in of["metadata"].items() if name not in _OF_COLLECTORS}}

    return rest(obj) == rest(old)
