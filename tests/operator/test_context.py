"""What the context of a reconcile writes, on both clusters."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from kubewright import resource
from kubewright.api import JSON, Model, Resource, core, find_condition, is_condition_true, meta
from kubewright.client import AlreadyExists, Client, Conflict, MergePatch, Request
from kubewright.cluster import Cluster
from kubewright.controller import BlockingContext, Context, TerminalError, Watch
from kubewright.operator import Operator
from kubewright.testing import RealCluster
from tests.operator.conftest import Calls, events, find, install, settled
from tests.patience import until

pytestmark = pytest.mark.clusters


class BoxSpec(Model):
    size: int = 0


class BoxStatus(Model):
    available: int = 0
    conditions: list[meta.Condition] = msgspec.field(default_factory=list)


@resource("context.example.com/v1")
class Box(Resource[BoxSpec, BoxStatus]):
    """A kind with a status that has conditions."""


@resource("context.example.com/v1")
class Note(Resource[JSON, str | None]):
    """A kind whose status is a text beside the spec, without an endpoint of its own."""


def definition(kind: str, plural: str, *, subresource: bool) -> dict[str, Any]:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "metadata": {"name": f"{plural}.context.example.com"},
        "spec": {
            "group": "context.example.com",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "scope": "Namespaced",
            "versions": [version | ({"subresources": {"status": {}}} if subresource else {})],
        },
    }


@pytest.fixture(autouse=True)
async def definitions(client: Client) -> None:
    await install(client, definition("Box", "boxes", subresource=True))
    await install(client, definition("Note", "notes", subresource=False))


@pytest.fixture
def operator(namespace: str) -> Operator:
    return Operator("box-operator", namespaces=[namespace])


def box(namespace: str, size: int = 0, name: str = "one") -> Box:
    return Box(metadata=meta.ObjectMeta(name=name, namespace=namespace), spec=BoxSpec(size=size))


async def status_on_server(client: Client, namespace: str) -> Any:
    found = await client.get(Box, "one", namespace)
    assert found.metadata.origin is not None
    return msgspec.json.decode(found.metadata.origin.raw).get("status")


@pytest.mark.promise(
    "What a reconciler works with",
    "`set_status` sends what differs, an explicit zero too, and keeps what the model does not know.",
)
async def test_set_status_sends_only_what_changed_and_keeps_what_the_model_does_not_know(
    operator: Operator, calls: Calls, client: Client, namespace: str
) -> None:
    changed: list[bool] = []

    @operator.reconciles(Box)
    async def sync(obj: Box, ctx: Context[Box]) -> None:
        await ctx.set_status(BoxStatus(available=obj.spec.size))
        await ctx.set_status(BoxStatus(available=obj.spec.size))
        changed.append(ctx.changed)

    async with operator.running(calls.client, install_crds=False) as running:
        made = await client.create(box(namespace))
        await settled(running, made)
        assert await status_on_server(client, namespace) == {"available": 0}
        await client.patch(Box, "one", MergePatch({"status": {"phase": "Up"}}), namespace, subresource="status")
        await client.patch(Box, "one", MergePatch({"spec": {"size": 5}}), namespace)
        await until(lambda: _has(client, namespace, available=5, phase="Up"))
        await settled(running)
    assert calls.writes() == [f"patch boxes.context.example.com/status {namespace}/one"] * 2
    assert changed.count(True) == 2


async def _has(client: Client, namespace: str, **values: Any) -> bool:
    status = await status_on_server(client, namespace) or {}
    return all(status.get(name) == value for name, value in values.items())


@pytest.mark.promise("What a reconciler works with", "Conditions are written together, also when the reconciler fails.")
async def test_conditions_are_written_together_with_the_status_in_one_request(
    operator: Operator, calls: Calls, client: Client, namespace: str
) -> None:
    @operator.reconciles(Box)
    async def sync(obj: Box, ctx: Context[Box]) -> None:
        ctx.set_condition("Ready", obj.spec.size > 0, "Sized", f"size {obj.spec.size}")
        ctx.set_condition("Progressing", False, "Settled")
        await ctx.set_status(BoxStatus(available=obj.spec.size))

    async with operator.running(calls.client, install_crds=False) as running:
        made = await client.create(box(namespace, size=1))
        await settled(running, made)
        found = await client.get(Box, "one", namespace)
        await settled(running)
    assert calls.writes() == [f"patch boxes.context.example.com/status {namespace}/one"]
    ready = find_condition(found.status, "Ready")
    assert ready is not None
    assert (ready.status, ready.reason, ready.message, ready.observed_generation) == ("True", "Sized", "size 1", 1)
    assert [condition.type for condition in found.status.conditions] == ["Ready", "Progressing"]


@pytest.mark.promise("What a reconciler works with", "Conditions are written together, also when the reconciler fails.")
async def test_conditions_are_written_when_the_reconciler_ends_also_with_an_exception(
    operator: Operator, client: Client, namespace: str
) -> None:
    @operator.reconciles(Box)
    async def sync(obj: Box, ctx: Context[Box]) -> None:
        if ctx.set_condition("Ready", False, "Broken", "the disk is full"):
            assert not ctx.changed
        raise TerminalError("the disk is full")

    async with operator.running(client, install_crds=False) as running:
        made = await client.create(box(namespace))
        await settled(running, made)
        found = await client.get(Box, "one", namespace)
    ready = find_condition(found.status, "Ready")
    assert ready is not None
    assert (ready.status, ready.message) == ("False", "the disk is full")


async def test_conditions_stay_when_a_status_without_any_is_patched(
    operator: Operator, client: Client, namespace: str
) -> None:
    @operator.reconciles(Box)
    async def sync(obj: Box, ctx: Context[Box]) -> None:
        if obj.spec.size == 0:
            ctx.set_condition("Ready", True, "Started")
        await ctx.set_status(BoxStatus(available=obj.spec.size))

    async with operator.running(client, install_crds=False) as running:
        made = await client.create(box(namespace))
        await settled(running, made)
        await client.patch(Box, "one", MergePatch({"spec": {"size": 3}}), namespace)
        await until(lambda: _has(client, namespace, available=3))
        found = await client.get(Box, "one", namespace)
    assert find_condition(found.status, "Ready") is not None


@pytest.mark.promise(
    "Typed objects",
    "A kind may have no status, or one that is a text; an absent one is empty rather than None.",
)
async def test_writes_string_status_with_the_object(
    operator: Operator, calls: Calls, client: Client, namespace: str
) -> None:
    @operator.reconciles(Note)
    async def sync(obj: Note, ctx: Context[Note]) -> None:
        await ctx.set_status("HANDLED")

    async with operator.running(calls.client, install_crds=False) as running:
        made = await client.create(
            Note(metadata=meta.ObjectMeta(name="n", namespace=namespace), spec={"command": "echo"})
        )
        await settled(running, made)
        found = await client.get(Note, "n", namespace)
    assert (found.status, found.spec) == ("HANDLED", {"command": "echo"})
    assert calls.writes() == [f"patch notes.context.example.com {namespace}/n"]


async def test_stale_status_is_rejected_and_key_is_requeued(operator: Operator, client: Client, namespace: str) -> None:
    errors: list[Exception] = []

    @operator.reconciles(Box)
    async def sync(obj: Box, ctx: Context[Box]) -> None:
        if not errors:
            await client.patch(Box, "one", MergePatch({"spec": {"size": 9}}), namespace)
        try:
            await ctx.set_status(BoxStatus(available=obj.spec.size))
        except Conflict as error:
            errors.append(error)
            raise

    async with operator.running(client, install_crds=False):
        await client.create(box(namespace, size=1))
        await until(lambda: _has(client, namespace, available=9))
    assert len(errors) == 1


@pytest.mark.promise("Our own writes", "The next reconcile of a key sees what the last one wrote.")
@pytest.mark.promise("What a reconciler works with", "Create, update and delete are seen by the next read.")
async def test_next_read_sees_own_writes(operator: Operator, client: Client, namespace: str) -> None:
    seen: list[Any] = []

    @operator.reconciles(Box, reads=[core.ConfigMap])
    async def sync(obj: Box, ctx: Context[Box]) -> None:
        config = core.ConfigMap(metadata=meta.ObjectMeta(name="c"), data={"size": "1"})
        made = await ctx.create(config)
        assert not config.metadata.namespace, "the object that was handed in stays as it was"
        seen.append([owner.uid == obj.metadata.uid for owner in made.metadata.owner_references])
        seen.append(_data(ctx))
        with pytest.raises(AlreadyExists):
            await ctx.create(config)
        made.data = {"size": "2"}
        made = await ctx.update(made)
        seen.append(_data(ctx))
        assert await ctx.update(made) is made, "nothing changed, nothing sent"
        seen.append([found.metadata.name for found in ctx.owned(core.ConfigMap)])
        seen.append(await ctx.delete(made))
        seen.append(_data(ctx))
        seen.append(await ctx.delete(core.ConfigMap, "c"))
        seen.append("end")

    def _data(ctx: Context[Box]) -> dict[str, str] | None:
        found = ctx.get(core.ConfigMap, "c")
        return None if found is None else found.data

    async with operator.running(client, install_crds=False) as running:
        await client.create(box(namespace))
        await until(lambda: _ended(seen))
        await settled(running)
    assert seen == [[True], {"size": "1"}, {"size": "2"}, ["c"], True, None, False, "end"]


async def _ended(seen: list[Any]) -> bool:
    return bool(seen) and seen[-1] == "end"


@pytest.mark.promise(
    "Owned objects and `apply`",
    "What was applied before and is no longer wanted is pruned when asked for, and nothing else.",
)
async def test_prunes_undesired_objects(operator: Operator, client: Client, namespace: str) -> None:
    @operator.reconciles(Box, owns=[core.ConfigMap])
    async def sync(obj: Box, ctx: Context[Box]) -> None:
        wanted = [core.ConfigMap(metadata=meta.ObjectMeta(name=f"c{number}")) for number in range(obj.spec.size)]
        for config in wanted:
            await ctx.apply(config)
        await ctx.prune([core.ConfigMap], keep=wanted)

    async def left(*names: str) -> bool:
        owned = [config for config in await client.list(core.ConfigMap, namespace) if config.metadata.owner_references]
        return {config.metadata.name for config in owned} == set(names)

    async with operator.running(client, install_crds=False):
        await client.create(box(namespace, size=3))
        await until(lambda: left("c0", "c1", "c2"))
        await client.patch(Box, "one", MergePatch({"spec": {"size": 1}}), namespace)
        await until(lambda: left("c0"))


@pytest.mark.promise(
    "How a reconcile ends",
    "Plain functions have as many threads as the controller may run reconciles.",
)
async def test_a_plain_function_does_the_same_through_a_blocking_context(
    operator: Operator, client: Client, namespace: str
) -> None:
    seen: list[Any] = []

    @operator.reconciles(Box, owns=[core.ConfigMap], concurrency=2)
    def sync(obj: Box, ctx: BlockingContext[Box]) -> None:
        applied = ctx.apply(core.ConfigMap(metadata=meta.ObjectMeta(name="c"), data={"size": str(obj.spec.size)}))
        seen.append(ctx.client.get(core.ConfigMap, "c", namespace).metadata.uid == applied.metadata.uid)
        cached = ctx.get(core.ConfigMap, "c")
        seen.append(cached is not None and cached.data == {"size": "4"})
        unchecked: Any = ctx.client
        seen.append(ctx.client.namespace == client.namespace)
        seen.append(ctx.client.discovery.find("v1", "ConfigMap").plural == "configmaps")
        with pytest.raises(AttributeError, match=r"^a BlockingClient has no attribute 'host': .* as \.client\.host$"):
            _ = unchecked.host
        ctx.set_condition("Ready", True, "Made")
        ctx.set_status(BoxStatus(available=obj.spec.size))
        ctx.record("Synced", "Box synced")

    async with operator.running(client, install_crds=False) as running:
        await client.create(box(namespace, size=4))
        await until(lambda: _has(client, namespace, available=4))
        await until(lambda: events(client, namespace, "Synced"))
        await settled(running)
        found = await client.get(Box, "one", namespace)
    assert all(seen)
    assert find_condition(found.status, "Ready") is not None


@pytest.mark.promise(
    "What a reconciler works with",
    "Each reconcile has a trace, which its requests and log records carry.",
)
async def test_the_requests_and_log_records_of_a_reconcile_carry_its_trace(
    operator: Operator,
    cluster: Cluster | RealCluster,
    client: Client,
    namespace: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    traces: list[str] = []
    sent: list[str | None] = []

    def note(request: Request) -> None:
        if request.resource == "boxes.context.example.com/status":
            sent.append(request.headers.get("traceparent"))

    @operator.reconciles(Box, name="async")
    async def sync(obj: Box, ctx: Context[Box]) -> None:
        ctx.log.warning("here")
        if not obj.status.available:
            traces.append(ctx.trace.traceparent)
            await ctx.set_status(BoxStatus(available=1))

    @operator.reconciles(Box, name="plain")
    def plain(obj: Box, ctx: BlockingContext[Box]) -> None:
        if obj.status.available == 1:
            traces.append(ctx.trace.traceparent)
            ctx.set_status(BoxStatus(available=2))

    async with cluster.client(hooks=[note]) as traced, operator.running(traced, install_crds=False) as running:
        await settled(running, await client.create(box(namespace)))
        await until(lambda: _has(client, namespace, available=2))
    assert len(traces) == len(set(traces)) == 2
    assert list(dict.fromkeys(sent)) == traces
    assert {record.__dict__["trace"] for record in caplog.records if record.getMessage().endswith("here")} >= {
        traces[0].split("-")[1]
    }


@pytest.mark.promise("What a reconciler works with", "An event that cannot be written fails no reconcile.")
async def test_an_event_that_cannot_be_written_does_not_fail_the_reconcile(
    operator: Operator, client: Client, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    done = asyncio.Event()

    @operator.reconciles(Box)
    async def sync(obj: Box, ctx: Context[Box]) -> None:
        # The server refuses an event whose object is not in the event's namespace.
        broken = core.ObjectReference(kind="Box", name="one", namespace="Not A Namespace")
        ctx._backend.environment.recorder.record(broken, "Lost", "never stored")
        done.set()

    async with operator.running(client, install_crds=False) as running:
        await client.create(box(namespace))
        await done.wait()
        await running.controllers[0]._environment.recorder.flush()
        await settled(running)
        assert running.controllers[0].stats.reconciles == {"success": 1}
    assert "event Lost for Box one was not written" in caplog.text


async def test_an_object_of_another_name_is_untouched(operator: Operator, client: Client, namespace: str) -> None:
    @operator.reconciles(Box, labels={"team": "blue"})
    async def sync(obj: Box, ctx: Context[Box]) -> None:
        await ctx.set_status(BoxStatus(available=1))

    async with operator.running(client, install_crds=False) as running:
        red, blue = box(namespace, name="red"), box(namespace)
        blue.metadata.labels = {"team": "blue"}
        await client.create(red)
        await client.create(blue)
        await until(lambda: _has(client, namespace, available=1))
        await settled(running)
        untouched = await find(client, Box, "red", namespace)
    assert untouched is not None
    assert untouched.status.available == 0


@pytest.mark.clusters("embedded")
async def test_logs_applied_undeclared_kind_once_per_controller(
    client: Client, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    operator = Operator("undeclared", namespaces=[namespace])
    operator.needs(core.ServiceAccount, verbs=["get", "create", "patch"])
    done: list[tuple[str, str]] = []

    def applying(controller: str) -> Callable[[Box, Context[Box]], Awaitable[None]]:
        async def apply_all(box: Box, ctx: Context[Box]) -> None:
            named = meta.ObjectMeta(name=f"{box.metadata.name}-{controller}")
            spec = core.ServiceSpec(ports=[core.ServicePort(port=80)])
            for obj in (
                core.ConfigMap(metadata=named),
                core.Secret(metadata=named),
                core.ServiceAccount(metadata=named),
            ):
                await ctx.apply(obj)
            await ctx.apply(core.Service(metadata=named, spec=spec))
            done.append((controller, box.metadata.name))

        return apply_all

    watches = [Watch(core.Service, map=lambda service: [])]
    operator.reconciles(Box, name="owner", owns=[core.ConfigMap, core.Secret], watches=watches)(applying("owner"))
    operator.reconciles(Box, name="other", owns=[core.Secret], reads=[core.ConfigMap], watches=watches)(
        applying("other")
    )

    async def both_done() -> bool:
        return {(controller, box) for controller in ("owner", "other") for box in ("a", "b")} <= {*done}

    async with operator.running(client):
        for name in ("a", "b"):
            await client.create(Box(metadata=meta.ObjectMeta(name=name, namespace=namespace), spec=BoxSpec()))
        await until(both_done)
    logged = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len(logged) == 1
    assert (
        "ctx.apply of a ConfigMap, which controller 'other' does not declare: changes and deletions of it trigger"
        in logged[0]
    )
    assert (
        "Add owns=[ConfigMap] where the controller is registered; or, if the object is only written, operator.needs"
        in (logged[0])
    )


async def test_changed_is_false_until_a_condition_is_written(
    client: Client, namespace: str, operator: Operator
) -> None:
    seen: list[tuple[bool, bool]] = []

    @operator.reconciles(Box)
    async def sync(obj: Box, ctx: Context[Box]) -> None:
        changes = ctx.set_condition("Ready", True, "Done")
        seen.append((changes, ctx.changed))

    async with operator.running(client, install_crds=False):
        await client.create(box(namespace))
        await client.wait_for(Box, "one", lambda one: is_condition_true(one.status, "Ready"), namespace)
    assert seen[0] == (True, False)
    assert not any(changed for _, changed in seen)


async def test_update_rejects_a_changed_status(client: Client, namespace: str, operator: Operator) -> None:
    raised: list[str] = []

    @operator.reconciles(Box)
    async def sync(obj: Box, ctx: Context[Box]) -> None:
        obj.status = BoxStatus(available=3)
        obj.metadata.labels = {"changed": "too"}
        try:
            await ctx.update(obj)
        except ValueError as error:
            raised.append(str(error))

    async with operator.running(client, install_crds=False) as running:
        created = await client.create(box(namespace))
        await settled(running, created)
    assert raised[0].startswith(f"update does not write the status of Box {namespace}/one, and its status was changed")
    assert "ctx.set_status(...) or ctx.patch_status(...)" in raised[0]
    assert not (await client.get(Box, "one", namespace)).metadata.labels


async def test_rejects_a_condition_that_is_set_after_the_reconcile_ended(
    client: Client, namespace: str, operator: Operator
) -> None:
    contexts: list[Context[Box]] = []

    @operator.reconciles(Box)
    async def sync(obj: Box, ctx: Context[Box]) -> None:
        contexts.append(ctx)

    async with operator.running(client, install_crds=False) as running:
        await settled(running, await client.create(box(namespace)))
        with pytest.raises(RuntimeError, match=r"condition 'Ready' of Box .*/one was set after its reconcile ended"):
            contexts[0].set_condition("Ready", True, "Late")
        with pytest.raises(RuntimeError, match="Await the task that sets it"):
            contexts[0].remove_condition("Ready")
