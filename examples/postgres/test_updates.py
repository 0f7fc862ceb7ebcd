"""Tests of rolling updates and switch-overs on planned pods, without a database."""

from __future__ import annotations

from postgres_operator.kinds import State
from worlds import NAMESPACE, World, created

pytest_plugins = ["postgres_fixtures"]

NAME = "acid-minimal-cluster"


async def test_moves_the_primary_before_a_scale_down(world: World) -> None:
    async with world.operator():
        await created(world, number_of_instances=3)
        world.engine.elect(f"{NAMESPACE}/{NAME}", f"{NAME}-2")
        await world.until(lambda found: found.status.primary == f"{NAME}-2")
        await world.patch({"spec": {"numberOfInstances": 2}})
        cluster = await world.until_state(State.RUNNING)
        assert cluster.status.primary == f"{NAME}-0"
        assert f"switchover {NAME}-2 {NAME}-0" in world.engine.calls


async def test_replaces_replicas_first_then_switches_over(world: World) -> None:
    async with world.operator():
        await created(world, number_of_instances=3)
        before = {pod.metadata.name: pod.metadata.uid for pod in await world.pods()}
        world.cluster.lab.journal  # noqa: B018  # starts the journal
        await world.patch({"spec": {"dockerImage": "spilo:new"}})
        cluster = await world.until_state(State.RUNNING)
        deleted = [
            entry.name
            for entry in world.cluster.lab.journal
            if entry.user == "operator" and entry.verb == "delete" and entry.resource == "pods"
        ]
        assert deleted == [f"{NAME}-2", f"{NAME}-1", f"{NAME}-0"]
        assert world.engine.calls.count(f"switchover {NAME}-0 {NAME}-1") == 1
        assert cluster.status.primary == f"{NAME}-1"
        after = await world.pods()
        assert {pod.spec.containers[0].image for pod in after} == {"spilo:new"}
        assert all(before[pod.metadata.name] != pod.metadata.uid for pod in after)


async def test_replaces_pods_after_a_failover_during_the_update(world: World) -> None:
    async with world.operator():
        await created(world, number_of_instances=3)
        await world.patch({"spec": {"dockerImage": "spilo:new"}})
        await world.until(lambda found: found.status.state is State.UPDATING)
        world.engine.elect(f"{NAMESPACE}/{NAME}", f"{NAME}-1")
        await world.until_state(State.RUNNING)
        images = {pod.spec.containers[0].image for pod in await world.pods()}
        assert images == {"spilo:new"}


async def test_rolling_update_continues_soon_after_a_member_has_started(world: World) -> None:
    async with world.operator():
        await created(world)
        world.engine.starting.add(f"{NAME}-1")
        await world.patch({"spec": {"dockerImage": "spilo:2"}})
        await world.until(lambda found: f"{NAME}-1 is not running" in (found.status.message or ""))
        world.engine.starting.clear()  # no object changes
        before = world.clock.monotonic()
        await world.until_state(State.RUNNING)
        assert world.clock.monotonic() - before < 60, "far less than the repair period"
        assert {pod.spec.containers[0].image for pod in await world.pods()} == {"spilo:2"}


async def test_waits_until_patroni_accepts_a_switch_over(world: World) -> None:
    async with world.operator():
        await created(world)
        world.engine.refuses_switchover = True
        await world.patch({"spec": {"dockerImage": "spilo:new"}})
        waiting = await world.until(lambda found: "cannot move" in (found.status.message or ""))
        assert waiting.status.state is State.UPDATING
        assert await world.events("Switchover") == []
        world.engine.refuses_switchover = False
        await world.until_state(State.RUNNING)
        assert await world.events("Switchover") == [f"moved the primary from {NAME}-0 to {NAME}-1"]


async def test_returns_from_a_broken_image(world: World) -> None:
    async with world.operator():
        await created(world)
        world.broken.add("spilo:broken")
        await world.patch({"spec": {"dockerImage": "spilo:broken"}})
        waiting = await world.until(lambda found: "is not ready" in (found.status.message or ""))
        assert (waiting.status.state, waiting.status.primary) == (State.UPDATING, f"{NAME}-0")  # still served
        await world.patch({"spec": {"dockerImage": "spilo:good"}})
        await world.until_state(State.RUNNING)
        assert {pod.spec.containers[0].image for pod in await world.pods()} == {"spilo:good"}


async def test_restarts_members_for_parameters_that_need_it(world: World) -> None:
    async with world.operator():
        await created(world)
        await world.clock.advance(60)  # the members are settled
        pods = {pod.metadata.uid for pod in await world.pods()}
        await world.patch({"spec": {"postgresql": {"parameters": {"max_connections": "50"}}}})
        await world.until_state(State.RUNNING)
        await world.clock.advance(60)
        [database] = world.engine.databases
        assert database.pending == []
        assert [call for call in world.engine.calls if not call.startswith("synchronize")] == [
            f"restart {NAME}-1",
            f"switchover {NAME}-0 {NAME}-1",
            f"restart {NAME}-0",
        ]
        assert {pod.metadata.uid for pod in await world.pods()} == pods


async def test_primary_that_notices_its_restart_first_waits_for_its_replicas(world: World) -> None:
    async with world.operator():
        await created(world)
        await world.clock.advance(60)  # the members are settled
        world.engine.loading.add(f"{NAME}-1")
        await world.patch({"spec": {"postgresql": {"parameters": {"max_connections": "50"}}}})
        waiting = await world.until(lambda found: "the replicas load" in (found.status.message or ""))
        assert waiting.status.state is State.UPDATING
        world.engine.loading.clear()
        await world.until_state(State.RUNNING)
        assert [call for call in world.engine.calls if not call.startswith("synchronize")] == [
            f"restart {NAME}-1",
            f"switchover {NAME}-0 {NAME}-1",
            f"restart {NAME}-0",
        ]
