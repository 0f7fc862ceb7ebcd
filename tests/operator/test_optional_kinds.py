"""Kinds that a cluster need not have: `optional=True`."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from kubewright import resource
from kubewright.api import Model, Resource, apiextensions, meta
from kubewright.cache import ObjectKey
from kubewright.client import Client
from kubewright.controller import Context, NotServed, Owns, Reads, Watch
from kubewright.crd import install
from kubewright.operator import Operator, Running
from tests.patience import until

pytestmark = pytest.mark.clusters

NAME = "monitors.optional.example.com"


class ShopSpec(Model):
    size: int = 0


@resource("shops.example.com/v1")
class Shop(Resource[ShopSpec, None]):
    """Is monitored, if the cluster has monitors."""


@resource("optional.example.com/v1")
class Monitor(Resource[ShopSpec, None]):
    """Belongs to another operator."""


def shop(namespace: str) -> Shop:
    return Shop(metadata=meta.ObjectMeta(name="one", namespace=namespace), spec=ShopSpec())


def monitor(name: str = "monitor") -> Monitor:
    return Monitor(metadata=meta.ObjectMeta(name=name), spec=ShopSpec(size=1))


async def uninstall(client: Client) -> None:
    await client.delete(apiextensions.CustomResourceDefinition, NAME)
    await client.wait_until_gone(apiextensions.CustomResourceDefinition, NAME)


@pytest.fixture
async def absent(client: Client) -> None:
    """Removes the definition that another test has installed."""
    for one in await client.list(apiextensions.CustomResourceDefinition):
        if one.metadata.name == NAME:
            await uninstall(client)


def informer_of(running: Running) -> Any:
    assert running.caches is not None
    return next(one for one in running.caches.informers if one.info.kind == "Monitor")


@pytest.mark.promise(
    "Running an operator", "An optional kind may be installed and removed while the operator runs, without a restart."
)
@pytest.mark.usefixtures("absent")
async def test_an_optional_kind_comes_and_goes_while_the_operator_runs(
    client: Client, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    operator, seen = Operator("shops", namespaces=[namespace]), list[tuple[bool, str]]()

    @operator.reconciles(Shop, owns=[Owns(Monitor, optional=True)])
    async def sync(obj: Shop, ctx: Context[Shop]) -> None:
        seen.append((ctx.served(Monitor), ctx.trigger))
        if ctx.served(Monitor):
            await ctx.apply(monitor())
        else:
            assert ctx.get(Monitor, "monitor") is None
            assert ctx.list(Monitor) == []

    with caplog.at_level(logging.INFO, "kubewright"):
        async with operator.running(client) as running:
            informer = informer_of(running)
            assert (informer.served, informer.synced, informer.health.state) == (False, True, "absent")
            await client.create(shop(namespace))
            await until(lambda: seen)
            await running.settled()
            assert {served for served, _ in seen} == {False}
            assert running.inspect(Shop, "one", namespace).absent_kinds == ("Monitor (optional.example.com/v1)",)

            await install(client, Monitor)
            await until(lambda: informer.lister.get("monitor", namespace))
            assert (True, "Monitor installed") in seen
            await client.delete(Monitor, "monitor", namespace)
            await until(lambda: (True, "Monitor deleted") in seen)
            await until(lambda: informer.lister.get("monitor", namespace))

            await uninstall(client)
            await until(lambda: (False, "Monitor removed") in seen)
            assert informer.lister.keys() == []
            assert informer.synced
    # A reconcile may apply one before the cache knows that the kind is gone, and fail: only the cache's lines count.
    lines = [one.getMessage() for one in caplog.records if one.name == "kubewright.cache"]
    assert [line for line in lines if "install" in line] == [
        "Monitor (optional.example.com/v1) is not installed. It is optional, and watched when it is",
        "Monitor (optional.example.com/v1) is installed: watching it",
        "Monitor (optional.example.com/v1) is not installed. It is optional, and watched when it is",
    ]
    assert not [one for one in caplog.records if one.levelno >= logging.WARNING and "kubewright.cache" in one.name]


@pytest.mark.usefixtures("absent")
async def test_apply_of_an_absent_kind_names_the_check(client: Client, namespace: str) -> None:
    operator, errors = Operator("shops", namespaces=[namespace]), list[Exception]()

    @operator.reconciles(Shop, owns=[Owns(Monitor, optional=True)])
    async def sync(obj: Shop, ctx: Context[Shop]) -> None:
        try:
            await ctx.apply(monitor())
        except NotServed as error:
            errors.append(error)

    async with operator.running(client):
        await client.create(shop(namespace))
        await until(lambda: errors)
    message = (
        "Monitor (optional.example.com/v1) is not installed. It is optional: apply one only if ctx.served(Monitor)"
    )
    assert str(errors[0]) == message


@pytest.mark.usefixtures("absent")
@pytest.mark.parametrize("declared", ["watches", "reads"])
async def test_watched_and_read_kinds_may_be_absent(client: Client, namespace: str, declared: str) -> None:
    operator, served = Operator("shops", namespaces=[namespace]), list[bool]()
    watch = Watch(Monitor, map=lambda obj: [ObjectKey(namespace, "one")], optional=True)
    options: dict[str, Any] = {
        "watches": [watch] if declared == "watches" else [],
        "reads": [Reads(Monitor, optional=True)] if declared == "reads" else [],
    }

    @operator.reconciles(Shop, **options)
    async def sync(obj: Shop, ctx: Context[Shop]) -> None:
        served.append(ctx.served(Monitor))

    async with operator.running(client):
        await client.create(shop(namespace))
        await until(lambda: served)
        assert served[0] is False
        await install(client, Monitor)
        await until(lambda: served[-1])


@pytest.mark.usefixtures("absent")
@pytest.mark.clusters("embedded")  # the declaration alone decides
async def test_a_kind_that_is_required_elsewhere_is_not_optional(client: Client, namespace: str) -> None:
    operator = Operator("shops", namespaces=[namespace])

    @operator.reconciles(Shop, reads=[Reads(Monitor, optional=True)])
    async def sync(obj: Shop, ctx: Context[Shop]) -> None: ...

    @operator.reconciles(Shop, name="other", reads=[Monitor])
    async def other(obj: Shop, ctx: Context[Shop]) -> None: ...

    async with operator.running(client) as running:
        assert informer_of(running).optional is False
        assert informer_of(running).served
