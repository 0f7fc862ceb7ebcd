"""`Applier.apply` while another client keeps overwriting its fields, on both clusters."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from kubewright.api import apps, core
from kubewright.client import JsonPatch
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster
from kubewright.controller import Applier, WriteConflict
from kubewright.testing import RealCluster
from tests.controller.apply_bench import MANAGER, Bench, config_map, deployment, open_bench

pytestmark = pytest.mark.clusters

THEIRS = {"data": {"a": "theirs"}}


@pytest_asyncio.fixture
async def bench(cluster: Cluster | RealCluster, namespace: str, clock: VirtualClock) -> AsyncIterator[Bench]:
    async with open_bench(cluster, namespace) as opened:
        opened.applier = Applier(opened.client, opened.mirror, field_manager=MANAGER, clock=clock)
        yield opened


async def restore(bench: Bench, times: int) -> None:
    """Applies the same content `times` times after another client overwrote it, which then overwrites it once more."""
    await bench.applier.apply(bench.owner, config_map(a="1"))
    for _ in range(times):
        await bench.edit(core.ConfigMap, "child", THEIRS)
        assert (await bench.applier.apply(bench.owner, config_map(a="1"))).written
    await bench.edit(core.ConfigMap, "child", THEIRS)


async def paused(bench: Bench) -> WriteConflict:
    """Returns the error of an apply during the pause."""
    with pytest.raises(WriteConflict) as raised:
        await bench.applier.apply(bench.owner, config_map(a="1"))
    return raised.value


async def test_pauses_after_five_restores_of_overwritten_fields(bench: Bench) -> None:
    await restore(bench, 5)
    error = await paused(bench)
    assert (error.managers, error.fields, error.retry_after) == (("others",), ("data.a",), 10)
    assert str(error).startswith(
        f"write conflict on ConfigMap {bench.namespace}/child: field manager 'others' keeps changing data.a, and it was"
        " restored 5 times. It is not written for 10s."
    )
    assert bench.sent() == ["get configmaps"]
    assert (await paused(bench)).managers == ("others",)
    assert bench.sent() == []
    assert (await bench.live(core.ConfigMap, "child")).data == {"a": "theirs"}


async def test_always_writes_changed_content(bench: Bench) -> None:
    await restore(bench, 5)
    await paused(bench)
    for number in range(20):
        assert (await bench.applier.apply(bench.owner, config_map(a=str(number)))).written
        await bench.edit(core.ConfigMap, "child", THEIRS)


async def test_ends_when_the_other_client_stops(bench: Bench, clock: VirtualClock) -> None:
    await restore(bench, 5)
    await paused(bench)
    await bench.edit(core.ConfigMap, "child", {"data": {"a": "1"}})
    await clock.advance(10)
    await bench.applier.apply(bench.owner, config_map(a="1"))
    await clock.advance(700)
    await restore(bench, 4)


async def test_does_not_count_failed_writes(bench: Bench) -> None:
    await restore(bench, 0)

    def lose() -> None:
        raise ConnectionError("the server is away")

    for _ in range(10):
        bench.before("patch", lose)
        with pytest.raises(ConnectionError):
            await bench.applier.apply(bench.owner, config_map(a="1"))
    assert (await bench.applier.apply(bench.owner, config_map(a="1"))).written


async def test_names_fields_in_keyed_lists(bench: Bench) -> None:
    def asked() -> apps.Deployment:
        return deployment(ports=[core.ContainerPort(container_port=80, name="web")])

    image = {"spec": {"replicas": 3, "template": {"spec": {"containers": [{"name": "web", "image": "theirs"}]}}}}
    await bench.applier.apply(bench.owner, asked())
    for _ in range(5):
        await bench.edit(apps.Deployment, "web", image)
        await bench.applier.apply(bench.owner, asked())
    await bench.edit(apps.Deployment, "web", image)
    with pytest.raises(WriteConflict) as raised:
        await bench.applier.apply(bench.owner, asked())
    assert sorted(raised.value.fields) == ["spec.replicas", "spec.template.spec.containers[name=web].image"]


async def test_names_a_field_that_another_client_removes(bench: Bench) -> None:
    for _ in range(6):
        await bench.applier.apply(bench.owner, config_map(a="1", b="2"))
        await bench.client.patch(core.ConfigMap, "child", JsonPatch([{"op": "remove", "path": "/data/b"}]))
        await bench.look(core.ConfigMap, "child")
    with pytest.raises(WriteConflict, match=r"child: another client keeps changing data\.b") as raised:
        await bench.applier.apply(bench.owner, config_map(a="1", b="2"))
    assert (raised.value.managers, raised.value.fields) == ((), ("data.b",))


async def test_names_a_second_copy_of_this_operator(bench: Bench, clock: VirtualClock) -> None:
    copy = Applier(bench.client, bench.mirror, field_manager=MANAGER, clock=clock)
    for _ in range(6):
        await bench.applier.apply(bench.owner, config_map(a="1"))
        await copy.apply(bench.owner, config_map(a="2"))
    assert (await paused(bench)).managers == (MANAGER,)


async def alternate(bench: Bench, rounds: int) -> None:
    """Two objects of one operator apply different content to one child, in turn."""
    for _ in range(rounds):
        for writer in ("one", "two"):
            assert (await bench.applier.apply(None, config_map(a=writer), writer=writer)).written


async def test_counts_content_that_two_objects_of_one_operator_alternate(bench: Bench, clock: VirtualClock) -> None:
    await alternate(bench, 6)  # each writes once, and restores its own content five times
    with pytest.raises(WriteConflict) as raised:
        await bench.applier.apply(None, config_map(a="one"), writer="one")
    error = raised.value
    assert (error.fields, error.retry_after) == (("data.a",), 10)
    assert "this operator also applies it for two, with another value of data.a" in str(error)
    assert "give each its own name" in str(error)
    await clock.advance(10)
    assert (await bench.applier.apply(None, config_map(a="one"), writer="one")).written


async def test_never_holds_up_one_writer_whose_own_content_alternates(bench: Bench) -> None:
    for _ in range(20):
        for value in ("on", "off"):
            assert (await bench.applier.apply(None, config_map(a=value), writer="one")).written


async def test_writes_changed_content_of_one_of_two_writers_in_conflict(bench: Bench) -> None:
    await alternate(bench, 6)
    with pytest.raises(WriteConflict):
        await bench.applier.apply(None, config_map(a="one"), writer="one")
    assert (await bench.applier.apply(None, config_map(a="changed"), writer="one")).written
