"""Who owns which field of a status: `set_status`, `patch_status` and conditions, on both clusters."""

from __future__ import annotations

import logging
from typing import Any

import msgspec
import pytest

from kubewright import resource
from kubewright.api import Model, Resource, meta
from kubewright.client import Client, Conflict, JsonPatch, MergePatch
from kubewright.controller import Context
from kubewright.operator import Operator
from tests.operator.conftest import Calls, install, settled
from tests.operator.test_context import Box, BoxStatus, box, definition, status_on_server

pytestmark = pytest.mark.clusters


class SiteSpec(Model):
    image: str = "nginx"


class SiteStatus(Model):
    available: int = 0
    address: str | None = None
    note: str | None = None
    pods: dict[str, str] | None = None
    conditions: list[meta.Condition] | None = None


@resource("ownership.example.com/v1")
class Site(Resource[SiteSpec, SiteStatus]):
    """A kind whose conditions have a map key."""


@pytest.fixture
def operator(namespace: str) -> Operator:
    return Operator("site-operator", namespaces=[namespace])


def site(namespace: str) -> Site:
    return Site(metadata=meta.ObjectMeta(name="one", namespace=namespace), spec=SiteSpec())


async def status(client: Client, namespace: str) -> dict[str, Any]:
    found = await client.get(Site, "one", namespace)
    assert found.metadata.origin is not None
    return msgspec.json.decode(found.metadata.origin.raw).get("status") or {}


async def entries(client: Client, namespace: str) -> dict[tuple[str, str], set[str]]:
    """The fields of the status that each manager has, by manager and operation."""
    found = await client.get(Site, "one", namespace)
    return {
        (entry.manager or "", entry.operation or ""): {step[2:] for step in entry.fields()["f:status"] if step != "."}
        for entry in found.metadata.managed_fields
        if entry.subresource == "status"
    }


def status_writes(calls: Calls) -> int:
    return len([write for write in calls.writes() if "/status" in write])


async def write_as_before(client: Client, namespace: str, content: dict[str, Any]) -> None:
    """An earlier release of the operator wrote this status: an update in the operator's own name."""
    former = client.writing_as("site-operator")
    patch = JsonPatch([{"op": "add", "path": "/status", "value": content}])
    await former.patch(Site, "one", patch, namespace, subresource="status")


async def test_controllers_that_patch_different_fields_do_not_write_again(
    operator: Operator, calls: Calls, client: Client, namespace: str
) -> None:
    @operator.reconciles(Site, name="counts")
    async def count(obj: Site, ctx: Context[Site]) -> None:
        await ctx.patch_status(available=3)

    @operator.reconciles(Site, name="addresses")
    async def address(obj: Site, ctx: Context[Site]) -> None:
        await ctx.patch_status({"address": "10.0.0.1"})

    async with operator.running(calls.client) as running:
        await settled(running, await client.create(site(namespace)), succeeded=True)
        assert await status(client, namespace) == {"available": 3, "address": "10.0.0.1"}
        assert await entries(client, namespace) == {
            ("site-operator-counts-status", "Apply"): {"available"},
            ("site-operator-addresses-status", "Apply"): {"address"},
        }
    assert status_writes(calls) <= 4  # each may have met the other's write once, as a conflict


async def test_set_status_removes_what_it_no_longer_declares_and_nothing_else(
    operator: Operator, client: Client, namespace: str
) -> None:
    wanted = SiteStatus(available=1, address="10.0.0.1")

    @operator.reconciles(Site)
    async def sync(obj: Site, ctx: Context[Site]) -> None:
        await ctx.set_status(wanted)

    async with operator.running(client) as running:
        await settled(running, await client.create(site(namespace)), succeeded=True)
        await client.patch(Site, "one", MergePatch({"status": {"note": "theirs"}}), namespace, subresource="status")
        wanted = SiteStatus(available=2)
        changed = await client.patch(Site, "one", MergePatch({"metadata": {"labels": {"a": "b"}}}), namespace)
        await settled(running, changed, succeeded=True)
        assert await status(client, namespace) == {"available": 2, "note": "theirs"}


