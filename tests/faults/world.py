"""Replicas of the toys' operator on a control plane, and everything that can go wrong there."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from kubewright.api import core, meta, rbac
from kubewright.client import AlreadyExists, ApiError, Client, Conflict, NotFound
from kubewright.testing import ControlPlane, Exchange, Fault, Refusal, ServiceAccount, every
from tests.faults.load import delete
from tests.faults.replicas import LEASE, Replica, replicas
from tests.faults.toys import Toy, has_child, holds
from tests.patience import until

RBAC = "rbac.authorization.k8s.io"
RIGHTS = {
    "toys": rbac.PolicyRule(api_groups=["faults.example.com"], resources=["toys", "toys/status"], verbs=["*"]),
    "others": rbac.PolicyRule(
        api_groups=["", "coordination.k8s.io", "events.k8s.io"],
        resources=["configmaps", "leases", "events"],
        verbs=["*"],
    ),
}
_SOME = 25


class World:
    """As many replicas as were asked for, for each that ends another is started; and the faults that befall them."""

    def __init__(
        self, plane: ControlPlane, admin: Client, room: str, logs: Path, *, count: int = 2, **options: Any
    ) -> None:
        self.plane = plane
        self.admin = admin
        self.room = room
        self.all: list[Replica] = []
        self.exits: list[tuple[Replica, int]] = []
        self.written_too_late: list[str] = []
        self._logs = logs
        self._count = count
        self._options = options
        self._fault: Callable[[Exchange], Fault] | None = None
        self._stack = AsyncExitStack()
        self._closing = False
        self._keeping: list[asyncio.Task[None]] = []
        self._led: list[Replica] = []

    # Life

    async def __aenter__(self) -> Self:
        self.account: ServiceAccount = await asyncio.to_thread(self.plane.add_service_account, "robot", self.room)
        for name, rule in RIGHTS.items():
            metadata = meta.ObjectMeta(name=name, namespace=self.room)
            await self.admin.create(rbac.Role(metadata=metadata, rules=[rule]))
            await self.grant(name)
        starting = replicas(self.plane, self.room, self._logs, account=self.account, **self._options)
        self._start = await self._stack.enter_async_context(starting)
        self._keeping = [asyncio.create_task(self._keep()) for _ in range(self._count)]
        await until(lambda: len(self.alive) == self._count, "the replicas")
        for replica in self.alive:
            await replica.ready()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing = True
        for task in self._keeping:
            task.cancel()
        await asyncio.wait(self._keeping)
        await self._stack.aclose()

    async def _keep(self) -> None:
        """Start one after the other, as a Deployment would."""
        while not self._closing:
            replica = await self._start(f"replica-{len(self.all)}", "the same of all")
            replica.gateway.fault = self._fault
            replica.on_report = self._heard
            self.all.append(replica)
            code = await replica.process.wait()
            self.exits.append((replica, code))

    def _heard(self, replica: Replica, words: list[Any]) -> None:
        if words == ["leading"]:
            self._led.append(replica)

    async def stop(self) -> list[int]:
        """End all replicas in order; the answer is their exit codes."""
        self._closing = True
        alive = self.alive
        for replica in alive:
            replica.signal(signal.SIGTERM)
        return [await replica.end() for replica in alive]

    @property
    def alive(self) -> list[Replica]:
        return [replica for replica in self.all if replica.process.returncode is None]

    @property
    def leader(self) -> Replica | None:
        """The replica that became leader last, if it still runs."""
        return self._led[-1] if self._led and self._led[-1].process.returncode is None else None

    async def a_leader(self, *, other_than: Replica | None = None) -> Replica:
        await until(lambda: self.leader not in (None, other_than), "a leader")
        assert self.leader is not None
        return self.leader

    # What can be done to them

    @property
    def fault(self) -> Callable[[Exchange], Fault] | None:
        """The fault for the requests of all replicas, including replicas that start later."""
        return self._fault

    @fault.setter
    def fault(self, fault: Callable[[Exchange], Fault] | None) -> None:
        self._fault = fault
        for replica in self.all:
            replica.gateway.fault = fault

    async def cut(self) -> None:
        for replica in self.alive:
            await asyncio.to_thread(replica.gateway.cut)

    async def grant(self, name: str) -> None:
        subject = rbac.Subject(kind="ServiceAccount", name=self.account.name, namespace=self.room)
        binding = rbac.RoleBinding(
            metadata=meta.ObjectMeta(name=name, namespace=self.room),
            role_ref=rbac.RoleRef(api_group=RBAC, kind="Role", name=name),
            subjects=[subject],
        )
        await insist(lambda: self.admin.create(binding))

    async def withdraw(self, name: str) -> None:
        await insist(lambda: self.admin.delete(rbac.RoleBinding, name, self.room))

    # Faults. Each is over when its coroutine is.

    async def requests_refused(self) -> None:
        """Every third request 429 with Retry-After, then 500, then the answers to writes are lost."""
        await self._until_some(every(3, Refusal(429, retry_after=1)), lambda seen: seen.status == 429)
        await self._until_some(every(3, Refusal(500)), lambda seen: seen.status == 500)
        lost = every(3, "lose")
        await self._until_some(lambda seen: lost(seen) if seen.writes else None, lambda seen: seen.writes)
        self.fault = None

    async def _until_some(self, fault: Callable[[Exchange], Fault], hit: Callable[[Exchange], bool]) -> None:
        def count() -> int:
            return sum(hit(seen) for replica in self.all for seen in replica.gateway.exchanges)

        before = count()
        self.fault = fault
        await until(lambda: count() >= before + _SOME, "requests that go wrong")

    async def server_killed_and_token_replaced(self) -> None:
        """The old token is refused when the server is back: a server that goes on remembers it for ten seconds."""
        old = await asyncio.to_thread(self.account.rotate)
        await asyncio.to_thread(self.account.revoke, old)
        await asyncio.to_thread(self.plane.kill_apiserver)
        await asyncio.to_thread(self.plane.start_apiserver)

    async def right_withdrawn(self) -> None:
        """Waits until a replica logs it. It is noticed when a watch is opened, so the open ones are closed."""
        said = "the verb 'watch' on toys.faults.example.com is forbidden"
        before = {replica: replica.log.read_text().count(said) for replica in self.all}
        await self.withdraw("toys")

        async def named() -> bool:
            if any(replica.log.read_text().count(said) > before.get(replica, 0) for replica in self.all):
                return True
            await self.cut()
            return False

        await until(named, "the name of the missing right", every=0.5)
        await self.grant("toys")

    async def history_forgotten(self) -> None:
        """While no client is connected."""
        self.fault = lambda exchange: "reset"
        await self.cut()
        for found in (await insist(lambda: self.admin.list(Toy, self.room, labels="!keep")))[:_SOME]:
            await insist(lambda: delete(self.admin, found))  # noqa: B023
        await asyncio.to_thread(self.plane.expire_history)
        self.fault = None

    async def server_paused(self) -> None:
        """For as long as a lease lasts."""
        with self.plane.apiserver_paused():
            await asyncio.sleep(LEASE)  # real: the leases of other processes run out

    async def leader_killed(self) -> None:
        """SIGKILL; until another one leads."""
        await self._strike(signal.SIGKILL)

    async def leader_paused(self) -> None:
        """SIGSTOP until another one leads; then it wakes, and must end without having written."""
        paused = await self._strike(signal.SIGSTOP)
        self.written_too_late += await paused.wake_too_late()

    async def _strike(self, number: signal.Signals) -> Replica:
        """Send the leader a signal and wait until another one leads. The next one, if it was about to end by itself."""
        while True:
            struck = await self.a_leader()
            with contextlib.suppress(ProcessLookupError):
                struck.signal(number)
            await self.a_leader(other_than=struck)
            if struck.process.returncode in (None, -number):
                return struck

    # What must be true in the end

    async def settles(self) -> None:
        """Wait until each toy that is left is reconciled in its last generation, none is going, no child is alone."""

        async def check() -> bool:
            toys = {toy.metadata.name: toy for toy in await self.admin.list(Toy, self.room)}
            config_maps = await self.admin.list(core.ConfigMap, self.room)
            await self._collect_garbage(config_maps)
            children = {child.metadata.name: child for child in config_maps}
            return children.keys() == set(filter(has_child, toys)) and all(
                toy.metadata.deletion_timestamp is None
                and toy.status.observed_generation == toy.metadata.generation
                and (name not in children or holds(children[name], toy))
                for name, toy in toys.items()
            )

        # To list a thousand objects all the time would take the time away in which the work is to be done.
        await until(check, "the work to be done", every=1.0)

    async def _collect_garbage(self, children: Iterable[core.ConfigMap]) -> None:
        """As kube-controller-manager would, which does not run here.

        A replica whose cache has not heard yet that a toy is gone may make a child for it.
        """
        owners = {toy.metadata.uid for toy in await self.admin.list(Toy, self.room)}
        for child in children:
            if owners.isdisjoint(owner.uid for owner in child.metadata.owner_references):
                name, uid = child.metadata.name, child.metadata.uid
                await insist(lambda: self.admin.delete(core.ConfigMap, name, self.room, uid=uid))  # noqa: B023

    async def store_equals_server(self) -> None:
        """Wait until every replica has exactly what the server has."""

        async def check() -> bool:
            truth = [await versions(self.admin, kind, self.room) for kind in (Toy, core.ConfigMap)]
            return all([await replica.ask("store") == truth for replica in self.alive])

        await until(check, "stores that equal the server", every=0.5)


async def versions(client: Client, kind: type[Any], namespace: str) -> dict[str, list[str]]:
    """The names of what the server has, with uids and versions."""
    found = await client.list(kind, namespace)
    return {one.metadata.name: [one.metadata.uid, one.metadata.resource_version] for one in found}


async def insist(work: Callable[[], Awaitable[Any]]) -> Any:
    """Do something until the server has done it, or says that it is done or cannot be any more."""

    async def done() -> tuple[Any] | None:
        try:
            return (await work(),)
        except (AlreadyExists, Conflict, NotFound):
            return (None,)
        except ApiError:
            return None

    return (await until(done))[0]
