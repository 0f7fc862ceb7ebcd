"""The history of the last reconciles, and its bounds."""

from __future__ import annotations

import random
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright.api import ResourceInfo
from kubewright.cache import ObjectKey
from kubewright.observe import History, HistoryBounds, HistoryEntry, Reconcile, Write
from kubewright.observe._history import _ENTRY, _OBJECT, _OWN, _WRITE  # private: recomputes the accounted size

INFO = ResourceInfo(group="example.com", version="v1", kind="Thing", plural="things", singular="thing", namespaced=True)
RNG = random.Random(1)


def key(number: int) -> ObjectKey:
    return ObjectKey("default", f"thing-{number}")


def reconcile(number: int, error: str = "", writes: int = 0) -> Reconcile:
    made = Reconcile(RNG, "thing", INFO, key(number), trigger="updated")
    made.error = error
    for write in range(writes):
        made.wrote(Write("patch", "things.example.com", "default", f"thing-{write}", 200, 0.001))
    return made


def remember(history: History, run: Reconcile, at: float = 0.0) -> None:
    history.ended(run, "error" if run.error else "success", ended=at, seconds=0.5, waited=0.25)


def test_returns_last_results_of_object_newest_last() -> None:
    history = History(HistoryBounds(results=3))
    for at in range(5):
        remember(history, reconcile(1), at=float(at))
    assert [entry.ended for entry in history.of(key(1))] == [2.0, 3.0, 4.0]
    entry = HistoryEntry(4.0, 0.5, 0.25, "success", 1, "updated", None, "", (), 0, "")
    assert history.of(key(1))[-1] == entry
    assert history.of(key(2)) == ()
    assert len(history) == 1


def test_lists_failing_object_since_its_first_failure() -> None:
    history = History()
    remember(history, reconcile(1, "no"), at=1.0)
    remember(history, reconcile(1, "still no"), at=2.0)
    remember(history, reconcile(2), at=3.0)
    assert history.failing() == [(key(1), 1.0)]
    newest = history.newest(key(1))
    assert newest is not None
    assert newest.error == "still no"
    assert history.newest(key(3)) is None
    remember(history, reconcile(1), at=4.0)
    assert history.failing() == []


def test_limits_failing_objects_to_stored_ones() -> None:
    history = History(HistoryBounds(objects=10))
    for number in range(100):
        remember(history, reconcile(number, "no"), at=float(number))
        assert len(history._failing_since) <= 21
    assert [one for one, _ in history.failing()] == [key(number) for number in range(90, 100)]


@pytest.mark.promise("Watching an operator", "The history of reconciles is bounded by count and by bytes.")
def test_bounds_objects_and_drops_least_recent() -> None:
    history = History(HistoryBounds(objects=100))
    for number in range(1_000):
        remember(history, reconcile(number))
        remember(history, reconcile(0))  # keeps this object recent
        assert len(history) <= 100
    assert history.of(key(0))
    assert history.of(key(999))
    assert not history.of(key(1))


@pytest.mark.promise("Watching an operator", "The history of reconciles is bounded by count and by bytes.")
def test_bounds_size() -> None:
    history = History(HistoryBounds(bytes=50_000))
    for number in range(500):
        remember(history, reconcile(number, error="x" * 900, writes=3))
        assert history.size <= 50_000
    assert 0 < len(history) < 100


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 200), st.integers(0, 4)), max_size=200))
def test_size_estimate_is_sum_of_entries(steps: list[tuple[int, int, int]]) -> None:
    history = History(HistoryBounds(objects=10, bytes=8_000, results=4))
    for number, length, writes in steps:
        remember(history, reconcile(number, error="x" * length, writes=writes))
        entries = [entry for one in history.objects() for entry in history.of(one)]
        own = [entry for entry in entries if entry.error or entry.writes]
        texts = sum(_OWN + len(entry.error) + _WRITE * len(entry.writes) for entry in own)
        assert history.size == _OBJECT * len(history) + _ENTRY * len(entries) + texts
        assert len(history) <= 10
        assert history.size <= 8_000 or len(history) == 1


@pytest.mark.promise("Watching an operator", "The history of reconciles is bounded by count and by bytes.")
@pytest.mark.parametrize("error", ["", "it broke"], ids=["alike", "each its own"])
def test_size_estimate_is_at_least_real_memory(error: str) -> None:
    keys = [key(number) for number in range(10_000)]
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        history = History()
        for at, one in enumerate(keys):
            run = Reconcile(RNG, "thing", INFO, one, trigger="initial")
            run.error = error and f"{error} {at}"
            history.ended(
                run,
                "success",
                ended=at + 0.5,
                seconds=at + 0.25,
                waited=at + 0.125,
            )
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(history) == 10_000
    assert after - before <= history.size < 4 * 1024 * 1024


def test_stores_repeated_error_once() -> None:
    history = History()
    for _ in range(3):
        remember(history, reconcile(1, error="".join(["it ", "broke"])))
    assert len({id(entry.error) for entry in history.of(key(1))}) == 1


def test_truncates_long_error() -> None:
    run = reconcile(1)
    run.failed(ValueError("x" * 100_000))
    assert len(run.error) == 1_001
    assert run.error.startswith("ValueError: xxx")


def test_error_has_no_credentials_and_is_encodable() -> None:
    run = reconcile(1)
    run.failed(ValueError("Bearer abcdefgh12345 \ud800"))
    assert run.error == "ValueError: Bearer (withheld) \\ud800"


def test_stores_first_writes_and_counts_the_rest() -> None:
    history = History()
    remember(history, reconcile(1, writes=70))
    [entry] = history.of(key(1))
    assert (len(entry.writes), entry.more_writes) == (50, 20)


def test_stores_changes_of_last_writes_only() -> None:
    history = History(HistoryBounds(changes=5, change_bytes=1_000))
    for number in range(20):
        run = reconcile(number, writes=1)
        run.changed(INFO, ObjectKey("default", "thing-0"), b"{}", b"x" * 100)
        remember(history, run)
    kept = [number for number in range(20) if history.change_of(history.of(key(number))[0].writes[0])]
    assert kept == [15, 16, 17, 18, 19]
    run = reconcile(99, writes=1)
    run.changed(INFO, ObjectKey("default", "thing-0"), b"{}", b"x" * 950)
    remember(history, run)
    assert history.change_size <= 1_000
    assert history.change_of(history.of(key(99))[0].writes[0]) is not None


@pytest.mark.promise("Watching an operator", "Inspection shows the writes of an object by field, without values.")
def test_does_not_store_contents_of_secrets() -> None:
    secrets = ResourceInfo(group="", version="v1", kind="Secret", plural="secrets", singular="secret", namespaced=True)
    run = reconcile(1)
    run.wrote(Write("patch", "secrets", "default", "password", 200, 0.001))
    run.changed(secrets, ObjectKey("default", "password"), b'{"data":{}}', b'{"data":{"a":"aHVudGVyMg=="}}')
    assert not run.changes
