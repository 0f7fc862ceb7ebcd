"""The index of selectors finds what a scan of the namespace finds."""

from __future__ import annotations

import builtins
from typing import Any, TypeVar

from hypothesis import given
from hypothesis import strategies as st

from kubewright.api import Object, Selector, core, encode, meta, policy
from kubewright.cache import Labels, ObjectKey, SnapshotDecoder, Store
from kubewright.cluster.workloads import controller_manager

O = TypeVar("O", bound=Object)  # noqa: E741

KEYS, VALUES, NAMESPACES = ("app", "tier", "zone"), ("a", "b", "c"), ("one", "two")

labels = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES))
expressions = st.one_of(
    st.builds(
        meta.LabelSelectorRequirement,
        key=st.sampled_from(KEYS),
        operator=st.sampled_from(("In", "NotIn")),
        values=st.lists(st.sampled_from(VALUES), min_size=1, max_size=3),
    ),
    st.builds(
        meta.LabelSelectorRequirement,
        key=st.sampled_from(KEYS),
        operator=st.sampled_from(("Exists", "DoesNotExist", "Invalid")),
    ),
)
selectors = st.none() | st.builds(
    meta.LabelSelector, match_labels=labels, match_expressions=st.lists(expressions, max_size=2)
)
places = st.tuples(st.sampled_from(NAMESPACES), st.sampled_from(("x", "y", "z")))
changes = st.lists(st.tuples(places, st.just("delete") | selectors), max_size=12)


class World:
    """A store of disruption budgets, as the `Reader` of their controller. Counts the objects that are read."""

    def __init__(self) -> None:
        operator = controller_manager(controllers={"disruptions"})
        [(_, name, function)] = operator.indexed
        self.store: Store[policy.PodDisruptionBudget] = Store({name: function})
        self.there: dict[ObjectKey, meta.LabelSelector | None] = {}
        self.read_objects = 0
        self._decoder = SnapshotDecoder(policy.PodDisruptionBudget)
        [self._map] = [watch.map for each in operator.registrations() for watch in each.watches]

    def mapped(self, namespace: str, wanted: dict[str, str]) -> builtins.list[ObjectKey]:
        """Returns the budgets that the controller reconciles because of a pod with these labels."""
        metadata = meta.ObjectMeta(name="pod", namespace=namespace, labels=wanted)
        pod = core.Pod(metadata=metadata, spec=core.PodSpec(containers=[]))
        assert self._map is not None
        found: Any = self._map(pod, self)
        return [*found]

    def put(self, key: ObjectKey, selector: meta.LabelSelector | None) -> None:
        metadata = meta.ObjectMeta(name=key.name, namespace=key.namespace, uid=str(key), resource_version="1")
        spec = policy.PodDisruptionBudgetSpec(selector=selector)
        self.there[key] = selector
        self.store.put(self._decoder.snapshot(encode(policy.PodDisruptionBudget(metadata=metadata, spec=spec))))

    def remove(self, key: ObjectKey) -> None:
        self.there.pop(key, None)
        self.store.remove(key)

    def read(self, kind: type[O], name: str, namespace: str | None = None) -> O | None:
        raise NotImplementedError

    def list(self, kind: type[O], namespace: str | None = None, labels: Labels | None = None) -> list[O]:
        raise NotImplementedError

    def by_index(self, kind: type[Any], index: str, value: str, namespace: str | None = None) -> builtins.list[Any]:
        found = self.store.snapshots(self.store.index(index).keys(value))
        self.read_objects += len(found)
        return [snapshot.object() for snapshot in found]

    def scanned(self, namespace: str, wanted: dict[str, str]) -> builtins.list[ObjectKey]:
        """Returns what a scan of the namespace finds."""
        return sorted(
            key for key, selector in self.there.items() if key.namespace == namespace and matches(selector, wanted)
        )


def matches(selector: meta.LabelSelector | None, wanted: dict[str, str]) -> bool:
    if any(each.operator == "Invalid" for each in (selector.match_expressions if selector else None) or ()):
        return False
    return Selector.from_label_selector(selector).matches(wanted)


@given(changes, labels)
def test_finds_what_a_scan_finds(changed: list[tuple[tuple[str, str], Any]], wanted: dict[str, str]) -> None:
    world = World()
    for place, change in changed:
        key = ObjectKey(*place)
        if change == "delete":
            world.remove(key)
        else:
            world.put(key, change)
        for namespace in NAMESPACES:
            assert world.mapped(namespace, wanted) == world.scanned(namespace, wanted)


def test_finds_matches_beyond_the_limit_of_key_sets() -> None:
    world = World()
    for number in range(1100):
        world.put(ObjectKey("one", f"budget-{number}"), meta.LabelSelector(match_labels={f"key-{number}": "a"}))
    for number in (0, 999, 1000, 1099):
        assert world.mapped("one", {f"key-{number}": "a"}) == [ObjectKey("one", f"budget-{number}")]


def test_reads_only_matches_among_many_selectors() -> None:
    world = World()
    for number in range(100):
        own = meta.LabelSelector(match_labels={"app": "shared", "name": str(number)})
        world.put(ObjectKey("one", f"set-{number}"), own)
    found = world.mapped("one", {"app": "shared", "name": "7", "other": "x"})
    assert found == [ObjectKey("one", "set-7")]
    assert world.read_objects == 1
