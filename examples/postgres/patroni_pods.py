"""A cluster of Patroni pods on a process node, from a StatefulSet that is written here: without the operator."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psycopg
from postgres_operator.database import address_of
from postgres_operator.patroni import (
    APPLICATION_LABEL,
    APPLICATION_VALUE,
    CLUSTER_LABEL,
    DATA_PATH,
    POD_RULES,
    ROLE_LABEL,
    Member,
    Patroni,
    PatroniError,
    configuration,
    pod_environment,
    readiness_probe,
)
from postgres_server import installed_versions
from relays import Relays
from waiting import until

from kubewright.api import apps, core, from_dict, rbac, to_dict
from kubewright.api.meta import ObjectMeta
from kubewright.client import Client, MergePatch

NAME = "acid-test"
IMAGE = "ghcr.io/zalando/spilo-17:4.0-p2"
PASSWORDS = {"postgres": "the superuser's", "standby": "the standby's"}
# The shortest that Patroni accepts; the limits leave room for a busy machine.
PATRONI = {"ttl": 20, "loop_wait": 1, "retry_timeout": 8, "synchronous_mode": True}
PARAMETERS = {"max_connections": "40"}
LABELS = {APPLICATION_LABEL: APPLICATION_VALUE, CLUSTER_LABEL: NAME}


class Pods:
    """The running pods of a cluster, and what a test does with them.

    Args:
        client: of the cluster's namespace.
        name: of the cluster.
    """

    def __init__(self, client: Client, name: str) -> None:
        self.client = client
        self.name = name

    def secret_of(self, user: str) -> str:
        """Returns the name of a user's Secret."""
        return f"{user.replace('_', '-')}.{self.name}.credentials.postgresql.acid.zalan.do"

    async def pods(self) -> list[core.Pod]:
        """Returns the pods, sorted by name."""
        found = await self.client.list(core.Pod, labels={CLUSTER_LABEL: self.name})
        return sorted(found, key=lambda pod: pod.metadata.name or "")

    @asynccontextmanager
    async def patroni(self) -> AsyncIterator[Patroni]:
        """A client of the running members."""
        async with Patroni.of(await self.pods()) as patroni:
            yield patroni

    async def members(self) -> list[Member]:
        """Returns the members; none if no pod answers."""
        try:
            async with self.patroni() as patroni:
                return await patroni.members()
        except PatroniError:
            return []

    async def healthy(self, count: int) -> list[Member]:
        """Waits for a primary, streaming replicas, and in synchronous mode a standby that has every write."""

        async def check() -> list[Member] | None:
            members = await self.members()
            running = [each for each in members if each.is_running]
            leaders = [each for each in running if each.is_leader]
            synchronous = count == 1 or any(each.role == "sync_standby" for each in running)
            return members if len(running) == len(members) == count and leaders and synchronous else None

        return await until(check, "a healthy cluster", every=0.5)

    async def leader(self, *, other_than: str = "", after: int | None = None) -> Member:
        """Waits for a primary. `after` is a timeline: a promotion starts a later one, and Patroni reports it later."""

        async def check() -> Member | None:
            running = [each for each in await self.members() if each.is_leader and each.is_running]
            others = [each for each in running if each.name != other_than]
            return next((each for each in others if after is None or (each.timeline or 0) > after), None)

        return await until(check, "a primary", every=0.5)

    async def endpoints_follow(self, name: str) -> None:
        """Waits until the Endpoints of the master Service have the address of this pod alone."""
        pod = await self.client.get(core.Pod, name)

        async def check() -> bool:
            found = await self.client.get(core.Endpoints, self.name)
            return [each.ip for subset in found.subsets or () for each in subset.addresses or ()] == [pod.status.pod_ip]

        await until(check, f"Endpoints of {name}", every=0.2)

    @asynccontextmanager
    async def login(
        self, service: str = "", user: str = "postgres", database: str = "postgres", secret: str = ""
    ) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        """Logs in through a Service, with the password of a Secret. Default: the user's."""
        address = address_of(await self.client.get(core.Service, service or self.name))
        assert address is not None
        found = await self.client.get(core.Secret, secret or self.secret_of(user))
        connection = await psycopg.AsyncConnection.connect(
            host=address.host,
            port=address.port,
            user=user,
            password=(found.data or {})["password"].decode(),
            dbname=database,
            autocommit=True,
            connect_timeout=10,
        )
        try:
            yield connection
        finally:
            await connection.close()

    async def query(
        self, statement: str, service: str = "", *, user: str = "postgres", database: str = "postgres"
    ) -> list[tuple[Any, ...]]:
        """Runs a statement through a Service. Retries while the connection fails."""

        async def attempt() -> list[list[tuple[Any, ...]]] | None:
            with contextlib.suppress(TimeoutError, psycopg.OperationalError, psycopg.errors.ReadOnlySqlTransaction):
                async with asyncio.timeout(30), self.login(service, user, database) as connection:
                    cursor = await connection.execute(statement.encode())
                    return [await cursor.fetchall() if cursor.description else []]
            return None

        return (await until(attempt, statement, every=0.5))[0]

    def signal(self, pod: core.Pod, number: signal.Signals) -> None:
        """Sends a signal to all processes of a pod."""
        for process in processes_of(pod):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, number)


