from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kubewright.api import encode
from kubewright.cache import Change, Snapshot, SnapshotDecoder
from kubewright.controller import (
    annotations_changed,
    generation_changed,
    labels_changed,
    predicate,
    resource_version_changed,
)
from kubewright.controller.registration import Predicate
from tests.controller.conftest import Thing, key, thing


def snapshot(version: int = 1, **meta: Any) -> Snapshot[Thing]:
    return SnapshotDecoder(Thing).snapshot(encode(thing(resource_version=str(version), **meta)))


def update(old: Snapshot[Thing], new: Snapshot[Thing]) -> Change[Thing]:
    return Change("updated", key(), old, new)


NOTHING = update(snapshot(1), snapshot(2))
LABELS = update(snapshot(1), snapshot(2, labels={"a": "b"}))
ANNOTATIONS = update(snapshot(1), snapshot(2, annotations={"a": "b"}))
GENERATION = update(snapshot(1), snapshot(2, generation=2))
SAME = update(snapshot(1), snapshot(1))


@pytest.mark.promise("What wakes a reconciler", "Predicates: generation, labels, annotations, revision.")
@pytest.mark.parametrize(
    ("passes", "change"),
    [
        (generation_changed, GENERATION),
        (labels_changed, LABELS),
        (annotations_changed, ANNOTATIONS),
        (resource_version_changed, NOTHING),
    ],
)
def test_each_predicate_passes_the_update_it_is_named_for(passes: Predicate, change: Change[Thing]) -> None:
    assert passes(change)


@pytest.mark.promise("What wakes a reconciler", "Predicates: generation, labels, annotations, revision.")
@pytest.mark.parametrize(
    ("passes", "changes"),
    [
        (generation_changed, [NOTHING, LABELS, ANNOTATIONS]),
        (labels_changed, [NOTHING, GENERATION, ANNOTATIONS]),
        (annotations_changed, [NOTHING, GENERATION, LABELS]),
        (resource_version_changed, [SAME]),
    ],
)
def test_each_predicate_stops_other_updates(passes: Predicate, changes: list[Change[Thing]]) -> None:
    assert not any(passes(change) for change in changes)


@pytest.mark.parametrize(
    "passes", [generation_changed, labels_changed, annotations_changed, resource_version_changed], ids=repr
)
def test_new_and_deleted_objects_and_resyncs_always_pass(passes: Predicate) -> None:
    state = snapshot()
    assert passes(Change("added", key(), None, state))
    assert passes(Change("deleted", key(), state, None))
    assert passes(Change("resync", key(), state, state))


@pytest.mark.promise("What wakes a reconciler", "They combine by and, or and not, with any function.")
def test_predicates_combine_with_and_or_and_not() -> None:
    both = generation_changed & labels_changed
    either = generation_changed | labels_changed
    assert not both(GENERATION)
    assert both(update(snapshot(1), snapshot(2, generation=2, labels={"a": "b"})))
    assert either(GENERATION)
    assert either(LABELS)
    assert not either(ANNOTATIONS)
    assert (~generation_changed)(LABELS)
    assert not (~generation_changed)(Change("added", key(), None, snapshot()))


@pytest.mark.promise("What wakes a reconciler", "They combine by and, or and not, with any function.")
def test_any_function_of_a_change_combines_on_either_side() -> None:
    def big(change: Change[Thing]) -> bool:
        return change.snapshot.generation > 5

    assert (generation_changed & big)(update(snapshot(1), snapshot(2, generation=6)))
    assert not (big & generation_changed)(GENERATION)
    assert (predicate(big) | labels_changed)(LABELS)
    assert not (~predicate(big))(update(snapshot(1), snapshot(2, generation=6)))


def test_a_combination_says_what_it_is_made_of() -> None:
    assert repr(generation_changed & ~labels_changed) == "(generation_changed & ~labels_changed)"


def test_rejects_a_predicate_that_is_not_a_function() -> None:
    with pytest.raises(TypeError, match="a predicate must be a function of a Change"):
        predicate("generation")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "combine",
    [
        lambda: generation_changed and labels_changed,
        lambda: generation_changed or labels_changed,
        lambda: not generation_changed,
    ],
)
def test_rejects_the_words_that_python_would_reduce_to_one_predicate(combine: Callable[[], object]) -> None:
    with pytest.raises(
        TypeError, match=r"predicate generation_changed .* combine predicates with &, \| and ~, as in a &"
    ):
        combine()