async def test_patch_status_removes_none_field_of_any_manager(
    operator: Operator, client: Client, namespace: str
) -> None:
    @operator.reconciles(Site)
    async def sync(obj: Site, ctx: Context[Site]) -> None:
        if "go" not in (obj.metadata.labels or {}):
            await ctx.patch_status(address="10.0.0.1", pods={"a": "up", "b": "up"})
        else:
            await ctx.patch_status(address=None, note=None, pods={"b": None})

    async with operator.running(client) as running:
        await settled(running, await client.create(site(namespace)), succeeded=True)
        await client.patch(Site, "one", MergePatch({"status": {"note": "theirs"}}), namespace, subresource="status")
        changed = await client.patch(Site, "one", MergePatch({"metadata": {"labels": {"go": "1"}}}), namespace)
        await settled(running, changed, succeeded=True)
        assert await status(client, namespace) == {"pods": {"a": "up"}}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda ctx: ctx.patch_status(SiteStatus(available=1)),
            r"not a SiteStatus: to declare the whole status of this controller, call set_status\(SiteStatus",
        ),
        (
            lambda ctx: ctx.patch_status(availble=1),
            r"the status of Site has no field 'availble'\. Did you mean 'available'\?",
        ),
    ],
)
async def test_patch_status_rejects_a_whole_model_and_unknown_fields(
    operator: Operator, calls: Calls, client: Client, namespace: str, call: Any, message: str
) -> None:
    seen: list[bool] = []

    @operator.reconciles(Site)
    async def sync(obj: Site, ctx: Context[Site]) -> None:
        with pytest.raises(TypeError, match=message):
            await call(ctx)
        seen.append(True)

    async with operator.running(calls.client) as running:
        await settled(running, await client.create(site(namespace)), succeeded=True)
    assert seen == [True]
    assert status_writes(calls) == 0


async def test_conditions_of_two_controllers_stay_apart(
    operator: Operator, calls: Calls, client: Client, namespace: str
) -> None:
    @operator.reconciles(Site, name="ready")
    async def ready(obj: Site, ctx: Context[Site]) -> None:
        ctx.set_condition("Ready", True, "Up")
        await ctx.set_status(SiteStatus(available=1))

    @operator.reconciles(Site, name="backed-up")
    async def backed_up(obj: Site, ctx: Context[Site]) -> None:
        if "drop" in (obj.metadata.labels or {}):
            ctx.remove_condition("BackedUp")
        else:
            ctx.set_condition("BackedUp", False, "Never")

    async with operator.running(calls.client) as running:
        await settled(running, await client.create(site(namespace)), succeeded=True)
        found = await client.get(Site, "one", namespace)
        assert {one.type: one.status for one in found.status.conditions or ()} == {"Ready": "True", "BackedUp": "False"}
        assert status_writes(calls) <= 4
        changed = await client.patch(Site, "one", MergePatch({"metadata": {"labels": {"drop": "1"}}}), namespace)
        await settled(running, changed, succeeded=True)
        found = await client.get(Site, "one", namespace)
        assert [one.type for one in found.status.conditions or ()] == ["Ready"]


async def test_takes_over_the_updates_of_an_earlier_release_once(
    operator: Operator, calls: Calls, client: Client, namespace: str
) -> None:
    @operator.reconciles(Site)
    async def sync(obj: Site, ctx: Context[Site]) -> None:
        await ctx.set_status(SiteStatus(available=1))

    async with operator.running(client):
        pass  # which defines the kind
    await client.create(site(namespace))
    await write_as_before(client, namespace, {"available": 1, "address": "10.0.0.1"})
    async with operator.running(calls.client) as running:
        await settled(running)
        assert await status(client, namespace) == {"available": 1}, "no stale field"
        assert await entries(client, namespace) == {("site-operator-site-status", "Apply"): {"available"}}
        sites = "sites.ownership.example.com"
        assert [write for write in calls.writes() if write.startswith("patch ")] == [
            f"patch {sites} {namespace}/one",
            f"patch {sites}/status {namespace}/one",
        ]
    calls.requests.clear()
    async with operator.running(calls.client) as running:
        await settled(running)
    assert status_writes(calls) == 0


async def test_removes_what_an_earlier_release_wrote_without_the_right_to_patch_the_object(
    namespace: str, calls: Calls, client: Client
) -> None:
    operator = Operator("site-operator", namespaces=[namespace])

    @operator.reconciles(Site, verbs=["get", "list", "watch", "patch status"])
    async def sync(obj: Site, ctx: Context[Site]) -> None:
        await ctx.set_status(SiteStatus(available=1))

    async with operator.running(client):
        pass
    await client.create(site(namespace))
    await write_as_before(client, namespace, {"available": 1, "address": "10.0.0.1"})
    async with operator.running(calls.client) as running:
        await settled(running)
    assert await status(client, namespace) == {"available": 1}
    assert status_writes(calls) == 2


