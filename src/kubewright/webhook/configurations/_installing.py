"""Installs the configurations of a program outside the cluster, with a URL, while it runs.

This is for tests, and for a developer's machine that the API server can reach. Deployed programs have a Service, and
their manifests contain the configurations.

The API server uses a new configuration a moment after it was stored. So each configuration has one more webhook, for
objects with a unique label, the probes. A call of this webhook shows that the others are active too. If a definition
was changed to convert here, the probe is an object that the API server must convert first.
"""

from __future__ import annotations

import contextlib
import logging
import secrets
from collections.abc import AsyncIterator, Sequence

from msgspec.structs import replace

from kubewright.api import (
    Object,
    ObjectMeta,
    Selector,
    SelectorOperator,
    Untyped,
    admissionregistration,
    apiextensions,
    core,
    info_of,
    meta,
)
from kubewright.client import AlreadyExists, ApiError, Client, Conflict, Forbidden, Invalid, NotFound
from kubewright.client.wire import resource_path
from kubewright.clock import Clock, SystemClock
from kubewright.redaction import one_line
from kubewright.webhook._declarations import WebhookDeclaration, rule_for
from kubewright.webhook._server import PROBES, WebhookServer
from kubewright.webhook.configurations._objects import conversion_by, mutating_configuration, validating_configuration

__all__ = ["WebhookAddress", "WebhooksUnreachable", "installed"]

logger = logging.getLogger("kubewright.webhook")

_WRITE_ATTEMPTS = 5
_TIMEOUT = 30.0
_POLL = 0.05
_PROBE = "kubewright.webhook/probe"
_NAMESPACE = "kubernetes.io/metadata.name"
_OPERATORS = {
    SelectorOperator.EQUALS: "In",
    SelectorOperator.DOUBLE_EQUALS: "In",
    SelectorOperator.IN: "In",
    SelectorOperator.NOT_EQUALS: "NotIn",
    SelectorOperator.NOT_IN: "NotIn",
    SelectorOperator.EXISTS: "Exists",
    SelectorOperator.DOES_NOT_EXIST: "DoesNotExist",
}


class WebhookAddress:
    """The address of the program for the API server: the base URL of all paths, and the CA bundle."""

    def __init__(self, url: str, ca_bundle: bytes) -> None:
        self.url = url.rstrip("/")
        self.ca_bundle = ca_bundle

    def admission(self, path: str) -> admissionregistration.WebhookClientConfig:
        """Returns the client configuration of the admission webhook at a path."""
        return admissionregistration.WebhookClientConfig(url=self.url + path, ca_bundle=self.ca_bundle)

    def conversion(self, path: str = "/convert") -> apiextensions.CustomResourceConversion:
        """Returns the conversion setting with the webhook at a path."""
        return conversion_by(apiextensions.WebhookClientConfig(url=self.url + path, ca_bundle=self.ca_bundle))


class WebhooksUnreachable(Exception):
    """The API server cannot call the program. The message has the reason."""


@contextlib.asynccontextmanager
async def installed(
    client: Client,
    name: str,
    declarations: Sequence[WebhookDeclaration],
    server: WebhookServer,
    reachable: WebhookAddress,
    *,
    namespaces: Sequence[str] = (),
    namespace_labels: str = "",
    converted: Sequence[tuple[type[Object], type[Object]]] = (),
    clock: Clock | None = None,
) -> AsyncIterator[None]:
    """Installs the configurations, waits until the API server uses them, and deletes them at the end.

    `namespaces` and `namespace_labels` limit them to these namespaces. `converted` are kinds, each as its stored and
    another version, whose definitions were just changed to convert here. Raises `WebhooksUnreachable` if the API server
    cannot connect.
    """
    server.probe = f"probe-{secrets.token_hex(8)}"
    where = _in_namespaces(namespaces, namespace_labels)
    declarations = [_limited_to(where, one) for one in declarations]
    mutating = [one for one in declarations if one.mutating]
    validating = [one for one in declarations if not one.mutating]
    rules = [rule_for(core.ConfigMap, "CREATE"), *(rule_for(stored, "CREATE") for stored, _ in converted)]
    made: dict[str, Object] = {}
    if mutating or converted:
        probing = _probing(server.probe, PROBES[0], rules, mutating=True)
        made[PROBES[0]] = mutating_configuration(name, [*mutating, probing], reachable.admission)
    if validating:
        probing = _probing(server.probe, PROBES[1], rules[:1], mutating=False)
        made[PROBES[1]] = validating_configuration(name, [*validating, probing], reachable.admission)
    try:
        for configuration in made.values():
            await _put(client, configuration)
        if made:
            others = {f"{info_of(other).kind}.{info_of(other).group}": other for _, other in converted}
            waiting = _Waiting(client, server, reachable.url, clock or SystemClock())
            await waiting.until({*made}, _probe_of(core.ConfigMap, server.probe))
            for reached, other in others.items():
                await waiting.until({reached}, _probe_of(other, server.probe))
        server.probe = ""  # from here on, objects that contain it are ordinary ones
        yield
    finally:
        for configuration in made.values():
            try:
                await client.delete(type(configuration), configuration.metadata.name)
            except NotFound:
                pass
            except ApiError as error:
                logger.warning("%s could not be deleted, and still points to this program: %s", configuration, error)


