"""Webhooks as the API server is told about them: configurations, the Service, conversion in definitions."""

from __future__ import annotations

from typing import Final

from kubewright.api import ObjectMeta, admissionregistration, apiextensions, core, info_of
from kubewright.manifests._manager import Addition
from kubewright.manifests._project import Project
from kubewright.webhook._declarations import ConversionDeclaration, WebhookDeclaration

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
_REVIEWS: Final = ["v1"]


def webhook_service_name(project: Project) -> str:
    """The Service that the API server calls."""
    return f"{project.prefix}-webhook"


def has_mutating(project: Project) -> bool:
    """Whether there is a configuration of mutating webhooks."""
    return any(webhook.mutating for webhook in project.webhooks)


def has_validating(project: Project) -> bool:
    """Whether there is a configuration of validating webhooks."""
    return any(not webhook.mutating for webhook in project.webhooks)


def webhook_addition(project: Project) -> Addition:
    """The manager serves webhooks."""
    return Addition(
        env=[
            core.EnvVar(name="KUBEWRIGHT_WEBHOOK_BIND", value=f"{project.bind_address}:{WEBHOOK_PORT}"),
            core.EnvVar(name="KUBEWRIGHT_WEBHOOK_SERVICE", value=webhook_service_name(project)),
        ],
        ports=[core.ContainerPort(name=_PORT, container_port=WEBHOOK_PORT, protocol="TCP")],
    )


def webhook_service(project: Project) -> core.Service:
    """The Service in front of every replica: webhooks need no leader."""
    return core.Service(
        metadata=ObjectMeta(name=webhook_service_name(project), namespace=project.namespace, labels=project.labels),
        spec=core.ServiceSpec(
            ports=[core.ServicePort(name=_PORT, port=_SERVICE_PORT, target_port=_PORT, protocol="TCP")],
            selector=project.selector,
        ),
    )


def validating_configuration(project: Project) -> admissionregistration.ValidatingWebhookConfiguration:
    """Everything that only says yes or no."""
    return admissionregistration.ValidatingWebhookConfiguration(
        metadata=ObjectMeta(name=project.prefix, labels=project.labels),
        webhooks=[_validating(project, webhook) for webhook in project.webhooks if not webhook.mutating],
    )


def mutating_configuration(project: Project) -> admissionregistration.MutatingWebhookConfiguration:
    """Everything that may change objects."""
    return admissionregistration.MutatingWebhookConfiguration(
        metadata=ObjectMeta(name=project.prefix, labels=project.labels),
        webhooks=[_mutating(project, webhook) for webhook in project.webhooks if webhook.mutating],
    )


def _validating(project: Project, webhook: WebhookDeclaration) -> admissionregistration.ValidatingWebhook:
    return admissionregistration.ValidatingWebhook(
        name=webhook.name,
        admission_review_versions=_REVIEWS,
        client_config=_client_config(project, webhook.path),
        rules=list(webhook.rules),
        failure_policy=webhook.failure_policy,
        side_effects=webhook.side_effects,
        timeout_seconds=webhook.timeout_seconds,
        match_policy=webhook.match_policy,
        match_conditions=list(webhook.match_conditions) or None,
        namespace_selector=webhook.namespace_selector,
        object_selector=webhook.object_selector,
    )


def _mutating(project: Project, webhook: WebhookDeclaration) -> admissionregistration.MutatingWebhook:
    same = _validating(project, webhook)
    return admissionregistration.MutatingWebhook(
        **{name: getattr(same, name) for name in same.__struct_fields__},
        reinvocation_policy=webhook.reinvocation_policy,
    )


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
    """The definition, converted by the program if that is declared."""
    for conversion in project.conversions:
        info = info_of(conversion.kind)
        if definition.metadata.name == f"{info.plural}.{info.group}":
            definition.spec.conversion = _conversion(project, conversion)
    return definition


def _conversion(project: Project, conversion: ConversionDeclaration) -> apiextensions.CustomResourceConversion:
    return apiextensions.CustomResourceConversion(
        strategy="Webhook",
        webhook=apiextensions.WebhookConversion(
            conversion_review_versions=_REVIEWS,
            client_config=apiextensions.WebhookClientConfig(
                ca_bundle=project.ca_bundle,
                service=apiextensions.ServiceReference(
                    name=webhook_service_name(project),
                    namespace=project.namespace,
                    path=conversion.path,
                    port=_SERVICE_PORT,
                ),
            ),
        ),
    )
