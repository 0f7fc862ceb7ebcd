"""Webhooks in a ClusterServiceVersion, for the Operator Lifecycle Manager.

OLM creates the Services, certificates and configurations itself. It mounts the certificate into every Deployment that
serves webhooks, at two paths of its own, and restarts the Deployment after a renewal. The program finds it with
`KUBEWRIGHT_WEBHOOK_CERTIFICATES=olm`.
"""

from __future__ import annotations

from typing import Any, Final

from kubewright.api import to_dict
from kubewright.manifests._project import Project, definition_name
from kubewright.manifests.manager._webhooks import WEBHOOK_PORT
from kubewright.webhook import ConversionDeclaration, WebhookDeclaration

__all__ = ["webhook_definitions"]

_SERVICE_PORT: Final = 443


def webhook_definitions(project: Project) -> list[dict[str, Any]]:
    """Returns the entries of `spec.webhookdefinitions`, sorted, one for each webhook and one for each converted kind.

    Raises ValueError for features that OLM does not support: it chooses the namespaces itself, by its OperatorGroup,
    and has no match conditions. A converted kind requires `AllNamespaces` as the only install mode.
    """
    made = [_admission(project, webhook) for webhook in project.webhooks]
    made += [_conversion(project, conversion) for conversion in project.conversions]
    return sorted(made, key=lambda one: (one["type"], one["generateName"]))


def _admission(project: Project, webhook: WebhookDeclaration) -> dict[str, Any]:
    for what, said in (
        ("a namespace selector", webhook.namespace_selector is not None),
        ("match conditions", bool(webhook.match_conditions)),
    ):
        if said:
            raise ValueError(f"webhook {webhook.name!r} has {what}, which OLM cannot pass on to the API server")
    described: dict[str, Any] = {
        **_called(project, "Mutating" if webhook.mutating else "Validating", webhook.path),
        "generateName": webhook.name,
        "rules": to_dict(list(webhook.rules)),
        "failurePolicy": webhook.failure_policy,
        "matchPolicy": webhook.match_policy,
        "sideEffects": webhook.side_effects,
        "timeoutSeconds": webhook.timeout_seconds,
    }
    if webhook.object_selector is not None:
        described["objectSelector"] = to_dict(webhook.object_selector)
    if webhook.reinvocation_policy is not None:
        described["reinvocationPolicy"] = webhook.reinvocation_policy
    return described


def _conversion(project: Project, conversion: ConversionDeclaration) -> dict[str, Any]:
    definition = definition_name(conversion.kind)
    return {
        **_called(project, "Conversion", conversion.path),
        "generateName": f"convert.{definition}",
        "sideEffects": "None",
        "conversionCRDs": [definition],
    }


def _called(project: Project, kind: str, path: str) -> dict[str, Any]:
    """Returns how the API server connects to the program."""
    return {
        "type": f"{kind}Webhook" if kind == "Conversion" else f"{kind}AdmissionWebhook",
        "admissionReviewVersions": ["v1"],
        "deploymentName": project.prefix,
        "containerPort": _SERVICE_PORT,
        "targetPort": WEBHOOK_PORT,
        "webhookPath": path,
    }
