"""Built-in resources that are served in several forms and stored in one.

Events are one set of objects under two groups. (HorizontalPodAutoscalers have two versions.)
"""

from __future__ import annotations

from typing import Final

from kubewright.cluster._kinds import Conversion, JSONObject

__all__ = ["CONVERSIONS", "STORED_AS"]

_EVENT_NAMES: Final = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_EVENT_NAMES_BACK: Final = {new: old for old, new in _EVENT_NAMES.items()}


class _Events:
    """`events.k8s.io/v1`, stored as the events of the core group: the same fields by other names."""

    def to_storage(self, obj: JSONObject) -> JSONObject:
        """The core group's names."""
        made = {_EVENT_NAMES_BACK.get(name, name): value for name, value in obj.items()}
        made.setdefault("involvedObject", {})
        made.setdefault("source", {})
        made.setdefault("firstTimestamp", None)
        made.setdefault("lastTimestamp", None)
        made.setdefault("reportingComponent", "")
        made.setdefault("reportingInstance", "")
        return made

    def from_storage(self, obj: JSONObject) -> JSONObject:
        """The names of `events.k8s.io`."""
        made = {_EVENT_NAMES.get(name, name): value for name, value in obj.items()}
        for name in ("reportingController", "reportingInstance"):
            if not made.get(name):
                made.pop(name, None)
        return made


CONVERSIONS: Final[dict[tuple[str, str], Conversion]] = {("events.k8s.io/v1", "events"): _Events()}
"""By group version and plural; those that are not here are stored as they are."""

STORED_AS: Final = {"events.events.k8s.io": "/events"}
"""The storage of resources that show another's objects."""
