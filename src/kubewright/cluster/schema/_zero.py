"""The form in which the server writes an empty built-in object.

The server treats a new object as a change of this one, so that fields that Go always writes (an empty spec, the name of
a container) have no owner.
"""

from __future__ import annotations

from typing import Any, Final

from kubewright.cluster.schema._node import Schema

__all__ = ["zero_object"]

_MACHINERY: Final = "io.k8s.apimachinery.pkg."
# Structs with their own encoding: their zero values.
_ZEROS: Final[dict[str, Any]] = {
    f"{_MACHINERY}api.resource.Quantity": "0",
    f"{_MACHINERY}apis.meta.v1.FieldsV1": None,
    f"{_MACHINERY}apis.meta.v1.MicroTime": None,
    f"{_MACHINERY}apis.meta.v1.Time": None,
    f"{_MACHINERY}runtime.RawExtension": None,
    f"{_MACHINERY}util.intstr.IntOrString": 0,
}


def zero_object(schema: Schema) -> dict[str, Any]:
    """Returns the empty object of a built-in kind; {} for custom resources, which have no Go types."""
    zero = _zero(schema)
    assert isinstance(zero, dict)
    return zero


def _zero(schema: Schema) -> Any:
    if schema.name in _ZEROS:
        return _ZEROS[schema.name]
    result = {}
    for name, letter in schema.go.items():
        if letter in "ks":
            field = schema.fields[name]
            assert field is not None
            # Lists, maps and pointers that are always written are null; they have no default.
            result[name] = _zero(field) if letter == "s" else field.default if field.scalar is not None else None
    return result
