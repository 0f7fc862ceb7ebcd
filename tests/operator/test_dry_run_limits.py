"""The limits of dry runs of operators: failures, refusals, and what is not shown; on both clusters."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

import kubewright as kw
from kubewright.api import core, meta
from kubewright.client import Client, MergePatch, Request, Response
from kubewright.crd import install
from kubewright.operator import DryRunRefused, Operator
from tests.operator.conftest import find
from tests.operator.test_dry_run import Shop, ShopSpec, Till, operator_in, shop, shop_operator, summary
from tests.transports.disturbed import Disturbed
from tests.transports.scripted import status_response

pytestmark = pytest.mark.clusters


@pytest.fixture(autouse=True)
async def definitions(client: Client) -> None:
    await install(client, Shop, Till)


async def test_reports_failures_rejections_and_reconciles_that_are_never_quiet(client: Client, namespace: str) -> None:
    operator = operator_in(namespace)
    counts: dict[str, int] = {}

    @operator.reconciles(Shop, owns=[core.ConfigMap])
    async def sync(obj: Shop, ctx: kw.Context[Shop]) -> None:
        name = obj.metadata.name
        counts[name] = counts.get(name, 0) + 1
        if name == "broken":
            raise RuntimeError("the roof leaks")
        if name == "rejected":
            await ctx.apply(core.ConfigMap(metadata=meta.ObjectMeta(name="Bad Name")))
        if name == "waiting":
            raise kw.RetryLater("the baker is late", after="60s")
        if name == "restless":
            await ctx.apply(core.ConfigMap(metadata=meta.ObjectMeta(name="clock"), data={"n": str(counts[name])}))

    for name in ("broken", "rejected", "waiting", "restless", "fine"):
        await client.create(Shop(metadata=meta.ObjectMeta(name=name, namespace=namespace), spec=ShopSpec()))
    report = await operator.dry_run(client)
    errors = {failure.name: failure.error for failure in report.failures}
    assert sorted(errors) == ["broken", "rejected", "restless"]
    assert "the roof leaks" in errors["broken"]
    assert "Bad Name" in errors["rejected"]
    assert errors["restless"] == "still changes something after 10 reconciles"
    assert [(one.name, one.error) for one in report.waiting] == [("waiting", "RetryLater: the baker is late")]
    assert counts["restless"] <= 11
    assert report.reconciled == 5


async def test_refuses_writes_that_cannot_be_dry_runs(client: Client, namespace: str) -> None:
    operator = operator_in(namespace)
    operator.needs(core.ConfigMap, verbs=["deletecollection"])

    @operator.reconciles(Shop)
    async def sync(obj: Shop, ctx: kw.Context[Shop]) -> None:
        await ctx.client.delete_collection(core.ConfigMap, namespace)

    await client.create(core.ConfigMap(metadata=meta.ObjectMeta(name="kept", namespace=namespace)))
    await client.create(shop(namespace))
    report = await operator.dry_run(client)
    [failure] = report.failures
    assert "not sent, because a dry run cannot show it" in failure.error
    assert await find(client, core.ConfigMap, "kept", namespace) is not None


async def test_reports_an_object_that_may_not_be_read(client: Client, namespace: str) -> None:
    def hide(request: Request) -> Response | None:
        is_read = (request.verb, request.resource) == ("get", "configmaps")
        return status_response(403, "Forbidden", "configmaps is forbidden") if is_read else None

    operator = operator_in(namespace)
    operator.needs(core.ConfigMap, verbs=["get", "patch"])

    @operator.reconciles(Shop)
    async def sync(obj: Shop, ctx: kw.Context[Shop]) -> None:
        await ctx.client.patch(core.ConfigMap, "hidden", MergePatch({"data": {"a": "1"}}), namespace)

    await client.create(core.ConfigMap(metadata=meta.ObjectMeta(name="hidden", namespace=namespace)))
    await client.create(shop(namespace))
    report = await operator.dry_run(client.through(lambda inner: Disturbed(inner, hide)))
    [failure] = report.failures
    assert "Forbidden" in failure.error
    assert report.changes == ()


async def test_says_what_it_does_not_show(client: Client, namespace: str) -> None:
    operator = shop_operator(namespace)

    @operator.every(Shop, "30s")
    async def poll(obj: Shop, ctx: kw.Context[Shop]) -> None:
        raise AssertionError("timers do not run")

    made = shop(namespace)
    made.metadata.finalizers = ["dry.example.com/shop-operator"]
    await client.create(made)
    await client.delete(Shop, "corner", namespace)
    held = Shop(
        metadata=meta.ObjectMeta(name="held", namespace=namespace, annotations={"kubewright.dev/paused": "true"}),
        spec=ShopSpec(),
    )
    await client.create(held)
    report = await operator.dry_run(client)
    assert report.failures == ()
    assert report.not_shown == (
        "1 object of shop is being deleted; finalizers did not run",
        "1 object of shop is paused",
        "the timer shop-poll did not run",
    )
    assert list(summary(report)) == ["update Shop held"]  # the condition Paused
    await client.patch(Shop, "corner", MergePatch({"metadata": {"finalizers": []}}), namespace)


async def test_plain_reconcilers_can_run_dry(client: Client, namespace: str) -> None:
    operator = operator_in(namespace)

    @operator.reconciles(Shop, owns=[core.ConfigMap])
    def sync(obj: Shop, ctx: kw.BlockingContext[Shop]) -> None:
        ctx.apply(core.ConfigMap(metadata=meta.ObjectMeta(name="plain")))

    await client.create(shop(namespace))
    report = await operator.dry_run(client)
    assert list(summary(report)) == ["create ConfigMap plain"]


async def test_refuses_an_operator_that_does_not_declare_its_external_calls(client: Client) -> None:
    operator = Operator("shop-operator")

    @operator.reconciles(Shop)
    async def sync(obj: Shop, ctx: kw.Context[Shop]) -> None: ...

    with pytest.raises(DryRunRefused, match="operator shop-operator does not declare its external calls"):
        await operator.dry_run(client)


async def test_uses_the_declared_replacement_of_a_dependency(client: Client, namespace: str) -> None:
    operator = Operator("shop-operator", namespaces=[namespace], external_calls="provided")

    async def fake_bank() -> AsyncIterator[str]:
        yield "fake"

    @operator.provides(dry_run=fake_bank)
    async def bank() -> AsyncIterator[str]:
        raise AssertionError("the real dependency does not start")
        yield ""

    @operator.provides(dry_run="same")
    async def prices() -> AsyncIterator[str]:
        yield "real"

    @operator.reconciles(Shop, owns=[core.ConfigMap])
    async def sync(obj: Shop, ctx: kw.Context[Shop]) -> None:
        data = {"bank": ctx.use(bank), "prices": ctx.use(prices)}
        await ctx.apply(core.ConfigMap(metadata=meta.ObjectMeta(name="used"), data=data))

    await client.create(shop(namespace))
    shown = summary(await operator.dry_run(client))["create ConfigMap used"]
    assert (shown["add data.bank"], shown["add data.prices"]) == ("fake", "real")

    @operator.provides
    async def oven() -> AsyncIterator[str]:
        yield "hot"

    with pytest.raises(DryRunRefused, match="the dependency oven of operator shop-operator does not declare"):
        await operator.dry_run(client)
