"""`Applier.apply` with a cache that stays wrong, as if its watch were broken, on both clusters."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from kubewright.api import core, meta
from kubewright.client import AlreadyExists, MergePatch, Status
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster
from kubewright.controller import Applier, BeingDeleted, NotOwned, Outdated
from kubewright.testing import RealCluster
from tests.controller.apply_bench import MANAGER, Bench, config_map, open_bench

pytestmark = pytest.mark.clusters


@pytest_asyncio.fixture
async def bench(cluster: Cluster | RealCluster, namespace: str, clock: VirtualClock) -> AsyncIterator[Bench]:
    async with open_bench(cluster, namespace) as opened:
        opened.applier = Applier(opened.client, opened.mirror, field_manager=MANAGER, clock=clock)
        yield opened


def refuse() -> None:
    raise AlreadyExists(Status(code=409, reason="AlreadyExists", message="it exists"))


def mismatch_messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "kubewright.controller"]


async def test_reads_an_object_that_the_cache_never_sees(
    bench: Bench, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    await bench.client.create(config_map(theirs="x"))
    bench.sent()
    sent = []
    for _ in range(4):
        with pytest.raises(NotOwned):
            await bench.applier.apply(bench.owner, config_map(a="1"))
        sent.append(bench.sent())
        await clock.advance(6)
    assert sent == [["create configmaps", "get configmaps"], *[["get configmaps"]] * 3]
    assert mismatch_messages(caplog) == [
        f"the cache of ConfigMap and the server have contradicted each other for 12s, for example about"
        f" {bench.namespace}/child: the watch may be broken. Such objects are read from the server until the two agree"
    ]


async def test_applies_our_own_object_that_the_cache_never_sees(bench: Bench) -> None:
    for a in ("1", "2", "3"):
        bench.mirror.snapshots.clear()
        assert (await bench.applier.apply(bench.owner, config_map(a=a))).object.data == {"a": a}


async def test_recreates_an_object_that_only_the_cache_still_has(bench: Bench) -> None:
    made = (await bench.applier.apply(bench.owner, config_map(a="1"))).object
    await bench.client.delete(core.ConfigMap, "child")
    with pytest.raises(Outdated):
        await bench.applier.apply(bench.owner, config_map(a="2"))
    again = (await bench.applier.apply(bench.owner, config_map(a="2"))).object
    assert again.data == {"a": "2"}
    assert again.metadata.uid != made.metadata.uid


async def test_recreates_an_object_that_is_in_deletion_only_in_the_cache(bench: Bench) -> None:
    asked = config_map(a="1")
    asked.metadata.finalizers = ["example.com/wait"]
    await bench.applier.apply(bench.owner, asked)
    await bench.client.delete(core.ConfigMap, "child")
    await bench.look(core.ConfigMap, "child")
    await bench.client.patch(core.ConfigMap, "child", MergePatch({"metadata": {"finalizers": None}}))
    with pytest.raises(BeingDeleted):
        await bench.applier.apply(bench.owner, config_map(a="1"))
    assert (await bench.applier.apply(bench.owner, config_map(a="1"))).written


async def test_reads_an_object_before_refusing_it_twice_as_not_owned(bench: Bench) -> None:
    await bench.applier.apply(bench.owner, config_map(a="0"))
    await bench.applier.apply(bench.owner, config_map(a="1"))

    async def give_to(name: str, uid: str) -> None:
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid, "controller": True}
        await bench.client.patch(core.ConfigMap, "child", MergePatch({"metadata": {"ownerReferences": [reference]}}))

    await give_to("rival", "rival")
    await bench.look(core.ConfigMap, "child")
    await give_to("parent", bench.owner.metadata.uid)
    with pytest.raises(NotOwned, match="rival"):
        await bench.applier.apply(bench.owner, config_map(a="2"))
    assert (await bench.applier.apply(bench.owner, config_map(a="2"))).written


async def test_reports_a_server_that_contradicts_itself(
    bench: Bench, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(4):
        bench.before("create", refuse)
        with pytest.raises(Outdated, match=r"ConfigMap .*/child was not found on the server, but existed"):
            await bench.applier.apply(bench.owner, config_map(a="1"))
        assert bench.sent().count("create configmaps") == 1
        await clock.advance(6)
    assert mismatch_messages(caplog) == [
        f"the cache of ConfigMap and the server have contradicted each other for 12s, for example about"
        f" {bench.namespace}/child: the watch may be broken. Such objects are read from the server until the two agree"
    ]


async def test_trusts_the_cache_again_once_it_agrees(bench: Bench) -> None:
    await bench.client.create(config_map(theirs="x"))
    for seen in (False, True):
        if seen:
            await bench.look(core.ConfigMap, "child")
        with pytest.raises(NotOwned):
            await bench.applier.apply(bench.owner, config_map(a="1"))
    bench.sent()
    await bench.applier.apply(bench.owner, config_map(a="1"), adopt=True)
    bench.sent()
    await bench.applier.apply(bench.owner, config_map(a="1"))
    assert bench.sent() == []


async def test_compares_concurrent_reads_independently(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    await bench.client.create(config_map(theirs="x"))
    with pytest.raises(NotOwned):
        await bench.applier.apply(bench.owner, config_map(a="1"))
    await bench.look(core.ConfigMap, "child")
    get, both_look = bench.client.get, asyncio.Barrier(2)

    async def get_together(kind: type[core.ConfigMap], name: str, namespace: str) -> core.ConfigMap:
        async with both_look:
            return await get(kind, name, namespace)

    monkeypatch.setattr(bench.client, "get", get_together)
    both = [bench.applier.apply(bench.owner, config_map(a="1")) for _ in range(2)]
    refusals = await asyncio.gather(*both, return_exceptions=True)
    assert [type(refusal) for refusal in refusals] == [NotOwned, NotOwned]


async def test_does_not_report_a_refusal_by_a_correct_cache(
    bench: Bench, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    await bench.client.create(core.ConfigMap(metadata=meta.ObjectMeta(name="child", finalizers=["example.com/wait"])))
    await bench.client.delete(core.ConfigMap, "child")
    await bench.look(core.ConfigMap, "child")
    with pytest.raises(BeingDeleted):
        await bench.applier.apply(bench.owner, config_map(a="1"))
    await clock.advance(3600)
    await bench.client.patch(core.ConfigMap, "child", MergePatch({"metadata": {"finalizers": None}}))
    await bench.client.create(config_map(theirs="x"))
    with pytest.raises(NotOwned):
        await bench.applier.apply(bench.owner, config_map(a="1"))
    assert mismatch_messages(caplog) == []


async def test_a_doubt_is_over_when_both_say_that_there_is_none(
    bench: Bench, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        bench.before("create", refuse)
        with pytest.raises(Outdated):
            await bench.applier.apply(bench.owner, config_map(a="1"))
        await clock.advance(3600)
    assert mismatch_messages(caplog) == []
