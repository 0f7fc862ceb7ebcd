"""The chain of plugins, and the writes that go through it."""

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


class Told(Plugin):
    """Remembers what it was told, and does what it is given."""

    def __init__(self, name: str, *, mutate: Step | None = None, validate: Step | None = None) -> None:
        self.name = name
        self.told: list[tuple[str, Attributes]] = []
        self._steps = {"mutate": mutate, "validate": validate}

    def _do(self, phase: str, attributes: Attributes) -> Awaitable[None] | None:
        self.told.append((phase, attributes))
        step = self._steps[phase]
        return None if step is None else step(attributes)

    def mutate(self, attributes: Attributes) -> Awaitable[None] | None:
        return self._do("mutate", attributes)

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        return self._do("validate", attributes)


@pytest.mark.promise(
    "Webhooks of the embedded cluster",
    "Every write asks admission in two phases, in the real server's order.",
)
async def test_plugins_are_asked_in_the_order_of_the_real_server() -> None:
    order: list[str] = []
    chain = Chain()
    names = ["ResourceQuota", "LimitRanger", "ValidatingAdmissionPolicy"]

    def note(name: str) -> Step:
        return lambda _: order.append(name)

    for name in names:
        chain.add(Told(name, mutate=note(name)))
    state_type: Any = None
    await chain.mutate(Attributes(operation="CREATE", type=state_type, user=User("me")))
    assert order == sorted(names, key=NAMES.index)


def test_a_plugin_that_the_real_server_does_not_know_is_refused() -> None:
    with pytest.raises(ValueError, match="'Mine' is no admission plugin of the real server"):
        Chain().add(Told("Mine"))


def test_a_plugin_is_added_once() -> None:
    chain = Chain()
    chain.add(Told("LimitRanger"))
    with pytest.raises(ValueError, match="the admission plugin LimitRanger is there already"):
        chain.add(Told("LimitRanger"))
    assert chain.find("LimitRanger") is not None
    assert chain.find("ResourceQuota") is None


@pytest.mark.promise(
    "Webhooks of the embedded cluster",
    "Every write asks admission in two phases, in the real server's order.",
)
async def test_every_write_asks_in_both_phases(embedded: Cluster, raw: Raw) -> None:
    plugin = Told("PodSecurity")
    embedded.state.admission.add(plugin)
    await raw("POST", MAPS, {"metadata": {"generateName": "a-"}})
    (first, mutated), (second, validated) = plugin.told
    assert (first, mutated.operation, mutated.name) == ("mutate", "CREATE", "")
    assert (second, validated.operation, validated.name[:2]) == ("validate", "CREATE", "a-")
    assert validated.object is not None
    assert validated.object["metadata"]["uid"]
    plugin.told.clear()
    await raw("PATCH", f"{MAPS}/{validated.name}", {"data": {"k": "v"}}, type="application/merge-patch+json")
    assert [(phase, told.operation, told.old is not None) for phase, told in plugin.told] == [
        ("mutate", "UPDATE", True),
        ("validate", "UPDATE", True),
    ]
    plugin.told.clear()
    await raw("DELETE", f"{MAPS}/{validated.name}?dryRun=All")
    assert [(phase, told.operation, told.object, told.dry_run) for phase, told in plugin.told] == [
        ("mutate", "DELETE", None, True),
        ("validate", "DELETE", None, True),
    ]


async def test_a_plugin_changes_warns_and_refuses(embedded: Cluster, raw: Raw) -> None:
    def change(told: Attributes) -> None:
        assert told.object is not None
        told.object["data"] = {"set": "by the plugin"}
        told.warnings.append("changed")

    async def refuse(told: Attributes) -> None:
        if told.name == "bad":
            raise told.forbidden("exceeded everything")

    embedded.state.admission.add(Told("PodSecurity", mutate=change))
    embedded.state.admission.add(Told("RuntimeClass", validate=refuse))
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


async def test_the_first_phase_runs_again_when_a_plugin_asks_for_it(embedded: Cluster, raw: Raw) -> None:
    rounds: list[int] = []

    def once_more(told: Attributes) -> None:
        rounds.append(told.round)
        told.reinvoke = True

    embedded.state.admission.add(Told("PodSecurity", mutate=once_more))
    await raw("POST", MAPS, {"metadata": {"name": "a"}})
    assert rounds == [0, 1]


