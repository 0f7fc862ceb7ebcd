"""Hooks before and after requests."""

from __future__ import annotations

from typing import Any

import pytest

from kubewright.api import core, meta
from kubewright.client import ApiError, Client, Conflict, MergePatch, Unavailable
from kubewright.cluster import Cluster, User
from kubewright.cluster.laboratory import Failing, Incoming, Laboratory, Served
from tests.cluster.laboratory.conftest import ONCE, config_map

JANE = User("jane", ("system:masters",))


@pytest.mark.promise(
    "The laboratory of the embedded cluster",
    "A hook, plain or async, acts before or after the n-th matching request.",
)
async def test_async_hook_acts_before_the_nth_write(cluster: Cluster, lab: Laboratory) -> None:
    jane, other = cluster.client(user=JANE, retry=ONCE), cluster.client()
    made = await jane.create(config_map("a", k="1"))

    async def change(request: Incoming) -> None:
        await other.patch(core.ConfigMap, request.name, MergePatch({"data": {"k": "other"}}), request.namespace)

    hook = lab.on_request(change, user="jane", verb="write", nth=2)
    await jane.create(config_map("b"))
    made.data = {"k": "2"}
    with pytest.raises(Conflict):
        await jane.update(made)
    assert (await jane.get(core.ConfigMap, "a", "default")).data == {"k": "other"}
    assert (hook.seen, hook.hits, hook.error) == (2, 0, None)
    writers = [entry.user for entry in lab.journal if entry.name == "a" and entry.wrote]
    assert writers == ["jane", "kubewright-admin"]


async def test_hook_sees_the_body_and_the_generated_name(cluster: Cluster, lab: Laboratory, client: Client) -> None:
    seen: list[tuple[str, Any]] = []
    lab.on_request(lambda request: seen.append((request.name, request.body)), verb="write", kind=core.ConfigMap)
    generated = core.ConfigMap(metadata=meta.ObjectMeta(generate_name="web-", namespace="default"), data={"k": "1"})
    names = [(await client.create(generated)).metadata.name for _ in range(3)]
    await client.patch(core.ConfigMap, names[0], MergePatch({"data": {"k": "2"}}), "default")
    assert [name for name, _ in seen] == [*names, names[0]]
    assert len(set(names)) == 3
    assert seen[0][1]["data"] == {"k": "1"}
    assert seen[3][1] == {"data": {"k": "2"}}


async def test_hook_sees_the_stored_object(cluster: Cluster, lab: Laboratory) -> None:
    client = cluster.client()
    before: list[Any] = []
    lab.on_request(lambda request: before.append(request.current), verb="write")
    await client.create(config_map("a", k="1"))
    await client.delete(core.ConfigMap, "a", "default")
    assert before[0] is None
    assert before[1]["data"] == {"k": "1"}


async def test_hook_after_a_request_sees_status_and_entries(cluster: Cluster, lab: Laboratory) -> None:
    client = cluster.client(retry=ONCE)
    seen: list[tuple[str, int, list[int]]] = []

    async def after(served: Served) -> None:
        seen.append((served.request.name, served.status, [entry.revision for entry in served.entries]))

    with lab.on_request(after, when="after", verb="create", kind="configmaps"):
        made = await client.create(config_map("a"))
        with pytest.raises(ApiError):
            await client.create(config_map("a"))
    await client.create(config_map("b"))
    assert seen == [("a", 201, [int(made.metadata.resource_version)]), ("a", 409, [])]


async def test_hook_after_a_request_replaces_the_response(cluster: Cluster, lab: Laboratory) -> None:
    client = cluster.client(retry=ONCE)
    lab.on_request(lambda _: Failing(503), when="after", name="a", nth=1)
    with pytest.raises(Unavailable):
        await client.create(config_map("a"))
    assert (await client.get(core.ConfigMap, "a", "default")).metadata.name == "a"


async def test_requests_of_a_hook_are_not_hooked_nor_failed(cluster: Cluster, lab: Laboratory) -> None:
    client = cluster.client(retry=ONCE)
    seen: list[str] = []

    async def act(request: Incoming) -> None:
        seen.append(request.name)
        await client.create(config_map(f"{request.name}-too"))

    lab.on_request(act, verb="create")
    fault = lab.fail(verb="create", nth=2)
    await client.create(config_map("a"))
    with pytest.raises(ApiError):
        await client.create(config_map("b"))
    assert seen == ["a", "b"]
    assert fault.seen == 2


async def test_selects_requests(cluster: Cluster, lab: Laboratory) -> None:
    seen: dict[str, list[str]] = {"writes": [], "client": [], "all": []}
    lab.on_request(lambda one: seen["writes"].append(one.name), verb="write")
    lab.on_request(lambda one: seen["client"].append(one.name), client="janes-tool", namespace="default")
    lab.on_request(lambda one: seen["all"].append(one.name))
    client, tool = cluster.client(), cluster.client(user_agent="janes-tool/2")
    await tool.create(config_map("a"))
    await client.create(config_map("dry"), dry_run=True)
    about = core.ObjectReference(kind="ConfigMap", name="a", namespace="default")
    await client.create(core.Event(metadata=meta.ObjectMeta(name="e", namespace="default"), involved_object=about))
    await client.get(core.ConfigMap, "a", "default")
    assert seen == {"writes": ["a"], "client": ["a"], "all": ["a", "dry", "e", "a"]}


async def test_exception_of_a_hook_fails_the_request_and_is_kept(
    cluster: Cluster, lab: Laboratory, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(_: Incoming) -> None:
        raise LookupError("no such thing")

    hook = lab.on_request(broken)
    with pytest.raises(ApiError, match="LookupError: no such thing"):
        await cluster.client(retry=ONCE).create(config_map("a"))
    assert isinstance(hook.error, LookupError)
    assert "the embedded cluster failed at POST" in caplog.text


def generator(_: Incoming) -> Any:
    yield


@pytest.mark.parametrize(
    ("hook", "options", "message"),
    [
        (lambda: None, {}, r"<lambda> \(test_hooks.py:\d+\) must take one argument, the Incoming request"),
        (lambda a, b: None, {"when": "after"}, "must take one argument, the Served request"),
        (generator, {}, "has a yield, so a call would not run it"),
        (Failing, {}, "on_request takes a function of one argument"),
        (503, {}, "on_request takes a function of one argument"),
    ],
)
def test_rejects_wrong_hooks_at_registration(lab: Laboratory, hook: Any, options: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        lab.on_request(hook, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"when": "during"}, 'when=.during. is unknown: use "before" or "after"'),
        ({"verb": "post"}, "unknown verb 'post'; use one of apply, create"),
        ({"kind": "configmap"}, "Did you mean 'configmaps'"),
        ({"nth": 0}, "nth must be at least 1, got 0"),
    ],
)
def test_rejects_wrong_selections(lab: Laboratory, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        lab.on_request(lambda _: None, **options)


async def test_faults_without_a_kind_do_not_count_events(cluster: Cluster, lab: Laboratory) -> None:
    client = cluster.client(retry=ONCE)
    about = core.ObjectReference(kind="ConfigMap", name="a", namespace="default")
    event = core.Event(metadata=meta.ObjectMeta(name="e", namespace="default"), involved_object=about)
    fault = lab.fail(nth=1)
    await client.create(event)
    assert fault.seen == 0
    with lab.fail(kind=core.Event, verb="delete"), pytest.raises(ApiError):
        await client.delete(core.Event, "e", "default")
