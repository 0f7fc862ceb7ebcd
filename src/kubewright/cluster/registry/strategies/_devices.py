"""Strategies of the kinds of dynamic resource allocation."""

from __future__ import annotations

from kubewright.cluster.machinery._field_errors import FieldError
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.registry.strategies._builtin import BuiltinStrategy
from kubewright.cluster.registry.strategies._disabled_fields import drop_disabled_mappings
from kubewright.cluster.registry.strategies._specs import SpecStrategy
from kubewright.cluster.registry.validation._claim_immutability import (
    immutable_claim_errors,
    immutable_claim_template_errors,
)
from kubewright.cluster.registry.validation._device_claims import (
    claim_spec_errors,
    claim_status_errors,
    claim_template_errors,
    class_errors,
)
from kubewright.cluster.registry.validation._device_slices import slice_spec_errors

__all__ = [
    "DeviceClassStrategy",
    "ResourceClaimStrategy",
    "ResourceClaimTemplateStrategy",
    "ResourceSliceStrategy",
]


class DeviceClassStrategy(SpecStrategy):
    """DeviceClasses."""

    @staticmethod
    def rules(obj: JSONObject) -> list[FieldError]:
        """Returns the errors of the spec."""
        return class_errors(obj.get("spec") or {})


class ResourceClaimStrategy(BuiltinStrategy):
    """ResourceClaims, whose spec is immutable."""

    def validate_create(self, obj: JSONObject) -> list[FieldError]:
        """Validates the spec."""
        return [*super().validate_create(obj), *claim_spec_errors(obj.get("spec") or {}, "spec")]

    def validate_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> list[FieldError]:
        """Rejects every change of the spec; as on the real server, nothing else of it is validated."""
        return claim_status_errors(obj, old) if subresource else immutable_claim_errors(obj["spec"], old["spec"])


class ResourceClaimTemplateStrategy(BuiltinStrategy):
    """ResourceClaimTemplates, whose spec is immutable."""

    def validate_create(self, obj: JSONObject) -> list[FieldError]:
        """Validates the spec."""
        return [*super().validate_create(obj), *claim_template_errors(obj.get("spec") or {})]

    def validate_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> list[FieldError]:
        """Validates the spec, and rejects every change of it."""
        return [*claim_template_errors(obj["spec"]), *immutable_claim_template_errors(obj["spec"], old["spec"])]


class ResourceSliceStrategy(BuiltinStrategy):
    """ResourceSlices, whose driver, pool and node are immutable."""

    def prepare_create(self, obj: JSONObject) -> None:
        """Drops the fields of disabled feature gates, as the real server does."""
        drop_disabled_mappings(obj.get("spec") or {})

    def prepare_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> None:
        """Drops the fields of disabled feature gates, as the real server does."""
        self.prepare_create(obj)

    def validate_create(self, obj: JSONObject) -> list[FieldError]:
        """Validates the spec."""
        return [*super().validate_create(obj), *slice_spec_errors(obj.get("spec") or {})]

    def validate_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> list[FieldError]:
        """Validates the spec, and rejects changes of what is immutable."""
        errors = super().validate_update(obj, old, subresource)
        return [*errors, *slice_spec_errors(obj.get("spec") or {}, old.get("spec") or {})]
