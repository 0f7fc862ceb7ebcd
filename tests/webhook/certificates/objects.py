"""The webhook configurations of these tests, and helpers that read them."""

from __future__ import annotations

from typing import TypeVar

from kubewright.api import ObjectMeta, admissionregistration, core, meta
from kubewright.client import Client
from kubewright.webhook import WebhookDeployment

T = TypeVar("T")


def validating(
    namespace: str, *addresses: admissionregistration.WebhookClientConfig
) -> admissionregistration.ValidatingWebhookConfiguration:
    """Webhooks at these addresses that are asked about ConfigMaps of one namespace, and about nothing else."""
    return admissionregistration.ValidatingWebhookConfiguration(
        metadata=ObjectMeta(name=f"certificates-{namespace}"),
        webhooks=[
            admissionregistration.ValidatingWebhook(
                name=f"a{number}.certificates.example.com",
                admission_review_versions=["v1"],
                client_config=address,
                side_effects="None",
                failure_policy="Fail",
                timeout_seconds=30,
                namespace_selector=meta.LabelSelector(match_labels={"kubernetes.io/metadata.name": namespace}),
                rules=[
                    admissionregistration.RuleWithOperations(
                        api_groups=[""], api_versions=["v1"], resources=["configmaps"], operations=["CREATE", "UPDATE"]
                    )
                ],
            )
            for number, address in enumerate(addresses)
        ],
    )


def address(namespace: str, name: str = "made-webhook", port: int = 443) -> admissionregistration.WebhookClientConfig:
    """The address of a Service."""
    service = admissionregistration.ServiceReference(namespace=namespace, name=name, path="/validate", port=port)
    return admissionregistration.WebhookClientConfig(service=service)


async def bundles(client: Client, namespace: str) -> list[bytes | None]:
    """What each webhook of `validating` trusts."""
    found = await client.get(admissionregistration.ValidatingWebhookConfiguration, f"certificates-{namespace}")
    return [webhook.client_config.ca_bundle for webhook in found.webhooks or ()]


async def secret_of(served: WebhookDeployment) -> core.Secret:
    """The Secret as it is."""
    return await served.client.get(core.Secret, served.secret, served.namespace)
