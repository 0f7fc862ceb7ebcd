"""Finalizers, on both clusters."""

from __future__ import annotations

import pytest

from kubewright.api import meta
from kubewright.cache import ObjectKey
from kubewright.client import Client, MergePatch
from kubewright.controller import BlockingContext, Context, Result, generation_changed
from kubewright.operator import Operator
from tests.operator.conftest import find, install, settled
from tests.operator.test_context import Box, BoxSpec, BoxStatus, definition
from tests.patience import until

pytestmark = pytest.mark.clusters

NAME = "context.example.com/box-operator"


@pytest.fixture(autouse=True)
async def definitions(client: Client) -> None:
    await install(client, definition("Box", "boxes", subresource=True))


@pytest.fixture
def operator(namespace: str) -> Operator:
    return Operator("box-operator", namespaces=[namespace])


def box(namespace: str) -> Box:
    return Box(metadata=meta.ObjectMeta(name="one", namespace=namespace), spec=BoxSpec(size=1))


async def gone(client: Client, namespace: str) -> bool:
    return await find(client, Box, "one", namespace) is None


@pytest.mark.promise(
    "What a reconciler works with",
    "A finalizer is there before the first reconcile and goes after the clean-up.",
)
async def test_the_finalizer_is_there_before_the_first_reconcile_and_gone_after_the_clean_up(
    operator: Operator, client: Client, namespace: str
) -> None:
    calls: list[tuple[str, list[str]]] = []

    @operator.reconciles(Box, when=generation_changed)
    async def sync(obj: Box, ctx: Context[Box]) -> None:
        live = await ctx.client.get(Box, "one", namespace)
        calls.append(("reconcile", live.metadata.finalizers))

    @operator.finalizes(Box)
    async def clean(obj: Box, ctx: Context[Box]) -> None:
        calls.append(("finalize", obj.metadata.finalizers))

    async with operator.running(client, install_crds=False) as running:
        made = await client.create(box(namespace))
        await settled(running, made)
        assert calls == [("reconcile", [NAME])]
        await client.delete(Box, "one", namespace)
        await until(lambda: gone(client, namespace))
        await settled(running)
    assert calls == [("reconcile", [NAME]), ("finalize", [NAME])]


@pytest.mark.promise(
    "What a reconciler works with",
    "The clean-up is repeated until it succeeds, also after a restart.",
)
async def test_the_clean_up_is_repeated_until_it_succeeds_and_says_that_it_is_done(
    operator: Operator, client: Client, namespace: str
) -> None:
    attempts: list[int] = []

    @operator.finalizes(Box)
    async def clean(obj: Box, ctx: Context[Box]) -> Result | None:
        attempts.append(ctx.attempt)
        assert not await gone(client, namespace)
        if len(attempts) == 1:
            raise ConnectionError("the other system is down")
        return Result(requeue_after=0.01) if len(attempts) == 2 else None

    async with operator.running(client, install_crds=False) as running:
        made = await client.create(box(namespace))
        await settled(running, made)
        await client.delete(Box, "one", namespace)
        await until(lambda: gone(client, namespace))
    assert attempts == [1, 2, 1]


@pytest.mark.promise(
    "What a reconciler works with",
    "The clean-up is repeated until it succeeds, also after a restart.",
)
async def test_an_object_deleted_while_the_operator_was_down_is_cleaned_up_at_the_next_start(
    operator: Operator, client: Client, namespace: str
) -> None:
    cleaned: list[int] = []

    @operator.finalizes(Box)
    def clean(obj: Box, ctx: BlockingContext[Box]) -> None:
        cleaned.append(obj.spec.size)

    async with operator.running(client, install_crds=False) as running:
        made = await client.create(box(namespace))
        await settled(running, made)
    await client.delete(Box, "one", namespace)
    assert not await gone(client, namespace)
    async with operator.running(client, install_crds=False):
        await until(lambda: gone(client, namespace))
    assert cleaned == [1]


