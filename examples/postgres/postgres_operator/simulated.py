"""`SimulatedEngine`: Patroni and PostgreSQL without processes, for planned pods. Tests and the explorer use it.

It obeys the contract of `engine.Engine`. Its `operator()` does in the cluster what Patroni does in pods: it elects a
primary and sets the role labels. What it knows is in its state, so it survives a killed operator, as the real ones do.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import kubewright as kw
from kubewright.api import core
from kubewright.client import Client
from postgres_operator.children import CLUSTER_INDEX, OURS, cluster_name_of, cluster_of
from postgres_operator.database import AccessLost, Address, Changes, DatabaseUnreachable, Wanted, WrongPassword
from postgres_operator.patroni import (
    CLUSTER_LABEL,
    LOOP_SECONDS,
    PRIMARY,
    REPLICA,
    ROLE_LABEL,
    Member,
    PatroniRefused,
    PatroniUnreachable,
)
from postgres_operator.steps import is_ready

RESTART = "max_connections"
"""A parameter that needs a restart."""


@dataclass
class SimulatedCluster:
    """A cluster: its primary, and what is in its database."""

    leader: str = ""
    configuration: dict[str, Any] | None = None
    pending: list[str] = field(default_factory=list)
    """The uids of pods that need a restart."""
    superuser: str = ""
    """The superuser's password. Empty until the operator has logged in."""
    passwords: dict[str, str | None] = field(default_factory=dict)
    """The roles that can log in, with their passwords."""
    nologin: list[str] = field(default_factory=list)
    """The roles that were removed."""
    databases: dict[str, str] = field(default_factory=dict)
    kept: dict[str, str] = field(default_factory=dict)
    """Databases that were removed from the manifest: no database is ever dropped."""
    address: str = ""
    """The address of the Service."""


class SimulatedEngine:
    """The members and databases of all clusters."""

    def __init__(self, state: dict[str, Any]) -> None:
        self.clusters: dict[str, SimulatedCluster] = state.setdefault("clusters", {})
        self.starting: set[str] = set()
        """Members that Patroni still starts, in pods that are ready."""
        self.loading: set[str] = set()
        """Members that have not noticed yet that they need a restart."""
        self.calls: list[str] = []
        self.is_unreachable = False
        self.refuses_switchover = False
        self.refuses_exec = False

    @property
    def databases(self) -> list[SimulatedCluster]:
        """The clusters with a database into which the operator has logged in."""
        return [each for each in self.clusters.values() if each.superuser]

    def unavailable(self) -> Exception:
        """Returns the error of a database that cannot be reached."""
        return DatabaseUnreachable("cannot connect to postgres: timeout")

    def cluster(self, name: str) -> SimulatedCluster:
        """Returns a cluster, `namespace/name`."""
        return self.clusters.setdefault(name, SimulatedCluster())

    def elect(self, cluster: str, leader: str) -> None:
        """Makes a pod the primary of a cluster, `namespace/name`. Its label follows in the next loop."""
        self.cluster(cluster).leader = leader

    @asynccontextmanager
    async def patroni(self, pods: Sequence[core.Pod]) -> AsyncIterator[SimulatedMembers]:
        """Yields the client of the Patroni of a cluster's pods."""
        yield SimulatedMembers(self, [pod for pod in pods if is_ready(pod)])

    async def set_passwords(self, client: Client, primary: core.Pod, passwords: Mapping[str, str]) -> None:
        """Sets the superuser's password."""
        if self.refuses_exec:
            raise AccessLost(f"psql in pod {primary.metadata.name} failed with exit code 2")
        self.cluster(_cluster_of(primary)).superuser = passwords["postgres"]

    async def synchronize(self, address: Address, password: str, wanted: Wanted) -> Changes:
        """Makes a database as wanted."""
        if self.is_unreachable:
            raise DatabaseUnreachable(f"cannot connect to postgres at {address}: timeout")
        self.calls.append(f"synchronize {address.host}")
        database = self._database_at(address.host)
        database.superuser = database.superuser or password
        if database.superuser != password:
            raise WrongPassword(f"the server at {address} rejects the password of postgres")
        changes = Changes()
        for role in wanted.roles:
            if database.passwords.get(role.name, "") != role.password:
                changes.done.append(f'changed role "{role.name}"')
            database.passwords[role.name] = role.password
        for name in sorted(database.passwords.keys() - {role.name for role in wanted.roles}):
            del database.passwords[name]
            database.nologin.append(name)
            changes.done.append(f'role "{name}" cannot log in any more')
        database.nologin = [name for name in database.nologin if name not in database.passwords]
        for name, owner in wanted.databases.items():
            if database.databases.get(name) != owner:
                changes.done.append(f'created database "{name}"')
        database.kept = {
            name: owner
            for name, owner in {**database.kept, **database.databases}.items()
            if name not in wanted.databases
        }
        database.databases = dict(wanted.databases)
        return changes

    def _database_at(self, host: str) -> SimulatedCluster:
        """Returns the cluster at an address. Without `operator()`, which knows the Services, it is named by that."""
        return next((each for each in self.clusters.values() if each.address == host), None) or self.cluster(host)

    def operator(self) -> kw.Operator:
        """Returns what Patroni does in the cluster: it elects primaries and labels pods."""
        patroni = kw.Operator("simulated-patroni")
        patroni.indexes(core.Pod, CLUSTER_INDEX)(cluster_name_of)

        @patroni.reconciles(core.Service, watches=[kw.Watch(core.Pod, map=cluster_of, labels=OURS)])
        async def elect(key: kw.ObjectKey, ctx: kw.Context[core.Service]) -> kw.Result | None:
            name = f"{key.namespace}/{key.name}"
            service = ctx.get(core.Service, key.name)
            pods = ctx.by_index(core.Pod, CLUSTER_INDEX, key.name, namespace=key.namespace)
            if service is not None and service.metadata.labels.get(CLUSTER_LABEL) != key.name:
                return None  # it is none of Patroni's, or that of the replicas
            if service is None and not pods:
                self.clusters.pop(name, None)
                return None
            cluster = self.cluster(name)
            if service is not None:
                cluster.address = service.spec.cluster_ip or ""
            uids = {pod.metadata.uid for pod in pods}
            cluster.pending = [uid for uid in cluster.pending if uid in uids]
            up = [pod.metadata.name for pod in pods if is_ready(pod)]
            if up and cluster.leader not in up:
                cluster.leader = up[0]
            for pod in pods:
                role = PRIMARY if cluster.leader == pod.metadata.name else REPLICA
                if pod.metadata.labels.get(ROLE_LABEL) != role and pod.metadata.name in up:
                    pod.metadata.labels[ROLE_LABEL] = role
                    await ctx.update(pod)
            return kw.Result(requeue_after=LOOP_SECONDS)  # a switch-over changes no object

        return patroni


