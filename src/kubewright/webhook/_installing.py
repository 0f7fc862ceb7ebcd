"""The webhooks of a program that runs outside of the cluster, told to the API server by URL, for as long as it runs.

For tests, and for a developer's machine that the API server can reach. Deployed programs are reached by a Service, and
their configurations come with the manifests.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from kubewright.api import Object, admissionregistration, apiextensions, meta
from kubewright.client import AlreadyExists, Client, Conflict, NotFound
from kubewright.webhook._configurations import conversion_by, mutating_configuration, validating_configuration
from kubewright.webhook._declarations import WebhookDeclaration

__all__ = ["Reachable", "installed"]

_ATTEMPTS = 5
_NAMESPACE = "kubernetes.io/metadata.name"


class Reachable:
    """Where the API server finds the program: the URL that all paths are below, and the CA to check it by."""

    def __init__(self, url: str, ca_bundle: bytes) -> None:
        self.url = url.rstrip("/")
        self.ca_bundle = ca_bundle

    def admission(self, path: str) -> admissionregistration.WebhookClientConfig:
        """The webhook at that path."""
        return admissionregistration.WebhookClientConfig(url=self.url + path, ca_bundle=self.ca_bundle)

    def conversion(self, path: str = "/convert") -> apiextensions.CustomResourceConversion:
        """The conversion webhook."""
        return conversion_by(apiextensions.WebhookClientConfig(url=self.url + path, ca_bundle=self.ca_bundle))


@contextlib.asynccontextmanager
async def installed(
    client: Client,
    name: str,
    declarations: Sequence[WebhookDeclaration],
    reachable: Reachable,
    namespaces: Sequence[str] = (),
) -> AsyncIterator[None]:
    """Install the configurations, and take them away at the end. `namespaces` are the only ones that they are about."""
    declarations = [_kept_to(namespaces, one) for one in declarations]
    made: list[Object] = []
    if any(one.mutating for one in declarations):
        made.append(mutating_configuration(name, declarations, reachable.admission))
    if any(not one.mutating for one in declarations):
        made.append(validating_configuration(name, declarations, reachable.admission))
    try:
        for configuration in made:
            await _put(client, configuration)
        yield
    finally:
        for configuration in made:
            with contextlib.suppress(NotFound):
                await client.delete(type(configuration), configuration.metadata.name)


def _kept_to(namespaces: Sequence[str], declared: WebhookDeclaration) -> WebhookDeclaration:
    """The webhook, asked about these namespaces alone, as the operator looks at no others."""
    if not namespaces:
        return declared
    given = declared.namespace_selector or meta.LabelSelector()
    there = meta.LabelSelectorRequirement(key=_NAMESPACE, operator="In", values=list(namespaces))
    selector = meta.LabelSelector(
        match_labels=given.match_labels, match_expressions=[*(given.match_expressions or ()), there]
    )
    return replace(declared, namespace_selector=selector)


async def _put(client: Client, configuration: Object) -> None:
    """Create it, or take the place of one that an earlier run has left."""
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            await client.create(configuration)
            return
        except AlreadyExists:
            pass
        try:
            there = await client.get(type(configuration), configuration.metadata.name)
            configuration.metadata.resource_version = there.metadata.resource_version
            await client.replace(configuration)
            return
        except (Conflict, NotFound):
            configuration.metadata.resource_version = ""
            if attempt == _ATTEMPTS:
                raise
