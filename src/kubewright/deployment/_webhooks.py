"""Checks whether the API server can reach the webhooks of a program's kinds. If it cannot, writes of them fail."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from typing import Any, Final

from kubewright.api import Object, ResourceInfo, admissionregistration, core, discovery, info_of
from kubewright.client import ApiError, Client, Forbidden
from kubewright.counts import counted
from kubewright.deployment._finding import Finding

__all__ = ["RUN_LOCALLY", "has_only_simulated_nodes", "webhook_findings"]

RUN_LOCALLY: Final = (
    "run the operator on this machine instead: `kubewright dev`, or `kubewright run --webhook-url https://...`"
)
_SIMULATED_RUNTIME: Final = "fake://"
_SERVICE_LABEL: Final = "kubernetes.io/service-name"


async def webhook_findings(client: Client, kinds: Sequence[type[Object]]) -> AsyncIterator[Finding]:
    """Yields a finding for each Service that the API server calls for these kinds."""
    wanted = [info_of(kind) for kind in kinds]
    try:
        configurations: list[Any] = [
            *[one async for one in client.list(admissionregistration.ValidatingWebhookConfiguration)],
            *[one async for one in client.list(admissionregistration.MutatingWebhookConfiguration)],
        ]
    except Forbidden:
        return  # most accounts may not list webhooks, and do not need to
    services = {
        (service.namespace, service.name): one.metadata.name
        for one in configurations
        for webhook in one.webhooks or ()
        if (webhook.failure_policy or "Fail") == "Fail" and _covers(webhook.rules or (), wanted)
        if (service := webhook.client_config.service) is not None
    }
    for (namespace, name), configuration in sorted(services.items()):
        yield await _finding(client, namespace, name, configuration)


async def has_only_simulated_nodes(client: Client) -> bool:
    """Whether all nodes are simulated, as in the embedded cluster, so that pods run no programs."""
    nodes = await _runtimes_of_nodes(client)
    return bool(nodes) and all(runtime.startswith(_SIMULATED_RUNTIME) for runtime in nodes.values())


async def _finding(client: Client, namespace: str, name: str, configuration: str) -> Finding:
    what = f"the webhooks of {configuration} are called at the Service {namespace}/{name}"
    try:
        if await client.find(core.Service, name, namespace) is None:
            return Finding(
                "error", f"{what}, which does not exist: creates and updates fail", "run `kubewright deploy`"
            )
        slices = [one async for one in client.list(discovery.EndpointSlice, namespace, labels={_SERVICE_LABEL: name})]
    except ApiError as error:
        return Finding("warning", f"{what}; its endpoints cannot be read: {error}")
    ready = list(_ready_endpoints(slices))
    if not ready:
        return Finding(
            "error",
            f"{what}, which has no ready endpoint: creates and updates fail",
            f"check why the operator's pods are not ready: `kubectl --namespace {namespace} get pods`",
        )
    nodes = await _runtimes_of_nodes(client)
    if all(nodes.get(endpoint.node_name or "", "").startswith(_SIMULATED_RUNTIME) for endpoint in ready):
        return Finding(
            "error",
            f"{what}, where nothing listens: its pods are on simulated nodes, so creates and updates fail",
            RUN_LOCALLY,
        )
    return Finding("ok", f"{what}, which has {counted(len(ready), 'ready endpoint')}")


def _covers(rules: Collection[Any], kinds: Sequence[ResourceInfo]) -> bool:
    return any(
        {info.group, "*"} & set(rule.api_groups or ()) and {info.plural, "*", "*/*"} & set(rule.resources or ())
        for rule in rules
        for info in kinds
    )


def _ready_endpoints(slices: Sequence[discovery.EndpointSlice]) -> Iterator[discovery.Endpoint]:
    for endpoint_slice in slices:
        for endpoint in endpoint_slice.endpoints or ():
            if endpoint.addresses and (endpoint.conditions is None or endpoint.conditions.ready is not False):
                yield endpoint


async def _runtimes_of_nodes(client: Client) -> dict[str, str]:
    """Returns the container runtime of each node; an empty dictionary if this account may not list nodes."""
    try:
        return {
            node.metadata.name: node.status.node_info.container_runtime_version
            async for node in client.list(core.Node)
            if node.status.node_info is not None
        }
    except ApiError:
        return {}
