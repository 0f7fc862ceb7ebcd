"""Requests that fail on demand, before or after they are committed, in process and over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest

from kubewright.api import core, meta
from kubewright.client import (
    AlreadyExists,
    ApiError,
    Client,
    Conflict,
    Invalid,
    MergePatch,
    Timeout,
    TooManyRequests,
    Unavailable,
    load_config,
)
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster, User
from kubewright.cluster.laboratory import Failing, Incoming, Laboratory
from tests.cluster.laboratory.conftest import ONCE, config_map, reached


async def names(client: Client) -> set[str]:
    listed = await client.list(core.ConfigMap, "default")
    return {obj.metadata.name for obj in listed} - {"kube-root-ca.crt"}


@pytest.mark.promise(
    "The laboratory of the embedded cluster",
    "The n-th matching request fails with any status, before or after commit, in process and over HTTPS.",
)
@pytest.mark.parametrize("committed", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(
    ("status", "error"),
    [
        (429, TooManyRequests),
        (500, ApiError),
        (503, Unavailable),
        (504, ApiError),
        (418, ApiError),
    ],
)
async def test_create_fails_before_or_after_commit(
    lab: Laboratory, client: Client, status: int, error: type[ApiError], committed: bool
) -> None:
    with lab.fail(verb="create", kind=core.ConfigMap, status=status, committed=committed) as fault:
        with pytest.raises(error) as caught:
            await client.create(config_map())
        await client.create(config_map("b"))
    assert caught.value.code == status
    assert await names(client) == ({"a", "b"} if committed else {"b"})
    assert (fault.seen, fault.hits) == (2, 1)


async def test_create_conflicts_only_with_existing_object(lab: Laboratory, client: Client) -> None:
    lab.fail(verb="create", status=409, committed=True)
    with pytest.raises(AlreadyExists):
        await client.create(config_map())
    assert await names(client) == {"a"}
    with pytest.raises(ValueError, match=r"409 AlreadyExists only if the object exists: .* committed=True"):
        lab.fail(verb="create", status=409)
    with lab.fail(status=409) as other_writes:
        await client.create(config_map("b"))
        with pytest.raises(Conflict):
            await client.delete(core.ConfigMap, "b", "default")
    assert (other_writes.seen, other_writes.hits) == (1, 1)
    lab.on_request(lambda request: Failing(409) if request.verb == "create" else None)
    await client.create(config_map("c"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "configmap"}, "kind='configmap' is not a resource of this cluster.* Did you mean 'configmaps'?"),
        ({"kind": "Deployment"}, "Did you mean 'deployments.apps'?"),
        ({"kind": "deployments"}, "Did you mean 'deployments.apps'?"),
        ({"kind": "nonsense"}, "Name a class, or the plural with its group"),
        ({"status": 999}, "status=999 is not a failure: use a status from 400 to 599"),
        ({"status": 200}, "status=200 is not a failure"),
        ({"status": True}, "status=True is not a failure"),
        ({"status": "gone"}, 'status=.gone. is not a failure: use a number such as 503, "lost" or "timeout"'),
    ],
)
def test_rejects_faults_that_never_match(lab: Laboratory, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("?", r"\?")):
        lab.fail(**options)


def test_accepts_kinds_that_are_defined_later(lab: Laboratory) -> None:
    lab.fail(kind="foos.example.com")
    lab.fail(kind="deployments.apps")


@pytest.mark.promise(
    "The laboratory of the embedded cluster",
    "Connections are lost and responses withheld, before or after the request is committed.",
)
@pytest.mark.parametrize("committed", [False, True], ids=["before", "after"])
async def test_loses_connection_before_or_after_commit(lab: Laboratory, client: Client, committed: bool) -> None:
    lab.fail(status="lost", committed=committed)
    with pytest.raises(Unavailable):
        await client.create(config_map())
    assert await names(client) == ({"a"} if committed else set())


@pytest.mark.promise(
    "The laboratory of the embedded cluster",
    "Connections are lost and responses withheld, before or after the request is committed.",
)
async def test_missing_response_times_out_on_the_virtual_clock() -> None:
    clock = VirtualClock()
    async with Cluster(clock=clock) as cluster:
        client = cluster.client(retry=ONCE, timeout=45)
        cluster.lab.fail(status="timeout", committed=True)
        with pytest.raises(Timeout, match="no answer within 45s"):
            await clock.run(client.create(config_map()))
        assert clock.monotonic() == 45
        assert await names(client) == {"a"}


@pytest.mark.promise(
    "The laboratory of the embedded cluster",
    "Connections are lost and responses withheld, before or after the request is committed.",
)
async def test_missing_response_times_out_over_http(cluster: Cluster, lab: Laboratory) -> None:
    await cluster.serve()
    config = load_config(kubeconfig=cluster.kubeconfig())
    async with Client(config, retry=ONCE, timeout=0.2) as client:
        lab.fail(status="timeout", verb="delete")
        with pytest.raises(Timeout):
            await client.delete(core.ConfigMap, "a", "default")


async def test_stopping_the_cluster_releases_waiting_clients() -> None:
    async with Cluster() as cluster:
        client = cluster.client(retry=ONCE)
        fault = cluster.lab.fail(status="timeout")
        waiting = asyncio.ensure_future(client.create(config_map()))
        await reached(fault, 1)
    with pytest.raises(Timeout):
        await waiting


@pytest.mark.promise(
    "The laboratory of the embedded cluster",
    "The n-th matching request fails with any status, before or after commit, in process and over HTTPS.",
)
async def test_fails_the_nth_match_and_the_given_number_after_it(lab: Laboratory, client: Client) -> None:
    fault = lab.fail(kind="configmaps", nth=2, times=2, status=500)
    outcomes = []
    for name in "abcde":
        try:
            await client.create(config_map(name))
        except ApiError as error:
            outcomes.append((name, error.code))
    assert outcomes == [("b", 500), ("c", 500)]
    assert (fault.seen, fault.hits) == (5, 2)


async def test_fails_every_match_until_the_end(lab: Laboratory, client: Client) -> None:
    fault = lab.fail(verb="get", times=None, status=503)
    for _ in range(3):
        with pytest.raises(Unavailable):
            await client.get(core.Namespace, "default")
    fault.end()
    fault.end()
    assert (await client.get(core.Namespace, "default")).metadata.name == "default"


async def test_conflict_has_the_message_of_the_real_server(lab: Laboratory, client: Client) -> None:
    made = await client.create(config_map(a="1"))
    made.data = {"a": "2"}
    lab.fail(verb="update", status=409)
    with pytest.raises(Conflict, match='Operation cannot be fulfilled on configmaps "a": the object has been modified'):
        await client.replace(made)


async def test_own_rejection_takes_precedence_over_a_fault(lab: Laboratory, client: Client) -> None:
    lab.fail(status=500, committed=True)
    with pytest.raises(Invalid, match="a lowercase RFC 1123 subdomain"):
        await client.create(config_map("Not_A_Name"))


@pytest.mark.promise(
    "The laboratory of the embedded cluster",
    "The n-th matching request fails with any status, before or after commit, in process and over HTTPS.",
)
@pytest.mark.parametrize(
    ("matching", "hits"),
    [
        ({"verb": "create"}, ["create a"]),
        ({"verb": "patch"}, ["merge", "apply", "status"]),
        ({"verb": "apply"}, ["apply"]),
        ({"verb": "delete"}, ["delete"]),
        ({"verb": "deletecollection"}, ["delete all"]),
        ({"verb": "list"}, ["list"]),
        ({"kind": core.Pod}, ["status"]),
        ({"kind": "configmaps"}, ["create a", "merge", "apply", "delete", "delete all"]),
        ({"kind": "deployments.apps"}, []),
        ({"name": "a"}, ["create a", "merge", "apply", "delete"]),
        ({"namespace": "default", "kind": core.Pod}, ["status"]),
        ({"namespace": "kube-system"}, []),
        ({"subresource": "status"}, ["status"]),
        ({"subresource": "", "verb": "patch"}, ["merge", "apply"]),
        ({"user": "jane"}, []),
        ({}, ["create a", "merge", "apply", "status", "delete", "delete all"]),
    ],
)
async def test_matches_requests_by_attributes(
    cluster: Cluster, lab: Laboratory, matching: dict[str, Any], hits: list[str]
) -> None:
    client = cluster.client(retry=ONCE)
    fault = lab.fail(**matching, times=None, committed=True)
    seen: list[str] = []

    async def send(what: str, request: Any) -> None:
        before = fault.hits
        with contextlib.suppress(ApiError):
            await request
        if fault.hits > before:
            seen.append(what)

    await send("dry run", client.create(config_map(), dry_run=True))
    await send("create a", client.create(config_map()))
    await send("merge", client.patch(core.ConfigMap, "a", MergePatch({"data": {"x": "y"}}), "default"))
    await send("apply", client.apply(config_map(z="1")))
    await send("status", client.patch(core.Pod, "p", MergePatch({"status": {}}), "default", subresource="status"))
    await send("list", client.list(core.ConfigMap, "default"))
    await send("delete", client.delete(core.ConfigMap, "a", "default"))
    await send("delete all", client.delete_collection(core.ConfigMap, "default"))
    assert seen == hits


async def test_matches_requests_by_user(cluster: Cluster, lab: Laboratory) -> None:
    jane = cluster.client(user=User("jane", ("system:masters",)), retry=ONCE)
    lab.fail(user="jane", times=None)
    await cluster.client(retry=ONCE).create(config_map("a"))
    with pytest.raises(ApiError, match="the laboratory failed this request on demand"):
        await jane.create(config_map("b"))


async def test_function_decides_every_request(cluster: Cluster, lab: Laboratory) -> None:
    asked: list[Incoming] = []

    def decide(incoming: Incoming) -> Failing | None:
        asked.append(incoming)
        return Failing(503) if incoming.name == "b" else None

    client = cluster.client(retry=ONCE)
    with lab.on_request(decide):
        await client.create(config_map("a"))
        with pytest.raises(Unavailable):
            await client.create(config_map("b"))
        await client.get(core.ConfigMap, "a", "default")
    await client.create(config_map("b"))
    assert [(one.verb, one.resource, one.name, one.writes) for one in asked] == [
        ("create", "configmaps", "a", True),
        ("create", "configmaps", "b", True),
        ("get", "configmaps", "a", False),
    ]
    assert {one.user for one in asked} == {"kubewright-admin"}


async def test_client_waits_for_retry_after() -> None:
    clock = VirtualClock()
    async with Cluster(clock=clock) as cluster:
        cluster.lab.fail(status=429, retry_after=7)
        await clock.run(cluster.client().create(config_map()))
        assert clock.monotonic() == 7


async def test_rejects_invalid_arguments_immediately(lab: Laboratory) -> None:
    with pytest.raises(ValueError, match="unknown verb 'post'; use one of apply, create"):
        lab.fail(verb="post")
    with pytest.raises(ValueError, match="nth and times must be at least 1, got nth=0"):
        lab.fail(nth=0)
    with pytest.raises(ValueError, match="must be at least 1"):
        lab.dropped_watch(core.ConfigMap, times=0)
    with pytest.raises(ValueError, match="window must be at least 2"):
        lab.reordered_watch(core.ConfigMap, window=1)
    with pytest.raises(ValueError, match="revision 0 is unknown"):
        lab.compact()
        lab.stale(core.ConfigMap, revision=0)


async def test_unused_laboratory_has_no_cost(cluster: Cluster) -> None:
    assert cluster.dispatcher.interceptor is None
    assert cluster.state.gate is None
    writes = cluster.lab.writes
    await cluster.client().create(core.Secret(metadata=meta.ObjectMeta(name="s", namespace="default")))
    assert cluster.lab.writes == writes + 1
