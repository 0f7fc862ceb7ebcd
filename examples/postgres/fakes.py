"""Patroni and PostgreSQL without processes, for tests on planned pods.

`FakeEngine` obeys the contract of `postgres_operator.engine`. `FakePatroni` does in the cluster what Patroni does in
pods: it elects a primary and sets the role labels. Both survive a killed operator, as the real ones do.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from postgres_operator.database import AccessLost, Address, Changes, DatabaseUnreachable, Wanted, WrongPassword
from postgres_operator.patroni import (
    APPLICATION_LABEL,
    CLUSTER_LABEL,
    PRIMARY,
    REPLICA,
    ROLE_LABEL,
    Member,
    PatroniRefused,
    PatroniUnreachable,
)

import kubewright as kw
from kubewright.api import core, is_condition_true
from kubewright.client import Client

RESTART = "max_connections"
"""A parameter that needs a restart."""


@dataclass
class FakeDatabase:
    """A server: roles with passwords, and databases."""

    superuser: str
    passwords: dict[str, str | None] = field(default_factory=dict)
    nologin: set[str] = field(default_factory=set)
    databases: dict[str, str] = field(default_factory=dict)


@dataclass
class FakeEngine:
    """The members and databases of all clusters."""

    leaders: dict[str, str] = field(default_factory=dict)
    configurations: dict[str, dict[str, Any]] = field(default_factory=dict)
    pending: set[str] = field(default_factory=set)
    starting: set[str] = field(default_factory=set)
    """Members that Patroni still starts, in pods that are ready."""
    databases: dict[str, FakeDatabase] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    unreachable: bool = False
    refuses_switchover: bool = False
    refuses_exec: bool = False
    changed: asyncio.Queue[kw.ObjectKey] = field(default_factory=asyncio.Queue)

    def elect(self, cluster: str, leader: str) -> None:
        """Makes a pod the primary of a cluster, `namespace/name`."""
        self.leaders[cluster] = leader
        self.changed.put_nowait(kw.ObjectKey(cluster.partition("/")[0], leader))

    @contextlib.asynccontextmanager
    async def patroni(self, pods: Sequence[core.Pod]) -> AsyncIterator[FakeMembers]:
        yield FakeMembers(self, [pod for pod in pods if is_up(pod)])

    async def set_passwords(self, client: Client, primary: core.Pod, passwords: Mapping[str, str]) -> None:
        if self.refuses_exec:
            raise AccessLost(f"psql in pod {primary.metadata.name} failed with exit code 2")
        service = await client.get(core.Service, key_of(primary).partition("/")[2], primary.metadata.namespace)
        self.databases[service.spec.cluster_ip or ""].superuser = passwords["postgres"]

    async def synchronize(self, address: Address, password: str, wanted: Wanted) -> Changes:
        if self.unreachable:
            raise DatabaseUnreachable(f"cannot connect to postgres at {address}: timeout")
        self.calls.append(f"synchronize {address.host}")
        database = self.databases.setdefault(address.host, FakeDatabase(password))
        if database.superuser != password:
            raise WrongPassword(f"the server at {address} rejects the password of postgres")
        changes = Changes()
        for role in wanted.roles:
            if database.passwords.get(role.name, "") != role.password or role.name in database.nologin:
                changes.done.append(f'changed role "{role.name}"')
            database.passwords[role.name] = role.password
            database.nologin.discard(role.name)
        for name in database.passwords.keys() - {role.name for role in wanted.roles} - database.nologin:
            database.nologin.add(name)
            changes.done.append(f'role "{name}" cannot log in any more')
        for name, owner in wanted.databases.items():
            if database.databases.get(name) != owner:
                changes.done.append(f'created database "{name}"')
            database.databases[name] = owner
        return changes


@dataclass
class FakeMembers:
    """The REST API of the pods that are up."""

    engine: FakeEngine
    pods: list[core.Pod]

    @property
    def cluster(self) -> str:
        if not self.pods:
            raise PatroniUnreachable("the cluster has no pods with an address")
        return key_of(self.pods[0])

    async def members(self) -> list[Member]:
        leader = self.engine.leaders.get(self.cluster)
        return [
            Member(
                name=pod.metadata.name,
                role="leader" if pod.metadata.name == leader else "replica",
                state=self._state(pod.metadata.name, leader),
                timeline=1,
                lag=0,
                pending_restart=pod.metadata.name in self.engine.pending,
                url="",
            )
            for pod in self.pods
        ]

    def _state(self, name: str, leader: str | None) -> str:
        if name in self.engine.starting:
            return "starting"
        return "running" if name == leader else "streaming"

    async def configure(self, wanted: Mapping[str, Any]) -> bool:
        known = self.engine.configurations.get(self.cluster)
        self.engine.configurations[self.cluster] = dict(wanted)
        if known is None or known == wanted:
            return False
        before, after = (each["postgresql"]["parameters"].get(RESTART) for each in (known, wanted))
        if before != after:
            self.engine.pending |= {pod.metadata.name for pod in self.pods}
        return True

    async def restart(self, member: Member) -> None:
        self.engine.calls.append(f"restart {member.name}")
        self.engine.pending.discard(member.name)

    async def switchover(self, leader: str, candidate: str | None = None) -> None:
        if self.engine.leaders.get(self.cluster) != leader or candidate is None:
            raise PatroniRefused(f"{leader} is not the primary")
        if self.engine.refuses_switchover:
            raise PatroniRefused("candidate name does not match with sync_standby")
        self.engine.calls.append(f"switchover {leader} {candidate}")
        self.engine.elect(self.cluster, candidate)


def fake_patroni(engine: FakeEngine) -> kw.Operator:
    """Returns an operator that elects primaries and labels pods."""
    operator = kw.Operator("fake-patroni")

    @operator.indexes(core.Pod, "cluster")
    def index(pod: core.Pod) -> str | None:
        return key_of(pod) if APPLICATION_LABEL in pod.metadata.labels else None

    @operator.reconciles(core.Pod, triggers=[engine.changed])
    async def elect(key: kw.ObjectKey, ctx: kw.Context[core.Pod]) -> None:
        cluster = f"{key.namespace}/{key.name.rpartition('-')[0]}"
        pods = ctx.by_index(core.Pod, "cluster", cluster)
        up = [pod.metadata.name for pod in pods if is_up(pod)]
        if ctx.get(core.Pod, key.name) is None:
            engine.pending.discard(key.name)  # a new pod starts with its parameters
        if engine.leaders.get(cluster) not in up and up:
            engine.leaders[cluster] = up[0]
        for pod in pods:
            role = PRIMARY if engine.leaders.get(cluster) == pod.metadata.name else REPLICA
            if pod.metadata.labels.get(ROLE_LABEL) != role and pod.metadata.name in up:
                pod.metadata.labels[ROLE_LABEL] = role
                await ctx.update(pod)

    return operator


def key_of(pod: core.Pod) -> str:
    return f"{pod.metadata.namespace}/{pod.metadata.labels[CLUSTER_LABEL]}"


def is_up(pod: core.Pod) -> bool:
    return pod.metadata.deletion_timestamp is None and is_condition_true(pod.status, "Ready")
