"""After any sequence of changes, relists, 410s and broken connections: the store equals the server.

Whole or as metadata alone, transformed or not, and whatever the objects are that do not fit their model.
"""

from __future__ import annotations

import asyncio
import copy
import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright.api import DecodeError, Selector, core
from kubewright.cache import Change, Informer, ObjectKey, transform_json
from kubewright.client import Client
from kubewright.clock import VirtualClock
from tests.transports.memory import MemoryServer

NAMESPACES = ("a", "b", "c")
NAMES = ("one", "two", "three")
LABELS: tuple[dict[str, str], ...] = ({}, {"app": "web"}, {"app": "db", "tier": "back"}, {"tier": "front"})
SELECTORS = ("app=web", "app in (web,db)", "!app", "app!=web,tier", "tier=back", "app=db,tier in (back,front)")

keys = st.tuples(st.sampled_from(NAMESPACES), st.sampled_from(NAMES))
changes = st.one_of(
    st.tuples(st.just("put"), keys, st.sampled_from(LABELS)),
    st.tuples(st.just("own put"), keys, st.sampled_from(LABELS)),
    st.tuples(st.just("put broken"), keys, st.sampled_from(LABELS), st.sampled_from(["model", "header"])),
    st.tuples(st.just("delete"), keys),
    st.tuples(st.just("own delete"), keys),
)
disturbances = st.sampled_from(
    [("cut",), ("end",), ("expire",), ("silence",), ("bookmark",), ("settle",), ("down", 3), ("pass", 1), ("pass", 40)]
)
lapses = st.tuples(st.just("lapse"), st.lists(changes, max_size=4))
actions = st.lists(st.one_of(changes, changes, disturbances, lapses), max_size=40)


Json = dict[str, Any]


def trimmed(obj: Json) -> Json:
    """A transform that changes what selectors and indexes see, and fails for some."""
    if obj["metadata"]["name"] == "two":
        raise ValueError("not this one")
    obj["metadata"].get("labels", {}).pop("app", None)
    if "data" in obj:
        obj["data"] = {"kept": obj["metadata"]["resourceVersion"]}
    return obj


@dataclass(frozen=True)
class Form:
    """In which form objects are kept, and what readers see of one."""

    metadata_only: bool
    transforms: bool

    @property
    def options(self) -> dict[str, Any]:
        return {
            "metadata_only": self.metadata_only,
            "transform": transform_json(trimmed) if self.transforms else None,
        }

    def seen(self, obj: Json) -> Json:
        """The object as readers see it: as no more than a key, where its header cannot be read."""
        known = {"namespace": obj["metadata"]["namespace"], "name": obj["metadata"]["name"]}
        if not isinstance(obj["metadata"]["generation"], int):
            return {"metadata": known}
        obj = copy.deepcopy(obj)
        if self.metadata_only:
            del obj["data"]
        try:
            return trimmed(obj) if self.transforms else obj
        except ValueError:
            return {"metadata": known}

    def readable(self, obj: Json) -> bool:
        """Whether it can be decoded at all."""
        seen = self.seen(obj)
        return "uid" in seen["metadata"] and all(isinstance(value, str) for value in seen.get("data", {}).values())


class Mirror:
    """The objects that a handler knows from its changes alone."""

    def __init__(self) -> None:
        self.states: dict[ObjectKey, int] = {}
        self.initial: list[ObjectKey] = []

    def hear(self, change: Change[core.ConfigMap]) -> None:
        known = self.states.get(change.key)
        if change.type == "added":
            assert known is None, f"{change.key} was added twice"
            assert change.old is None
            if change.initial:
                self.initial.append(change.key)
        elif change.type == "updated":
            assert change.old is not None
            assert known == change.old.resource_version, f"{change.key}: updated from a state that was never delivered"
            assert change.old.resource_version < change.snapshot.resource_version, f"{change.key}: delivered twice"
        elif change.type == "deleted":
            assert known is not None, f"{change.key} was deleted twice"
            assert change.new is None
            del self.states[change.key]
            return
        assert change.new is not None
        self.states[change.key] = change.new.resource_version


