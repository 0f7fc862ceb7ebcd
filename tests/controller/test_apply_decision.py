"""The decision of `apply`, without a server: what is wanted, what is known, and the action."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from kubewright.api import ObjectMeta, core, encode, set_controller, to_dict
from kubewright.cache import Snapshot, SnapshotDecoder
from kubewright.clock import VirtualClock
from kubewright.controller import BeingDeleted, NotOwned, Outdated
from kubewright.controller.apply import (
    CREATE,
    READ,
    SKIP,
    Action,
    ApplyRecord,
    ApplyRequest,
    CacheMismatches,
    ConflictState,
    KindKey,
    Known,
    Pause,
    Wanted,
    Write,
    WriteConflicts,
    decide,
    find_competitors,
)

MANAGER = "wright"
PAUSED = ConflictState(b"", until=10.0, restores=5)


def config_map(value: str = "1", **meta: Any) -> core.ConfigMap:
    return core.ConfigMap(metadata=ObjectMeta(name="child", namespace="default", **meta), data={"a": value})


def owner(uid: str = "uid-parent", name: str = "parent") -> core.ConfigMap:
    return core.ConfigMap(metadata=ObjectMeta(name=name, namespace="default", uid=uid))


def wanted(value: str = "1", by: core.ConfigMap | None = None, **options: Any) -> Wanted[core.ConfigMap]:
    by = by or owner()
    return Wanted(ApplyRequest.prepare(by, config_map(value), "default"), by, **options)


def stored(
    value: str = "1",
    *,
    controller: core.ConfigMap | None = None,
    version: int = 7,
    manager: str = MANAGER,
    **meta: Any,
) -> Snapshot[core.ConfigMap]:
    """The object as the server has it, applied by `manager`."""
    obj = config_map(value, uid="uid-child", resource_version=str(version), **meta)
    if controller is not None:
        set_controller(obj, owner=controller)
    entry = {
        "manager": manager,
        "operation": "Apply",
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {"f:a": {}}},
    }
    plain = to_dict(obj)
    plain["metadata"]["managedFields"] = [entry]
    return SnapshotDecoder(core.ConfigMap, field_manager=MANAGER, keep_managed_fields=True).snapshot(encode(plain))


def record_of(want: Wanted[core.ConfigMap], snapshot: Snapshot[core.ConfigMap], **options: Any) -> ApplyRecord:
    """The record of an apply of `want` that resulted in `snapshot`."""
    return ApplyRecord(
        requested=want.request.digest,
        stored=want.request.stored_in(snapshot.raw),
        applied=snapshot.applied,
        resource_version=snapshot.resource_version,
        **options,
    )


def test_creates_an_absent_object() -> None:
    assert decide(wanted(), Known(None)) == CREATE
    assert decide(wanted(), Known(None, live=True)) == CREATE


def test_does_not_create_an_object_that_disappears_during_the_call() -> None:
    with pytest.raises(Outdated, match="was not found on the server, but existed a moment ago"):
        decide(wanted(), Known(None, live=True, existed=True))


def test_skips_an_object_that_is_as_it_was_applied() -> None:
    want, snapshot = wanted(), stored(controller=owner())
    assert decide(want, Known(snapshot, record=record_of(want, snapshot))) == SKIP


def test_skips_an_object_that_changed_only_where_nothing_is_requested() -> None:
    want, before = wanted(), stored(controller=owner())
    after = stored(controller=owner(), version=8, labels={"by": "another client"})
    assert decide(want, Known(after, record=record_of(want, before))) == SKIP


def test_writes_an_object_that_was_not_applied_since_the_start() -> None:
    assert decide(wanted(), Known(stored(controller=owner()))) == Write()


def test_writes_changed_content() -> None:
    snapshot = stored(controller=owner())
    known = Known(snapshot, record=record_of(wanted("1"), snapshot))
    assert decide(wanted("2"), known) == Write()


def test_writes_a_field_whose_management_was_taken_away() -> None:
    want, before = wanted(), stored(controller=owner())
    after = stored(controller=owner(), version=8, manager="others")
    assert decide(want, Known(after, live=True, record=record_of(want, before))) == Write(
        settle_fields=True, restores=True
    )


@pytest.mark.parametrize("applied", [True, False], ids=["release", "first apply"])
def test_reads_before_fields_are_settled(applied: bool) -> None:
    """On the first apply, and to release fields."""
    want = wanted(release=["data.b"] if applied else ())
    snapshot = stored(controller=owner(), manager=MANAGER if applied else "others")
    assert decide(want, Known(snapshot)) == READ
    assert decide(want, Known(snapshot, live=True)) == Write(settle_fields=True)


@pytest.mark.parametrize("live", [False, True])
def test_does_not_write_an_object_in_deletion(live: bool) -> None:
    snapshot = stored(
        controller=owner(), deletion_timestamp=datetime(2030, 1, 1, tzinfo=UTC), finalizers=["example.com/wait"]
    )
    with pytest.raises(BeingDeleted, match=r"waits for its finalizers \(example\.com/wait\)"):
        decide(wanted(), Known(snapshot, live=live))


@pytest.mark.parametrize("adopt", [False, True])
def test_rejects_an_object_that_another_one_controls(adopt: bool) -> None:
    snapshot = stored(controller=owner("uid-other", "other"))
    with pytest.raises(NotOwned, match=r"ConfigMap other \(uid uid-other\) controls it, so it was not changed"):
        decide(wanted(adopt=adopt), Known(snapshot, live=True))


def test_rejects_an_object_of_an_earlier_owner_with_the_same_name() -> None:
    snapshot = stored(controller=owner("uid-earlier"))
    with pytest.raises(NotOwned, match=r"belongs to an earlier ConfigMap parent .* the garbage collector removes it"):
        decide(wanted(), Known(snapshot, live=True))


def test_rejects_an_object_without_a_controller_unless_it_is_adopted() -> None:
    known = Known(stored(manager="others"), live=True)
    with pytest.raises(NotOwned, match="take it over with adopt=True"):
        decide(wanted(), known)
    assert decide(wanted(adopt=True), known) == Write(settle_fields=True, guarded=True)


def test_without_an_owner_an_object_is_ours_if_we_applied_it() -> None:
    want = Wanted(ApplyRequest.prepare(None, config_map(), "default"))
    assert decide(want, Known(stored())) == Write()
    with pytest.raises(NotOwned, match="this operator has not applied it before"):
        decide(want, Known(stored(manager="others"), live=True))


def test_guards_the_write_with_an_optimistic_lock() -> None:
    assert decide(wanted(optimistic_lock=True), Known(stored(controller=owner()))) == Write(guarded=True)


def overwritten(want: Wanted[core.ConfigMap], **options: Any) -> Action:
    """The action after another client has changed what `want` applied."""
    before, after = stored(controller=owner()), stored("theirs", controller=owner(), version=8)
    record = record_of(wanted(), before, writer="one")
    return decide(want, Known(after, record=record, **options))


def test_restores_overwritten_content_until_a_conflict_pauses_it() -> None:
    assert overwritten(wanted(writer="one")) == Write(restores=True)
    assert overwritten(wanted(writer="one"), conflict=PAUSED) == Pause(PAUSED)


def test_never_pauses_changed_content() -> None:
    assert overwritten(wanted("2", writer="one"), conflict=PAUSED) == Write()


def test_compares_each_writer_with_itself() -> None:
    assert overwritten(wanted(writer="two")) == Write()


# Write conflicts

TARGET: KindKey = (core.ConfigMap, stored().key)


async def test_pauses_restores_after_five_and_doubles_the_pause(clock: VirtualClock) -> None:
    conflicts, pauses = WriteConflicts(clock), []
    for _ in range(4):
        conflicts.restored(TARGET, "one", b"content")
        assert conflicts.paused(TARGET, "one", b"content") is None
    for _ in range(9):
        conflicts.restored(TARGET, "one", b"content")
        state = conflicts.paused(TARGET, "one", b"content")
        assert state is not None
        pauses.append(state.until - clock.monotonic())
        await clock.advance(pauses[-1])
        assert conflicts.paused(TARGET, "one", b"content") is None
    assert pauses == [10, 20, 40, 80, 160, 320, 640, 1000, 1000]


def test_pauses_neither_other_content_nor_other_writers(clock: VirtualClock) -> None:
    conflicts = WriteConflicts(clock)
    for _ in range(5):
        conflicts.restored(TARGET, "one", b"content")
    assert conflicts.paused(TARGET, "one", b"other content") is None
    assert conflicts.paused(TARGET, "two", b"content") is None


async def test_counts_restores_within_ten_minutes_only(clock: VirtualClock) -> None:
    conflicts = WriteConflicts(clock)
    for _ in range(20):
        conflicts.restored(TARGET, "one", b"content")
        assert conflicts.paused(TARGET, "one", b"content") is None
        await clock.advance(601)


async def test_reports_a_write_conflict_once_an_hour(clock: VirtualClock) -> None:
    conflicts, existing = WriteConflicts(clock), stored("theirs", manager="others")
    for _ in range(5):
        conflicts.restored(TARGET, "one", b"content")
    state = conflicts.paused(TARGET, "one", b"content")
    assert state is not None
    request = ApplyRequest.prepare(None, config_map(), "default")
    found = find_competitors(existing.object(), request.content, MANAGER)
    error = conflicts.error(state, existing.object(), found)
    assert error.should_report
    assert str(error).startswith(
        "write conflict on ConfigMap default/child: field manager 'others' keeps changing data.a, "
    )
    assert not conflicts.error(state, existing.object(), found).should_report
    await clock.advance(3600)
    assert conflicts.error(state, existing.object(), found).should_report


# Cache mismatches


def mismatch_messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if "have contradicted each other" in record.getMessage()]


async def test_reports_a_mismatch_that_lasts_ten_seconds_once_per_kind(
    clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    mismatches = CacheMismatches(clock)
    for _ in range(4):
        mismatches.found(TARGET, None)
        await clock.advance(6)
    assert len(mismatch_messages(caplog)) == 1
    mismatches.compare(TARGET, stored(), stored(version=9))
    assert TARGET not in mismatches


async def test_a_cache_that_moves_on_starts_a_new_mismatch(
    clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    mismatches = CacheMismatches(clock)
    for version in range(1, 6):
        mismatches.found(TARGET, stored(version=version))
        await clock.advance(6)
    assert mismatch_messages(caplog) == []


def test_a_suspicion_ends_when_the_server_agrees(clock: VirtualClock) -> None:
    mismatches = CacheMismatches(clock)
    mismatches.suspect(TARGET)
    assert TARGET in mismatches
    mismatches.compare(TARGET, stored(), stored())
    assert TARGET not in mismatches


def test_an_object_that_the_server_just_reported_stays_a_mismatch(clock: VirtualClock) -> None:
    mismatches = CacheMismatches(clock)
    mismatches.found(TARGET, None)
    mismatches.compare(TARGET, None, None)
    assert TARGET in mismatches