async def test_leaves_former_updates_to_the_other_controllers_of_the_kind(
    operator: Operator, client: Client, namespace: str
) -> None:
    @operator.reconciles(Site, name="counts")
    async def count(obj: Site, ctx: Context[Site]) -> None:
        await ctx.set_status(SiteStatus(available=5))

    @operator.reconciles(Site, name="idle")
    async def idle(obj: Site, ctx: Context[Site]) -> None: ...

    async with operator.running(client):
        pass
    await client.create(site(namespace))
    await write_as_before(client, namespace, {"available": 1, "address": "10.0.0.1"})
    async with operator.running(client) as running:
        await settled(running)
    assert await status(client, namespace) == {"available": 5, "address": "10.0.0.1"}


async def test_warns_that_patch_status_no_longer_replaces(
    operator: Operator, client: Client, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    @operator.reconciles(Site)
    async def sync(obj: Site, ctx: Context[Site]) -> None:
        await ctx.patch_status({"available": 1})

    async with operator.running(client):
        pass
    await client.create(site(namespace))
    await write_as_before(client, namespace, {"available": 1, "address": "10.0.0.1"})
    async with operator.running(client) as running:
        await settled(running)
    [warning] = [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING]
    assert "patch_status no longer replaces the whole status: status.address was written by an earlier" in warning
    assert await status(client, namespace) == {"available": 1, "address": "10.0.0.1"}


async def test_field_manager_of_a_long_controller_name_has_at_most_128_bytes(
    operator: Operator, client: Client, namespace: str
) -> None:
    @operator.reconciles(Site, name="ü" * 70)
    async def sync(obj: Site, ctx: Context[Site]) -> None:
        await ctx.patch_status(available=1)

    async with operator.running(client) as running:
        await settled(running, await client.create(site(namespace)), succeeded=True)
    [(manager, _)] = await entries(client, namespace)
    assert 120 < len(manager.encode()) <= 128
    assert manager.startswith("site-operator-üüü")


async def test_takes_over_a_field_of_another_manager_and_logs_whose_it_was(
    operator: Operator, client: Client, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "kubewright.controller")

    @operator.reconciles(Site)
    async def sync(obj: Site, ctx: Context[Site]) -> None:
        await ctx.patch_status(note="ours")

    async with operator.running(client):
        pass
    await client.create(site(namespace))
    theirs = client.writing_as("other-program")
    await theirs.patch(Site, "one", MergePatch({"status": {"note": "theirs"}}), namespace, subresource="status")
    async with operator.running(client) as running:
        await settled(running)
    assert await status(client, namespace) == {"note": "ours"}
    assert "took over status fields of another field manager: status.note ('other-program')" in caplog.text


async def test_a_status_write_is_guarded_by_the_version_that_was_read(
    operator: Operator, client: Client, namespace: str
) -> None:
    conflicts: list[Conflict] = []

    @operator.reconciles(Site)
    async def sync(obj: Site, ctx: Context[Site]) -> None:
        if not conflicts:
            await client.patch(Site, "one", MergePatch({"metadata": {"labels": {"a": "b"}}}), namespace)
            with pytest.raises(Conflict) as raised:
                await ctx.set_status(SiteStatus(available=1))
            conflicts.append(raised.value)

    async with operator.running(client) as running:
        await settled(running, await client.create(site(namespace)), succeeded=True)
    assert len(conflicts) == 1


async def test_keeps_all_conditions_of_a_list_without_a_map_key_and_names_the_conflict(
    client: Client, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The server replaces such a list as a whole, whatever the model says."""
    caplog.set_level(logging.INFO, "kubewright.controller")
    await install(client, definition("Box", "boxes", subresource=True))
    operator = Operator("box-operator", namespaces=[namespace])

    @operator.reconciles(Box, name="ready")
    async def ready(obj: Box, ctx: Context[Box]) -> None:
        ctx.set_condition("Ready", obj.spec.size > 0, "Sized")
        await ctx.set_status(BoxStatus(available=obj.spec.size))

    @operator.reconciles(Box, name="open")
    async def open_(obj: Box, ctx: Context[Box]) -> None:
        ctx.set_condition("Open", obj.spec.size > 0, "Lid")

    async with operator.running(client, install_crds=False) as running:
        await settled(running, await client.create(box(namespace)), succeeded=True)
        changed = await client.patch(Box, "one", MergePatch({"spec": {"size": 3}}), namespace)
        await settled(running, changed, succeeded=True)
        found = await status_on_server(client, namespace)
    assert {one["type"]: one["status"] for one in found["conditions"]} == {"Ready": "True", "Open": "True"}
    assert "status.conditions is a list without map keys" in caplog.text
