"""Typed Kubernetes objects.

- `Model`, `Object`, `Resource[Spec, Status]` and `@kubewright.resource` define kinds. `Untyped` is for kinds without a
  class.
- The built-in kinds are in one package per API group, imported on first use: `from kubewright.api import apps, core`,
  then `apps.Deployment`. Other versions are imported by name: `from kubewright.api.autoscaling import v1`.
- `decode`, `encode`, `to_dict` and `from_dict` convert between objects and JSON, `from_yaml` and `to_yaml` between
  objects and YAML. An object that does not fit its model raises `DecodeError`, which names the object and the field.
- Constraints (`Range`, `Pattern`, `ListType`, `Rule`, ...) are written in annotations and in `@constrain`. `validate`
  checks an object against them before it is sent. They do not change decoding.
- A pydantic model can be used wherever a `Model` can: as the spec or status of a kind, or inside one.
- Values are `Quantity`, `IntOrString`, `Time`, `MicroTime` and `JSON`. There are functions for selectors, conditions
  and owner references.

Objects are mutable. `None` means absent; every other value is sent to the server (see `Model`).

Packages below this one are for code that works on kinds in general: `kubewright.api.kinds`, `kubewright.api.schema`,
`kubewright.api.wire` and `kubewright.api.cel`. Read `_model.py` and `_object.py` first.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from kubewright.lazy import lazy_exports

if TYPE_CHECKING:
    from kubewright.api._codec import DecodeError, decode, encode, from_dict, to_dict
    from kubewright.api._conditions import (
        ConditionStatus,
        find_condition,
        is_condition_true,
        remove_condition,
        set_condition,
    )
    from kubewright.api._field_selectors import FieldRequirement, FieldSelector
    from kubewright.api._model import Model
    from kubewright.api._object import Object, ResourceInfo, info_of
    from kubewright.api._object_meta import ManagedFieldsEntry, ObjectMeta, OwnerReference
    from kubewright.api._owners import (
        AlreadyOwned,
        OwnerError,
        add_owner,
        controller_of,
        is_controlled_by,
        owner_reference,
        remove_owner,
        set_controller,
    )
    from kubewright.api._quantity import Quantity, QuantityFormat
    from kubewright.api._selectors import Requirement, Selector, SelectorError, SelectorOperator
    from kubewright.api._spec_status import Resource
    from kubewright.api._time import MicroTime, Time, format_micro_time, format_time, parse_time
    from kubewright.api._untyped import Untyped
    from kubewright.api._validate import ValidationError, Violation, validate
    from kubewright.api._values import JSON, IntOrString, scaled_value
    from kubewright.api._yaml import from_yaml, to_yaml
    from kubewright.api.kinds._definition import Column, Conversion, Scale
    from kubewright.api.kinds._form import Form, FormSection
    from kubewright.api.kinds._states import States
    from kubewright.api.schema._constraints import (
        Choices,
        EmbeddedResource,
        Example,
        Format,
        Immutable,
        Items,
        Length,
        ListType,
        MapType,
        MultipleOf,
        Nullable,
        Pattern,
        PreserveUnknown,
        Properties,
        Range,
        Schema,
    )
    from kubewright.api.schema._model_constraints import AtLeastOneOf, AtMostOneOf, ExactlyOneOf, Rule, constrain
    from kubewright.garbage import collection_paused

_MODULES = {
    "JSON": "_values",
    "AlreadyOwned": "_owners",
    "AtLeastOneOf": "kubewright.api.schema._model_constraints",
    "AtMostOneOf": "kubewright.api.schema._model_constraints",
    "Choices": "kubewright.api.schema._constraints",
    "Column": "kubewright.api.kinds._definition",
    "ConditionStatus": "_conditions",
    "Conversion": "kubewright.api.kinds._definition",
    "DecodeError": "_codec",
    "EmbeddedResource": "kubewright.api.schema._constraints",
    "ExactlyOneOf": "kubewright.api.schema._model_constraints",
    "Example": "kubewright.api.schema._constraints",
    "FieldRequirement": "_field_selectors",
    "FieldSelector": "_field_selectors",
    "Form": "kubewright.api.kinds._form",
    "FormSection": "kubewright.api.kinds._form",
    "Format": "kubewright.api.schema._constraints",
    "Immutable": "kubewright.api.schema._constraints",
    "IntOrString": "_values",
    "Items": "kubewright.api.schema._constraints",
    "Length": "kubewright.api.schema._constraints",
    "ListType": "kubewright.api.schema._constraints",
    "ManagedFieldsEntry": "_object_meta",
    "MapType": "kubewright.api.schema._constraints",
    "MicroTime": "_time",
    "Model": "_model",
    "MultipleOf": "kubewright.api.schema._constraints",
    "Nullable": "kubewright.api.schema._constraints",
    "Object": "_object",
    "ObjectMeta": "_object_meta",
    "OwnerError": "_owners",
    "OwnerReference": "_object_meta",
    "Pattern": "kubewright.api.schema._constraints",
    "PreserveUnknown": "kubewright.api.schema._constraints",
    "Properties": "kubewright.api.schema._constraints",
    "Quantity": "_quantity",
    "QuantityFormat": "_quantity",
    "Range": "kubewright.api.schema._constraints",
    "Requirement": "_selectors",
    "Resource": "_spec_status",
    "ResourceInfo": "_object",
    "Rule": "kubewright.api.schema._model_constraints",
    "Scale": "kubewright.api.kinds._definition",
    "Schema": "kubewright.api.schema._constraints",
    "Selector": "_selectors",
    "SelectorError": "_selectors",
    "SelectorOperator": "_selectors",
    "States": "kubewright.api.kinds._states",
    "Time": "_time",
    "Untyped": "_untyped",
    "ValidationError": "_validate",
    "Violation": "_validate",
    "add_owner": "_owners",
    "collection_paused": "kubewright.garbage",
    "constrain": "kubewright.api.schema._model_constraints",
    "controller_of": "_owners",
    "decode": "_codec",
    "encode": "_codec",
    "find_condition": "_conditions",
    "format_micro_time": "_time",
    "format_time": "_time",
    "from_dict": "_codec",
    "from_yaml": "_yaml",
    "info_of": "_object",
    "is_condition_true": "_conditions",
    "is_controlled_by": "_owners",
    "owner_reference": "_owners",
    "parse_time": "_time",
    "remove_condition": "_conditions",
    "remove_owner": "_owners",
    "scaled_value": "_values",
    "set_condition": "_conditions",
    "set_controller": "_owners",
    "to_dict": "_codec",
    "to_yaml": "_yaml",
    "validate": "_validate",
}

__all__ = [
    "JSON",
    "AlreadyOwned",
    "AtLeastOneOf",
    "AtMostOneOf",
    "Choices",
    "Column",
    "ConditionStatus",
    "Conversion",
    "DecodeError",
    "EmbeddedResource",
    "ExactlyOneOf",
    "Example",
    "FieldRequirement",
    "FieldSelector",
    "Form",
    "FormSection",
    "Format",
    "Immutable",
    "IntOrString",
    "Items",
    "Length",
    "ListType",
    "ManagedFieldsEntry",
    "MapType",
    "MicroTime",
    "Model",
    "MultipleOf",
    "Nullable",
    "Object",
    "ObjectMeta",
    "OwnerError",
    "OwnerReference",
    "Pattern",
    "PreserveUnknown",
    "Properties",
    "Quantity",
    "QuantityFormat",
    "Range",
    "Requirement",
    "Resource",
    "ResourceInfo",
    "Rule",
    "Scale",
    "Schema",
    "Selector",
    "SelectorError",
    "SelectorOperator",
    "States",
    "Time",
    "Untyped",
    "ValidationError",
    "Violation",
    "add_owner",
    "collection_paused",
    "constrain",
    "controller_of",
    "decode",
    "encode",
    "find_condition",
    "format_micro_time",
    "format_time",
    "from_dict",
    "from_yaml",
    "info_of",
    "is_condition_true",
    "is_controlled_by",
    "owner_reference",
    "parse_time",
    "remove_condition",
    "remove_owner",
    "scaled_value",
    "set_condition",
    "set_controller",
    "to_dict",
    "to_yaml",
    "validate",
]

if not TYPE_CHECKING:
    _find = lazy_exports(__name__, _MODULES)

    def __getattr__(name: str) -> object:
        if name in _MODULES:
            return _find(name)
        # `from kubewright.api import apps` looks up the attribute before it imports the package.
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=sys.modules[__name__])


def __dir__() -> list[str]:
    return sorted(__all__)
