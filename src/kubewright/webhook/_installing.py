"""The webhooks of a program that runs outside of the cluster, told to the API server by URL, for as long as it runs.

For tests, and for a developer's machine that the API server can reach. Deployed programs are reached by a Service, and
their configurations come with the manifests.

The API server heeds a new configuration a moment after it was stored. So each has one webhook more, about objects with
a label that nobody else uses; that it is asked shows that the others are, too.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from kubewright.api import Object, ObjectMeta, admissionregistration, apiextensions, core, meta
from kubewright.client import AlreadyExists, ApiError, Client, Conflict, Forbidden, NotFound
from kubewright.clock import Clock, SystemClock
from kubewright.webhook._configurations import conversion_by, mutating_configuration, validating_configuration
from kubewright.webhook._declarations import WebhookDeclaration, rule_for
from kubewright.webhook._server import PROBES, WebhookServer

__all__ = ["NotReached", "Reachable", "installed"]

_ATTEMPTS = 5
_PATIENCE = 30.0
_POLL = 0.05
_PROBE = "kubewright.webhook/probe"
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


class NotReached(Exception):
    """The API server does not ask the program; the text says why, and what to do."""


@contextlib.asynccontextmanager
async def installed(
    client: Client,
    name: str,
    declarations: Sequence[WebhookDeclaration],
    server: WebhookServer,
    reachable: Reachable,
    *,
    namespaces: Sequence[str] = (),
    clock: Clock | None = None,
) -> AsyncIterator[None]:
    """Install the configurations, wait until the API server heeds them, and take them away at the end.

    `namespaces` are the only ones that they are about. Raises `NotReached` when the API server does not find its way.
    """
    probe = f"probe-{secrets.token_hex(8)}"
    declarations = [_kept_to(namespaces, one) for one in declarations]
    made: dict[str, Object] = {}
    if any(one.mutating for one in declarations):
        more = [*declarations, _probing(probe, PROBES[0], mutating=True)]
        made[PROBES[0]] = mutating_configuration(name, more, reachable.admission)
    if any(not one.mutating for one in declarations):
        more = [*declarations, _probing(probe, PROBES[1], mutating=False)]
        made[PROBES[1]] = validating_configuration(name, more, reachable.admission)
    try:
        for configuration in made.values():
            await _put(client, configuration)
        await _heeded(client, probe, server, set(made), reachable.url, clock or SystemClock())
        yield
    finally:
        for configuration in made.values():
            with contextlib.suppress(NotFound):
                await client.delete(type(configuration), configuration.metadata.name)


def _probing(probe: str, path: str, *, mutating: bool) -> WebhookDeclaration:
    return WebhookDeclaration(
        name=f"{probe}.webhook.kubewright",
        path=path,
        rules=[rule_for(core.ConfigMap, "CREATE")],
        mutating=mutating,
        object_selector=meta.LabelSelector(match_labels={_PROBE: probe}),
    )


async def _heeded(client: Client, probe: str, server: WebhookServer, paths: set[str], url: str, clock: Clock) -> None:
    asked = core.ConfigMap(metadata=ObjectMeta(name=probe, namespace="default", labels={_PROBE: probe}))
    late = clock.monotonic() + _PATIENCE
    why = "it does not heed the configurations"
    while not paths <= server.probed:
        try:
            await client.create(asked, dry_run=True)
        except Forbidden:
            return  # whoever may not ask cannot know
        except ApiError as error:
            if error.code != 500:
                raise
            why = error.status.message  # the API server tried
        if paths <= server.probed:
            return
        if clock.monotonic() > late:
            raise NotReached(f"the API server of {client.host} does not reach the webhooks at {url}: {why}")
        await clock.sleep(_POLL)


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