def _probing(
    probe: str, path: str, rules: Sequence[admissionregistration.RuleWithOperations], *, mutating: bool
) -> WebhookDeclaration:
    """Returns the webhook for probes. The API server converts probes of other versions first."""
    return WebhookDeclaration(
        name=f"{probe}.webhook.kubewright",
        path=path,
        rules=rules,
        mutating=mutating,
        object_selector=meta.LabelSelector(match_labels={_PROBE: probe}),
    )


def _probe_of(kind: type[Object], probe: str) -> Untyped:
    """Returns an object that is never stored."""
    info = info_of(kind)
    untyped = Untyped.kind_of(info.api_version, info.kind, plural=info.plural, namespaced=info.namespaced)
    namespace = "default" if info.namespaced else ""
    return untyped(metadata=ObjectMeta(name=probe, namespace=namespace, labels={_PROBE: probe}))


class _Waiting:
    """Sends probes until they arrive."""

    def __init__(self, client: Client, server: WebhookServer, url: str, clock: Clock) -> None:
        self._client = client
        self._server = server
        self._url = url
        self._clock = clock
        self._deadline = clock.monotonic() + _TIMEOUT

    async def until(self, reached: set[str], probe: Untyped) -> None:
        """Sends a probe until it reached all of these. Returns if the client has no permission to send it."""
        why = "it does not use the configurations"
        while True:
            try:
                # Not by `create`, which retries a dry run itself.
                path = resource_path(info_of(probe), probe.metadata.namespace or None)
                await self._client.request("POST", path, query={"dryRun": "All"}, body=probe)
            except Forbidden:
                return
            except Invalid:
                pass  # the probe has no content; it was sent nevertheless
            except ApiError as error:
                why = one_line(error.status.message)
            if reached <= self._server.probed:
                return
            if self._clock.monotonic() > self._deadline:
                host = self._client.host
                raise WebhooksUnreachable(f"the API server of {host} cannot reach the webhooks at {self._url}: {why}")
            await self._clock.sleep(_POLL)


def _in_namespaces(namespaces: Sequence[str], labels: str) -> list[meta.LabelSelectorRequirement]:
    """Returns the requirements of the namespaces that the operator is limited to; none if it is not limited."""
    if namespaces:
        return [meta.LabelSelectorRequirement(key=_NAMESPACE, operator="In", values=list(namespaces))]
    return [
        meta.LabelSelectorRequirement(
            key=one.key, operator=_OPERATORS[one.operator], values=list(one.values) if one.values else None
        )
        for one in (Selector.parse(labels).requirements if labels else ())
        if one.operator in _OPERATORS  # a selector of a webhook cannot compare numbers
    ]


def _limited_to(where: Sequence[meta.LabelSelectorRequirement], declared: WebhookDeclaration) -> WebhookDeclaration:
    """Returns the webhook limited to the namespaces of the operator."""
    if not where:
        return declared
    given = declared.namespace_selector or meta.LabelSelector()
    selector = meta.LabelSelector(
        match_labels=given.match_labels, match_expressions=[*(given.match_expressions or ()), *where]
    )
    return replace(declared, namespace_selector=selector)


async def _put(client: Client, configuration: Object) -> None:
    """Creates a configuration, or replaces one that an earlier run left."""
    for attempt in range(1, _WRITE_ATTEMPTS + 1):
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
            if attempt == _WRITE_ATTEMPTS:
                raise
