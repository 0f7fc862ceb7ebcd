"""Checks whether the webhooks of a program's kinds can be reached. Otherwise every write of such an object fails."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from typing import Any, Final

from kubewright.api import Object, ResourceInfo, admissionregistration, core, discovery, info_of
from kubewright.client import ApiError, Client, Forbidden
from kubewright.deployment._finding import Finding

__all__ = ["NOTHING_RUNS", "runs_no_programs", "webhook_findings"]

NOTHING_RUNS: Final = (
    "run the operator on this machine instead: `kubewright dev`, or `kubewright run --webhook-url https://...`"
)
_WITHOUT_MACHINES: Final = "fake://"
_SERVICE: Final = "kubernetes.io/service-name"


async def webhook_findings(client: Client, kinds: Sequence[type[Object]]) -> AsyncIterator[Finding]:
    """Yields a finding for each Service that the API server calls for these kinds."""
    wanted = [info_of(kind) for kind in kinds]
    try:
        configurations: list[Any] = [
            *[one async for one in client.list(admissionregistration.ValidatingWebhookConfiguration)],
            *[one async for one in client.list(admissionregistration.MutatingWebhookConfiguration)],
        ]
    except Forbidden:
        return  # the account may not look, and most accounts need not
    services = {
        (service.namespace, service.name): one.metadata.name
        for one in configurations
        for webhook in one.webhooks or ()
        if (webhook.failure_policy or "Fail") == "Fail" and _asks_about(webhook.rules or (), wanted)
        if (service := webhook.client_config.service) is not None
    }
    for (namespace, name), configuration in sorted(services.items()):
        yield await _finding(client, namespace, name, configuration)


async def runs_no_programs(client: Client) -> bool:
    """Whether the pods of a cluster run no program: all nodes are simulated, as in the embedded cluster."""
    nodes = await _nodes(client)
    return bool(nodes) and all(runtime.startswith(_WITHOUT_MACHINES) for runtime in nodes.values())


async def _finding(client: Client, namespace: str, name: str, configuration: str) -> Finding:
    what = f"the webhooks of {configuration} are called at the Service {namespace}/{name}"
    try:
        if await client.find(core.Service, name, namespace) is None:
            return Finding(
                "error", f"{what}, which does not exist: creates and updates fail", "run `kubewright deploy`"
            )
        slices = [one async for one in client.list(discovery.EndpointSlice, namespace, labels={_SERVICE: name})]
    except ApiError as error:
        return Finding("warning", f"{what}; its endpoints cannot be read: {error}")
    ready = list(_ready(slices))
    if not ready:
        return Finding(
            "error",
            f"{what}, which has no ready endpoint: creates and updates fail",
            f"check why the operator's pods are not ready: `kubectl --namespace {namespace} get pods`",
        )
    nodes = await _nodes(client)
    if all(nodes.get(endpoint.node_name or "", "").startswith(_WITHOUT_MACHINES) for endpoint in ready):
        return Finding(
            "error",
            f"{what}, where nothing listens: its pods are on simulated nodes, so creates and updates fail",
            NOTHING_RUNS,
        )
    return Finding("ok", f"{what}, which has {len(ready)} ready endpoints")


def _asks_about(rules: Collection[Any], kinds: Sequence[ResourceInfo]) -> bool:
    return any(
        {info.group, "*"} & set(rule.api_groups or ()) and {info.plural, "*", "*/*"} & set(rule.resources or ())
        for rule in rules
        for info in kinds
    )


def _ready(slices: Sequence[discovery.EndpointSlice]) -> Iterator[discovery.Endpoint]:
    for piece in slices:
        for endpoint in piece.endpoints or ():
            if endpoint.addresses and (endpoint.conditions is None or endpoint.conditions.ready is not False):
                yield endpoint


async def _nodes(client: Client) -> dict[str, str]:
    """Returns the container runtimes of the nodes; none if nodes cannot be listed."""
    try:
        return {
            node.metadata.name: node.status.node_info.container_runtime_version
            async for node in client.list(core.Node)
            if node.status.node_info is not None
        }
    except ApiError:
        return {}
