"""The objects that the API server reads its trust from: webhook configurations, and definitions with conversion.

Only what names the program's own Service is touched, in objects that the program was told the names of.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from kubewright.api import Object, admissionregistration, apiextensions
from kubewright.client import ApiError, Client, NotFound

if TYPE_CHECKING:
    from kubewright.webhook._certificates_protocol import Served

__all__ = ["Target", "kinds_of", "read", "trust", "trusts"]

Target: TypeAlias = (
    admissionregistration.MutatingWebhookConfiguration
    | admissionregistration.ValidatingWebhookConfiguration
    | apiextensions.CustomResourceDefinition
)
"""An object with addresses of webhooks."""

Address: TypeAlias = admissionregistration.WebhookClientConfig | apiextensions.WebhookClientConfig


class Named(msgspec.Struct, frozen=True):
    """A kind, and the name of one of its objects."""

    kind: type[Target]
    name: str


def kinds_of(served: Served) -> Sequence[Named]:
    """Where the bundle belongs."""
    found: list[Named] = [Named(apiextensions.CustomResourceDefinition, name) for name in served.definitions]
    if served.mutating:
        found.append(Named(admissionregistration.MutatingWebhookConfiguration, served.mutating))
    if served.validating:
        found.append(Named(admissionregistration.ValidatingWebhookConfiguration, served.validating))
    return found


async def read(client: Client, named: Sequence[Named]) -> tuple[list[Target], ApiError | None]:
    """Those of the objects that are there, and why another one could not be read: it does not keep us from the rest."""
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


def trusts(target: Target, served: Served, bundle: bytes) -> bool:
    """Whether every address of the program's Service in it has this bundle."""
    return all(address.ca_bundle == bundle for address in _addresses(target, served))


def trust(target: Target, served: Served, bundle: bytes) -> None:
    """Give this bundle to every address of the program's Service."""
    for address in _addresses(target, served):
        address.ca_bundle = bundle


def _addresses(target: Object, served: Served) -> Iterator[Address]:
    found: list[Address] = []
    if isinstance(target, apiextensions.CustomResourceDefinition):
        conversion = target.spec.conversion
        if conversion is not None and conversion.webhook is not None and conversion.webhook.client_config is not None:
            found = [conversion.webhook.client_config]
    elif isinstance(
        target,
        admissionregistration.MutatingWebhookConfiguration | admissionregistration.ValidatingWebhookConfiguration,
    ):
        found = [webhook.client_config for webhook in target.webhooks or ()]
    for address in found:
        service = address.service
        if service is not None and (service.namespace, service.name) == (served.namespace, served.service):
            yield address
