"""All objects of a project, in the order in which they can be applied."""

from __future__ import annotations

from kubewright.api import Object, apiextensions
from kubewright.crd import crds_of
from kubewright.manifests._project import Project
from kubewright.manifests.manager._access import (
    certificate_access,
    operator_access,
    people_access,
    service_account,
)
from kubewright.manifests.manager._certificates import (
    cert_manager_objects,
    certificate_addition,
    injected_from,
    metrics_cert_manager_objects,
)
from kubewright.manifests.manager._deployment import Addition, budget, deployment, namespace
from kubewright.manifests.manager._metrics import metrics_access, metrics_additions, metrics_service, service_monitor
from kubewright.manifests.manager._network_policy import metrics_ingress, network_policy, webhook_ingress
from kubewright.manifests.manager._webhooks import (
    has_mutating,
    has_validating,
    mutating_configuration,
    validating_configuration,
    webhook_addition,
    webhook_service,
    with_conversion,
)

__all__ = ["access", "definitions", "objects", "policy_of", "webhook_configurations"]


def objects(project: Project) -> list[Object]:
    """Returns all objects of the deployment, in an order in which they can be applied."""
    return [
        namespace(project),
        *definitions(project),
        *access(project),
        *_metrics(project),
        *_webhooks(project),
        deployment(project, additions(project)),
        *([budget(project)] if project.replicas > 1 else []),
        *([policy_of(project)] if project.network_policy else []),
        # Last: from here on the API server calls the program.
        *webhook_configurations(project),
    ]


def definitions(project: Project) -> list[apiextensions.CustomResourceDefinition]:
    """Returns the definitions of the project's kinds, with declared conversions."""
    made = [
        with_conversion(project, definition)
        for definition in crds_of(*(project.kinds or ()), descriptions=project.descriptions)
    ]
    if project.certificates == "cert-manager":
        for definition in made:
            if definition.spec.conversion and definition.spec.conversion.webhook:
                definition.metadata.annotations |= injected_from(project)
    return made


def access(project: Project) -> list[Object]:
    """Returns the account and the roles that do not depend on optional parts."""
    return [
        service_account(project),
        *operator_access(project),
        *people_access(project),
    ]


def additions(project: Project) -> list[Addition]:
    """Returns what the enabled parts add to the manager."""
    made = metrics_additions(project) if project.metrics else []
    if project.serves_webhooks:
        made += [webhook_addition(project), certificate_addition(project)]
    return made


def webhook_configurations(project: Project) -> list[Object]:
    """Returns the webhook configurations, with cert-manager's annotation for the CA if it provides the certificate."""
    made: list[Object] = []
    if has_mutating(project):
        made.append(mutating_configuration(project))
    if has_validating(project):
        made.append(validating_configuration(project))
    if project.certificates == "cert-manager":
        for configuration in made:
            configuration.metadata.annotations |= injected_from(project)
    return made


def policy_of(project: Project) -> Object:
    """Returns the network policy for the enabled parts."""
    ingress = [metrics_ingress()] if project.metrics else []
    if project.serves_webhooks:
        ingress.append(webhook_ingress())
    return network_policy(project, ingress)


def _metrics(project: Project) -> list[Object]:
    if not project.metrics:
        return []
    made: list[Object] = [metrics_service(project)]
    if project.metrics_secure:
        made += metrics_access(project)
    if project.metrics_certificates == "cert-manager":
        made += metrics_cert_manager_objects(project)
    if project.service_monitor:
        made.append(service_monitor(project))
    return made


def _webhooks(project: Project) -> list[Object]:
    if not project.serves_webhooks:
        return []
    made: list[Object] = [webhook_service(project)]
    if project.certificates == "self-managed":
        made += certificate_access(project)
    if project.certificates == "cert-manager":
        made += cert_manager_objects(project)
    return made
