"""`ctx.apply_all`: children as a set, on both clusters."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest
import pytest_asyncio

import kubewright as kw
from kubewright.api import Object, batch, core, meta
from kubewright.client import Client, Invalid, MergePatch, Request, Response, Transport
from kubewright.cluster import Cluster
from kubewright.controller import Children
from kubewright.controller.children import ChildKey, in_order
from kubewright.operator import Operator
from tests.operator.conftest import find
from tests.patience import PATIENCE, until


class ShopSpec(kw.Model):
    names: str = ""


class ShopStatus(kw.Model):
    conditions: list[meta.Condition] | None = None


@kw.resource("children.example.com/v1")
class Shop(kw.Resource[ShopSpec, ShopStatus]):
    """Has a ConfigMap for each name."""


def shop(names: str, namespace: str) -> Shop:
    return Shop(metadata=meta.ObjectMeta(name="corner", namespace=namespace), spec=ShopSpec(names=names))


def config_map(name: str, namespace: str = "") -> core.ConfigMap:
    return core.ConfigMap(metadata=meta.ObjectMeta(name=name, namespace=namespace), data={"a": "b"})


def job(name: str) -> batch.Job:
    pod = core.PodSpec(restart_policy="Never", containers=[core.Container(name="main", image="a")])
    return batch.Job(
        metadata=meta.ObjectMeta(name=name), spec=batch.JobSpec(template=core.PodTemplateSpec(spec=pod), suspend=True)
    )


@pytest_asyncio.fixture
async def embedded() -> AsyncIterator[Client]:
    async with Cluster() as cluster, asyncio.timeout(PATIENCE), cluster.client() as client:
        yield client


Reconciler = Callable[[Shop, Any], Any]


def operator_with(namespace: str, reconcile: Reconciler, owns: Sequence[Any] = (core.ConfigMap,)) -> Operator:
    operator = Operator("shops", namespaces=[namespace])
    operator.reconciles(Shop, owns=list(owns))(reconcile)
    return operator


async def names_of(client: Client, namespace: str) -> list[str]:
    found = await client.list(core.ConfigMap, namespace)
    return sorted(one.metadata.name for one in found if one.metadata.name != "kube-root-ca.crt")


@pytest.mark.clusters
@pytest.mark.promise("Owned objects and `apply`", "apply_all prunes children that are no longer in the set.")
async def test_prunes_children_that_are_no_longer_in_the_set(client: Client, namespace: str) -> None:
    results: list[Children] = []

    async def sync(obj: Shop, ctx: kw.Context[Shop]) -> None:
        await ctx.apply(config_map("before"))
        children = [config_map(name) for name in obj.spec.names.split()]
        results.append(await ctx.apply_all(children, prune=True, condition="Ready"))

    async with asyncio.timeout(PATIENCE), operator_with(namespace, sync).running(client) as running:
        made = await client.create(shop("a b", namespace))
        await running.settled()
        assert await names_of(client, namespace) == ["a", "b", "before"]
        foreign = config_map("foreign", namespace)
        foreign.metadata.owner_references = [
            meta.OwnerReference(
                api_version="children.example.com/v1",
                kind="Shop",
                name="corner",
                uid=made.metadata.uid,
                controller=True,
            )
        ]
        await client.create(foreign)  # controlled by the shop, but applied by another program
        await client.create(config_map("unowned", namespace))
        await client.patch(Shop, "corner", MergePatch({"spec": {"names": "b c"}}), namespace)
        await running.settled()
        assert await names_of(client, namespace) == ["b", "before", "c", "foreign", "unowned"]
        assert sum(one.pruned for one in results) == 1
        current = await client.get(Shop, "corner", namespace)
        [ready] = current.status.conditions or []
        assert (ready.status, ready.reason, ready.message) == ("True", "Ready", "2 of 2 children are ready")
        await running.check_idempotent()


@pytest.mark.clusters
@pytest.mark.promise("Owned objects and `apply`", "A child with `after` is applied when those children are ready.")
async def test_applies_a_child_after_another_is_ready(client: Client, namespace: str) -> None:
    async def sync(obj: Shop, ctx: kw.Context[Shop]) -> None:
        first, second = job("first"), config_map("second")
        await ctx.apply_all([kw.Child(second, after=first), first], prune=True, condition="Ready")

    operator = operator_with(namespace, sync, [batch.Job, core.ConfigMap])
    async with asyncio.timeout(PATIENCE), operator.running(client) as running:
        await client.create(shop("", namespace))
        await running.settled()
        assert await names_of(client, namespace) == []
        [ready] = (await client.get(Shop, "corner", namespace)).status.conditions or []
        assert (ready.status, ready.reason) == ("False", "Progressing")
        assert ready.message == (
            f"0 of 2 children are ready; Job {namespace}/first: is not started; ConfigMap {namespace}/second: waits for"
            f" Job {namespace}/first"
        )
        await client.patch(batch.Job, "first", MergePatch({"status": done()}), namespace, subresource="status")
        await until(lambda: find(client, core.ConfigMap, "second", namespace))
        await running.settled()
        [ready] = (await client.get(Shop, "corner", namespace)).status.conditions or []
        assert (ready.status, ready.message) == ("True", "2 of 2 children are ready")


def done() -> dict[str, Any]:
    now = "2026-01-01T00:00:00Z"
    conditions = [
        {"type": kind, "status": "True", "lastTransitionTime": now, "lastProbeTime": now}
        for kind in ("SuccessCriteriaMet", "Complete")
    ]
    return {"startTime": now, "completionTime": now, "succeeded": 1, "conditions": conditions}


async def test_prunes_nothing_while_a_child_waits_or_fails(embedded: Client) -> None:
    error: Exception | None = None

    async def sync(obj: Shop, ctx: kw.Context[Shop]) -> None:
        kept = [config_map(name) for name in obj.spec.names.split()]
        waiting = kw.Child(config_map("waiting"), after=kept[:1])
        first = kw.Child(kept[0], ready=lambda found: obj.spec.names == "a b")
        await ctx.apply_all([first, *kept[1:], waiting], prune=error is None)
        if error is not None:
            raise error

    async with operator_with("default", sync).running(embedded) as running:
        await embedded.create(shop("a b", "default"))
        await running.settled()
        await embedded.patch(Shop, "corner", MergePatch({"spec": {"names": "a"}}), "default")
        await running.settled()
        assert await names_of(embedded, "default") == ["a", "b", "waiting"]


async def test_warns_once_about_children_that_nothing_deletes(
    embedded: Client, caplog: pytest.LogCaptureFixture
) -> None:
    async def sync(obj: Shop, ctx: kw.Context[Shop]) -> None:
        await ctx.apply_all([config_map(name) for name in obj.spec.names.split()])

    async with operator_with("default", sync).running(embedded) as running:
        await embedded.create(shop("a b", "default"))
        await running.settled()
        assert "is not applied any more" not in caplog.text
        await embedded.patch(Shop, "corner", MergePatch({"spec": {"names": "b"}}), "default")
        await running.settled()
        await running.check_idempotent()
    warnings = [one.getMessage() for one in caplog.records if "is not applied any more" in one.getMessage()]
    assert len(warnings) == 1
    assert "ConfigMap default/a was applied for this object earlier" in warnings[0]


async def test_does_not_warn_about_kinds_that_the_reconcile_prunes_itself(
    embedded: Client, caplog: pytest.LogCaptureFixture
) -> None:
    async def sync(obj: Shop, ctx: kw.Context[Shop]) -> None:
        children = [config_map(name) for name in obj.spec.names.split()]
        await ctx.apply_all(children)
        await ctx.prune([core.ConfigMap], keep=children)

    async with operator_with("default", sync).running(embedded) as running:
        await embedded.create(shop("a b", "default"))
        await running.settled()
        await embedded.patch(Shop, "corner", MergePatch({"spec": {"names": "b"}}), "default")
        await running.settled()
        assert await names_of(embedded, "default") == ["b"]
    assert "is not applied any more" not in caplog.text


@pytest.mark.parametrize(
    ("again", "message"),
    [
        (lambda ctx: ctx.apply(config_map("late")), "is applied after apply_all(prune=True), which would delete it"),
        (lambda ctx: ctx.apply_all([], prune=True), "may be called once in a reconcile: pass all children to one call"),
    ],
)
async def test_rejects_objects_that_the_next_reconcile_would_delete(
    embedded: Client, caplog: pytest.LogCaptureFixture, again: Callable[[Any], Any], message: str
) -> None:
    async def sync(obj: Shop, ctx: kw.Context[Shop]) -> None:
        await ctx.apply_all([config_map("a")], prune=True)
        await again(ctx)

    async with operator_with("default", sync).running(embedded):
        await embedded.create(shop("", "default"))

        async def is_logged() -> bool:
            return message in caplog.text

        await until(is_logged)


async def test_rejects_pruning_of_kinds_that_another_controller_owns(
    embedded: Client, caplog: pytest.LogCaptureFixture
) -> None:
    async def sync(obj: Shop, ctx: kw.Context[Shop]) -> None:
        await ctx.apply_all([config_map("a")], prune=True)

    operator = operator_with("default", sync)

    @operator.reconciles(Shop, name="second", owns=[core.ConfigMap])
    async def second(obj: Shop, ctx: kw.Context[Shop]) -> None: ...

    async with operator.running(embedded):
        await embedded.create(shop("", "default"))

        async def is_logged() -> bool:
            return "two controllers of Shop own ConfigMap" in caplog.text

        await until(is_logged)


async def test_works_in_a_plain_function(embedded: Client) -> None:
    def sync(obj: Shop, ctx: kw.BlockingContext[Shop]) -> None:
        assert ctx.apply_all([config_map("a")], prune=True).ready

    async with operator_with("default", sync).running(embedded) as running:
        await embedded.create(shop("", "default"))
        await running.settled()
        assert await names_of(embedded, "default") == ["a"]
        assert not running.controllers[0].stats.reconciles["error"]


class Gate:
    """A transport that holds creates of ConfigMaps until `expected` of them are in flight."""

    def __init__(self, inner: Transport, expected: int) -> None:
        self._inner = inner
        self._expected = expected
        self._open = asyncio.Event()
        self._in_flight = 0
        self.most = 0

    async def send(self, request: Request) -> Response:
        if (request.verb, request.resource) != ("create", "configmaps"):
            return await self._inner.send(request)
        self._in_flight += 1
        self.most = max(self.most, self._in_flight)
        if self._in_flight >= self._expected:
            self._open.set()
        await self._open.wait()
        try:
            return await self._inner.send(request)
        finally:
            self._in_flight -= 1

    async def close(self) -> None:
        """Does nothing: the connections belong to the wrapped transport."""


@pytest.mark.promise(
    "What a reconciler works with", "`apply_all` applies independent children concurrently, eight at a time."
)
async def test_applies_independent_children_concurrently_and_bounded(embedded: Client) -> None:
    names = [f"child-{number:02}" for number in range(20)]
    gates: list[Gate] = []

    def gated(inner: Transport) -> Transport:
        gates.append(Gate(inner, 8))
        return gates[-1]

    async def sync(obj: Shop, ctx: kw.Context[Shop]) -> None:
        children = await ctx.apply_all([config_map(name) for name in names], prune=True)
        assert [one.metadata.name for one in children.objects] == names

    async with operator_with("default", sync).running(embedded.through(gated)) as running:
        await embedded.create(shop("", "default"))
        await running.settled()
        assert not running.controllers[0].stats.reconciles["error"]
    assert await names_of(embedded, "default") == names
    assert gates[0].most == 8


async def test_raises_one_error_after_all_independent_children_were_applied(embedded: Client) -> None:
    raised: list[Exception] = []

    async def sync(obj: Shop, ctx: kw.Context[Shop]) -> None:
        children: list[Object] = [config_map("Bad_1"), config_map("good"), config_map("Bad_2"), job("later")]
        try:
            await ctx.apply_all(children, prune=True)
        except Exception as error:
            raised.append(error)
            raise kw.TerminalError("stop") from error

    async with operator_with("default", sync, owns=(core.ConfigMap, batch.Job)).running(embedded) as running:
        await embedded.create(shop("", "default"))
        await running.settled()
    assert await names_of(embedded, "default") == ["good"]
    assert await embedded.list(batch.Job, "default") == []
    assert isinstance(raised[0], Invalid)
    assert "Bad_1" in str(raised[0])
    [note] = raised[0].__notes__
    assert note.startswith("ConfigMap default/Bad_2 failed, too: Invalid: ")


def test_order_of_children() -> None:
    a, b, c = config_map("a"), config_map("b"), config_map("c")
    ordered = in_order([kw.Child(a, after=[c]), b, c], ChildKey.of)
    assert [[one.key.key.name for one in group] for group in ordered] == [["b", "c"], ["a"]]
    namespace = core.Namespace(metadata=meta.ObjectMeta(name="n"))
    ordered = in_order([job("j"), a, namespace, b], ChildKey.of)
    assert [[one.key.key.name for one in group] for group in ordered] == [["n"], ["a", "b"], ["j"]]
    with pytest.raises(ValueError, match="two children ConfigMap a"):
        in_order([a, config_map("a")], ChildKey.of)
    with pytest.raises(ValueError, match="ConfigMap a is applied after ConfigMap c, which is not in the set"):
        in_order([kw.Child(a, after=[c])], ChildKey.of)
    with pytest.raises(ValueError, match="children wait for each other: ConfigMap"):
        in_order([kw.Child(a, after=[b]), kw.Child(b, after=[a])], ChildKey.of)
    with pytest.raises(TypeError, match="apply_all takes a list of children"):
        in_order(a, ChildKey.of)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Child takes an object"):
        in_order([core.ConfigMap], ChildKey.of)  # type: ignore[list-item]
