"""Strategies of kinds that only validate their spec: budgets, autoscalers, Leases, and kinds of networking."""

from __future__ import annotations

from kubewright.cluster._state import SERVICE_RANGE
from kubewright.cluster.machinery._failures import unsupported
from kubewright.cluster.machinery._field_errors import FieldError, invalid, required
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.registry.strategies._builtin import BuiltinStrategy
from kubewright.cluster.registry.validation._addresses import (
    address_errors,
    address_name_problems,
    address_update_errors,
    range_errors,
    range_update_errors,
)
from kubewright.cluster.registry.validation._autoscaling import autoscaler_errors
from kubewright.cluster.registry.validation._coordination import lease_errors
from kubewright.cluster.registry.validation._endpoints import endpoint_slice_errors, endpoints_errors
from kubewright.cluster.registry.validation._limit_ranges import limit_range_errors
from kubewright.cluster.registry.validation._networking import (
    ingress_class_errors,
    ingress_errors,
    network_policy_errors,
)
from kubewright.cluster.registry.validation._policy import budget_errors, budget_status_errors
from kubewright.cluster.registry.validation._priority_classes import (
    priority_class_errors,
    priority_class_update_errors,
)
from kubewright.cluster.registry.validation._quotas import quota_errors, quota_status_errors, quota_update_errors
from kubewright.cluster.registry.validation._runtime_classes import runtime_class_errors

__all__ = [
    "AddressRangeStrategy",
    "AddressStrategy",
    "AutoscalerStrategy",
    "BudgetStrategy",
    "EndpointAddressStrategy",
    "EndpointSliceStrategy",
    "EndpointsStrategy",
    "IngressClassStrategy",
    "IngressStrategy",
    "LeaseStrategy",
    "LimitRangeStrategy",
    "NetworkPolicyStrategy",
    "PriorityClassStrategy",
    "RevisionStrategy",
    "RuntimeClassStrategy",
    "SpecStrategy",
]


class SpecStrategy(BuiltinStrategy):
    """A kind whose spec is validated on create and update."""

    @staticmethod
    def rules(obj: JSONObject) -> list[FieldError]:
        """Returns the errors of an object."""
        return []

    def validate_create(self, obj: JSONObject) -> list[FieldError]:
        """Validates the spec."""
        return [*super().validate_create(obj), *self.rules(obj)]

    def validate_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> list[FieldError]:
        """Validates the spec, unless a subresource is written."""
        errors = super().validate_update(obj, old, subresource)
        return errors if subresource else [*errors, *self.rules(obj)]


class BudgetStrategy(SpecStrategy):
    """PodDisruptionBudgets."""

    @staticmethod
    def rules(obj: JSONObject) -> list[FieldError]:
        """Returns the errors of the spec."""
        return budget_errors(obj["spec"])

    def validate_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> list[FieldError]:
        """Validates the status, too."""
        errors = super().validate_update(obj, old, subresource)
        return [*errors, *budget_status_errors(obj.get("status") or {})] if subresource == "status" else errors


class AutoscalerStrategy(BuiltinStrategy):
    """HorizontalPodAutoscalers."""

    def validate_create(self, obj: JSONObject) -> list[FieldError]:
        """Validates the spec."""
        return [*super().validate_create(obj), *autoscaler_errors(obj["spec"])]

    def validate_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> list[FieldError]:
        """Validates the spec. Versions that were invalid before may stay."""
        errors = super().validate_update(obj, old, subresource)
        return errors if subresource else [*errors, *autoscaler_errors(obj["spec"], old["spec"])]


class LeaseStrategy(SpecStrategy):
    """Leases."""

    @staticmethod
    def rules(obj: JSONObject) -> list[FieldError]:
        """Returns the errors of the spec."""
        return lease_errors(obj.get("spec") or {})


class QuotaStrategy(BuiltinStrategy):
    """ResourceQuotas."""

    def validate_create(self, obj: JSONObject) -> list[FieldError]:
        """Validates the spec. The server removes the status of a new quota."""
        return quota_errors(obj.get("spec") or {})

    def validate_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> list[FieldError]:
        """Validates the spec, or the status."""
        errors = super().validate_update(obj, old, subresource)
        if subresource == "status":
            return [*errors, *quota_status_errors(obj.get("status") or {})]
        return [*errors, *quota_update_errors(obj.get("spec") or {}, old.get("spec") or {})]


class IngressStrategy(SpecStrategy):
    """Ingresses."""

    @staticmethod
    def rules(obj: JSONObject) -> list[FieldError]:
        """Returns the errors of the spec."""
        return ingress_errors(obj["spec"])


class IngressClassStrategy(SpecStrategy):
    """IngressClasses, whose controller is immutable."""

    @staticmethod
    def rules(obj: JSONObject) -> list[FieldError]:
        """Returns the errors of the spec."""
        return ingress_class_errors(obj.get("spec") or {})

    def validate_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> list[FieldError]:
        """Rejects a change of the controller, too."""
        given, before = ((each.get("spec") or {}).get("controller", "") for each in (obj, old))
        errors = [] if given == before else [invalid("spec.controller", given, "field is immutable")]
        return [*errors, *super().validate_update(obj, old, subresource)]


class LimitRangeStrategy(SpecStrategy):
    """LimitRanges."""

    @staticmethod
    def rules(obj: JSONObject) -> list[FieldError]:
        """Returns the errors of the spec."""
        return limit_range_errors(obj.get("spec") or {})


