"""Builds webhook configurations from declarations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from kubewright.api import ObjectMeta, admissionregistration, apiextensions
from kubewright.webhook._declarations import WebhookDeclaration

__all__ = ["REVIEWS", "conversion_by", "mutating_configuration", "validating_configuration"]

REVIEWS = ("v1",)
"""The review versions that the webhook server supports."""

ClientConfig = admissionregistration.WebhookClientConfig
Where = Callable[[str], ClientConfig]
"""Returns the client configuration for a path of the program."""


def validating_configuration(
    name: str, declarations: Iterable[WebhookDeclaration], where: Where, labels: Mapping[str, str] | None = None
) -> admissionregistration.ValidatingWebhookConfiguration:
    """Returns the configuration of all validating webhooks."""
    return admissionregistration.ValidatingWebhookConfiguration(
        metadata=ObjectMeta(name=name, labels=dict(labels or {})),
        webhooks=[_validating(one, where) for one in declarations if not one.mutating],
    )


def mutating_configuration(
    name: str, declarations: Iterable[WebhookDeclaration], where: Where, labels: Mapping[str, str] | None = None
) -> admissionregistration.MutatingWebhookConfiguration:
    """Returns the configuration of all mutating webhooks."""
    return admissionregistration.MutatingWebhookConfiguration(
        metadata=ObjectMeta(name=name, labels=dict(labels or {})),
        webhooks=[_mutating(one, where) for one in declarations if one.mutating],
    )


def conversion_by(client_config: apiextensions.WebhookClientConfig) -> apiextensions.CustomResourceConversion:
    """Returns the conversion setting of a CustomResourceDefinition, by a webhook."""
    return apiextensions.CustomResourceConversion(
        strategy="Webhook",
        webhook=apiextensions.WebhookConversion(conversion_review_versions=list(REVIEWS), client_config=client_config),
    )


def _validating(declared: WebhookDeclaration, where: Where) -> admissionregistration.ValidatingWebhook:
    return admissionregistration.ValidatingWebhook(
        name=declared.name,
        admission_review_versions=list(REVIEWS),
        client_config=where(declared.path),
        rules=list(declared.rules),
        failure_policy=declared.failure_policy,
        side_effects=declared.side_effects,
        timeout_seconds=declared.timeout_seconds,
        match_policy=declared.match_policy,
        match_conditions=list(declared.match_conditions) or None,
        namespace_selector=declared.namespace_selector,
        object_selector=declared.object_selector,
    )


def _mutating(declared: WebhookDeclaration, where: Where) -> admissionregistration.MutatingWebhook:
    same = _validating(declared, where)
    return admissionregistration.MutatingWebhook(
        **{name: getattr(same, name) for name in same.__struct_fields__},
        reinvocation_policy=declared.reinvocation_policy,
    )
