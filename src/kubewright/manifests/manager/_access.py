"""The permissions of the manager: its account, its roles, and the roles of optional parts."""

from __future__ import annotations

from kubewright.api import Object, ObjectMeta, core, rbac
from kubewright.manifests._files import people_roles
from kubewright.manifests._project import Project
from kubewright.manifests._rules import roles_of, rules_of, service_account_of
from kubewright.manifests.manager._certificates import certificate_permissions
from kubewright.rbac import CLUSTER, OWN

__all__ = ["certificate_access", "operator_access", "people_access", "service_account"]

_GROUP = "rbac.authorization.k8s.io"


def service_account(project: Project) -> core.ServiceAccount:
    """Returns the service account of the manager."""
    account = service_account_of(project.operator, namespace=project.namespace)
    account.metadata.name = project.prefix
    return account


def operator_access(project: Project) -> list[Object]:
    """Returns the roles that the operator needs, including leader election, and their bindings."""
    made = roles_of(project.operator, namespace=project.namespace)
    for role in made.roles:
        role.metadata.name = project.prefix
    for binding in made.bindings:
        binding.metadata.name = binding.role_ref.name = project.prefix
        for subject in binding.subjects or ():
            subject.name = project.prefix
    return [*made.roles, *made.bindings]


def people_access(project: Project) -> list[Object]:
    """Returns the roles for users of the project's kinds."""
    return [role for _, role in people_roles(project.user_kinds)]


def certificate_access(project: Project) -> list[Object]:
    """Returns the roles for a certificate that the operator manages itself: in the cluster, and in its namespace."""
    permissions = certificate_permissions(project)
    name = f"{project.prefix}-webhook-certificate"
    subjects = [rbac.Subject(kind="ServiceAccount", name=project.prefix, namespace=project.namespace)]

    def meta(namespace: str = "") -> ObjectMeta:
        return ObjectMeta(name=name, namespace=namespace, labels=project.labels)

    made: list[Object] = []
    if cluster := [one for one in permissions if one.where == CLUSTER]:
        role = rbac.RoleRef(api_group=_GROUP, kind="ClusterRole", name=name)
        made.append(rbac.ClusterRole(metadata=meta(), rules=rules_of(cluster)))
        made.append(rbac.ClusterRoleBinding(metadata=meta(), role_ref=role, subjects=subjects))
    own = [one for one in permissions if one.where == OWN]
    role = rbac.RoleRef(api_group=_GROUP, kind="Role", name=name)
    made.append(rbac.Role(metadata=meta(project.namespace), rules=rules_of(own)))
    made.append(rbac.RoleBinding(metadata=meta(project.namespace), role_ref=role, subjects=subjects))
    return made
