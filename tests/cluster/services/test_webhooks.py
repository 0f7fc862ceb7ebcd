"""Webhooks in pods on this machine are called through their Service, by both API servers."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec
import pytest

from kubewright.api import admissionregistration as registration
from kubewright.api import core
from kubewright.api.meta import LabelSelector, ObjectMeta
from kubewright.certificates import CertificateAuthority
from kubewright.client import ApiError, Client
from kubewright.cluster.services import LoopbackAddresses, ServiceForwarder
from kubewright.http import Server, ServerRequest, ServerResponse
from tests.cluster.services.conftest import create_service, run_pod, until_targets
from tests.patience import until


class Hooks:
    """Webhook pods: each rejects ConfigMaps with its own name."""

    def __init__(self, namespace: str, folder: Path) -> None:
        authority = CertificateAuthority("authority-of-hooks")
        self.bundle = authority.pair.certificate
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._tls.load_cert_chain(*authority.issue("hooks", hosts=(f"hooks.{namespace}.svc",)).write(folder, "hooks"))

    def pod(self, name: str, address: str, port: int = 0) -> Server:
        async def handle(request: ServerRequest) -> ServerResponse:
            review = msgspec.json.decode(await request.body(largest=2**20))
            answer = {"uid": review["request"]["uid"], "allowed": False, "status": {"message": f"says {name}"}}
            body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": answer}
            return ServerResponse(200, msgspec.json.encode(body), [("Content-Type", "application/json")])

        return Server(handle, host=address, port=port, tls=self._tls)


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    """Closes what a test opens."""
    async with AsyncExitStack() as made:
        yield made


async def register(client: Client, hooks: Hooks) -> None:
    """Sends the ConfigMaps of the client's namespace to the Service `hooks`."""
    rule = registration.RuleWithOperations(
        api_groups=[""], api_versions=["v1"], operations=["CREATE"], resources=["configmaps"]
    )
    service = registration.ServiceReference(namespace=client.namespace, name="hooks", port=443, path="/validate")
    webhook = registration.ValidatingWebhook(
        name="hooks.example.com",
        side_effects="None",
        admission_review_versions=["v1"],
        rules=[rule],
        client_config=registration.WebhookClientConfig(service=service, ca_bundle=hooks.bundle),
        namespace_selector=LabelSelector(match_labels={"kubernetes.io/metadata.name": client.namespace}),
    )
    await client.create(
        registration.ValidatingWebhookConfiguration(metadata=ObjectMeta(name=client.namespace), webhooks=[webhook])
    )


async def rejection(client: Client) -> str:
    """Returns the message with which a new ConfigMap is rejected; empty if it is accepted."""
    try:
        await client.create(core.ConfigMap(metadata=ObjectMeta(generate_name="a-")))
    except ApiError as error:
        return str(error)
    return ""


@pytest.mark.promise(
    "Webhooks of the embedded cluster", "Webhooks of pods on this machine are called through their Service."
)
async def test_service_of_a_webhook_leads_to_its_pods(
    shop: Client, forwarder: ServiceForwarder, addresses: LoopbackAddresses, stack: AsyncExitStack, tmp_path: Path
) -> None:
    async def rejected_by(name: str) -> bool:
        return f"says {name}" in await rejection(shop)

    hooks = Hooks(shop.namespace, tmp_path)
    one, other = addresses.allocate(), addresses.allocate()
    first = await stack.enter_async_context(AsyncExitStack())
    port = (await first.enter_async_context(hooks.pod("one", one))).port
    service = await create_service(shop, "hooks", core.ServicePort(port=443, target_port=port))
    await run_pod(shop, "one", one)
    await until_targets(forwarder, service, 1, 443)
    await register(shop, hooks)
    try:
        assert "says one" in await until(lambda: rejection(shop), "the webhook to be known")
        # A second replica takes over when the first one stops, before its status says so.
        await stack.enter_async_context(hooks.pod("other", other, port))
        await run_pod(shop, "other", other)
        await until_targets(forwarder, service, 2, 443)
        await first.aclose()
        # A connection that kube-apiserver had kept may fail once.
        await until(lambda: rejected_by("other"), "the other pod")
        for _ in range(4):
            assert "says other" in await rejection(shop)
    finally:
        await shop.delete(registration.ValidatingWebhookConfiguration, shop.namespace)


async def test_service_without_ready_pods_is_reported(
    shop: Client, forwarder: ServiceForwarder, addresses: LoopbackAddresses, tmp_path: Path
) -> None:
    hooks = Hooks(shop.namespace, tmp_path)
    service = await create_service(shop, "hooks", core.ServicePort(port=443, target_port=8443))
    await run_pod(shop, "one", addresses.allocate(), ready=False)
    await until_targets(forwarder, service, 0, 443)
    await register(shop, hooks)
    try:
        message = await until(lambda: rejection(shop), "the webhook to be known")
        assert 'failed calling webhook "hooks.example.com"' in message
    finally:
        await shop.delete(registration.ValidatingWebhookConfiguration, shop.namespace)
