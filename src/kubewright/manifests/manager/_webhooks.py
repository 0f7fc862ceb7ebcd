"""Webhook configurations, the webhook Service, and conversion in definitions."""

from __future__ import annotations

from functools import partial
from typing import Final

from kubewright.api import ObjectMeta, admissionregistration, apiextensions, core, info_of
from kubewright.manifests._project import Project
from kubewright.manifests.manager._deployment import Addition
from kubewright.webhook import ConversionDeclaration, configurations

__all__ = [
    "WEBHOOK_PORT",
    "has_mutating",
    "has_validating",
    "mutating_configuration",
    "validating_configuration",
    "webhook_addition",
    "webhook_service",
    "webhook_service_name",
    "with_conversion",
]

WEBHOOK_PORT: Final = 9443
_SERVICE_PORT: Final = 443
_PORT: Final = "webhook"


def webhook_service_name(project: Project) -> str:
    """Returns the name of the Service that the API server calls."""
    return f"{project.prefix}-webhook"


def has_mutating(project: Project) -> bool:
    """Whether there is a configuration of mutating webhooks."""
    return any(webhook.mutating for webhook in project.webhooks)


def has_validating(project: Project) -> bool:
    """Whether there is a configuration of validating webhooks."""
    return any(not webhook.mutating for webhook in project.webhooks)


def webhook_addition(project: Project) -> Addition:
    """Lets the manager serve webhooks."""
    return Addition(
        env=[
            core.EnvVar(name="KUBEWRIGHT_WEBHOOK_BIND", value=f"{project.bind_address}:{WEBHOOK_PORT}"),
            core.EnvVar(name="KUBEWRIGHT_WEBHOOK_SERVICE", value=webhook_service_name(project)),
        ],
        ports=[core.ContainerPort(name=_PORT, container_port=WEBHOOK_PORT, protocol="TCP")],
    )


def webhook_service(project: Project) -> core.Service:
    """Returns the Service of all replicas: webhooks need no leader."""
    return core.Service(
        metadata=ObjectMeta(name=webhook_service_name(project), namespace=project.namespace, labels=project.labels),
        spec=core.ServiceSpec(
            ports=[core.ServicePort(name=_PORT, port=_SERVICE_PORT, target_port=_PORT, protocol="TCP")],
            selector=project.selector,
        ),
    )


def validating_configuration(project: Project) -> admissionregistration.ValidatingWebhookConfiguration:
    """Returns the configuration of the validating webhooks."""
    where = partial(_client_config, project)
    return configurations.validating_configuration(project.prefix, project.webhooks, where, project.labels)


def mutating_configuration(project: Project) -> admissionregistration.MutatingWebhookConfiguration:
    """Returns the configuration of the mutating webhooks."""
    where = partial(_client_config, project)
    return configurations.mutating_configuration(project.prefix, project.webhooks, where, project.labels)


def _client_config(project: Project, path: str) -> admissionregistration.WebhookClientConfig:
    return admissionregistration.WebhookClientConfig(
        ca_bundle=project.ca_bundle,
        service=admissionregistration.ServiceReference(
            name=webhook_service_name(project), namespace=project.namespace, path=path, port=_SERVICE_PORT
        ),
    )


def with_conversion(
    project: Project, definition: apiextensions.CustomResourceDefinition
) -> apiextensions.CustomResourceDefinition:
    """Returns the definition, with its conversion if it is declared."""
    for conversion in project.conversions:
        info = info_of(conversion.kind)
        if definition.metadata.name == f"{info.plural}.{info.group}":
            definition.spec.conversion = _conversion(project, conversion)
    return definition


def _conversion(project: Project, conversion: ConversionDeclaration) -> apiextensions.CustomResourceConversion:
    return configurations.conversion_by(
        apiextensions.WebhookClientConfig(
            ca_bundle=project.ca_bundle,
            service=apiextensions.ServiceReference(
                name=webhook_service_name(project),
                namespace=project.namespace,
                path=conversion.path,
                port=_SERVICE_PORT,
            ),
        )
    )
