"""Structural schemas: the OpenAPI v3 schemas of CustomResourceDefinitions, from classes and annotations.

- `schema_of` returns the schema of a kind or of any model. `check_kind` checks only that its constraints are valid.
- `shape_of`, `fields_of` and `Shape` describe what one annotation means in JSON.
- `violations` checks a JSON value against a schema and returns `Violation`s with the server's field paths. `rules_of`
  compiles the CEL rules of a schema.
- `parse_path` and `shape_at` read the JSON paths of printer columns and selectable fields.
- `Constraint` is the base of the constraints that `kubewright.api` exports. `add_constraint` writes one into a schema.
- `declared_keys`, `list_keys_of` and `members_of` say which keys identify the elements of a list.
- `fits_format` checks the string formats that the API server checks. `cel_name` escapes a field name for CEL.

The package is for code that generates, reads or checks schemas. Operators use `kubewright.api` and `kubewright.crd`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewright.lazy import lazy_exports

if TYPE_CHECKING:
    from kubewright.api._pydantic import is_pydantic, members_of
    from kubewright.api.schema._cel import cel_name
    from kubewright.api.schema._constraint_schema import add_constraint
    from kubewright.api.schema._constraints import Constraint, constraints_of
    from kubewright.api.schema._formats import fits_format, is_format
    from kubewright.api.schema._paths import Step, parse_path, shape_at
    from kubewright.api.schema._shapes import (
        NotExpressible,
        NotReadable,
        Shape,
        declared_keys,
        fields_of,
        is_builtin,
        list_keys_of,
        shape_of,
    )
    from kubewright.api.schema._structural import Describe, check_kind, schema_of
    from kubewright.api.schema._validation import rules_of, violations

_MODULES = {
    "Constraint": "_constraints",
    "Describe": "_structural",
    "NotExpressible": "_shapes",
    "NotReadable": "_shapes",
    "Shape": "_shapes",
    "Step": "_paths",
    "add_constraint": "_constraint_schema",
    "cel_name": "_cel",
    "check_kind": "_structural",
    "constraints_of": "_constraints",
    "declared_keys": "_shapes",
    "fields_of": "_shapes",
    "fits_format": "_formats",
    "is_builtin": "_shapes",
    "is_format": "_formats",
    "is_pydantic": "kubewright.api._pydantic",
    "list_keys_of": "_shapes",
    "members_of": "kubewright.api._pydantic",
    "parse_path": "_paths",
    "rules_of": "_validation",
    "schema_of": "_structural",
    "shape_at": "_paths",
    "shape_of": "_shapes",
    "violations": "_validation",
}

__all__ = [
    "Constraint",
    "Describe",
    "NotExpressible",
    "NotReadable",
    "Shape",
    "Step",
    "add_constraint",
    "cel_name",
    "check_kind",
    "constraints_of",
    "declared_keys",
    "fields_of",
    "fits_format",
    "is_builtin",
    "is_format",
    "is_pydantic",
    "list_keys_of",
    "members_of",
    "parse_path",
    "rules_of",
    "schema_of",
    "shape_at",
    "shape_of",
    "violations",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_exports(__name__, _MODULES)


def __dir__() -> list[str]:
    return sorted(__all__)
