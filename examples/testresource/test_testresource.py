"""Tests of TestResource: `testresource.py` and `low_level.py`, on both clusters."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import SimpleNamespace
from typing import Any

import low_level
import pytest
import testresource as tr  # pytest would collect its class as a test if it were imported by name

import kubewright as kw
from kubewright.api import apiextensions, core, meta
from kubewright.cache import CacheSyncError
from kubewright.client import Client, Invalid, NotFound
from kubewright.clock import VirtualClock
from kubewright.crd import InstallError, crd_of, install
from kubewright.operator import Operator

pytestmark = pytest.mark.clusters

Controller = Callable[[], AbstractAsyncContextManager[object]]


@asynccontextmanager
async def components(client: Client) -> AsyncIterator[None]:
    """Runs the controller of `low_level.py`."""
    controller = low_level.TestResourceController(client)
    task = asyncio.create_task(controller.run())
    while not controller.informer.synced:  # noqa: ASYNC110
        await asyncio.sleep(0.02)
    yield
    task.cancel()
    await asyncio.wait([task])


@pytest.fixture(params=["operator", "low_level"])
def controller(request: pytest.FixtureRequest, client: Client) -> Controller:
    """The controller under test: `async with controller():`. It installs its CRD."""
    if request.param == "low_level":
        return lambda: components(client)
    return lambda: tr.operator.running(client)


def make(namespace: str, command: str = "echo hello") -> tr.TestResource:
    metadata = meta.ObjectMeta(name="one", namespace=namespace)
    return tr.TestResource(metadata=metadata, spec=tr.TestResourceSpec(command=command, custom_property="x"))


async def handled(client: Client, name: str, namespace: str) -> tr.TestResource:
    return await client.wait_for(tr.TestResource, name, lambda found: found.status == "HANDLED", namespace)


async def events(client: Client, uid: str, namespace: str) -> list[core.Event]:
    """Returns the events of an object as soon as there is one."""
    async for watched in client.watch(core.Event, namespace, fields={"involvedObject.uid": uid}):
        if watched.type == "ADDED":
            break
    return list(await client.list(core.Event, namespace, fields={"involvedObject.uid": uid}))


async def test_installs_its_crd(controller: Controller, client: Client, namespace: str) -> None:
    async with controller():
        crd = await client.wait_for(
            apiextensions.CustomResourceDefinition,
            "testresources.insujang.github.io",
            lambda found: bool(found.status.accepted_names and found.status.accepted_names.kind),
        )
        await client.wait_for(tr.TestResource, "example-tr2", lambda found: True, "default")
    [version] = crd.spec.versions
    assert "ts" in (crd.spec.names.short_names or [])
    assert version.name == "v1beta1"
    assert version.subresources is None, "the status is not a subresource"
    columns = [(column.name, column.json_path) for column in version.additional_printer_columns or []]
    assert columns == [("command", ".spec.command")]
    assert version.schema is not None
    schema: Any = version.schema.open_api_v3_schema
    assert schema.properties["status"].type == "string"
    assert sorted(schema.properties["spec"].required) == ["command", "customProperty"]
    assert schema.properties["spec"].properties["command"].pattern == "^(echo).*"


async def test_accepts_existing_crd_and_sample(controller: Controller, client: Client, namespace: str) -> None:
    for _ in range(2):
        async with controller():
            await handled(client, "example-tr2", "default")


async def test_handles_a_new_object_once_with_an_event(controller: Controller, client: Client, namespace: str) -> None:
    async with controller():
        await client.wait_for(tr.TestResource, "example-tr2", lambda found: True, "default")
        made = await client.create(make(namespace))
        first = await handled(client, "one", namespace)
        [event] = await events(client, made.metadata.uid, namespace)
        assert (event.type, event.reason) == ("Normal", "ObjectHandled")
        assert event.message == "Object is handled by custom controller."
        assert event.reporting_component == "testresource-controller"
        # A change of a handled object has no effect.
        first.metadata.labels = {"touched": "yes"}
        touched = await client.update(first)
        await client.create(core.ConfigMap(metadata=meta.ObjectMeta(name="later", namespace=namespace)))
        other = make(namespace)
        other.metadata.name = "two"
        await client.create(other)
        await handled(client, "two", namespace)  # changed later, so the first object has been handled by now
        still = await client.get(tr.TestResource, "one", namespace)
        assert still.metadata.resource_version == touched.metadata.resource_version
        assert len(await events(client, made.metadata.uid, namespace)) == 1


async def test_uses_the_timeouts_of_the_tutorial() -> None:
    """Ten seconds for the CRD, thirty for the cache, and a resync each minute."""
    settings = tr.operator.settings
    assert (settings.install_timeout, settings.sync_timeout, settings.resync) == (10, 30, 60)


async def test_creates_its_sample(controller: Controller, client: Client, namespace: str) -> None:
    await install(client, tr.TestResource)
    with contextlib.suppress(NotFound):
        await client.delete(tr.TestResource, "example-tr2", "default")
    async with controller():
        made = await handled(client, "example-tr2", "default")
    assert made.spec.command.startswith("echo")


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"command": "rm -rf /", "customProperty": "x"}, "spec.command"),
        ({"customProperty": "x"}, "spec.command"),
        ({"command": "echo"}, "spec.customProperty"),
    ],
)
async def test_schema_rejects_other_commands_and_missing_fields(
    client: Client, namespace: str, spec: dict[str, str], field: str
) -> None:
    await install(client, tr.TestResource)
    body = {
        "apiVersion": "insujang.github.io/v1beta1",
        "kind": "TestResource",
        "metadata": {"name": "bad"},
        "spec": spec,
    }
    with pytest.raises(Invalid, match=field):
        await client.request(
            "POST", f"/apis/insujang.github.io/v1beta1/namespaces/{namespace}/testresources", body=body
        )


async def test_sync_error_names_kind_and_missing_crd(client: Client) -> None:
    """With a similar kind whose CRD is not installed."""

    @kw.resource("missing.insujang.github.io/v1beta1", kind="TestResource")
    class Missing(kw.Resource[tr.TestResourceSpec, str | None]):
        """A kind without a CRD in the cluster."""

    clock = VirtualClock()
    operator = Operator("testresource-controller", sync_timeout=0.01, clock=clock)

    @operator.reconciles(Missing)
    async def handle(resource: Missing, ctx: kw.Context[Missing]) -> None:
        """Never called."""

    running = operator.running(client, install_crds=False)
    start = asyncio.create_task(running.__aenter__())
    while running.caches is None or not any(one.health.last_error for one in running.caches.informers):  # noqa: ASYNC110
        await asyncio.sleep(0.02)  # until the cache has an error
    await clock.advance(0.01)
    with pytest.raises(CacheSyncError, match=r"TestResource .*the server does not serve testresources\.missing"):
        await start


async def test_reports_a_crd_that_is_not_established(client: Client) -> None:
    """Another kind of the same group has its names."""
    taken = crd_of(tr.TestResource)
    name = "squatters.taken.insujang.github.io"
    taken.metadata.name, taken.spec.group = name, "taken.insujang.github.io"
    taken.spec.names.plural, taken.spec.names.singular = "squatters", "squatter"
    await client.create(taken)
    await client.wait_for(
        apiextensions.CustomResourceDefinition,
        name,
        lambda found: any(one.type == "Established" and one.status == "True" for one in found.status.conditions or ()),
    )

    @kw.resource("taken.insujang.github.io/v1beta1", kind="TestResource")
    class Late(kw.Resource[tr.TestResourceSpec, str | None]):
        """A kind whose names are taken."""

    operator = Operator("testresource-controller", install_crds=True, install_timeout=10)

    @operator.reconciles(Late)
    async def handle(resource: Late, ctx: kw.Context[Late]) -> None:
        """Never called."""

    with pytest.raises(InstallError, match=r"testresources\.taken\.insujang\.github\.io: NamesAccepted is False"):
        async with operator.running(client):
            pass


@pytest.mark.clusters("embedded")
async def test_low_level_polls_the_crd_for_ten_seconds(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    taken = crd_of(tr.TestResource)
    taken.metadata.name = "squatters.insujang.github.io"
    taken.spec.names.plural, taken.spec.names.singular = "squatters", "squatter"
    await client.create(taken)
    monkeypatch.setattr(low_level, "asyncio", SimpleNamespace(sleep=sleep))
    with pytest.raises(RuntimeError, match=r"testresources\.insujang\.github\.io is not established after 10 seconds"):
        await low_level.define(client)
    assert slept == [1] * 10
