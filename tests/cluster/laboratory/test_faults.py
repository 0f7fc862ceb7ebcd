"""Requests that fail as a test asks for, before or after they are done, in process and over HTTP."""

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
    "The n-th matching request fails with any status, before or after it is done, in process and over HTTPS.",
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
async def test_a_create_fails_with_a_status_before_or_after_it_is_done(
    lab: Laboratory, client: Client, status: int, error: type[ApiError], committed: bool
) -> None:
    with lab.fail(verb="create", kind=core.ConfigMap, status=status, committed=committed) as fault:
        with pytest.raises(error) as caught:
            await client.create(config_map())
        await client.create(config_map("b"))
    assert caught.value.code == status
    assert await names(client) == ({"a", "b"} if committed else {"b"})
    assert (fault.seen, fault.hits) == (2, 1)


async def test_a_create_conflicts_only_with_an_object_that_is_there(lab: Laboratory, client: Client) -> None:
    lab.fail(verb="create", status=409, committed=True)
    with pytest.raises(AlreadyExists):
        await client.create(config_map())
    assert await names(client) == {"a"}
    with pytest.raises(ValueError, match=r"409 AlreadyExists only if the object is there: .* committed=True"):
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
        ({"status": 999}, "status=999 is not a failure: statuses of failed requests go from 400 to 599"),
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
    "Connections are lost, and answers never come, before or after the request is done.",
)
@pytest.mark.parametrize("committed", [False, True], ids=["before", "after"])
async def test_a_connection_is_lost_before_or_after_the_request_is_done(
    lab: Laboratory, client: Client, committed: bool
) -> None:
    lab.fail(status="lost", committed=committed)
    with pytest.raises(Unavailable):
        await client.create(config_map())
    assert await names(client) == ({"a"} if committed else set())


@pytest.mark.promise(
    "The laboratory of the embedded cluster",
    "Connections are lost, and answers never come, before or after the request is done.",
)
async def test_an_answer_that_never_comes_is_the_clients_time_out_in_its_own_time() -> None:
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
    "Connections are lost, and answers never come, before or after the request is done.",
)
async def test_an_answer_that_never_comes_over_http(cluster: Cluster, lab: Laboratory) -> None:
    await cluster.serve()
    config = load_config(kubeconfig=cluster.kubeconfig())
    async with Client(config, retry=ONCE, timeout=0.2) as client:
        lab.fail(status="timeout", verb="delete")
        with pytest.raises(Timeout):
            await client.delete(core.ConfigMap, "a", "default")


async def test_whoever_waits_for_an_answer_is_let_go_when_the_cluster_stops() -> None:
    async with Cluster() as cluster:
        client = cluster.client(retry=ONCE)
        fault = cluster.lab.fail(status="timeout")
        waiting = asyncio.ensure_future(client.create(config_map()))
        await reached(fault, 1)
    with pytest.raises(Timeout):
        await waiting


@pytest.mark.promise(
    "The laboratory of the embedded cluster",
    "The n-th matching request fails with any status, before or after it is done, in process and over HTTPS.",
)
async def test_only_the_nth_of_those_that_match_fails_and_as_many_after_it_as_named(
    lab: Laboratory, client: Client
) -> None:
    fault = lab.fail(kind="configmaps", nth=2, times=2, status=500)
    outcomes = []
    for name in "abcde":
        try:
            await client.create(config_map(name))
        except ApiError as error:
            outcomes.append((name, error.code))
    assert outcomes == [("b", 500), ("c", 500)]
    assert (fault.seen, fault.hits) == (5, 2)


async def test_all_of_them_fail_until_the_end(lab: Laboratory, client: Client) -> None:
    fault = lab.fail(verb="get", times=None, status=503)
    for _ in range(3):
        with pytest.raises(Unavailable):
            await client.get(core.Namespace, "default")
    fault.end()
    fault.end()
    assert (await client.get(core.Namespace, "default")).metadata.name == "default"


