"""The admission chain, and the writes that run it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from kubewright.cluster import Cluster, User
from kubewright.cluster.admission import NAMES, Attributes, Chain, Plugin
from tests.cluster.conftest import Got, Raw

MAPS = "/api/v1/namespaces/default/configmaps"
Step = Callable[[Attributes], Awaitable[None] | None]


class Recorder(Plugin):
    """Records its calls and runs the given functions."""

    def __init__(self, name: str, *, mutate: Step | None = None, validate: Step | None = None) -> None:
        self.name = name
        self.calls: list[tuple[str, Attributes]] = []
        self._steps = {"mutate": mutate, "validate": validate}

    def _do(self, phase: str, attributes: Attributes) -> Awaitable[None] | None:
        self.calls.append((phase, attributes))
        step = self._steps[phase]
        return None if step is None else step(attributes)

    def mutate(self, attributes: Attributes) -> Awaitable[None] | None:
        return self._do("mutate", attributes)

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        return self._do("validate", attributes)


@pytest.mark.promise(
    "Webhooks of the embedded cluster",
    "Every write runs admission in two phases, in the real server's order.",
)
async def test_plugins_run_in_the_order_of_the_real_server() -> None:
    order: list[str] = []
    chain = Chain()
    names = ["ResourceQuota", "LimitRanger", "ValidatingAdmissionPolicy"]

    def note(name: str) -> Step:
        return lambda _: order.append(name)

    for name in names:
        chain.add(Recorder(name, mutate=note(name)))
    state_type: Any = None
    await chain.mutate(Attributes(operation="CREATE", type=state_type, user=User("me")))
    assert order == sorted(names, key=NAMES.index)


def test_rejects_unknown_plugin() -> None:
    with pytest.raises(ValueError, match="'Mine' is not a known admission plugin"):
        Chain().add(Recorder("Mine"))


def test_rejects_duplicate_plugin() -> None:
    chain = Chain()
    chain.add(Recorder("LimitRanger"))
    with pytest.raises(ValueError, match="the admission plugin LimitRanger was added already"):
        chain.add(Recorder("LimitRanger"))
    assert chain.find("LimitRanger") is not None
    assert chain.find("ResourceQuota") is None


@pytest.mark.promise(
    "Webhooks of the embedded cluster",
    "Every write runs admission in two phases, in the real server's order.",
)
async def test_every_write_runs_both_phases(embedded: Cluster, raw: Raw) -> None:
    plugin = Recorder("NodeRestriction")
    embedded.state.admission.add(plugin)
    await raw("POST", MAPS, {"metadata": {"generateName": "a-"}})
    (first, mutated), (second, validated) = plugin.calls
    assert (first, mutated.operation, mutated.name) == ("mutate", "CREATE", "")
    assert (second, validated.operation, validated.name[:2]) == ("validate", "CREATE", "a-")
    assert validated.object is not None
    assert validated.object["metadata"]["uid"]
    plugin.calls.clear()
    await raw("PATCH", f"{MAPS}/{validated.name}", {"data": {"k": "v"}}, type="application/merge-patch+json")
    assert [(phase, attributes.operation, attributes.old is not None) for phase, attributes in plugin.calls] == [
        ("mutate", "UPDATE", True),
        ("validate", "UPDATE", True),
    ]
    plugin.calls.clear()
    await raw("DELETE", f"{MAPS}/{validated.name}?dryRun=All")
    assert [
        (phase, attributes.operation, attributes.object, attributes.dry_run) for phase, attributes in plugin.calls
    ] == [
        ("mutate", "DELETE", None, True),
        ("validate", "DELETE", None, True),
    ]


async def test_plugin_changes_warns_and_rejects(embedded: Cluster, raw: Raw) -> None:
    def change(attributes: Attributes) -> None:
        assert attributes.object is not None
        attributes.object["data"] = {"set": "by the plugin"}
        attributes.warnings.append("changed")

    async def refuse(attributes: Attributes) -> None:
        if attributes.name == "bad":
            raise attributes.forbidden("exceeded everything")

    embedded.state.admission.add(Recorder("NodeRestriction", mutate=change))
    embedded.state.admission.add(Recorder("TaintNodesByCondition", validate=refuse))
    made = await raw("POST", MAPS, {"metadata": {"name": "good"}})
    assert (made.status, made.body["data"], made.warnings) == (
        201,
        {"set": "by the plugin"},
        ['299 - "changed"'],
    )
    refused = await raw("POST", MAPS, {"metadata": {"name": "bad"}})
    assert (refused.status, refused.body["message"]) == (
        403,
        'configmaps "bad" is forbidden: exceeded everything',
    )


async def test_mutating_phase_runs_again_on_reinvoke(embedded: Cluster, raw: Raw) -> None:
    rounds: list[int] = []

    def once_more(attributes: Attributes) -> None:
        rounds.append(attributes.round)
        attributes.reinvoke = True

    embedded.state.admission.add(Recorder("NodeRestriction", mutate=once_more))
    await raw("POST", MAPS, {"metadata": {"name": "a"}})
    assert rounds == [0, 1]


class Held:
    """A plugin function that blocks its first update until it is released."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.go = asyncio.Event()
        self.seen: list[Any] = []

    async def __call__(self, attributes: Attributes) -> None:
        if attributes.operation == "CREATE" or attributes.user.name == "other":
            return
        self.seen.append((attributes.old or {}).get("data"))
        self.reached.set()
        await self.go.wait()


