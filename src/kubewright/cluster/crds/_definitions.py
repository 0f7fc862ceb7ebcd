"""`DefinitionStrategy`: the strategy of CustomResourceDefinitions."""

from __future__ import annotations

from kubewright.cluster.crds._definition_rules import definition_errors, definition_update_errors
from kubewright.cluster.machinery._field_errors import FieldError
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.registry.strategies._builtin import BuiltinStrategy

__all__ = ["CLEANUP", "DefinitionStrategy"]

CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
"""The finalizer of a definition while its objects are being deleted."""


class DefinitionStrategy(BuiltinStrategy):
    """Strategy of definitions: derived names, stored versions and validation."""

    def default(self, obj: JSONObject) -> None:
        """Defaults the names that derive from the kind, and the conversion strategy None."""
        spec = obj["spec"]
        names = spec["names"]
        if kind := names.get("kind"):
            names.setdefault("singular", kind.lower())
            names.setdefault("listKind", f"{kind}List")
        conversion = spec.setdefault("conversion", {"strategy": "None"})
        service = ((conversion.get("webhook") or {}).get("clientConfig") or {}).get("service")
        if service is not None and service.get("port") is None:
            service["port"] = 443

    def prepare_create(self, obj: JSONObject) -> None:
        """Starts with no accepted names, and with the storage version as the only stored version."""
        obj["status"] = {
            "conditions": None,
            "acceptedNames": {"plural": "", "kind": ""},
            "storedVersions": _storage_versions(obj),
        }

    def prepare_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> None:
        """Adds a new storage version to the stored versions."""
        super().prepare_update(obj, old, subresource)
        if subresource != "status":
            status = obj["status"] = {**(obj.get("status") or {})}
            stored = list(status.get("storedVersions") or [])
            status["storedVersions"] = stored + [name for name in _storage_versions(obj) if name not in stored]

    def validate_create(self, obj: JSONObject) -> list[FieldError]:
        """Validates the definition and rejects unsupported features."""
        return definition_errors(obj)

    def validate_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> list[FieldError]:
        """Validates the definition and its immutable fields."""
        return [] if subresource == "status" else definition_update_errors(obj, old)


def _storage_versions(obj: JSONObject) -> list[str]:
    return [version["name"] for version in obj["spec"].get("versions") or () if version.get("storage")]
