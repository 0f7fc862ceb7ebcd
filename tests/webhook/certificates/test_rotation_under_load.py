"""CAs are created, sign and expire while the API server calls the webhooks all the time. No write fails."""

from __future__ import annotations

import asyncio
import copy
import itertools
import json
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from aiohttp import web

from kubewright.api import ObjectMeta, admissionregistration, core, meta
from kubewright.client import Client, Conflict, MergePatch
from kubewright.clock import SystemClock
from kubewright.webhook import WebhookDeployment, serving_context
from kubewright.webhook.certificates import CertificatePolicy, SelfManaged
from tests.patience import until
from tests.webhook.certificates.authorities import is_trusted, served
from tests.webhook.certificates.objects import address, bundles, validating

pytestmark = pytest.mark.clusters

WRITERS = 8
SETTLE = 300.0


class ShiftedClock(SystemClock):
    """Real time for timers, another date, and a monotonic clock that the test sets forward.

    A certificate that is issued on a past day is valid for the API server today, if its lifetime is long enough.
    """

    def __init__(self, days: float) -> None:
        self.days = days
        self.ahead = 0.0

    def now(self) -> datetime:
        return super().now() + timedelta(days=self.days)

    def monotonic(self) -> float:
        return SystemClock.monotonic() + self.ahead


@dataclass
class Load:
    """Writers that continue until they are stopped."""

    client: Client
    namespace: str
    written: list[int] = field(default_factory=lambda: [0] * WRITERS)
    stop: asyncio.Event = field(default_factory=asyncio.Event)

    async def writer(self, number: int) -> None:
        made = core.ConfigMap(metadata=ObjectMeta(name=f"written-{number}", namespace=self.namespace))
        made = await self.client.create(made)
        while not self.stop.is_set():
            made.data = {"count": str(self.written[number])}
            made = await self.client.update(made)
            self.written[number] += 1

    async def more(self) -> None:
        """Waits until each writer has written three times.

        No request from before is then in progress, and the API server has called every webhook.
        """
        enough = [count + 3 for count in self.written]
        await until(lambda: all(map(int.__ge__, self.written, enough)))


@asynccontextmanager
async def replica(
    of: WebhookDeployment, policy: CertificatePolicy, called: set[str], *, close: bool
) -> AsyncIterator[tuple[SelfManaged, int]]:
    """A webhook server that allows everything, with a certificate from its own source. It adds each path to `called`.

    With `close`, every call is a new connection, and so a handshake with the current certificate and CA bundle.
    """

    async def answer(request: web.BaseRequest) -> web.Response:
        called.add(request.path)
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


@dataclass
class Probe:
    """Finds out which version of the configuration the API server uses.

    A real server gets configurations through a watch. It calls a webhook that only the newest version has as soon as
    it uses that version.
    """

    client: Client
    namespace: str
    called: set[str]
    numbers: itertools.count[int] = field(default_factory=itertools.count)

    async def current_version_is_used(self) -> None:
        name = f"probe-{next(self.numbers)}"
        await self._add_webhook(name)
        labels = {"probe": name}
        made = core.ConfigMap(metadata=ObjectMeta(name=name, namespace=self.namespace, labels=labels))

        async def is_called() -> bool:
            await self.client.create(made, dry_run=True)
            return f"/{name}" in self.called

        await until(is_called)

    async def _add_webhook(self, name: str) -> None:
        """Adds a webhook that differs from the first one in its name, its path and its selector."""
        kind = admissionregistration.ValidatingWebhookConfiguration
        while True:
            found = await self.client.get(kind, f"certificates-{self.namespace}")
            assert found.webhooks
            added = copy.deepcopy(found.webhooks[0])
            added.name = f"{name}.certificates.example.com"
            added.object_selector = meta.LabelSelector(match_labels={"probe": name})
            assert added.client_config.service is not None
            added.client_config.service.path = f"/{name}"
            found.webhooks = [*found.webhooks, added]
            try:
                await self.client.update(found)
            except Conflict:
                continue  # a replica has changed the bundle
            return


@pytest.mark.promise("The certificate of the webhooks", "No write fails while authorities come and go under load.")
async def test_no_write_fails_during_ca_rotation(client: Client, namespace: str) -> None:
    clock = ShiftedClock(days=-300)
    configuration = validating(namespace)
    of = served(client, clock, namespace, validating=configuration.metadata.name)
    policy = CertificatePolicy(name="made", hosts=of.hosts, life=timedelta(days=330), settle=SETTLE)
    # The API server looks up the address of this Service, and finds us.
    service = core.Service(
        metadata=ObjectMeta(name=of.service, namespace=namespace),
        spec=core.ServiceSpec(type="ExternalName", external_name="localhost"),
    )
    await client.create(service)
    called: set[str] = set()
    load, probe = Load(client, namespace), Probe(client, namespace, called)

    async def wake_replicas() -> None:
        labels = {"metadata": {"labels": {"woken": secrets.token_hex(4)}}}
        await client.patch(core.Secret, of.secret, MergePatch(labels), namespace)

    async def authorities(count: int) -> None:
        """Waits until every webhook has a bundle of that many CAs, and the API server uses these bundles."""

        async def found() -> bool:
            return all((one or b"").count(b"BEGIN CERT") == count for one in await bundles(client, namespace))

        await until(found)
        await probe.current_version_is_used()

    async def signed_by_another_than(old: bytes) -> None:
        """Lets the new CA settle. Waits until both replicas serve a certificate that this bundle does not trust."""

        async def found() -> bool:
            clock.ahead += SETTLE
            await wake_replicas()
            return not any(is_trusted(source.pair, old, datetime.now(UTC), of.hosts[0]) for source in (one, two))

        await until(found)

    async with (
        replica(of, policy, called, close=True) as (one, port),
        replica(of, policy, called, close=False) as (two, other_port),
    ):
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

                clock.days = -50  # two thirds of the first CA's lifetime are over
                await wake_replicas()
                await authorities(2)
                await load.more()
                await signed_by_another_than(first)
                await load.more()

                clock.days = 70  # the first CA has expired
                await wake_replicas()
                await authorities(1)
                await load.more()

                # Requests new keys. They must be valid today, or the API server would not trust them.
                clock.days = 0
                second = one.ca_bundle
                await client.delete(core.Secret, of.secret, namespace)
                await authorities(2)
                await load.more()
                await signed_by_another_than(second)
                await load.more()
                load.stop.set()
        finally:
            await client.delete(type(configuration), str(configuration.metadata.name))
    assert min(load.written) >= 18