@pytest.mark.promise("What a reconciler works with", "No finalizer is left behind, and none is added to what is going.")
async def test_removes_finalizer_after_a_concurrent_change(operator: Operator, client: Client, namespace: str) -> None:
    cleaned: list[str] = []

    @operator.finalizes(Box)
    async def clean(obj: Box, ctx: Context[Box]) -> None:
        cleaned.append(obj.metadata.name)
        await client.patch(Box, "one", MergePatch({"metadata": {"labels": {"changed": "yes"}}}), namespace)

    async with operator.running(client, install_crds=False) as running:
        made = await client.create(box(namespace))
        await settled(running, made)
        await client.delete(Box, "one", namespace)
        await until(lambda: gone(client, namespace))
        await settled(running)
    assert cleaned == ["one"], "the clean-up is not repeated for a label"


@pytest.mark.promise("What a reconciler works with", "No finalizer is left behind, and none is added to what is going.")
async def test_the_finalizers_of_others_keep_the_object_and_ours_is_not_added_again(
    operator: Operator, client: Client, namespace: str
) -> None:
    calls: list[str] = []

    @operator.reconciles(Box)
    async def sync(obj: Box, ctx: Context[Box]) -> None:
        calls.append("reconcile")
        await ctx.set_status(BoxStatus(available=1))

    @operator.finalizes(Box)
    async def clean(obj: Box, ctx: Context[Box]) -> None:
        calls.append("finalize")

    async with operator.running(client, install_crds=False) as running:
        theirs = box(namespace)
        theirs.metadata.finalizers = ["example.org/theirs"]
        made = await client.create(theirs)
        await settled(running, made)
        await client.delete(Box, "one", namespace)

        async def only_theirs() -> bool:
            found = await client.get(Box, "one", namespace)
            return found.metadata.finalizers == ["example.org/theirs"]

        await until(only_theirs)
        calls.clear()
        running.enqueue(Box, f"{namespace}/one")
        await settled(running)
        assert calls == [], "an object in deletion is neither reconciled nor finalized twice"
        await client.patch(Box, "one", MergePatch({"metadata": {"finalizers": []}}), namespace)
        await until(lambda: gone(client, namespace))


async def test_several_finalizers_are_called_in_turn_each_removed_after_its_own_success(
    operator: Operator, client: Client, namespace: str
) -> None:
    calls: list[tuple[str, list[str]]] = []

    @operator.finalizes(Box, name="example.com/disk")
    async def disk(obj: Box, ctx: Context[Box]) -> None:
        calls.append(("disk", (await client.get(Box, "one", namespace)).metadata.finalizers))

    @operator.finalizes(Box, name="example.com/address")
    async def address(obj: Box, ctx: Context[Box]) -> None:
        calls.append(("address", (await client.get(Box, "one", namespace)).metadata.finalizers))

    async with operator.running(client, install_crds=False) as running:
        made = await client.create(box(namespace))
        await settled(running, made)
        await client.delete(Box, "one", namespace)
        await until(lambda: gone(client, namespace))
    assert calls == [("disk", ["example.com/disk", "example.com/address"]), ("address", ["example.com/address"])]


async def test_the_class_form_may_have_its_finalizer_as_a_method(
    operator: Operator, client: Client, namespace: str
) -> None:
    calls: list[str] = []

    @operator.reconciles(Box, when=generation_changed)
    class Keeper:
        async def reconcile(self, obj: Box, ctx: Context[Box]) -> None:
            calls.append("reconcile")

        async def finalize(self, obj: Box, ctx: Context[Box]) -> None:
            calls.append("finalize")

    async with operator.running(client, install_crds=False) as running:
        made = await client.create(box(namespace))
        await settled(running, made)
        await client.delete(Box, "one", namespace)
        await until(lambda: gone(client, namespace))
    assert calls == ["reconcile", "finalize"]


async def test_the_key_form_is_finalized_too_and_still_called(
    operator: Operator, client: Client, namespace: str
) -> None:
    calls: list[tuple[str, bool]] = []

    @operator.reconciles(Box)
    async def sync(key: ObjectKey, ctx: Context[Box]) -> None:
        calls.append(("reconcile", ctx.get(Box, key.name) is not None))

    @operator.finalizes(Box)
    async def clean(obj: Box, ctx: Context[Box]) -> None:
        calls.append(("finalize", ctx.object is obj))

    async with operator.running(client, install_crds=False) as running:
        made = await client.create(box(namespace))
        await settled(running, made)
        assert ("reconcile", True) in calls
        await client.delete(Box, "one", namespace)

        async def end_is_recorded() -> bool:
            return calls[-1] == ("reconcile", False)

        await until(end_is_recorded)
    assert calls.count(("finalize", True)) == 1
