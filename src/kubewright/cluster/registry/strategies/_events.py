"""The strategy of Events."""

from __future__ import annotations

from kubewright.cluster.machinery._field_errors import FieldError
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.registry.strategies._builtin import BuiltinStrategy
from kubewright.cluster.registry.validation._events import event_errors, event_update_errors

__all__ = ["EventStrategy"]


class EventStrategy(BuiltinStrategy):
    """Events, of both groups. As on the real server, errors name those of the core group."""

    error_group = ""

    def validate_create(self, obj: JSONObject) -> list[FieldError]:
        """Validates all fields."""
        return [*super().validate_create(obj), *event_errors(obj)]

    def validate_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> list[FieldError]:
        """Validates all fields. Through `events.k8s.io`, most are immutable."""
        return [*super().validate_update(obj, old, subresource), *event_update_errors(obj, old)]
