"""Roles, generated from the declarations of a program.

`roles_of(operator)` returns exactly the permissions of the operator's service account: a ClusterRole for all namespaces
and cluster-scoped kinds, a Role in each namespace that it is restricted to, a Role in its own namespace for leader
election, and their bindings. `kind_roles_of(Foo)` returns three roles for users of a kind, which Kubernetes aggregates
to `view`, `edit` and `admin`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kubewright.api import Object, ObjectMeta, core, info_of, rbac
from kubewright.operator import Operator
from kubewright.rbac import CLUSTER, OWN, WATCHED, Permission

__all__ = ["Roles", "kind_roles_of", "labels_of", "roles_of", "rules_of", "service_account_of", "system_namespace"]

_GROUP = "rbac.authorization.k8s.io"
_READ = ("get", "list", "watch")
_CHANGE = ("create", "delete", "deletecollection", "patch", "update")


@dataclass(frozen=True, slots=True)
class Roles:
    """The roles of an operator and their bindings, in the same order, those of the cluster first."""

    roles: Sequence[rbac.ClusterRole | rbac.Role]
    bindings: Sequence[rbac.ClusterRoleBinding | rbac.RoleBinding]


def system_namespace(operator: Operator) -> str:
    """Returns the default namespace of an operator."""
    return f"{operator.name}-system"


def labels_of(operator: Operator) -> dict[str, str]:
    """Returns the labels of all objects that are generated for an operator."""
    return {"app.kubernetes.io/managed-by": "kubewright", "app.kubernetes.io/name": operator.name}


def service_account_of(operator: Operator, *, namespace: str | None = None) -> core.ServiceAccount:
    """Returns the service account of the operator, which has its name."""
    where = namespace or system_namespace(operator)
    return core.ServiceAccount(metadata=ObjectMeta(name=operator.name, namespace=where, labels=labels_of(operator)))


def roles_of(operator: Operator, *, namespace: str | None = None) -> Roles:
    """Returns the roles of an operator in `namespace`, bound to its service account."""
    own = namespace or system_namespace(operator)
    places = _places(operator, own)
    return Roles(
        [_role(operator, place, rules_of(permissions)) for place, permissions in places.items()],
        [_binding(operator, place, own) for place in places],
    )


def rules_of(permissions: Iterable[Permission]) -> list[rbac.PolicyRule]:
    """Returns permissions as sorted rules: verbs are merged, and resources of a group with the same verbs are in one
    rule.
    """
    verbs: dict[tuple[str, str, str], set[str]] = {}
    urls: dict[str, set[str]] = {}
    for one in permissions:
        if one.url:
            urls.setdefault(one.url, set()).add(one.verb)
        else:
            verbs.setdefault((one.group, one.resource, one.name), set()).add(one.verb)
    merged: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[str]] = {}
    named: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for (group, resource, name), found in sorted(verbs.items()):
        if not name:
            merged.setdefault((group, (), tuple(sorted(found))), []).append(resource)
        # A rule for all objects includes rules for named objects.
        elif left := found - verbs.get((group, resource, ""), set()):
            named.setdefault((group, resource, tuple(sorted(left))), []).append(name)
    for (group, resource, allowed), names in named.items():
        merged.setdefault((group, tuple(names), allowed), []).append(resource)
    rules = [
        rbac.PolicyRule(
            api_groups=[group], resources=resources, resource_names=list(names) or None, verbs=list(allowed)
        )
        for (group, names, allowed), resources in merged.items()
    ]
    rules.sort(key=lambda rule: (rule.api_groups, rule.resources, rule.resource_names or []))
    paths: dict[tuple[str, ...], list[str]] = {}
    for url, found in sorted(urls.items()):
        paths.setdefault(tuple(sorted(found)), []).append(url)
    return [
        *rules,
        *(rbac.PolicyRule(non_resource_urls=found, verbs=list(allowed)) for allowed, found in paths.items()),
    ]


def kind_roles_of(kind: type[Object], *, labels: Mapping[str, str] | None = None) -> list[rbac.ClusterRole]:
    """Returns viewer, editor and admin of a kind. Kubernetes aggregates them to its own roles."""
    info = info_of(kind)
    made = []
    for role, verbs, into in (
        ("viewer", _READ, ("view", "edit", "admin")),
        ("editor", (*_READ, *_CHANGE), ("edit", "admin")),
        ("admin", ("*",), ("admin",)),
    ):
        of = f"{info.plural}/scale"
        parts = [
            Permission(group=info.group, resource=of, verb=verb)
            for verb in (("get",) if role == "viewer" else ("get", "patch", "update"))
            if "scale" in info.subresources
        ]
        if "status" in info.subresources:
            parts.append(Permission(group=info.group, resource=f"{info.plural}/status", verb="get"))
        whole = [Permission(group=info.group, resource=info.plural, verb=verb) for verb in verbs]
        aggregated = {f"{_GROUP}/aggregate-to-{one}": "true" for one in into}
        meta = ObjectMeta(name=f"{info.plural}.{info.group}-{role}", labels={**(labels or {}), **aggregated})
        made.append(rbac.ClusterRole(metadata=meta, rules=rules_of([*whole, *parts])))
    return made


def _places(operator: Operator, own: str) -> dict[str, list[Permission]]:
    """Returns permissions by scope: the cluster, or one namespace."""
    places: dict[str, list[Permission]] = {}
    for one in operator.permissions():
        if one.where == WATCHED:
            where: Sequence[str] = operator.namespaces or (CLUSTER,)
        else:
            where = (own if one.where == OWN else one.where,)
        for place in where:
            places.setdefault(place, []).append(one)
    everywhere = {_identity(one) for one in places.get(CLUSTER, ())}
    left = {
        place: [one for one in found if place == CLUSTER or _identity(one) not in everywhere]
        for place, found in sorted(places.items(), key=lambda item: (item[0] != CLUSTER, item[0]))
    }
    return {place: found for place, found in left.items() if found}


def _identity(one: Permission) -> tuple[str, ...]:
    return one.group, one.resource, one.verb, one.name, one.url


def _role(operator: Operator, place: str, rules: list[rbac.PolicyRule]) -> rbac.ClusterRole | rbac.Role:
    if place == CLUSTER:
        return rbac.ClusterRole(metadata=ObjectMeta(name=operator.name, labels=labels_of(operator)), rules=rules)
    meta = ObjectMeta(name=operator.name, namespace=place, labels=labels_of(operator))
    return rbac.Role(metadata=meta, rules=rules)


def _binding(operator: Operator, place: str, own: str) -> rbac.ClusterRoleBinding | rbac.RoleBinding:
    subjects = [rbac.Subject(kind="ServiceAccount", name=operator.name, namespace=own)]
    if place == CLUSTER:
        meta = ObjectMeta(name=operator.name, labels=labels_of(operator))
        role = rbac.RoleRef(api_group=_GROUP, kind="ClusterRole", name=operator.name)
        return rbac.ClusterRoleBinding(metadata=meta, role_ref=role, subjects=subjects)
    meta = ObjectMeta(name=operator.name, namespace=place, labels=labels_of(operator))
    role = rbac.RoleRef(api_group=_GROUP, kind="Role", name=operator.name)
    return rbac.RoleBinding(metadata=meta, role_ref=role, subjects=subjects)
