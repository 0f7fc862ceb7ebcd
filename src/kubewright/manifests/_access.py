"""What the manager may do: its account, its roles, and the roles that parts of the deployment bring along."""

from __future__ import annotations

from collections.abc import Iterable

from kubewright.api import Object, ObjectMeta, core, rbac
from kubewright.controller._permissions import CLUSTER, Permission
from kubewright.manifests._certificates import certificate_permissions
from kubewright.manifests._files import people_roles
from kubewright.manifests._project import Project
from kubewright.manifests._rules import roles_of, rules_of, service_account_of
from kubewright.operator._permissions import for_leading

__all__ = ["certificate_access", "leader_election_access", "operator_access", "people_access", "service_account"]

_GROUP = "rbac.authorization.k8s.io"
_LEASES = "leases.coordination.k8s.io"


def service_account(project: Project) -> core.ServiceAccount:
    """The account that the manager runs as."""
    account = service_account_of(project.operator, namespace=project.namespace)
    account.metadata.name = project.prefix
    return account


def operator_access(project: Project) -> list[Object]:
    """The roles that follow from what the operator declares, and their bindings."""
    made = roles_of(project.operator, namespace=project.namespace)
    for role in made.roles:
        role.metadata.name = project.prefix
    for binding in made.bindings:
        binding.metadata.name = binding.role_ref.name = project.prefix
        for subject in binding.subjects or ():
            subject.name = project.prefix
    return [*made.roles, *made.bindings]


def people_access(project: Project) -> list[Object]:
    """Roles for the people who work with the project's kinds."""
    return [role for _, role in people_roles(project.kinds or ())]


def leader_election_access(project: Project) -> list[Object]:
    """The right to the Lease by which replicas agree; nothing if the operator's own roles have it already."""
    if not project.leader_election or any(one.qualified == _LEASES for one in project.operator.permissions()):
        return []
    settings = project.operator.settings
    permissions = for_leading(settings.lease_name or project.name)
    return _access(project, "leader-election", permissions, settings.lease_namespace or project.namespace)


def certificate_access(project: Project) -> list[Object]:
    """What a certificate that the operator manages itself asks for."""
    return _access(project, "webhook-certificate", certificate_permissions(project), project.namespace)


def _access(project: Project, what: str, permissions: Iterable[Permission], namespace: str) -> list[Object]:
    """A ClusterRole for what is in no namespace, a Role in that one for the rest, and their bindings."""
    found = list(permissions)
    name = f"{project.prefix}-{what}"
    subjects = [rbac.Subject(kind="ServiceAccount", name=project.prefix, namespace=project.namespace)]

    def meta(where: str = "") -> ObjectMeta:
        return ObjectMeta(name=name, namespace=where, labels=project.labels)

    made: list[Object] = []
    if cluster := [one for one in found if one.where == CLUSTER]:
        role = rbac.RoleRef(api_group=_GROUP, kind="ClusterRole", name=name)
        made.append(rbac.ClusterRole(metadata=meta(), rules=rules_of(cluster)))
        made.append(rbac.ClusterRoleBinding(metadata=meta(), role_ref=role, subjects=subjects))
    if inside := [one for one in found if one.where != CLUSTER]:
        role = rbac.RoleRef(api_group=_GROUP, kind="Role", name=name)
        made.append(rbac.Role(metadata=meta(namespace), rules=rules_of(inside)))
        made.append(rbac.RoleBinding(metadata=meta(namespace), role_ref=role, subjects=subjects))
    return made
