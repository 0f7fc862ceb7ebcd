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
    from kubewright.api._pydantic import is_pydantic as is_pydantic
    from kubewright.api._pydantic import members_of as members_of
    from kubewright.api.schema._cel import cel_name as cel_name
    from kubewright.api.schema._constraints import Constraint as Constraint
    from kubewright.api.schema._constraints import constraints_of as constraints_of
    from kubewright.api.schema._formats import fits_format as fits_format
    from kubewright.api.schema._formats import is_format as is_format
    from kubewright.api.schema._paths import Step as Step
    from kubewright.api.schema._paths import parse_path as parse_path
    from kubewright.api.schema._paths import shape_at as shape_at
    from kubewright.api.schema._placement import add_constraint as add_constraint
    from kubewright.api.schema._shapes import NotExpressible as NotExpressible
    from kubewright.api.schema._shapes import NotReadable as NotReadable
    from kubewright.api.schema._shapes import Shape as Shape
    from kubewright.api.schema._shapes import declared_keys as declared_keys
    from kubewright.api.schema._shapes import fields_of as fields_of
    from kubewright.api.schema._shapes import is_builtin as is_builtin
    from kubewright.api.schema._shapes import list_keys_of as list_keys_of
    from kubewright.api.schema._shapes import shape_of as shape_of
    from kubewright.api.schema._structural import Describe as Describe
    from kubewright.api.schema._structural import check_kind as check_kind
    from kubewright.api.schema._structural import schema_of as schema_of
    from kubewright.api.schema._validation import rules_of as rules_of
    from kubewright.api.schema._validation import violations as violations

_HOMES = {
    "is_pydantic": "kubewright.api._pydantic",
    "members_of": "kubewright.api._pydantic",
    "cel_name": "kubewright.api.schema._cel",
    "Constraint": "kubewright.api.schema._constraints",
    "constraints_of": "kubewright.api.schema._constraints",
    "fits_format": "kubewright.api.schema._formats",
    "is_format": "kubewright.api.schema._formats",
    "Step": "kubewright.api.schema._paths",
    "parse_path": "kubewright.api.schema._paths",
    "shape_at": "kubewright.api.schema._paths",
    "add_constraint": "kubewright.api.schema._placement",
    "NotExpressible": "kubewright.api.schema._shapes",
    "NotReadable": "kubewright.api.schema._shapes",
    "Shape": "kubewright.api.schema._shapes",
    "declared_keys": "kubewright.api.schema._shapes",
    "fields_of": "kubewright.api.schema._shapes",
    "is_builtin": "kubewright.api.schema._shapes",
    "list_keys_of": "kubewright.api.schema._shapes",
    "shape_of": "kubewright.api.schema._shapes",
    "Describe": "kubewright.api.schema._structural",
    "check_kind": "kubewright.api.schema._structural",
    "schema_of": "kubewright.api.schema._structural",
    "rules_of": "kubewright.api.schema._validation",
    "violations": "kubewright.api.schema._validation",
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
    __getattr__ = lazy_exports(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
