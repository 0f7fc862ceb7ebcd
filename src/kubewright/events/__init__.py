"""Events: messages of a controller about an object, shown by `kubectl describe`.

    async with EventRecorder(client, component="sample-controller") as recorder:
        recorder.record(foo, "Synced", "Foo synced successfully")

`record` only queues the event; a task writes it. Recording never waits and never fails: an event that cannot be written
is counted, logged and dropped. A repeated event raises the count of the first one (its series); many similar events
become one; an object with too many events is limited. See `Correlator` for the numbers, which are those of client-go.

Events are written as `events.k8s.io/v1`, or as the older `v1` on request; kubectl shows both alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewright.lazy import lazy_exports

if TYPE_CHECKING:
    from kubewright.events._correlator import Correlator, Limits, Series
    from kubewright.events._record import EventRecord, EventType, object_reference
    from kubewright.events._recorder import EventRecorder, EventStats
    from kubewright.events._versions import EventVersion

_MODULES = {
    "Correlator": "_correlator",
    "EventRecord": "_record",
    "EventRecorder": "_recorder",
    "EventStats": "_recorder",
    "EventType": "_record",
    "EventVersion": "_versions",
    "Limits": "_correlator",
    "Series": "_correlator",
    "object_reference": "_record",
}

__all__ = [
    "Correlator",
    "EventRecord",
    "EventRecorder",
    "EventStats",
    "EventType",
    "EventVersion",
    "Limits",
    "Series",
    "object_reference",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_exports(__name__, _MODULES)


def __dir__() -> list[str]:
    return sorted(__all__)
