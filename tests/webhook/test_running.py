"""Webhooks of an operator: settings, readiness, and messages on a developer's machine."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import ssl
from collections.abc import AsyncIterator
from concurrent.futures import Future
from typing import Any

import aiohttp
import msgspec
import pytest
from msgspec.structs import replace
from multidict import CIMultiDictProxy

import kubewright as kw
from kubewright.api import ObjectMeta, admissionregistration, apiextensions, core
from kubewright.client import Client, ClientConfig, NotFound, load_config
from kubewright.clock import SystemClock, VirtualClock
from kubewright.cluster import Cluster
from kubewright.manifests import Project, objects
from kubewright.operator import Running, SettingError
from kubewright.operator.process._run import _stop  # private: ends a run as a signal does, without a signal
from kubewright.testing import ControlPlane
from kubewright.webhook import Refused
from tests.patience import until
from tests.webhook.conftest import review
from tests.webhook.kinds import OldToy, OldToySpec, Toy, ToySpec

CHECK = "/validate/check.toys.webhooks.example.com"
TOY = Toy(metadata=ObjectMeta(name="bear", namespace="default"), spec=ToySpec(size=1))


@pytest.fixture
def operator() -> kw.Operator:
    made = kw.Operator("toys")

    @made.validates(Toy)
    async def check(toy: Toy) -> None:
        if toy.spec.size == 13:
            raise Refused("unlucky")

    @made.defaults(Toy)
    async def fill_in(toy: Toy) -> None: ...

    return made


def program(operator: kw.Operator, cluster: Cluster, **options: Any) -> Running:
    """The operator as `kubewright run` runs it, against a cluster that is elsewhere."""
    settings = operator.settings_with(**options)
    return Running(operator, cluster.client(), check_server=True, install_crds=True, settings=settings)


async def test_an_operator_may_have_webhooks_and_nothing_else(operator: kw.Operator, cluster: Cluster) -> None:
    async with cluster.client() as client, operator.running(client):
        with pytest.raises(kw.ApiError, match="unlucky"):
            await client.create(Toy(metadata=ObjectMeta(name="x", namespace="default"), spec=ToySpec(size=13)))


@pytest.mark.promise(
    "Webhooks",
    "Plain handlers that never return do not take the threads of others, up to a bound that log, metrics and "
    "readiness show.",
)
async def test_readiness_reports_webhooks(operator: kw.Operator, cluster: Cluster) -> None:
    async with cluster.client() as client:
        running = operator.running(client, health_bind="127.0.0.1:0")
        assert running.webhooks.not_ready() == "not served yet"
        async with running:
            url = f"http://127.0.0.1:{running.servers[0].port}/readyz/webhooks"
            async with aiohttp.ClientSession() as session:
                async with session.get(url) as answer:
                    assert (answer.status, await answer.text()) == (200, "ok")
                assert running.webhooks.server is not None
                hanging = running.webhooks.server._threads._hanging
                hanging.update(Future() for _ in range(128))  # as after so many calls that never return
                async with session.get(url) as answer:
                    assert answer.status == 500
                    assert "webhooks failed: all threads for plain webhook handlers hang (128)" in await answer.text()
                hanging.clear()
                await running.webhooks.server.__aexit__(None, None, None)
                async with session.get(url) as answer:
                    assert answer.status == 500
                    assert "webhooks failed: not served yet" in await answer.text()


@pytest.mark.promise("Webhooks", "A program that the API server cannot reach says what is needed.")
async def test_logs_how_to_reach_webhooks_on_this_machine(
    operator: kw.Operator, cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        async with program(operator, cluster, webhook_bind="127.0.0.1:0") as running:
            assert running.webhooks.server is not None
            port = running.webhooks.server.port
            with pytest.raises(NotFound):
                await running.client.get(admissionregistration.ValidatingWebhookConfiguration, "toys")
            await answered(running, port)
    [logged] = [record.message for record in caplog.records if "webhooks are served" in record.message]
    assert f"the webhooks are served at https://127.0.0.1:{port}, but the API server of " in logged
    assert "Set --webhook-url to a URL by which it reaches this machine" in logged


async def test_log_of_a_start_counts_in_singular_and_plural(cluster: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    operator = kw.Operator("toys")
    operator.validates(Toy)(_accept)
    async with cluster.client() as client:
        async with operator.running(client):
            pass
        operator.defaults(Toy, name="fill-in.toys.webhooks.example.com")(_accept)
        async with operator.running(client):
            pass
    served = [record.message for record in caplog.records if record.message.startswith("serving ")]
    assert [message.partition(" at ")[0] for message in served] == ["serving 1 webhook", "serving 2 webhooks"]
    assert "operator toys: caches are in sync: 0" in caplog.text


async def _accept(toy: Toy) -> None: ...


async def answered(running: Running, port: int, host: str = "127.0.0.1") -> CIMultiDictProxy[str]:
    assert running.webhooks.server is not None
    bundle = running.webhooks.server.certificate.ca_bundle
    assert bundle is not None
    trust = ssl.create_default_context(cadata=bundle.decode())
    async with aiohttp.ClientSession() as session:
        url, body = f"https://127.0.0.1:{port}{CHECK}", msgspec.json.encode(review(TOY))
        async with session.post(url, data=body, ssl=trust, server_hostname=host) as answer:
            assert (await answer.json())["response"]["allowed"] is True
            return answer.headers


@pytest.mark.promise("Webhooks", "A program that the API server cannot reach says what is needed.")
async def test_rejects_unreachable_webhook_url(operator: kw.Operator, cluster: Cluster) -> None:
    async with cluster.client() as client:
        with pytest.raises(SettingError, match=r"cannot reach the webhooks at https://127\.0\.0\.1:1: .*refuse"):
            await _impatient(operator, client)
        kind = admissionregistration.ValidatingWebhookConfiguration
        with pytest.raises(NotFound):
            await client.get(kind, "toys")


async def test_api_server_uses_webhook_url(operator: kw.Operator, cluster: Cluster) -> None:
    """As through a tunnel to a developer's machine."""
    connections = 0

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        assert running.webhooks.server is not None
        there, here = await asyncio.open_connection("127.0.0.1", running.webhooks.server.port)
        await asyncio.gather(_copied(reader, here), _copied(there, writer))

    tunnel = await asyncio.start_server(carry, "127.0.0.1", 0)
    url = f"https://127.0.0.1:{tunnel.sockets[0].getsockname()[1]}"
    async with tunnel, cluster.client() as client:
        running = program(operator, cluster, webhook_bind="127.0.0.1:0", webhook_url=url)
        async with running:
            with pytest.raises(kw.ApiError, match="unlucky"):
                await client.create(Toy(metadata=ObjectMeta(name="x", namespace="default"), spec=ToySpec(size=13)))
    assert connections