class PatroniPods(Pods):
    """A cluster without an operator. Each pod has its own way to the API server."""

    def __init__(self, client: Client, relays: Relays) -> None:
        super().__init__(client, NAME)
        self.relays = relays

    def secret_of(self, user: str) -> str:
        """Returns the name of a user's Secret."""
        return user

    async def create(self, replicas: int) -> None:
        """Creates the objects that an operator would create."""
        for user, password in PASSWORDS.items():
            data = {"username": user.encode(), "password": password.encode()}
            await self.client.create(core.Secret(metadata=ObjectMeta(name=user), data=data))
        await self.client.create(core.ServiceAccount(metadata=ObjectMeta(name="postgres-pod")))
        await self.client.create(rbac.Role(metadata=ObjectMeta(name="postgres-pod"), rules=list(POD_RULES)))
        subject = rbac.Subject(kind="ServiceAccount", name="postgres-pod", namespace=self.client.namespace)
        reference = rbac.RoleRef(api_group="rbac.authorization.k8s.io", kind="Role", name="postgres-pod")
        binding = rbac.RoleBinding(metadata=ObjectMeta(name="pods"), subjects=[subject], role_ref=reference)
        await self.client.create(binding)
        await self.client.create(_service(NAME, None))
        await self.client.create(_service(f"{NAME}-repl", {**LABELS, ROLE_LABEL: "replica"}))
        await self.client.create(_stateful_set(replicas, self.relays.base))


@asynccontextmanager
async def no_new_pods(client: Client) -> AsyncIterator[None]:
    """Lets no pod start inside the block, as if a machine were lost."""
    (node,) = await client.list(core.Node)
    await client.patch(core.Node, node.metadata.name, MergePatch({"spec": {"unschedulable": True}}))
    try:
        yield
    finally:
        await client.patch(core.Node, node.metadata.name, MergePatch({"spec": {"unschedulable": None}}))


def processes_of(pod: core.Pod) -> list[int]:
    """Returns the processes of a pod on this machine, parents first."""
    mark = f"KUBEWRIGHT_CONTAINER={pod.metadata.uid}/".encode()
    found = []
    for entry in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if entry.isdigit() and mark in Path(f"/proc/{entry}/environ").read_bytes():
                found.append(int(entry))
    return sorted(found)


def _service(name: str, selector: dict[str, str] | None) -> core.Service:
    spec = core.ServiceSpec(ports=[core.ServicePort(name="postgresql", port=5432)], selector=selector)
    return core.Service(metadata=ObjectMeta(name=name, labels=LABELS), spec=spec)


def _stateful_set(replicas: int, relays: int) -> apps.StatefulSet:
    bootstrap = configuration(PARAMETERS, PATRONI)
    version = installed_versions()[-1]
    environment = pod_environment(
        cluster=NAME, version=version, superuser_secret="postgres", standby_secret="standby", bootstrap=bootstrap
    )
    index = {"fieldRef": {"fieldPath": "metadata.labels['apps.kubernetes.io/pod-index']"}}
    way = [
        {"name": "POD_INDEX", "valueFrom": index},
        {"name": "KUBERNETES_SERVICE_HOST", "value": "127.0.0.1"},
        {"name": "KUBERNETES_SERVICE_PORT", "value": f"{relays // 10}$(POD_INDEX)"},
    ]
    container = {
        "name": "postgres",
        "image": IMAGE,
        "env": [*(to_dict(each) for each in environment), *way],
        "ports": [{"containerPort": 5432}, {"containerPort": 8008}],
        "readinessProbe": to_dict(readiness_probe()),
        "volumeMounts": [{"name": "pgdata", "mountPath": DATA_PATH}],
    }
    spec = {
        "replicas": replicas,
        "serviceName": NAME,
        "podManagementPolicy": "Parallel",
        "selector": {"matchLabels": LABELS},
        "template": {
            "metadata": {"labels": LABELS},
            "spec": {
                "serviceAccountName": "postgres-pod",
                "terminationGracePeriodSeconds": 30,
                "containers": [container],
            },
        },
        "volumeClaimTemplates": [
            {
                "metadata": {"name": "pgdata"},
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
            }
        ],
    }
    made = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": NAME, "labels": LABELS}, "spec": spec}
    return from_dict(apps.StatefulSet, made)
