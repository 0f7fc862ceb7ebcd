"""Fields: pure functions over an object's content and its `managedFields`, for `apply/` and `status/`.

- `projection` and `digest`: an object reduced to the requested fields, and its fingerprint.
- `content_of`, `minus`, `part_in`, `union`, `without_fields`: field sets (`fieldsV1`).
- `created_as_applied`, `released`, `status_fields`, `status_taken_over`: the entries of field managers.
"""

from __future__ import annotations

from kubewright.controller.fields._field_sets import FieldSet, content_of, minus, part_in, union, without_fields
from kubewright.controller.fields._managed_fields import (
    created_as_applied,
    released,
    status_fields,
    status_taken_over,
)
from kubewright.controller.fields._projection import KEY_DEFAULTS, digest, projection

__all__ = [
    "KEY_DEFAULTS",
    "FieldSet",
    "content_of",
    "created_as_applied",
    "digest",
    "minus",
    "part_in",
    "projection",
    "released",
    "status_fields",
    "status_taken_over",
    "union",
    "without_fields",
]