class Run:
    """One informer on one server, and what is done to both."""

    def __init__(
        self, server: MemoryServer, clock: VirtualClock, informer: Informer[core.ConfigMap], labels: str, form: Form
    ) -> None:
        self.form = form
        self.server = server
        self.clock = clock
        self.informer = informer
        self.selector = Selector.parse(labels)
        self.mirrors: list[Mirror] = []
        self.written: dict[ObjectKey, int] = {}
        self.removed: dict[ObjectKey, str] = {}

    def listen(self) -> None:
        mirror = Mirror()
        self.mirrors.append(mirror)
        self.informer.add_handler(mirror.hear)

    def in_scope(self, obj: dict[str, Any]) -> bool:
        namespaces = self.informer.namespaces
        inside = not namespaces or obj["metadata"]["namespace"] in namespaces
        return inside and self.selector.matches(obj["metadata"].get("labels"))

    async def do(self, action: tuple[Any, ...]) -> None:
        await self._do(action)
        self.never_goes_back_behind_own_writes()

    async def _do(self, action: tuple[Any, ...]) -> None:
        match action:
            case ("put", (namespace, name), labels):
                self.server.put(namespace, name, labels=labels, owner=f"owner-{name}")
            case ("put broken", (namespace, name), labels, broken):
                self.server.put(namespace, name, labels=labels, owner=f"owner-{name}", broken=broken)
            case ("own put", (namespace, name), labels):
                answer = self.server.put(namespace, name, labels=labels, owner=f"owner-{name}")
                self.informer.written(json.dumps(answer).encode())
                self.sees_own_write(ObjectKey(namespace, name), answer)
            case ("delete", (namespace, name)):
                self.server.delete(namespace, name)
            case ("own delete", (namespace, name)):
                gone = self.server.delete(namespace, name)
                if gone is not None:
                    key = ObjectKey(namespace, name)
                    self.informer.removed(key, gone["metadata"]["uid"])
                    self.removed[key] = gone["metadata"]["uid"]
                    shown = self.informer.lister.snapshot(key)
                    assert shown is None or shown.uid != gone["metadata"]["uid"]
            case ("lapse", unseen):
                # Changes without a watch, and revisions that have expired when the watch resumes.
                await self.clock.settled()
                self.server.cut()
                for change in unseen:
                    await self.do(change)
                self.server.expire()
            case ("settle",):
                await self.clock.settled()
            case ("pass", seconds):
                await self.clock.advance(seconds)
            case ("down", seconds):
                self.server.down = True
                self.server.cut()
                await self.clock.advance(seconds)
                self.server.down = False
            case (name,):
                getattr(self.server, name)()

    def never_goes_back_behind_own_writes(self) -> None:
        """No read shows an older state than the one that we wrote, however long the stream takes."""
        for key, revision in self.written.items():
            shown = self.informer.lister.snapshot(key)
            if shown is not None:
                assert shown.resource_version >= revision
            else:
                assert any(
                    at > revision and (new is None or not self.in_scope(new))
                    for at, old, new in self.server.history
                    if ((old or new or {})["metadata"]["namespace"], (old or new or {})["metadata"]["name"]) == key
                )
        for key, uid in self.removed.items():
            shown = self.informer.lister.snapshot(key)
            assert shown is None or shown.uid != uid

    def sees_own_write(self, key: ObjectKey, answer: dict[str, Any]) -> None:
        shown = self.informer.lister.snapshot(key)
        if not self.in_scope(answer):
            assert shown is None
            return
        assert shown is not None
        assert shown.resource_version == int(answer["metadata"]["resourceVersion"])
        self.written[key] = shown.resource_version
        assert key in self.informer.lister.keys(key.namespace, shown.labels)
        if self.form.readable(answer):
            owned = self.informer.lister.snapshots_by_index("owner", f"owner-{key.name}")
            assert key in [found.key for found in owned]

    def check(self) -> None:
        """Everything has settled: all views agree with the server and with each other."""
        lister, informer = self.informer.lister, self.informer
        truth = {ObjectKey(*key): obj for key, obj in sorted(self.server.objects.items()) if self.in_scope(obj)}
        revisions = {key: int(obj["metadata"]["resourceVersion"]) for key, obj in truth.items()}
        assert {s.key: s.resource_version for s in lister.snapshots()} == revisions
        assert lister.keys() == list(truth)
        assert len(lister) == len(truth)
        assert len(informer._overlay) == 0
        for key, obj in truth.items():
            self.check_object(key, obj)
        readable = [key for key, obj in truth.items() if self.form.readable(obj)]
        assert [ObjectKey.of(found) for found in lister.list()] == readable
        for mirror in self.mirrors:
            assert mirror.states == revisions
            assert len(mirror.initial) == len(set(mirror.initial))
        seen = {key: self.form.seen(obj) for key, obj in truth.items()}
        self.check_indexes(lambda selected: [key for key, obj in seen.items() if selected(obj)])
        for name in NAMES:
            expected = [key for key in readable if name[-1] in key.name]
            assert [s.key for s in lister.snapshots_by_index("letters", name[-1])] == expected

    def check_object(self, key: ObjectKey, obj: Json) -> None:
        if not self.form.readable(obj):
            with pytest.raises(DecodeError):
                self.informer.lister.get_key(key)
            return
        found = self.informer.lister.get_key(key)
        assert found is not None
        assert getattr(found, "data", {}) == self.form.seen(obj).get("data", {})
        assert found.metadata.managed_fields == []
        assert found.metadata.labels == self.form.seen(obj)["metadata"].get("labels", {})
        assert (found.api_version, found.kind) == ("v1", "ConfigMap")

    def check_indexes(self, brute_force: Callable[[Callable[[dict[str, Any]], bool]], list[ObjectKey]]) -> None:
        lister = self.informer.lister
        for text in SELECTORS:
            selector = Selector.parse(text)
            expected = brute_force(lambda obj: selector.matches(obj["metadata"].get("labels")))  # noqa: B023
            assert lister.keys(labels=text) == expected
            for namespace in NAMESPACES:
                assert lister.keys(namespace, text) == [key for key in expected if key.namespace == namespace]
        for namespace in NAMESPACES:
            expected = brute_force(lambda obj: obj["metadata"]["namespace"] == namespace)  # noqa: B023
            assert [s.key for s in lister.snapshots_by_index("namespace", namespace)] == expected
        for name in NAMES:
            owner = f"owner-{name}"
            expected = brute_force(
                lambda obj: [one["uid"] for one in obj["metadata"].get("ownerReferences", ())] == [owner]  # noqa: B023
            )
            assert [s.key for s in lister.snapshots_by_index("owner", owner)] == expected