async def test_a_conflict_is_worded_as_the_real_server_does(lab: Laboratory, client: Client) -> None:
    made = await client.create(config_map(a="1"))
    made.data = {"a": "2"}
    lab.fail(verb="update", status=409)
    with pytest.raises(Conflict, match='Operation cannot be fulfilled on configmaps "a": the object has been modified'):
        await client.replace(made)


async def test_a_refusal_of_the_server_itself_is_told_although_the_answer_was_to_be_another(
    lab: Laboratory, client: Client
) -> None:
    lab.fail(status=500, committed=True)
    with pytest.raises(Invalid, match="a lowercase RFC 1123 subdomain"):
        await client.create(config_map("Not_A_Name"))


@pytest.mark.promise(
    "The laboratory of the embedded cluster",
    "The n-th matching request fails with any status, before or after it is done, in process and over HTTPS.",
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
async def test_requests_are_chosen_by_what_they_ask_for(
    cluster: Cluster, lab: Laboratory, matching: dict[str, Any], hits: list[str]
) -> None:
    client = cluster.client(retry=ONCE)
    fault = lab.fail(**matching, times=None, committed=True)
    seen: list[str] = []

    async def told(what: str, request: Any) -> None:
        before = fault.hits
        with contextlib.suppress(ApiError):
            await request
        if fault.hits > before:
            seen.append(what)

    await told("dry run", client.create(config_map(), dry_run=True))
    await told("create a", client.create(config_map()))
    await told("merge", client.patch(core.ConfigMap, "a", MergePatch({"data": {"x": "y"}}), "default"))
    await told("apply", client.apply(config_map(z="1")))
    await told("status", client.patch(core.Pod, "p", MergePatch({"status": {}}), "default", subresource="status"))
    await told("list", client.list(core.ConfigMap, "default"))
    await told("delete", client.delete(core.ConfigMap, "a", "default"))
    await told("delete all", client.delete_collection(core.ConfigMap, "default"))
    assert seen == hits


async def test_requests_are_chosen_by_their_user(cluster: Cluster, lab: Laboratory) -> None:
    jane = cluster.client(user=User("jane", ("system:masters",)), retry=ONCE)
    lab.fail(user="jane", times=None)
    await cluster.client(retry=ONCE).create(config_map("a"))
    with pytest.raises(ApiError, match="the laboratory was asked to fail this request"):
        await jane.create(config_map("b"))


async def test_a_function_decides_about_every_request(cluster: Cluster, lab: Laboratory) -> None:
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


async def test_the_client_heeds_the_seconds_of_a_retry_after() -> None:
    clock = VirtualClock()
    async with Cluster(clock=clock) as cluster:
        cluster.lab.fail(status=429, retry_after=7)
        await clock.run(cluster.client().create(config_map()))
        assert clock.monotonic() == 7


async def test_the_administrators_mistakes_are_told_at_once(lab: Laboratory) -> None:
    with pytest.raises(ValueError, match="there is no verb 'post': it is one of apply, create"):
        lab.fail(verb="post")
    with pytest.raises(ValueError, match="nth and times count from 1, got nth=0"):
        lab.fail(nth=0)
    with pytest.raises(ValueError, match="count from 1"):
        lab.dropped_watch(core.ConfigMap, times=0)
    with pytest.raises(ValueError, match="two events or more"):
        lab.reordered_watch(core.ConfigMap, window=1)
    with pytest.raises(ValueError, match="revision 0 is not known"):
        lab.compact()
        lab.stale(core.ConfigMap, revision=0)


async def test_a_laboratory_costs_nothing_until_it_is_used(cluster: Cluster) -> None:
    assert cluster.dispatcher.around is None
    assert cluster.state.gate is None
    writes = cluster.lab.writes
    await cluster.client().create(core.Secret(metadata=meta.ObjectMeta(name="s", namespace="default")))
    assert cluster.lab.writes == writes + 1