async def between(embedded: Cluster, raw: Raw, held: Held, request: Awaitable[Got]) -> Got:
    """Writes the object while a request about it waits for admission. Returns the response of the request."""
    other = Raw(embedded.transport(User("other")))
    waiting = asyncio.ensure_future(request)
    await held.reached.wait()
    changed = await other("PATCH", f"{MAPS}/a", {"data": {"other": "1"}}, type="application/merge-patch+json")
    assert changed.status == 200
    held.go.set()
    return await waiting


@pytest.mark.promise(
    "Webhooks of the embedded cluster",
    "A write restarts if its object changes during admission; no change is lost or written twice.",
)
async def test_patch_restarts_when_the_object_changes_during_admission(embedded: Cluster, raw: Raw) -> None:
    held = Held()
    embedded.state.admission.add(Recorder("NodeRestriction", validate=held))
    await raw("POST", MAPS, {"metadata": {"name": "a"}, "data": {"k": "v"}})
    patch = raw("PATCH", f"{MAPS}/a", {"data": {"mine": "1"}}, type="application/merge-patch+json")
    answer = await between(embedded, raw, held, patch)
    assert (answer.status, answer.body["data"]) == (200, {"k": "v", "other": "1", "mine": "1"})
    assert held.seen == [{"k": "v"}, {"k": "v", "other": "1"}]


@pytest.mark.promise(
    "Webhooks of the embedded cluster",
    "A write restarts if its object changes during admission; no change is lost or written twice.",
)
async def test_update_conflicts_when_the_object_changes_during_admission(embedded: Cluster, raw: Raw) -> None:
    held = Held()
    embedded.state.admission.add(Recorder("NodeRestriction", mutate=held))
    made = (await raw("POST", MAPS, {"metadata": {"name": "a"}, "data": {"k": "v"}})).body
    answer = await between(embedded, raw, held, raw("PUT", f"{MAPS}/a", {**made, "data": {"k": "w"}}))
    assert (answer.status, answer.body["reason"]) == (409, "Conflict")


async def test_deletion_restarts_when_the_object_changes_during_admission(embedded: Cluster, raw: Raw) -> None:
    held = Held()
    embedded.state.admission.add(Recorder("NodeRestriction", validate=held))
    await raw("POST", MAPS, {"metadata": {"name": "a"}, "data": {"k": "v"}})
    answer = await between(embedded, raw, held, raw("DELETE", f"{MAPS}/a"))
    assert answer.status == 200
    assert held.seen == [{"k": "v"}, {"k": "v", "other": "1"}]
    assert (await raw("GET", f"{MAPS}/a")).status == 404


@pytest.mark.promise(
    "Webhooks of the embedded cluster",
    "A write restarts if its object changes during admission; no change is lost or written twice.",
)
async def test_one_of_two_concurrent_creates_succeeds(embedded: Cluster, raw: Raw) -> None:
    both = asyncio.Barrier(2)

    async def meet(attributes: Attributes) -> None:
        await both.wait()

    embedded.state.admission.add(Recorder("NodeRestriction", validate=meet))
    answers = await asyncio.gather(*(raw("POST", MAPS, {"metadata": {"name": "a"}}) for _ in range(2)))
    assert sorted(answer.status for answer in answers) == [201, 409]
    assert {answer.body.get("reason") for answer in answers} == {None, "AlreadyExists"}


async def test_restarted_request_does_not_repeat_warnings(embedded: Cluster, raw: Raw) -> None:
    held = Held()

    async def warn(attributes: Attributes) -> None:
        if attributes.user.name != "other":
            attributes.warnings.append("once")
        await held(attributes)

    embedded.state.admission.add(Recorder("NodeRestriction", validate=warn))
    await raw("POST", MAPS, {"metadata": {"name": "a"}})
    patch = raw("PATCH", f"{MAPS}/a", {"data": {"mine": "1"}}, type="application/merge-patch+json")
    assert (await between(embedded, raw, held, patch)).warnings == ['299 - "once"']


@pytest.mark.promise(
    "Webhooks of the embedded cluster",
    "Controllers write as their own users and retry writes that admission rejected.",
)
async def test_controllers_use_their_own_user_and_retry_rejected_writes(clock: Any) -> None:
    refusing = True
    users: list[str] = []

    def keep(attributes: Attributes) -> None:
        if attributes.operation == "DELETE" and attributes.name == "child":
            users.append(attributes.user.name)
            if refusing:
                raise attributes.forbidden("not yet")

    async with Cluster(clock=clock, seed=1) as cluster:
        raw = Raw(cluster.transport())
        cluster.state.admission.add(Recorder("NodeRestriction", validate=keep))
        owner = (await raw("POST", MAPS, {"metadata": {"name": "owner"}})).body["metadata"]
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["uid"]}
        await raw("POST", MAPS, {"metadata": {"name": "child", "ownerReferences": [reference]}})
        await raw("DELETE", f"{MAPS}/owner")
        await cluster.settled()
        assert (await raw("GET", f"{MAPS}/child")).status == 200
        assert set(users) == {"system:serviceaccount:kube-system:generic-garbage-collector"}
        refusing = False
        await clock.advance(2)
        await cluster.settled()
        assert (await raw("GET", f"{MAPS}/child")).status == 404
