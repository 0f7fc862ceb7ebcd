"""The service account of the pods, with the rights that Patroni needs and no others."""

from kubewright.api import core, meta, rbac
from postgres_operator.children.names import account_name, labels_of
from postgres_operator.kinds import Configuration, Postgresql

PATRONI_RULES = (
    rbac.PolicyRule(api_groups=[""], resources=["endpoints"], verbs=["create", "list", "watch"]),
    rbac.PolicyRule(api_groups=[""], resources=["endpoints"], verbs=["get", "patch", "update"]),
    rbac.PolicyRule(api_groups=[""], resources=["pods"], verbs=["get", "list", "patch", "watch"]),
)
"""All rights of Patroni. The second rule is limited to the Endpoints of one cluster."""


def account_of(cluster: Postgresql, config: Configuration) -> core.ServiceAccount:
    """Returns the service account of the pods of a cluster."""
    return core.ServiceAccount(metadata=meta.ObjectMeta(name=account_name(cluster, config), labels=labels_of(cluster)))


def role_of(cluster: Postgresql, config: Configuration) -> rbac.Role:
    """Returns the role of the pods: Patroni keeps its state in Endpoints and sets the label of the primary."""
    name = cluster.metadata.name
    endpoints = [name, *(f"{name}-{suffix}" for suffix in ("config", "failover", "sync"))]
    shared, own, pods = PATRONI_RULES
    own = rbac.PolicyRule(api_groups=own.api_groups, resources=own.resources, verbs=own.verbs, resource_names=endpoints)
    metadata = meta.ObjectMeta(name=account_name(cluster, config), labels=labels_of(cluster))
    return rbac.Role(metadata=metadata, rules=[shared, own, pods])


def role_binding_of(cluster: Postgresql, config: Configuration) -> rbac.RoleBinding:
    """Returns the binding of the role to the service account."""
    name = account_name(cluster, config)
    return rbac.RoleBinding(
        metadata=meta.ObjectMeta(name=name, labels=labels_of(cluster)),
        role_ref=rbac.RoleRef(api_group="rbac.authorization.k8s.io", kind="Role", name=name),
        subjects=[rbac.Subject(kind="ServiceAccount", name=name, namespace=cluster.metadata.namespace)],
    )
