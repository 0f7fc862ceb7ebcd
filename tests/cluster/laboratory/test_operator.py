"""An operator survives each single fault: whichever of its writes fails, before or after it is committed."""

from __future__ import annotations

from typing import Any

import pytest

import kubewright as kw
from kubewright.api import core, meta
from kubewright.client import Client, MergePatch
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster, User
from kubewright.cluster.laboratory import Fault
from kubewright.crd import install
from kubewright.operator import Running

OPERATOR = User("lamp-operator", ("system:masters",))
ENOUGH = 40  # writes; far more than the operator needs


class LampSpec(kw.Model):
    watts: int = 0


class LampStatus(kw.Model):
    watts: int = 0
    parts: int = 0


@kw.resource("lamps.example.com/v1")
class Lamp(kw.Resource[LampSpec, LampStatus]):
    """Owns a bulb and a switch, which are ConfigMaps, and an external account that must be closed."""


def make_operator(clock: VirtualClock, accounts: set[str]) -> kw.Operator:
    operator = kw.Operator("lamp-operator", clock=clock)

    @operator.reconciles(Lamp, owns=[core.ConfigMap])
    async def sync(lamp: Lamp, ctx: kw.Context[Lamp]) -> None:
        accounts.add(lamp.metadata.name)
        for part in ("bulb", "switch"):
            wanted = meta.ObjectMeta(name=f"{lamp.metadata.name}-{part}")
            await ctx.apply(core.ConfigMap(metadata=wanted, data={"watts": str(lamp.spec.watts)}))
        await ctx.set_status(LampStatus(watts=lamp.spec.watts, parts=2))
        if ctx.changed:
            ctx.record("Lit", "the lamp is lit")

    @operator.finalizes(Lamp)
    async def close(lamp: Lamp, ctx: kw.Context[Lamp]) -> None:
        accounts.discard(lamp.metadata.name)

    return operator


async def shown(client: Client) -> dict[str, Any]:
    """Returns everything that the operator manages, without values that differ from run to run."""
    found: dict[str, Any] = {}
    for lamp in await client.list(Lamp):
        status = (lamp.status.watts, lamp.status.parts)
        found[f"lamp {lamp.metadata.name}"] = (status, tuple(lamp.metadata.finalizers))
    for part in await client.list(core.ConfigMap, "default"):
        owners = [(owner.kind, owner.name, owner.controller) for owner in part.metadata.owner_references]
        if owners:
            found[f"part {part.metadata.name}"] = (part.data, owners)
    return found


async def quiet(clock: VirtualClock, running: Running) -> None:
    """Waits until no work is pending: in the caches, in the queue, or delayed."""
    while True:
        await clock.sleep(30)  # longer than any backoff that a single fault causes
        if all(controller.idle and not controller.queue.keys() for controller in running.controllers):
            return


async def story(status: Any = 500, nth: int = 10**6, *, committed: bool = False) -> tuple[list[Any], Fault]:
    """Creates two lamps, changes one and deletes one, while the n-th write of the operator fails."""
    clock = VirtualClock()
    accounts: set[str] = set()
    async with Cluster(clock=clock, seed="lamps") as cluster:
        client = cluster.client()
        await install(client, Lamp)
        fault = cluster.lab.fail(user=OPERATOR.name, nth=nth, status=status, committed=committed)
        seen = []
        async with make_operator(clock, accounts).running(cluster.client(user=OPERATOR), install_crds=False) as running:
            for name in ("hall", "attic"):
                place = meta.ObjectMeta(name=name, namespace="default")
                await client.create(Lamp(metadata=place, spec=LampSpec(watts=40)))
            await clock.run(quiet(clock, running))
            seen.append((await shown(client), sorted(accounts)))
            await client.patch(Lamp, "hall", MergePatch({"spec": {"watts": 60}}), "default")
            await client.delete(Lamp, "attic", "default")
            await clock.run(quiet(clock, running))
            await cluster.settled()
            seen.append((await shown(client), sorted(accounts)))
    return seen, fault


async def test_reconciles_without_faults() -> None:
    (lit, changed), fault = await story()
    assert 4 < fault.seen < ENOUGH
    assert fault.hits == 0
    assert lit[0]["lamp attic"][0] == (40, 2)
    assert lit[1] == ["attic", "hall"]
    assert changed[0].keys() == {"lamp hall", "part hall-bulb", "part hall-switch"}
    assert changed[0]["part hall-bulb"] == ({"watts": "60"}, [("Lamp", "hall", True)])
    assert changed[1] == ["hall"]


@pytest.mark.promise(
    "The laboratory of the embedded cluster",
    "An operator converges to the same state, whichever of its writes fails.",
)
@pytest.mark.parametrize(
    ("status", "committed"),
    [(409, False), (429, False), (500, False), (500, True), ("lost", False), ("lost", True), ("timeout", True)],
)
async def test_converges_whichever_write_fails(status: Any, committed: bool) -> None:
    wanted, undisturbed = await story(status, committed=committed)  # a 409 only applies to writes other than creates
    for nth in range(1, ENOUGH):
        seen, fault = await story(status, nth, committed=committed)
        assert seen == wanted, f"write {nth} failed"
        if not fault.hits:
            assert nth > undisturbed.seen, "every write has had its turn"
            return
    pytest.fail("the operator does not stop writing")