async def _copied(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(2**16):
        writer.write(data)
    writer.close()


async def _impatient(operator: kw.Operator, client: Client) -> None:
    # private: shortens a wait that is not a setting
    from kubewright.webhook.configurations import _installing

    patience, _installing._TIMEOUT = _installing._TIMEOUT, 0.0
    try:
        async with operator.running(client, webhook_bind="127.0.0.1:0", webhook_url="https://127.0.0.1:1"):
            pass
    finally:
        _installing._TIMEOUT = patience


async def test_webhooks_can_be_disabled(operator: kw.Operator, cluster: Cluster) -> None:
    @operator.reconciles(Toy)
    async def sync(toy: Toy, ctx: kw.Context[Toy]) -> None: ...

    async with cluster.client() as client, operator.running(client, webhook_bind="0") as running:
        assert running.webhooks.server is None
        made = await client.create(Toy(metadata=ObjectMeta(name="x", namespace="default"), spec=ToySpec(size=13)))
        assert made.metadata.uid


async def test_rejects_webhook_address_in_use(operator: kw.Operator, cluster: Cluster) -> None:
    async with cluster.client() as client, operator.running(client) as running:
        assert running.webhooks.server is not None
        bind = f"127.0.0.1:{running.webhooks.server.port}"
        with pytest.raises(
            SettingError, match=f"cannot serve webhooks at {bind}: .*; choose another address with --webhook-bind$"
        ):
            async with operator.running(client, webhook_bind=bind):
                pass


# The end

SERVICE = "toys-webhook.default.svc"
# Seconds in which a stopping pod still serves webhooks, and in which open connections end after that.
PROMISED_DRAIN, CONNECTIONS_DRAIN = 5.0, 5.0


async def ended_by_signal(running: Running) -> None:
    """As `operator.run()` ends it after the first signal."""
    await _stop(running, None)


def podded(cluster: Cluster) -> Client:
    """A client that believes to be in a pod."""
    return cluster.client(config=ClientConfig(server="https://10.0.0.1", source="in-cluster", namespace="default"))


@pytest.mark.promise(
    "Webhooks",
    "A stopping pod serves webhooks for five more seconds and is not ready; outside of a pod there is no delay.",
)
async def test_stopping_pod_drains_and_is_not_ready(cluster: Cluster) -> None:
    clock, attached = VirtualClock(SystemClock().now()), list[str]()
    operator = kw.Operator("toys", clock=clock, leader_elect=False)

    @operator.validates(Toy)
    async def check(toy: Toy) -> None:
        assert attached == ["there"], "what is attached ends after the last request"

    @contextlib.asynccontextmanager
    async def attach(running: Running) -> AsyncIterator[None]:
        attached.append("there")
        yield
        attached.append("gone")

    operator.attach(attach)
    settings = operator.settings_with(webhook_bind="127.0.0.1:0", health_bind="127.0.0.1:0")
    async with podded(cluster) as client, aiohttp.ClientSession() as session:
        running = Running(operator, client, check_server=True, install_crds=True, settings=settings)
        await running.__aenter__()
        assert running.webhooks.server is not None
        port, url = running.webhooks.server.port, f"http://127.0.0.1:{running.servers[0].port}/readyz"
        assert "Connection" not in await answered(running, port, SERVICE)
        ending = asyncio.create_task(ended_by_signal(running))
        await until(lambda: running.stopping)
        async with session.get(url) as answer:
            assert answer.status == 500
            assert "[-]stopping failed: the operator is stopping" in await answer.text()
        assert (await answered(running, port, SERVICE)).get("Connection") == "close", (
            "the next one had better go elsewhere"
        )
        await clock.advance(PROMISED_DRAIN - 0.1)
        await answered(running, port, SERVICE)
        assert not ending.done()
        await clock.advance(0.1)
        await ending
        assert attached == ["there", "gone"]


@pytest.mark.promise(
    "Webhooks",
    "A stopping pod serves webhooks for five more seconds and is not ready; outside of a pod there is no delay.",
)
async def test_second_signal_ends_draining(operator: kw.Operator, cluster: Cluster) -> None:
    operator.clock = VirtualClock(SystemClock().now())
    settings = operator.settings_with(webhook_bind="127.0.0.1:0", leader_elect=False)
    async with podded(cluster) as client:
        running = Running(operator, client, check_server=True, install_crds=True, settings=settings)
        await running.__aenter__()
        ending = asyncio.create_task(ended_by_signal(running))
        await until(lambda: running.stopping)
        running.stop_now()
        await ending


@pytest.mark.promise(
    "Webhooks",
    "A stopping pod serves webhooks for five more seconds and is not ready; outside of a pod there is no delay.",
)
async def test_program_outside_of_a_pod_does_not_drain(operator: kw.Operator, cluster: Cluster) -> None:
    operator.clock = VirtualClock(SystemClock().now())
    running = program(operator, cluster, webhook_bind="127.0.0.1:0")
    await running.__aenter__()
    await ended_by_signal(running)


def test_termination_grace_period_covers_draining(operator: kw.Operator) -> None:
    project = Project(operator=operator, target="toys.py")
    assert project.termination_seconds >= operator.settings.grace + PROMISED_DRAIN + CONNECTIONS_DRAIN + 5


class Spec(kw.Model):
    size: int = 1


@kw.resource("podded.example.com/v1", storage=True, kind="Podded")
class New(kw.Resource[Spec, None]):
    """The stored version."""


@kw.resource("podded.example.com/v1alpha1", kind="Podded")
class Old(kw.Resource[Spec, None]):
    """Another one."""


@pytest.mark.promise(
    "Webhooks",
    "Manifests have what follows from the handlers, and so has a definition that the operator installs.",
)
async def test_definition_in_a_pod_uses_service_and_own_certificate(
    control_plane: ControlPlane, namespace: str
) -> None:
    operator = kw.Operator("podded", leader_elect=False)
    operator.converts(Old, New)(lambda old: New(spec=old.spec))
    operator.converts(New, Old)(lambda new: Old(spec=new.spec))
    found = load_config(kubeconfig=control_plane.kubeconfig)
    async with Client(replace(found, source="in-cluster", namespace=namespace)) as client:
        settings = operator.settings_with(webhook_bind="127.0.0.1:0")
        async with Running(operator, client, check_server=True, install_crds=True, settings=settings):
            definition = await client.get(apiextensions.CustomResourceDefinition, "poddeds.podded.example.com")
            secret = await client.get(core.Secret, "podded-webhook-certificate", namespace)
    assert definition.spec.conversion is not None
    assert definition.spec.conversion.webhook is not None
    address = definition.spec.conversion.webhook.client_config
    assert address is not None
    assert address.service is not None
    assert (address.service.namespace, address.service.name, address.service.path) == (
        namespace,
        "podded-webhook",
        "/convert",
    )
    assert secret.data is not None
    assert address.ca_bundle == secret.data["ca.crt"]


@pytest.mark.promise(
    "Webhooks",
    "Manifests have what follows from the handlers, and so has a definition that the operator installs.",
)
def test_manifests_have_what_follows_from_the_handlers(operator: kw.Operator) -> None:
    operator.converts(OldToy, Toy)(lambda old: Toy(spec=ToySpec()))
    operator.converts(Toy, OldToy)(lambda new: OldToy(spec=OldToySpec()))
    project = Project(operator=operator, target="toys.py")
    made = {one.kind: one for one in objects(project)}
    validating, mutating = made["ValidatingWebhookConfiguration"], made["MutatingWebhookConfiguration"]
    assert isinstance(validating, admissionregistration.ValidatingWebhookConfiguration)
    assert isinstance(mutating, admissionregistration.MutatingWebhookConfiguration)
    [check], [fill_in] = validating.webhooks or [], mutating.webhooks or []
    assert check.client_config.service is not None
    assert check.client_config.service.path == CHECK
    assert fill_in.name == "fill-in.toys.webhooks.example.com"
    definition: Any = made["CustomResourceDefinition"]
    assert [version.name for version in definition.spec.versions] == ["v1", "v1alpha1"]
    assert definition.spec.conversion.strategy == "Webhook"
    assert definition.spec.conversion.webhook.client_config.service.path == "/convert"
    assert "Service" in made
