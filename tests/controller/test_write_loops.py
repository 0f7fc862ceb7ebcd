"""When a key that keeps waking itself is slowed down: decisions, without a server."""

from __future__ import annotations

from typing import Any

import pytest

from kubewright.api import ObjectMeta, encode
from kubewright.cache import Change, ObjectKey, SnapshotDecoder
from kubewright.clock import VirtualClock
from kubewright.controller._own_writes import OwnWrites  # private: a pure decision, tested without a controller

# private: a pure decision, tested without a controller
from kubewright.controller._write_loops import FIRST_PAUSE, LIMIT, LONGEST_PAUSE, Part, WriteLoops, part_of
from tests.controller.conftest import Thing, ThingStatus, key, thing

STATUS = Part(Thing, key(), "status")
METADATA = Part(Thing, key(), "metadata")


@pytest.fixture
def loops(clock: VirtualClock) -> WriteLoops:
    return WriteLoops(clock)


def spin(loops: WriteLoops, rounds: int = LIMIT) -> list[Any]:
    return [loops.ran(key(), {STATUS}, {STATUS}) for _ in range(rounds)]


def state(version: int, **changes: Any) -> Any:
    obj = thing(**{name: value for name, value in changes.items() if name != "ready"})
    obj.metadata.resource_version = str(version)
    obj.status = ThingStatus(ready=changes.get("ready", 0))
    return SnapshotDecoder(Thing).snapshot(encode(obj))


def updated(old: Any, new: Any) -> Change[Any]:
    return Change("updated", key(), old, new)


def test_slows_down_a_key_that_only_its_own_part_triggers(loops: WriteLoops) -> None:
    *before, loop = spin(loops)
    assert not any(before)
    assert loop is not None
    assert (loops.wait(key(), STATUS), len(loops)) == (FIRST_PAUSE, 1)
    assert loops.should_report(loop)
    assert not loops.should_report(loop)


def test_never_delays_other_causes(loops: WriteLoops) -> None:
    spin(loops)
    assert loops.wait(key(), METADATA) == 0
    assert loops.wait(key(), None) == 0
    assert loops.wait(key("two"), STATUS) == 0


async def test_doubles_the_pause_up_to_a_minute(loops: WriteLoops, clock: VirtualClock) -> None:
    spin(loops)
    pauses = []
    for _ in range(5):
        pauses.append(pause := loops.wait(key(), STATUS))
        await clock.advance(pause)
        assert loops.wait(key(), STATUS) == 0
        spin(loops, 1)
    assert pauses == [10, 20, 40, LONGEST_PAUSE, LONGEST_PAUSE]


def test_ends_when_there_is_nothing_to_write(loops: WriteLoops) -> None:
    spin(loops)
    loops.ran(key(), {STATUS}, set())
    assert loops.wait(key(), STATUS) == 0
    assert not any(spin(loops, LIMIT - 1))


def test_does_not_count_reconciles_that_something_else_caused(loops: WriteLoops) -> None:
    for _ in range(LIMIT * 3):
        assert loops.ran(key(), {STATUS, None}, {STATUS}) is None
        assert loops.ran(key(), {Part(Thing, key("child"), "status")}, {STATUS}) is None
        assert loops.ran(key(), set(), {STATUS}) is None


async def test_does_not_count_slow_rounds(loops: WriteLoops, clock: VirtualClock) -> None:
    for _ in range(LIMIT * 3):
        assert loops.ran(key(), {STATUS}, {STATUS}) is None
        await clock.advance(1)


def test_counts_an_object_that_is_not_the_reconciled_one(loops: WriteLoops) -> None:
    child = Part(Thing, key("child"), "object")
    assert [bool(loops.ran(key(), {child}, {child, STATUS})) for _ in range(LIMIT)][-1]


@pytest.mark.parametrize(
    ("new", "part"),
    [
        (state(2, ready=1), STATUS),
        (state(2, labels={"a": "b"}), METADATA),
        (state(2, annotations={"a": "b"}), METADATA),
        (state(2, finalizers=["example.com/x"], ready=1), METADATA),
        (state(2, generation=2), None),
        (state(2, uid="another"), None),
    ],
)
def test_returns_the_part_of_an_object_that_changed(new: Any, part: Part | None) -> None:
    assert part_of(updated(state(1), new)) == part


def test_a_new_object_and_a_deletion_are_never_part_of_a_loop() -> None:
    assert part_of(Change("added", key(), None, state(1))) is None
    assert part_of(Change("deleted", key(), state(1), None)) is None
    assert part_of(Change("resync", key(), state(1), state(1))) is None


def written(version: int, name: str = "one") -> Thing:
    return Thing(metadata=ObjectMeta(name=name, namespace="default", resource_version=str(version)), spec=thing().spec)


def test_only_the_version_that_a_write_returned_is_an_echo() -> None:
    own = OwnWrites()
    own.note(written(2), key())
    assert not own.is_echo(updated(state(1), state(3, ready=1)), key())
    assert own.is_echo(updated(state(1), state(2, ready=1)), key())
    assert not own.is_echo(updated(state(1), state(2, ready=1)), key()), "once"


def test_an_echo_belongs_to_the_key_that_wrote() -> None:
    own = OwnWrites()
    own.note(written(2), key("two"))
    assert not own.is_echo(updated(state(1), state(2)), key())
    assert own.is_echo(updated(state(1), state(2)), key("two"))


def test_deletions_resyncs_and_the_initial_list_are_never_echoes() -> None:
    own = OwnWrites()
    own.note(written(2), key())
    assert not own.is_echo(Change("deleted", key(), state(2), None), key())
    assert not own.is_echo(Change("resync", key(), state(2), state(2)), key())
    assert not own.is_echo(Change("added", key(), None, state(2), initial=True), key())


def test_forgets_the_oldest_write() -> None:
    own = OwnWrites(remember=2)
    for version in (2, 3, 4):
        own.note(written(version), key())
    assert len(own) == 2
    assert not own.is_echo(updated(state(1), state(2)), ObjectKey("default", "one"))
