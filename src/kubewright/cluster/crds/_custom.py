"""`CustomStrategy`: the strategy of one served version of a definition."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from kubewright.api.cel import has_rules
from kubewright.cluster.crds._embedded_objects import embedded_object_errors
from kubewright.cluster.crds._lists import duplicates
from kubewright.cluster.crds._nulls import drop_nulls
from kubewright.cluster.crds._values import errors_of
from kubewright.cluster.machinery._field_errors import FieldError, invalid
from kubewright.cluster.machinery._go_types import read_metadata
from kubewright.cluster.machinery._resources import JSONObject, ReadProblem, Strategy
from kubewright.cluster.schema import Schema, apply_defaults, custom_schema, prune
from kubewright.columns import find_values

if TYPE_CHECKING:
    from kubewright.api.cel import Rules

__all__ = ["CustomStrategy", "SchemaConversion"]

_LARGEST_REPLICAS: Final = 2**31 - 1
_BLOCKING: Final = frozenset(
    {
        "FieldValueNotSupported",
        "FieldValueRequired",
        "FieldValueTooLong",
        "FieldValueTooMany",
        "FieldValueTypeInvalid",
    }
)
_NOT_CHECKED: Final = (
    "some validation rules were not checked because the object was invalid; correct the existing errors to complete "
    "validation"
)


def _rules(schema: dict[str, Any]) -> Rules:
    from kubewright.api.cel import Rules  # large, and only definitions with rules need it

    return Rules(schema)


class SchemaConversion:
    """Conversion of objects that may have been stored with another schema, of an older definition or another version.

    Objects get the defaults of their stored version and lose the fields that this version does not know.
    """

    def __init__(self, stored: CustomStrategy, requested: CustomStrategy, stored_version: str) -> None:
        self._stored = stored
        self._requested = requested
        self._stored_version = stored_version

    def to_storage(self, obj: JSONObject) -> JSONObject:
        """Returns the object with the apiVersion of the storage version."""
        return {**obj, "apiVersion": self._stored_version}

    def from_storage(self, obj: JSONObject) -> JSONObject:
        """Returns the object, defaulted by the stored schema and pruned by the requested one."""
        made = copy.deepcopy(obj)
        self._stored.default(made)
        return {**self._requested.read({**made, "metadata": {}}, problems=None), "metadata": made["metadata"]}


class CustomStrategy(Strategy):
    """Strategy of one version of a custom resource, based on its schema."""

    has_generation = True
    allows_unconditional_update = False

    def __init__(self, version: JSONObject) -> None:
        self.openapi: dict[str, Any] = (version.get("schema") or {}).get("openAPIV3Schema") or {}
        self.schema: Schema = custom_schema(self.openapi or None)
        self.rules = _rules(self.openapi) if has_rules(self.openapi) else None
        self._tolerated: tuple[JSONObject | None, list[str]] = (None, [])
        subresources = version.get("subresources") or {}
        self._status = "status" in subresources
        self._scale: JSONObject | None = subresources.get("scale")
        self._selectable = {
            field["jsonPath"].removeprefix("."): field["jsonPath"] for field in version.get("selectableFields") or ()
        }
        self.selectable = frozenset(self._selectable)
        self.selectable_paths = tuple(self._selectable.values())

    # Reading

    def read(self, obj: JSONObject, *, problems: list[ReadProblem] | None) -> JSONObject:
        """Drops unknown fields, and nulls that the schema does not allow."""
        metadata = read_metadata(obj.get("metadata"), problems)
        read = {**obj, "metadata": {}}
        unknown = prune(self.schema, read)
        if problems is not None:
            problems += [ReadProblem(f'unknown field "{path}"') for path in unknown]
        read["metadata"] = metadata
        drop_nulls(self.openapi, read)
        return read

    def default(self, obj: JSONObject) -> None:
        """Sets the defaults of the schema."""
        apply_defaults(self.schema, obj)

    # Writing

    def increments_generation(self, obj: JSONObject, old: JSONObject) -> bool:
        """Returns whether anything outside the metadata changed. A status subresource was excluded before."""
        return any(obj.get(name) != old.get(name) for name in {*obj, *old} - {"metadata", "apiVersion", "kind"})

    def prepare_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> None:
        """Restricts a write of the status to the status: metadata stays unchanged, too."""
        if subresource == "status":
            managed = obj["metadata"].get("managedFields")
            obj["metadata"] = {**old["metadata"]} | ({"managedFields": managed} if managed else {})

    def validate_create(self, obj: JSONObject) -> list[FieldError]:
        """Validates the object against the schema."""
        found = [
            *errors_of(self.openapi, obj),
            *self._scale_errors(obj, "specReplicasPath", "statusReplicasPath"),
            *embedded_object_errors(self.openapi, obj),
            *duplicates(self.openapi, obj),
        ]
        return [*found, *self._rule_errors(found, obj, None)]

    def validate_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> list[FieldError]:
        """Validates the object against the schema, except for unchanged fields."""
        if subresource == "status":
            schema = (self.openapi.get("properties") or {}).get("status") or {}
            found = errors_of(schema, obj["status"], "status", old=old.get("status")) if "status" in obj else []
            scale = self._scale_errors(obj, "statusReplicasPath")
        else:
            found = errors_of(self.openapi, obj, old=old)
            scale = self._scale_errors(obj, "specReplicasPath", "statusReplicasPath")
        repeated = [] if any(duplicates(self.openapi, old)) else [*duplicates(self.openapi, obj)]
        found = [*found, *scale, *embedded_object_errors(self.openapi, obj), *repeated]
        return [*found, *self._rule_errors(found, obj, old)]

    def _rule_errors(self, found: list[FieldError], obj: JSONObject, old: JSONObject | None) -> list[FieldError]:
        """Evaluates the CEL rules if the object has no other errors."""
        self._tolerated = (obj, [])
        if not self.rules:
            return []
        if any(error.reason in _BLOCKING for error in found):
            return [FieldError("FieldValueInvalid", "<nil>", f"Invalid value: null: {_NOT_CHECKED}")]
        from kubewright.cluster.crds._cel_rules import broken_rule  # large, and only definitions with rules need it

        outcome = self.rules.check(obj, old, is_update=old is not None)
        self._tolerated = (obj, [str(broken_rule(broken)) for broken in outcome.tolerated])
        return [broken_rule(broken) for broken in outcome.broken]

    def ratcheting_warnings(self, obj: JSONObject) -> list[str]:
        """Returns the violated CEL rules at unchanged fields."""
        return self._tolerated[1] if self._tolerated[0] is obj else []

    def _scale_errors(self, obj: JSONObject, *paths: str) -> list[FieldError]:
        if self._scale is None:
            return []
        errors = []
        for name in paths:
            path = self._scale[name]
            for value in find_values(path, obj):
                if isinstance(value, int) and value < 0:
                    errors.append(invalid(path, value, "should be a non-negative integer"))
                elif isinstance(value, int) and value > _LARGEST_REPLICAS:
                    errors.append(invalid(path, value, f"should be less than or equal to {_LARGEST_REPLICAS}"))
        return errors

    # Selecting

    def selectable_fields(self, obj: JSONObject) -> Mapping[str, str]:
        """Returns the values of the selectable fields of the definition."""
        return {name: _text(find_values(path, obj)) for name, path in self._selectable.items()}


def _text(found: list[Any]) -> str:
    if not found or found[0] is None:
        return ""
    return str(found[0]).lower() if isinstance(found[0], bool) else str(found[0])
