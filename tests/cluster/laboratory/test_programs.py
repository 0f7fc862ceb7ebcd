"""External systems and invariants of the program under test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

import kubewright as kw
from kubewright.api import core, meta
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster
from kubewright.cluster.laboratory import ExternalCall, InvariantBroken
from kubewright.operator import Operator


class Refusing(Exception):
    """The bucket cannot be reached."""


class Bucket:
    """Stores strings."""

    def __init__(self, items: dict[str, Any]) -> None:
        self._items = items

    async def put(self, name: str, value: str) -> None:
        self._items[name] = value

    async def names(self) -> list[str]:
        return sorted(self._items)

    async def put_both(self, first: str, second: str) -> None:
        await self.put(first, "")
        await self.put(second, "")

    def unavailable(self) -> Exception:
        return Refusing("no connection")


def program() -> tuple[Operator, kw.Dependency[Bucket]]:
    operator = Operator("stores")

    @operator.provides(simulated=Bucket)
    async def bucket() -> AsyncIterator[Bucket]:
        raise AssertionError("a test has no bucket")
        yield

    @operator.reconciles(core.ConfigMap)
    async def sync(found: core.ConfigMap, ctx: kw.Context[core.ConfigMap]) -> None:
        if found.metadata.name.startswith("web"):
            await ctx.use(bucket).put(found.metadata.name, "1")

    return operator, bucket


def config(name: str, **labels: str) -> core.ConfigMap:
    return core.ConfigMap(metadata=meta.ObjectMeta(name=name, namespace="default", labels=labels))


@pytest.mark.promise(
    "The laboratory of the embedded cluster",
    "A simulated external system keeps its state over restarts of the operator.",
)
async def test_external_system_keeps_its_state_over_a_restart() -> None:
    async with Cluster(clock=(clock := VirtualClock()), seed=1) as cluster:
        for name in ("web-1", "web-2"):
            operator, bucket = program()
            external = cluster.lab.external(bucket)
            async with operator.running(cluster, clock=clock, replace=[external.replacement]) as running:
                await cluster.client().create(config(name))
                await clock.advance(5)
                running.kill()
                assert external is cluster.lab.externals["bucket"]
        assert sorted(cluster.lab.externals["bucket"].state) == ["web-1", "web-2"]
    async with Cluster(seed=1) as other:
        _, bucket = program()
        assert other.lab.external(bucket).state == {}


@pytest.mark.parametrize("committed", [False, True])
async def test_failed_call_of_an_external_system_is_retried(committed: bool) -> None:
    operator, bucket = program()
    async with Cluster(clock=(clock := VirtualClock()), seed=1) as cluster:
        external = cluster.lab.external(bucket)
        external.fail("put", committed=committed)
        async with operator.running(cluster, clock=clock, replace=[external.replacement]):
            await cluster.client().create(config("web"))
            await clock.advance(0.001)
            assert (external.state == {"web": "1"}) is committed
            await clock.advance(60)
        assert external.state == {"web": "1"}
        first, *others = external.calls
        assert (first.system, first.method, first.arguments["name"]) == ("bucket", "put", "web")
        assert isinstance(first.error, Refusing)
        assert [call.error for call in others] == [None]


@pytest.mark.parametrize("when", ["before", "after"])
async def test_kill_at_a_call_prevents_it_or_loses_its_result(when: Any) -> None:
    operator, bucket = program()
    async with Cluster(clock=(clock := VirtualClock()), seed=1) as cluster:
        external = cluster.lab.external(bucket)
        async with operator.running(cluster, clock=clock, replace=[external.replacement]) as running:
            external.on_call(lambda call: running.kill(), when=when)
            await cluster.client().create(config("web"))
            await clock.advance(60)
        assert external.state == ({} if when == "before" else {"web": "1"})
        assert len(external.calls) == 1


class Sessions:
    """Stores strings over connections."""

    def __init__(self, items: dict[str, Any]) -> None:
        self._items = items

    @property
    def secret(self) -> str:
        raise AssertionError("a property was read")

    @asynccontextmanager
    async def session(self, prefix: str) -> AsyncIterator[Bucket]:
        yield Bucket(self._items.setdefault(prefix, {}))


async def test_calls_of_a_session_are_calls_of_its_system() -> None:
    operator = Operator("stores")

    @operator.provides(simulated=Sessions)
    async def sessions() -> AsyncIterator[Sessions]:
        raise AssertionError("a test has no sessions")
        yield

    async with Cluster(seed=1) as cluster:
        external = cluster.lab.external(sessions)
        async with external.client.session("a") as opened:
            await opened.put("web", "1")
            external.fail("names", nth=1)
            with pytest.raises(Refusing, match="no connection"):
                await opened.names()
            assert await opened.names() == ["web"]
        assert external.state == {"a": {"web": "1"}}
        assert [call.method for call in external.calls] == ["put", "names", "names"]


async def test_calls_inside_a_stand_in_do_not_count() -> None:
    _, bucket = program()
    async with Cluster(seed=1) as cluster:
        external = cluster.lab.external(bucket)
        seen: list[ExternalCall] = []
        with external.on_call(seen.append):
            await external.client.put_both("a", "b")
        await external.client.names()
        assert [call.method for call in seen] == ["put_both"]
        assert [call.number for call in external.calls] == [1, 2]


async def test_rejects_a_dependency_without_a_simulation() -> None:
    operator = Operator("plain")

    @operator.provides
    async def http() -> AsyncIterator[str]:
        yield ""

    async with Cluster(seed=1) as cluster:
        with pytest.raises(ValueError, match=r"http has no simulation: declare one with @operator.provides\(simulated"):
            cluster.lab.external(http)


def guarded() -> Operator:
    operator = Operator("guarded")

    @operator.invariant
    def never_two_primaries(world: kw.World) -> None:
        primaries = world.list(core.ConfigMap, labels={"role": "primary"})
        assert len(primaries) <= 1, f"{len(primaries)} primaries"

    return operator


@pytest.mark.promise(
    "The laboratory of the embedded cluster", "Invariants of the operator are checked after every write."
)
async def test_invariant_is_checked_after_every_write() -> None:
    async with Cluster(seed=1) as cluster:
        client = cluster.client()
        problem = "invariant never_two_primaries is broken after create of configmaps default/two by .*: 2 primaries"
        with pytest.raises(InvariantBroken, match=problem), cluster.lab.invariants(guarded()) as checked:
            await client.create(config("one", role="primary"))
            assert checked.broken == {}
            await client.create(config("two", role="primary"))
            await client.delete(core.ConfigMap, "two", "default")  # the state is correct again
        with cluster.lab.invariants(guarded()):
            await client.create(config("three"))


async def test_broken_invariant_ends_virtual_time() -> None:
    async with Cluster(clock=(clock := VirtualClock()), seed=1) as cluster:
        checked = cluster.lab.invariants(guarded())
        await cluster.client().create(config("one", role="primary"))
        await cluster.client().create(config("two", role="primary"))
        with pytest.raises(InvariantBroken):
            await clock.advance(1)
        checked.end()


async def test_invariant_that_raises_or_returns_false_is_broken() -> None:
    operator = Operator("guarded")

    @operator.invariant
    def raises(world: kw.World) -> None:
        world.list(core.ConfigMap)[0].metadata.missing  # type: ignore[attr-defined]  # noqa: B018

    @operator.invariant
    def never(world: kw.World) -> bool:
        return world.get(core.ConfigMap, "one", "default") is None

    async with Cluster(seed=1) as cluster:
        checked = cluster.lab.invariants(operator)
        await cluster.client().create(config("one"))
        checked.end()
    assert "it raised AttributeError" in checked.broken["raises"]
    assert "it returned False" in checked.broken["never"]


def test_rejects_invariants_that_cannot_be_checked() -> None:
    operator = guarded()

    async def never_two_primaries(world: kw.World) -> None: ...

    with pytest.raises(TypeError, match="an invariant must be a plain function"):
        operator.invariant(never_two_primaries)
    with pytest.raises(ValueError, match="there is already an invariant 'never_two_primaries'"):
        operator.invariant(operator.invariants["never_two_primaries"])


def test_exemptions_need_a_reason() -> None:
    operator = Operator("exempt")
    operator.exempt(core.Secret, "/data/tls.key", reason="is generated once")
    operator.exempt(core.PersistentVolumeClaim, reason="data outlives its database")
    assert [exemption.path for exemption in operator.exemptions] == [("data", "tls.key"), ()]
    assert str(operator.exemptions[0]) == "secrets data.tls.key: is generated once"
    with pytest.raises(ValueError, match="an exemption needs a reason"):
        operator.exempt(core.Secret, "data.password", reason="")


def test_an_exemption_can_be_limited_to_names() -> None:
    operator = Operator("exempt")
    operator.exempt(core.Secret, name="*.credentials", reason="users may read it after a deletion")
    [exemption] = operator.exemptions
    assert exemption.concerns("secrets", "web.credentials")
    assert not exemption.concerns("secrets", "web.tls")
    assert not exemption.concerns("configmaps", "web.credentials")
    assert str(exemption) == "secrets *.credentials: users may read it after a deletion"
