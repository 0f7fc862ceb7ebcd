from __future__ import annotations

from typing import Any

import pytest

from kubewright.api import ObjectMeta, core, meta, policy
from kubewright.client import ApiError, Client, MergePatch, TooManyRequests

pytestmark = pytest.mark.clusters


@pytest.mark.promise("Reading with the client", "Status, scale, eviction, tokens and logs.")
async def test_scale_is_read_and_set(client: Client, namespace: str, widget: Any) -> None:
    spec, _ = widget.__orig_bases__[0].__args__
    await client.create(widget(metadata=ObjectMeta(name="w", namespace=namespace), spec=spec(size=3)))
    scale = await client.get_scale(widget, "w", namespace)
    assert scale.spec.replicas == 3
    assert not (await client.set_scale(widget, "w", 0, namespace)).spec.replicas  # Go leaves out a zero
    assert (await client.get(widget, "w", namespace)).spec.size == 0


@pytest.mark.promise("Reading with the client", "Status, scale, eviction, tokens and logs.")
async def test_a_token_for_a_service_account(client: Client, namespace: str) -> None:
    await client.create(core.ServiceAccount(metadata=ObjectMeta(name="robot", namespace=namespace)))
    made = await client.create_token("robot", namespace, audiences=["me"], expiration_seconds=600)
    assert made.status is not None
    assert (made.status.token or "").count(".") == 2
    assert made.spec.audiences == ["me"]


def pod(namespace: str) -> core.Pod:
    return core.Pod(
        metadata=ObjectMeta(name="p", namespace=namespace, labels={"app": "x"}),
        spec=core.PodSpec(containers=[core.Container(name="c", image="i")]),
    )


@pytest.mark.promise("Reading with the client", "Status, scale, eviction, tokens and logs.")
async def test_an_eviction_deletes_a_pod_unless_a_budget_forbids_it(client: Client, namespace: str) -> None:
    await client.create(pod(namespace))
    running = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    await client.patch(core.Pod, "p", MergePatch(running), namespace, subresource="status")
    budget = policy.PodDisruptionBudget(
        metadata=ObjectMeta(name="b", namespace=namespace),
        spec=policy.PodDisruptionBudgetSpec(min_available=1, selector=meta.LabelSelector(match_labels={"app": "x"})),
    )
    await client.create(budget)
    with pytest.raises(TooManyRequests, match="disruption budget"):
        await client.evict("p", namespace)
    await client.delete(policy.PodDisruptionBudget, "b", namespace)
    await client.evict("p", namespace, dry_run=True)
    assert len(await client.list(core.Pod, namespace)) == 1
    await client.evict("p", namespace, grace_period_seconds=0)
    assert await client.list(core.Pod, namespace) == []


@pytest.mark.clusters("real")  # the embedded one runs no containers, so it refuses their logs
async def test_a_pod_that_runs_nowhere_has_no_logs(client: Client, namespace: str) -> None:
    await client.create(pod(namespace))
    assert [line async for line in client.logs("p", namespace, tail_lines=5)] == []
    with pytest.raises(ApiError, match="container other is not valid for pod p"):
        _ = [line async for line in client.logs("p", namespace, container="other")]


@pytest.mark.promise("Reading with the client", "Status, scale, eviction, tokens and logs.")
async def test_logs_arrive_line_by_line(scripted: Any) -> None:
    server = scripted((200, [b"first\nsec", b"ond\n\xff\nlast"]))
    lines = [line async for line in Client(transport=server).logs("p", "d", container="c", follow=True)]
    assert lines == ["first", "second", "\N{REPLACEMENT CHARACTER}", "last"]
    assert server.requests[0].path == "/api/v1/namespaces/d/pods/p/log"
    assert dict(server.requests[0].query) == {"container": "c", "follow": "true"}
