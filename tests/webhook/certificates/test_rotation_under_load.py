"""A whole life of authorities while the API server asks the webhooks all the time: not one write fails."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from aiohttp import web

from kubewright.api import ObjectMeta, core
from kubewright.client import Client, MergePatch
from kubewright.clock import SystemClock
from kubewright.webhook import WebhookDeployment, serving_context
from kubewright.webhook.certificates import CertificatePolicy, SelfManaged
from tests.patience import until
from tests.webhook.certificates.authorities import is_trusted, served
from tests.webhook.certificates.objects import address, bundles, validating

pytestmark = pytest.mark.clusters

WRITERS = 8


class ShiftedClock(SystemClock):
    """Real time for waiting, and another date.

    What is made on a day that is past for the API server is valid for it today, if it lives long enough.
    """

    def __init__(self, days: float) -> None:
        self.days = days

    def now(self) -> datetime:
        return super().now() + timedelta(days=self.days)


@dataclass
class Load:
    """Writers that continue until they are stopped."""

    client: Client
    namespace: str
    written: int = 0
    stop: asyncio.Event = field(default_factory=asyncio.Event)

    async def writer(self, number: int) -> None:
        made = core.ConfigMap(metadata=ObjectMeta(name=f"written-{number}", namespace=self.namespace))
        made = await self.client.create(made)
        while not self.stop.is_set():
            made.data = {"count": str(self.written)}
            made = await self.client.update(made)
            self.written += 1

    async def more(self) -> None:
        """Waits until each writer has written again, so that the API server has called every webhook."""
        enough = self.written + 3 * WRITERS

        async def is_enough() -> bool:
            return self.written >= enough

        await until(is_enough)


@asynccontextmanager
async def replica(
    of: WebhookDeployment, policy: CertificatePolicy, *, close: bool
) -> AsyncIterator[tuple[SelfManaged, int]]:
    """A webhook server that says yes, with a certificate of its own source. With `close`, every call is a new
    connection, and so shakes hands with the certificate and the trust of that moment.
    """

    async def answer(request: web.BaseRequest) -> web.Response:
        review = await request.json()
        response = {"uid": review["request"]["uid"], "allowed": True}
        body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
        made = web.Response(body=json.dumps(body).encode(), content_type="application/json")
        if close:
            made.force_close()
        return made

    async with SelfManaged(of, policy=policy) as source:
        runner = web.ServerRunner(web.Server(answer, keepalive_timeout=600))
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=serving_context(source)).start()
            yield source, int(runner.addresses[0][1])
        finally:
            await runner.cleanup()


@pytest.mark.promise("The certificate of the webhooks", "No write fails while authorities come and go under load.")
async def test_no_write_fails_during_ca_rotation(
    client: Client, namespace: str, request: pytest.FixtureRequest
) -> None:
    clock = ShiftedClock(days=-300)
    # A real server hears of new configurations by a watch, on a machine that may be busy; the embedded one knows them.
    settle = 4.0 if "real" in request.node.name else 0.5
    configuration = validating(namespace)
    of = served(client, clock, namespace, validating=configuration.metadata.name)
    policy = CertificatePolicy(name="made", hosts=of.hosts, life=timedelta(days=330), settle=settle)
    # The API server looks up the address of this Service, and finds us.
    service = core.Service(
        metadata=ObjectMeta(name=of.service, namespace=namespace),
        spec=core.ServiceSpec(type="ExternalName", external_name="localhost"),
    )
    await client.create(service)
    load = Load(client, namespace)

    async def authorities(count: int) -> None:
        """Wait until the server trusts so many."""
        await client.patch(
            core.Secret, of.secret, MergePatch({"metadata": {"labels": {"seen": str(count)}}}), namespace
        )

        async def found() -> bool:
            return all((one or b"").count(b"BEGIN CERT") == count for one in await bundles(client, namespace))

        await until(found)

    async def signed_by_another_than(old: bytes) -> None:
        """Waits until both replicas serve a certificate that this bundle alone does not trust."""

        async def found() -> bool:
            return not any(is_trusted(source.pair, old, datetime.now(UTC), of.hosts[0]) for source in (one, two))

        await until(found)

    async with replica(of, policy, close=True) as (one, port), replica(of, policy, close=False) as (two, other_port):
        configuration.webhooks = validating(
            namespace, address(namespace, port=port), address(namespace, port=other_port)
        ).webhooks
        await client.create(configuration)
        try:
            await authorities(1)
            async with asyncio.TaskGroup() as writers:
                for number in range(WRITERS):
                    writers.create_task(load.writer(number))
                await load.more()
                first = one.ca_bundle

                clock.days = -50  # two thirds of the first authority's life are over
                await authorities(2)
                await signed_by_another_than(first)
                await load.more()

                clock.days = 70  # and now its life is
                await authorities(1)
                await load.more()

                # Requests new keys. They must be valid today, or the API server would not trust them.
                clock.days = 0
                second = one.ca_bundle
                await client.delete(core.Secret, of.secret, namespace)

                await signed_by_another_than(second)
                await load.more()
                load.stop.set()
        finally:
            await client.delete(type(configuration), str(configuration.metadata.name))
    assert load.written >= 12 * WRITERS
