"""The two versions of events on the wire: `events.k8s.io/v1`, and the older `v1`."""

from __future__ import annotations

from typing import Any, Final, Literal, Protocol, TypeAlias

from kubewright.api import MicroTime, Object, ObjectMeta, core, events, format_micro_time, format_time
from kubewright.events._correlator import Series
from kubewright.events._record import LONGEST_WORD, fitted

__all__ = ["EventVersion", "Writing", "namespace_of", "writing"]

EventVersion: TypeAlias = Literal["events.k8s.io/v1", "v1"]


class Writing(Protocol):
    """Writes a series as an object of the API, or as a patch of it."""

    @property
    def kind(self) -> type[Object]:
        """The kind of that object."""

    def new(self, series: Series, component: str, instance: str, host: str | None = None) -> Object:
        """Returns the event to create."""

    def again(self, series: Series) -> dict[str, Any]:
        """Returns the merge patch with the current count."""


class _EventsV1:
    """The server allows changes of the series only, not of the note: a combined event keeps its first message."""

    @property
    def kind(self) -> type[Object]:
        return events.Event

    def new(self, series: Series, component: str, instance: str, host: str | None = None) -> Object:
        repeated = None
        if series.count > 1:
            repeated = events.EventSeries(count=series.count, last_observed_time=MicroTime.of(series.last_at))
        return events.Event(
            metadata=ObjectMeta(name=series.name, namespace=namespace_of(series)),
            regarding=series.about,
            related=series.related,
            type=series.type,
            reason=series.reason,
            action=series.action,
            note=series.message,
            event_time=MicroTime.of(series.first_at),
            reporting_controller=component,
            reporting_instance=fitted(instance, LONGEST_WORD),
            series=repeated,
        )

    def again(self, series: Series) -> dict[str, Any]:
        return {"series": {"count": series.count, "lastObservedTime": format_micro_time(series.last_at)}}


class _CoreV1:
    @property
    def kind(self) -> type[Object]:
        return core.Event

    def new(self, series: Series, component: str, instance: str, host: str | None = None) -> Object:
        return core.Event(
            metadata=ObjectMeta(name=series.name, namespace=namespace_of(series)),
            involved_object=series.about,
            related=series.related,
            type=series.type,
            reason=series.reason,
            action=series.action,
            message=series.message,
            count=series.count,
            first_timestamp=series.first_at,
            last_timestamp=series.last_at,
            source=core.EventSource(component=component, host=host),
            reporting_component=component,
            reporting_instance=fitted(instance, LONGEST_WORD),
        )

    def again(self, series: Series) -> dict[str, Any]:
        return {
            "count": series.count,
            "lastTimestamp": format_time(series.last_at),
            **({"message": series.message} if series.combined else {}),
        }


_WRITINGS: Final[dict[str, Writing]] = {"events.k8s.io/v1": _EventsV1(), "v1": _CoreV1()}


def writing(version: EventVersion) -> Writing:
    """Returns the writer of a version. Raises ValueError with the known versions."""
    found = _WRITINGS.get(version)
    if found is None:
        raise ValueError(f"events have the versions {' and '.join(_WRITINGS)}, not {version!r}")
    return found


def namespace_of(series: Series) -> str:
    """Returns the namespace of the event: that of its object.

    Events about cluster-scoped objects are in `default`, where kubectl looks for them.
    """
    return series.about.namespace or "default"
