"""How OLM installs the operator: its Deployment, its permissions, and its install modes.

OLM creates the service account and the roles itself. It grants `permissions` in the namespaces of the OperatorGroup, or
in the whole cluster if the group selects all, and `clusterPermissions` always in the whole cluster. It lists the
namespaces in an annotation of the pods.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from msgspec.structs import replace

from kubewright.api import core, to_dict
from kubewright.manifests import Project, rules_of
from kubewright.manifests.manager import Addition, deployment, metrics_additions, webhook_addition
from kubewright.operator import for_reviewing
from kubewright.rbac import CLUSTER, OWN, WATCHED, Permission

__all__ = ["INSTALL_MODES", "install_modes", "install_strategy"]

INSTALL_MODES: Final = ("OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces")
_TARGETS: Final = "metadata.annotations['olm.targetNamespaces']"


def install_modes(project: Project) -> list[dict[str, Any]]:
    """Returns the supported install modes.

    An operator that converts kinds, or reconciles cluster-scoped kinds, needs the whole cluster. An operator whose
    program restricts it to namespaces never watches all of them. An operator that follows namespaces by their labels
    supports all namespaces only. Other operators support every mode.
    """
    confined = bool(project.operator.namespaces)
    follows = project.operator.settings.namespace_labels is not None
    supported = {"AllNamespaces": not confined}
    for mode in INSTALL_MODES[:3]:
        supported[mode] = not follows and (confined or not _is_for_the_whole_cluster(project))
    return [{"type": mode, "supported": supported[mode]} for mode in INSTALL_MODES]


def _is_for_the_whole_cluster(project: Project) -> bool:
    return bool(project.conversions) or any(not one.info.namespaced for one in project.operator.registrations())


def install_strategy(project: Project) -> dict[str, Any]:
    """Returns `spec.install`: the Deployment, and the rules of its account by scope."""
    everywhere, in_targets = _by_place(project)
    spec: dict[str, Any] = {"deployments": [_deployment(project)]}
    for name, permissions in (("clusterPermissions", everywhere), ("permissions", in_targets)):
        if permissions:
            spec[name] = [{"serviceAccountName": project.prefix, "rules": to_dict(rules_of(permissions))}]
    return {"strategy": "deployment", "spec": spec}


def _by_place(project: Project) -> tuple[list[Permission], list[Permission]]:
    """Returns the permissions for the whole cluster, and those for the namespaces of the OperatorGroup.

    A bundle cannot grant a rule in a named namespace, so such a rule is granted in the whole cluster.
    """
    whole = _is_for_the_whole_cluster(project) and not project.operator.namespaces
    everywhere: list[Permission] = []
    in_targets: list[Permission] = []
    reviews = for_reviewing() if project.metrics and project.metrics_secure else []
    for one in (*project.operator.permissions(), *reviews):
        in_target = one.where == OWN or (one.where == WATCHED and not whole)
        (in_targets if in_target else everywhere).append(replace(one, where=WATCHED if in_target else CLUSTER))
    granted = {_identity(one) for one in everywhere}
    return everywhere, [one for one in in_targets if _identity(one) not in granted]


def _identity(one: Permission) -> tuple[str, ...]:
    return one.group, one.resource, one.verb, one.name, one.url


def _deployment(project: Project) -> dict[str, Any]:
    made = deployment(project, list(_additions(project)))
    # OLM sets the namespaces in an environment variable, over which an option would take precedence.
    container = made.spec.template.spec.containers[0]
    container.args = [text for text in container.args or () if not text.startswith("--namespace=")]
    described: dict[str, Any] = to_dict(made)
    return {"name": project.prefix, "label": described["metadata"]["labels"], "spec": described["spec"]}


def _additions(project: Project) -> Iterable[Addition]:
    source = core.EnvVarSource(field_ref=core.ObjectFieldSelector(field_path=_TARGETS))
    yield Addition(env=[core.EnvVar(name="KUBEWRIGHT_NAMESPACES", value_from=source)])
    if project.metrics:
        yield from metrics_additions(project)
    if project.serves_webhooks:
        yield webhook_addition(project)
        yield Addition(env=[core.EnvVar(name="KUBEWRIGHT_WEBHOOK_CERTIFICATES", value="olm")])