@pytest.mark.promise("Reading the cache", "An index stays in step with the store, and can be added late.")
@pytest.mark.promise(
    "The stream from the server",
    "After any changes, new lists and 410s the store and each handler agree with the server.",
)
@pytest.mark.promise("Our own writes", "What lies over the store goes by an event, a bookmark or a new list.")
@given(
    before=actions,
    after=actions,
    namespaces=st.sampled_from([(), ("a",), ("a", "b")]),
    labels=st.sampled_from(["", "", "app", "app=web"]),
    streaming=st.booleans(),
    expire_by_event=st.booleans(),
    chunk_size=st.sampled_from([0, 100, 7]),
    reduces=st.booleans(),
    form=st.builds(Form, metadata_only=st.booleans(), transforms=st.booleans()),
    seed=st.integers(0, 100),
)
@settings(max_examples=150, deadline=None)
def test_the_store_equals_the_server_after_anything(
    before: list[tuple[Any, ...]],
    after: list[tuple[Any, ...]],
    namespaces: tuple[str, ...],
    labels: str,
    streaming: bool,
    expire_by_event: bool,
    chunk_size: int,
    reduces: bool,
    form: Form,
    seed: int,
) -> None:
    async def scenario() -> None:
        server = MemoryServer(
            streaming=streaming, expire_by_event=expire_by_event, chunk_size=chunk_size, reduces=reduces
        )
        clock, rng = VirtualClock(), random.Random(seed)
        client = Client(transport=server, clock=clock, rng=rng)
        informer = Informer(
            client,
            core.ConfigMap,
            namespaces=namespaces,
            labels=labels,
            indexes={"letters": lambda obj: list(obj.metadata.name)},
            clock=clock,
            rng=rng,
            **form.options,
        )
        run = Run(server, clock, informer, labels, form)
        run.listen()
        server.put("a", "one", owner="owner-one")
        async with informer:
            for action in before:
                await run.do(action)
            run.listen()
            for action in after:
                await run.do(action)
            # Long enough for any backoff and for the watchdog. A bookmark says how far the stream is.
            await clock.advance(400)
            server.bookmark()
            await clock.settled()
            assert informer.synced
            run.check()
            run.listen()
            run.check()

    asyncio.run(scenario())