class SimulatedMembers:
    """The REST API of the pods that are up."""

    def __init__(self, engine: SimulatedEngine, pods: list[core.Pod]) -> None:
        self._engine = engine
        self._pods = pods

    def unavailable(self) -> Exception:
        """Returns the error of a member that cannot be reached."""
        return PatroniUnreachable("no member answers in time")

    @property
    def _cluster(self) -> SimulatedCluster:
        if not self._pods:
            raise PatroniUnreachable("the cluster has no pods with an address")
        return self._engine.cluster(_cluster_of(self._pods[0]))

    async def members(self) -> list[Member]:
        """Returns the members."""
        cluster = self._cluster
        return [
            Member(
                name=pod.metadata.name,
                role="leader" if pod.metadata.name == cluster.leader else "replica",
                state=self._state(pod.metadata.name, cluster.leader),
                timeline=1,
                lag=0,
                pending_restart=pod.metadata.uid in cluster.pending and pod.metadata.name not in self._engine.loading,
                url="",
            )
            for pod in self._pods
        ]

    def _state(self, name: str, leader: str) -> str:
        if name in self._engine.starting:
            return "starting"
        return "running" if name == leader else "streaming"

    async def configure(self, wanted: Mapping[str, Any]) -> bool:
        """Stores the configuration. Returns whether a known one has changed."""
        cluster = self._cluster
        known, cluster.configuration = cluster.configuration, dict(wanted)
        if known is None or known == wanted:
            return False
        before, after = (each["postgresql"]["parameters"].get(RESTART) for each in (known, wanted))
        if before != after:
            cluster.pending = [pod.metadata.uid for pod in self._pods]
        return True

    async def restart(self, member: Member) -> None:
        """Restarts a member."""
        self._engine.calls.append(f"restart {member.name}")
        restarted = {pod.metadata.uid for pod in self._pods if pod.metadata.name == member.name}
        cluster = self._cluster
        cluster.pending = [uid for uid in cluster.pending if uid not in restarted]

    async def switchover(self, leader: str, candidate: str | None = None) -> None:
        """Makes another member the primary."""
        cluster = self._cluster
        if cluster.leader != leader or candidate is None:
            raise PatroniRefused(f"{leader} is not the primary")
        if self._engine.refuses_switchover:
            raise PatroniRefused("candidate name does not match with sync_standby")
        self._engine.calls.append(f"switchover {leader} {candidate}")
        cluster.leader = candidate


def _cluster_of(pod: core.Pod) -> str:
    return f"{pod.metadata.namespace}/{pod.metadata.labels[CLUSTER_LABEL]}"