class RevisionStrategy(BuiltinStrategy):
    """ControllerRevisions, whose data are an object that is immutable."""

    def validate_create(self, obj: JSONObject) -> list[FieldError]:
        """Validates the revision and the data."""
        errors, data = self._errors(obj), obj.get("data")
        if data is None:
            return [*errors, required("data", "data is mandatory")]
        return errors if isinstance(data, dict) else [*errors, required("data", "data must be a valid JSON object")]

    def validate_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> list[FieldError]:
        """Rejects a change of the data."""
        data, errors = obj.get("data"), [*super().validate_update(obj, old, subresource), *self._errors(obj)]
        return errors if data == old.get("data") else [*errors, invalid("data", data, "field is immutable")]

    @staticmethod
    def _errors(obj: JSONObject) -> list[FieldError]:
        revision = obj.get("revision", 0)
        return [invalid("revision", revision, "must be greater than or equal to 0")] if revision < 0 else []


class NetworkPolicyStrategy(SpecStrategy):
    """NetworkPolicies."""

    @staticmethod
    def rules(obj: JSONObject) -> list[FieldError]:
        """Returns the errors of the spec."""
        return network_policy_errors(obj.get("spec") or {})


class AddressStrategy(SpecStrategy):
    """IPAddresses, whose names are addresses."""

    randomizes_names = False

    @staticmethod
    def rules(obj: JSONObject) -> list[FieldError]:
        """Returns the errors of the spec."""
        return address_errors(obj.get("spec") or {})

    def name_problems(self, name: str) -> list[str]:
        """Checks that the name is an address in its canonical form."""
        return address_name_problems(name)

    def validate_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> list[FieldError]:
        """Rejects a change of the parent, too."""
        return [*super().validate_update(obj, old, subresource), *address_update_errors(obj, old)]


class AddressRangeStrategy(SpecStrategy):
    """ServiceCIDRs. Only the default one is supported: cluster IPs are allocated from no other range."""

    network = SERVICE_RANGE
    """The range of cluster IPs."""

    @staticmethod
    def rules(obj: JSONObject) -> list[FieldError]:
        """Returns the errors of the spec."""
        return range_errors(obj.get("spec") or {})

    def validate_create(self, obj: JSONObject) -> list[FieldError]:
        """Validates the spec. Raises `Failure` for a valid range, which would have no effect."""
        errors = super().validate_create(obj)
        if not errors:
            raise unsupported(f"further ServiceCIDRs: cluster IPs are allocated from {self.network}")
        return errors

    def validate_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> list[FieldError]:
        """Rejects changes of the ranges. Raises `Failure` for a valid second one."""
        errors = [] if subresource else range_update_errors(obj, old)
        if not (subresource or errors) and obj["spec"].get("cidrs") != old["spec"].get("cidrs"):
            raise unsupported(f"dual-stack ServiceCIDRs: cluster IPs are allocated from {self.network}")
        return errors


class PriorityClassStrategy(SpecStrategy):
    """PriorityClasses, whose value and policy are immutable."""

    @staticmethod
    def rules(obj: JSONObject) -> list[FieldError]:
        """Returns the errors of a new class."""
        return priority_class_errors(obj)

    def validate_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> list[FieldError]:
        """Rejects changes of the value and the policy; as on the real server, nothing else is validated."""
        return priority_class_update_errors(obj, old)


class EndpointAddressStrategy(BuiltinStrategy):
    """Kinds with addresses of endpoints. Errors of a stored object are accepted until its endpoints change."""

    allows_loopback = False
    """Whether pods are programs on this machine; the real server accepts no loopback addresses."""
    endpoints_field: str

    def errors(self, obj: JSONObject) -> list[FieldError]:
        """Returns the errors of the endpoints."""
        raise NotImplementedError

    def validate_create(self, obj: JSONObject) -> list[FieldError]:
        """Validates the endpoints."""
        return [*super().validate_create(obj), *self.errors(obj)]

    def validate_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> list[FieldError]:
        """Validates the endpoints if they change."""
        errors = super().validate_update(obj, old, subresource)
        unchanged = obj.get(self.endpoints_field) == old.get(self.endpoints_field)
        return errors if unchanged else [*errors, *self.errors(obj)]


class EndpointsStrategy(EndpointAddressStrategy):
    """Endpoints."""

    endpoints_field = "subsets"

    def errors(self, obj: JSONObject) -> list[FieldError]:
        """Returns the errors of the addresses."""
        return endpoints_errors(obj, allow_loopback=self.allows_loopback)


class EndpointSliceStrategy(EndpointAddressStrategy):
    """EndpointSlices."""

    endpoints_field = "endpoints"

    def increments_generation(self, obj: JSONObject, old: JSONObject) -> bool:
        """Returns whether the endpoints or labels changed."""
        changed = (obj["metadata"].get("labels") or {}) != (old["metadata"].get("labels") or {})
        return changed or super().increments_generation(obj, old)

    def errors(self, obj: JSONObject) -> list[FieldError]:
        """Returns the errors of the addresses."""
        return endpoint_slice_errors(obj, allow_loopback=self.allows_loopback)


class RuntimeClassStrategy(SpecStrategy):
    """RuntimeClasses, whose handler is immutable."""

    @staticmethod
    def rules(obj: JSONObject) -> list[FieldError]:
        """Returns the errors of the class."""
        return runtime_class_errors(obj)

    def validate_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> list[FieldError]:
        """Rejects a change of the handler, too."""
        given, errors = obj.get("handler", ""), super().validate_update(obj, old, subresource)
        return errors if given == old.get("handler", "") else [*errors, invalid("handler", given, "field is immutable")]
