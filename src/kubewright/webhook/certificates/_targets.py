"""The objects with CA bundles: webhook configurations, and CustomResourceDefinitions with conversion webhooks.

Only client configurations that name the program's own Service are changed, in objects whose names the program knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from kubewright.api import Object, admissionregistration, apiextensions
from kubewright.client import ApiError, Client, NotFound

if TYPE_CHECKING:
    from kubewright.webhook._certificate_source import WebhookDeployment

__all__ = ["Target", "read", "targets_of", "trust", "trusts"]

Target: TypeAlias = (
    admissionregistration.MutatingWebhookConfiguration
    | admissionregistration.ValidatingWebhookConfiguration
    | apiextensions.CustomResourceDefinition
)
"""An object with client configurations of webhooks."""

ClientConfig: TypeAlias = admissionregistration.WebhookClientConfig | apiextensions.WebhookClientConfig


class Named(msgspec.Struct, frozen=True):
    """A kind and the name of an object."""

    kind: type[Target]
    name: str


def targets_of(deployment: WebhookDeployment) -> Sequence[Named]:
    """Returns the objects that need the CA bundle."""
    found: list[Named] = [Named(apiextensions.CustomResourceDefinition, name) for name in deployment.definitions]
    if deployment.mutating:
        found.append(Named(admissionregistration.MutatingWebhookConfiguration, deployment.mutating))
    if deployment.validating:
        found.append(Named(admissionregistration.ValidatingWebhookConfiguration, deployment.validating))
    return found


async def read(client: Client, named: Sequence[Named]) -> tuple[list[Target], ApiError | None]:
    """Returns the existing objects, and the first error of one that could not be read. The others are read anyway."""
    found: list[Target] = []
    problem: ApiError | None = None
    for one in named:
        try:
            found.append(await client.get(one.kind, one.name))
        except NotFound:
            continue
        except ApiError as error:
            problem = problem or error
    return found, problem


def trusts(target: Target, deployment: WebhookDeployment, bundle: bytes) -> bool:
    """Returns whether every client configuration of the program's Service has this CA bundle."""
    return all(config.ca_bundle == bundle for config in _client_configs(target, deployment))


def trust(target: Target, deployment: WebhookDeployment, bundle: bytes) -> None:
    """Sets the CA bundle of every client configuration of the program's Service."""
    for config in _client_configs(target, deployment):
        config.ca_bundle = bundle


def _client_configs(target: Object, deployment: WebhookDeployment) -> Iterator[ClientConfig]:
    found: list[ClientConfig] = []
    if isinstance(target, apiextensions.CustomResourceDefinition):
        conversion = target.spec.conversion
        if conversion is not None and conversion.webhook is not None and conversion.webhook.client_config is not None:
            found = [conversion.webhook.client_config]
    elif isinstance(
        target,
        admissionregistration.MutatingWebhookConfiguration | admissionregistration.ValidatingWebhookConfiguration,
    ):
        found = [webhook.client_config for webhook in target.webhooks or ()]
    for config in found:
        service = config.service
        if service is not None and (service.namespace, service.name) == (deployment.namespace, deployment.service):
            yield config
