"""`operator.provides` and `ctx.use`: what reconcilers use, and what a test puts in its place."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

import kubewright as kw
from kubewright.api import core, meta
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster


class Mail:
    """A client of some service."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.open = True


def config_map(name: str) -> core.ConfigMap:
    return core.ConfigMap(metadata=meta.ObjectMeta(name=name, namespace="default", labels={"mail": "yes"}))


class Post:
    """An operator with a dependency, and what happened to it."""

    def __init__(self, *, plain: bool = False) -> None:
        self.operator = kw.Operator("post")
        self.made: list[Mail] = []
        self.used: list[Mail] = []

        @self.operator.provides
        async def mail() -> AsyncIterator[Mail]:
            made = Mail(f"real {len(self.made)}")
            self.made.append(made)
            yield made
            made.open = False

        self.mail = mail

        async def sync(obj: core.ConfigMap, ctx: kw.Context[core.ConfigMap]) -> None:
            self.used.append(ctx.use(mail))

        def plain_sync(obj: core.ConfigMap, ctx: kw.BlockingContext[core.ConfigMap]) -> None:
            self.used.append(ctx.use(mail))

        register = self.operator.reconciles(core.ConfigMap, labels={"mail": "yes"})
        if plain:
            register(plain_sync)
        else:
            register(sync)


@pytest.mark.parametrize("plain", [False, True])
async def test_reconciler_uses_the_value_of_its_run(plain: bool) -> None:
    post = Post(plain=plain)
    async with Cluster() as cluster, cluster.client() as client:
        await client.create(config_map("a"))
        for _ in range(2):
            async with post.operator.running(cluster) as running:
                await running.settled()
                assert post.used[-1].open
    assert [(mail.name, mail.open) for mail in post.made] == [("real 0", False), ("real 1", False)]
    assert post.used == post.made


async def test_replaced_dependency_is_neither_started_nor_closed() -> None:
    post, fake = Post(), Mail("fake")
    async with Cluster() as cluster, cluster.client() as client:
        await client.create(config_map("a"))
        async with post.operator.running(cluster, replace=[post.mail.replaced_by(fake)]) as running:
            await running.settled()
    assert (post.made, post.used) == ([], [fake])
    assert fake.open


async def test_rejects_a_replacement_of_another_operators_dependency() -> None:
    async with Cluster() as cluster:
        with pytest.raises(ValueError, match=r"replace: <Dependency mail> is not a dependency of this operator"):
            async with Post().operator.running(cluster, replace=[Post().mail.replaced_by(Mail("fake"))]):
                pass


async def test_using_an_unknown_dependency_names_the_known_ones(caplog: pytest.LogCaptureFixture) -> None:
    post, other = Post(), Post()
    operator, failures = post.operator, list[str]()

    @operator.reconciles(core.Secret)
    async def sync(obj: core.Secret, ctx: kw.Context[core.Secret]) -> None:
        try:
            ctx.use(other.mail)
        except LookupError as error:
            failures.append(str(error))

    async with Cluster() as cluster, cluster.client() as client:
        await client.create(core.Secret(metadata=meta.ObjectMeta(name="a", namespace="default")))
        async with operator.running(cluster) as running:
            await running.settled()
    assert "<Dependency mail> is not a dependency of this operator; it provides: mail" in failures[0]


def test_rejects_functions_that_do_not_yield_a_value() -> None:
    provides: Any = kw.Operator("post").provides

    async def returns() -> Mail:
        return Mail("a")

    @contextlib.asynccontextmanager
    async def manager() -> AsyncIterator[Mail]:
        yield Mail("a")

    async def with_parameter(name: str) -> AsyncIterator[Mail]:
        yield Mail(name)

    for function in (returns, manager, with_parameter, Mail("a")):
        with pytest.raises(TypeError, match="an async function without parameters that yields the value once"):
            provides(function)


async def test_dependency_that_does_not_start_ends_the_start() -> None:
    operator = kw.Operator("post")

    @operator.provides
    async def mail() -> AsyncIterator[Mail]:
        raise ConnectionError("no mail today")
        yield

    operator.reconciles(core.ConfigMap)(_nothing)
    async with Cluster() as cluster:
        with pytest.raises(ConnectionError, match="no mail today"):
            async with operator.running(cluster):
                pass


async def _nothing(obj: core.ConfigMap, ctx: kw.Context[core.ConfigMap]) -> None: ...


async def test_running_takes_the_clock_of_one_run() -> None:
    operator, clock, times = kw.Operator("post"), VirtualClock(), list[float]()

    @operator.reconciles(core.ConfigMap, labels={"mail": "yes"})
    def sync(obj: core.ConfigMap, ctx: kw.BlockingContext[core.ConfigMap]) -> kw.Result:
        times.append(ctx.clock.monotonic())
        return kw.Result(requeue_after=3600)

    async with Cluster(clock=clock) as cluster, cluster.client() as client:
        await client.create(config_map("a"))
        async with operator.running(cluster, clock=clock) as running:
            assert running.clock is clock
            await clock.advance(2 * 3600)
    assert times == [0, 3600, 7200]
    assert operator.clock is None, "nothing was assigned"


def test_rejects_what_is_not_a_clock() -> None:
    anything: Any = VirtualClock
    with pytest.raises(TypeError, match="clock must be a Clock, such as VirtualClock"):
        kw.Operator("post").running(clock=anything)


async def test_names_a_dependency_that_ends_without_a_yield() -> None:
    operator = kw.Operator("empty")

    @operator.provides
    async def mail() -> AsyncIterator[Mail]:
        names: list[str] = []
        for name in names:
            yield Mail(name)

    @operator.reconciles(core.ConfigMap)
    async def sync(obj: core.ConfigMap, ctx: kw.Context[core.ConfigMap]) -> None: ...

    async with Cluster() as cluster:
        with pytest.raises(TypeError, match="the dependency mail ended without a yield: `async def"):
            await operator.running(cluster).__aenter__()


async def test_error_of_a_dependency_is_raised_unchanged() -> None:
    operator = kw.Operator("failing")

    @operator.provides
    async def mail() -> AsyncIterator[Mail]:
        raise RuntimeError("no route to the mail server")
        yield

    @operator.reconciles(core.ConfigMap)
    async def sync(obj: core.ConfigMap, ctx: kw.Context[core.ConfigMap]) -> None: ...

    async with Cluster() as cluster:
        with pytest.raises(RuntimeError, match=r"^no route to the mail server$"):
            await operator.running(cluster).__aenter__()