class Held:
    """A plugin's step that waits until it is let go, the first time it is asked about an update."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.go = asyncio.Event()
        self.seen: list[Any] = []

    async def __call__(self, told: Attributes) -> None:
        if told.operation == "CREATE" or told.user.name == "other":
            return
        self.seen.append((told.old or {}).get("data"))
        self.reached.set()
        await self.go.wait()


async def between(embedded: Cluster, raw: Raw, held: Held, request: Awaitable[Got]) -> Got:
    """Write the object while a request about it waits for admission; the answer to the request."""
    other = Raw(embedded.transport(User("other")))
    waiting = asyncio.ensure_future(request)
    await held.reached.wait()
    changed = await other("PATCH", f"{MAPS}/a", {"data": {"other": "1"}}, type="application/merge-patch+json")
    assert changed.status == 200
    held.go.set()
    return await waiting


@pytest.mark.promise(
    "Webhooks of the embedded cluster",
    "A write begins again when its object changed while admission was asked; nothing is lost, and nothing is "
    "written twice.",
)
async def test_a_patch_begins_again_when_the_object_changed_while_admission_was_asked(
    embedded: Cluster, raw: Raw
) -> None:
    held = Held()
    embedded.state.admission.add(Told("PodSecurity", validate=held))
    await raw("POST", MAPS, {"metadata": {"name": "a"}, "data": {"k": "v"}})
    patch = raw("PATCH", f"{MAPS}/a", {"data": {"mine": "1"}}, type="application/merge-patch+json")
    answer = await between(embedded, raw, held, patch)
    assert (answer.status, answer.body["data"]) == (200, {"k": "v", "other": "1", "mine": "1"})
    assert held.seen == [{"k": "v"}, {"k": "v", "other": "1"}]


@pytest.mark.promise(
    "Webhooks of the embedded cluster",
    "A write begins again when its object changed while admission was asked; nothing is lost, and nothing is "
    "written twice.",
)
async def test_an_update_of_a_revision_that_has_passed_meanwhile_is_a_conflict(embedded: Cluster, raw: Raw) -> None:
    held = Held()
    embedded.state.admission.add(Told("PodSecurity", mutate=held))
    made = (await raw("POST", MAPS, {"metadata": {"name": "a"}, "data": {"k": "v"}})).body
    answer = await between(embedded, raw, held, raw("PUT", f"{MAPS}/a", {**made, "data": {"k": "w"}}))
    assert (answer.status, answer.body["reason"]) == (409, "Conflict")


async def test_a_deletion_asks_about_what_the_object_has_become(embedded: Cluster, raw: Raw) -> None:
    held = Held()
    embedded.state.admission.add(Told("PodSecurity", validate=held))
    await raw("POST", MAPS, {"metadata": {"name": "a"}, "data": {"k": "v"}})
    answer = await between(embedded, raw, held, raw("DELETE", f"{MAPS}/a"))
    assert answer.status == 200
    assert held.seen == [{"k": "v"}, {"k": "v", "other": "1"}]
    assert (await raw("GET", f"{MAPS}/a")).status == 404


@pytest.mark.promise(
    "Webhooks of the embedded cluster",
    "A write begins again when its object changed while admission was asked; nothing is lost, and nothing is "
    "written twice.",
)
async def test_of_two_creates_of_one_name_that_wait_for_admission_one_succeeds(embedded: Cluster, raw: Raw) -> None:
    both = asyncio.Barrier(2)

    async def meet(told: Attributes) -> None:
        await both.wait()

    embedded.state.admission.add(Told("PodSecurity", validate=meet))
    answers = await asyncio.gather(*(raw("POST", MAPS, {"metadata": {"name": "a"}}) for _ in range(2)))
    assert sorted(answer.status for answer in answers) == [201, 409]
    assert {answer.body.get("reason") for answer in answers} == {None, "AlreadyExists"}


async def test_warnings_of_an_attempt_that_begins_again_are_not_told_twice(embedded: Cluster, raw: Raw) -> None:
    held = Held()

    async def warn(told: Attributes) -> None:
        if told.user.name != "other":
            told.warnings.append("once")
        await held(told)

    embedded.state.admission.add(Told("PodSecurity", validate=warn))
    await raw("POST", MAPS, {"metadata": {"name": "a"}})
    patch = raw("PATCH", f"{MAPS}/a", {"data": {"mine": "1"}}, type="application/merge-patch+json")
    assert (await between(embedded, raw, held, patch)).warnings == ['299 - "once"']


@pytest.mark.promise(
    "Webhooks of the embedded cluster",
    "Controllers ask in their own name, and try again what was refused.",
)
async def test_controllers_ask_in_their_own_name_and_try_again_what_was_refused(clock: Any) -> None:
    refusing = True
    users: list[str] = []

    def keep(told: Attributes) -> None:
        if told.operation == "DELETE" and told.name == "child":
            users.append(told.user.name)
            if refusing:
                raise told.forbidden("not yet")

    async with Cluster(clock=clock, seed=1) as cluster:
        raw = Raw(cluster.transport())
        cluster.state.admission.add(Told("PodSecurity", validate=keep))
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
