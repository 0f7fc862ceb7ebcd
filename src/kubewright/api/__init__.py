"""Typed Kubernetes objects.

- `Model`, `Object`, `Resource[Spec, Status]` and `@resource` define kinds; `Untyped` stands for kinds that are not
  known when the program is written.
- The built-in kinds live in one package per API group, imported on first use: `from kubewright.api import apps, core`,
  then `apps.Deployment`; older and newer versions by name: `from kubewright.api.autoscaling import v1`.
- `decode`, `encode`, `to_dict`, `from_dict` go between objects and JSON, `from_yaml` reads YAML. An object that does
  not fit its model raises `DecodeError`, which names the object and the field's path.
- Rules for values (`Range`, `Pattern`, `ListType`, `Rule`, ...) stand in annotations and in `@constrain`; `validate`
  checks an object against them before it is sent. They do not change decoding.
- A pydantic model can stand wherever a `Model` can: as the spec or status of a kind, or inside one.
- Values: `Quantity`, `IntOrString`, `Time`, `MicroTime`, `JSON`. Selectors, conditions and owner references have their
  own functions here.

Objects are ordinary and mutable. `None` means absent; everything else is sent to the server (see `Model`).
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from kubewright.lazy import lazy_exports

if TYPE_CHECKING:
    from kubewright.api._codec import DecodeError as DecodeError
    from kubewright.api._codec import decode as decode
    from kubewright.api._codec import encode as encode
    from kubewright.api._codec import from_dict as from_dict
    from kubewright.api._codec import to_dict as to_dict
    from kubewright.api._conditions import ConditionStatus as ConditionStatus
    from kubewright.api._conditions import find_condition as find_condition
    from kubewright.api._conditions import is_condition_true as is_condition_true
    from kubewright.api._conditions import remove_condition as remove_condition
    from kubewright.api._conditions import set_condition as set_condition
    from kubewright.api._field_selectors import FieldRequirement as FieldRequirement
    from kubewright.api._field_selectors import FieldSelector as FieldSelector
    from kubewright.api._model import Model as Model
    from kubewright.api._object import Object as Object
    from kubewright.api._object import ResourceInfo as ResourceInfo
    from kubewright.api._object import info_of as info_of
    from kubewright.api._object_meta import ManagedFieldsEntry as ManagedFieldsEntry
    from kubewright.api._object_meta import ObjectMeta as ObjectMeta
    from kubewright.api._object_meta import OwnerReference as OwnerReference
    from kubewright.api._owners import AlreadyOwned as AlreadyOwned
    from kubewright.api._owners import OwnerError as OwnerError
    from kubewright.api._owners import add_owner as add_owner
    from kubewright.api._owners import controller_of as controller_of
    from kubewright.api._owners import is_controlled_by as is_controlled_by
    from kubewright.api._owners import owner_reference as owner_reference
    from kubewright.api._owners import remove_owner as remove_owner
    from kubewright.api._owners import set_controller as set_controller
    from kubewright.api._quantity import Quantity as Quantity
    from kubewright.api._quantity import QuantityFormat as QuantityFormat
    from kubewright.api._selectors import Requirement as Requirement
    from kubewright.api._selectors import Selector as Selector
    from kubewright.api._selectors import SelectorError as SelectorError
    from kubewright.api._selectors import SelectorOperator as SelectorOperator
    from kubewright.api._spec_status import Resource as Resource
    from kubewright.api._time import MicroTime as MicroTime
    from kubewright.api._time import Time as Time
    from kubewright.api._time import format_micro_time as format_micro_time
    from kubewright.api._time import format_time as format_time
    from kubewright.api._time import parse_time as parse_time
    from kubewright.api._untyped import Untyped as Untyped
    from kubewright.api._validate import ValidationError as ValidationError
    from kubewright.api._validate import Violation as Violation
    from kubewright.api._validate import validate as validate
    from kubewright.api._values import JSON as JSON
    from kubewright.api._values import IntOrString as IntOrString
    from kubewright.api._values import scaled_value as scaled_value
    from kubewright.api._yaml import from_yaml as from_yaml
    from kubewright.api.kinds._definition import Column as Column
    from kubewright.api.kinds._definition import Conversion as Conversion
    from kubewright.api.kinds._definition import Scale as Scale
    from kubewright.api.schema._constraints import AtLeastOneOf as AtLeastOneOf
    from kubewright.api.schema._constraints import AtMostOneOf as AtMostOneOf
    from kubewright.api.schema._constraints import Choices as Choices
    from kubewright.api.schema._constraints import EmbeddedResource as EmbeddedResource
    from kubewright.api.schema._constraints import ExactlyOneOf as ExactlyOneOf
    from kubewright.api.schema._constraints import Example as Example
    from kubewright.api.schema._constraints import Format as Format
    from kubewright.api.schema._constraints import Immutable as Immutable
    from kubewright.api.schema._constraints import Items as Items
    from kubewright.api.schema._constraints import Length as Length
    from kubewright.api.schema._constraints import ListType as ListType
    from kubewright.api.schema._constraints import MapType as MapType
    from kubewright.api.schema._constraints import MultipleOf as MultipleOf
    from kubewright.api.schema._constraints import Nullable as Nullable
    from kubewright.api.schema._constraints import Pattern as Pattern
    from kubewright.api.schema._constraints import PreserveUnknown as PreserveUnknown
    from kubewright.api.schema._constraints import Properties as Properties
    from kubewright.api.schema._constraints import Range as Range
    from kubewright.api.schema._constraints import Rule as Rule
    from kubewright.api.schema._constraints import Schema as Schema
    from kubewright.api.schema._constraints import constrain as constrain
    from kubewright.garbage import collection_paused as collection_paused

_HOMES = {
    "DecodeError": "kubewright.api._codec",
    "decode": "kubewright.api._codec",
    "encode": "kubewright.api._codec",
    "from_dict": "kubewright.api._codec",
    "to_dict": "kubewright.api._codec",
    "ConditionStatus": "kubewright.api._conditions",
    "find_condition": "kubewright.api._conditions",
    "is_condition_true": "kubewright.api._conditions",
    "remove_condition": "kubewright.api._conditions",
    "set_condition": "kubewright.api._conditions",
    "FieldRequirement": "kubewright.api._field_selectors",
    "FieldSelector": "kubewright.api._field_selectors",
    "Model": "kubewright.api._model",
    "Object": "kubewright.api._object",
    "ResourceInfo": "kubewright.api._object",
    "info_of": "kubewright.api._object",
    "ManagedFieldsEntry": "kubewright.api._object_meta",
    "ObjectMeta": "kubewright.api._object_meta",
    "OwnerReference": "kubewright.api._object_meta",
    "AlreadyOwned": "kubewright.api._owners",
    "OwnerError": "kubewright.api._owners",
    "add_owner": "kubewright.api._owners",
    "controller_of": "kubewright.api._owners",
    "is_controlled_by": "kubewright.api._owners",
    "owner_reference": "kubewright.api._owners",
    "remove_owner": "kubewright.api._owners",
    "set_controller": "kubewright.api._owners",
    "Quantity": "kubewright.api._quantity",
    "QuantityFormat": "kubewright.api._quantity",
    "Requirement": "kubewright.api._selectors",
    "Selector": "kubewright.api._selectors",
    "SelectorError": "kubewright.api._selectors",
    "SelectorOperator": "kubewright.api._selectors",
    "Resource": "kubewright.api._spec_status",
    "MicroTime": "kubewright.api._time",
    "Time": "kubewright.api._time",
    "format_micro_time": "kubewright.api._time",
    "format_time": "kubewright.api._time",
    "parse_time": "kubewright.api._time",
    "Untyped": "kubewright.api._untyped",
    "ValidationError": "kubewright.api._validate",
    "Violation": "kubewright.api._validate",
    "validate": "kubewright.api._validate",
    "JSON": "kubewright.api._values",
    "IntOrString": "kubewright.api._values",
    "scaled_value": "kubewright.api._values",
    "from_yaml": "kubewright.api._yaml",
    "Column": "kubewright.api.kinds._definition",
    "Conversion": "kubewright.api.kinds._definition",
    "Scale": "kubewright.api.kinds._definition",
    "AtLeastOneOf": "kubewright.api.schema._constraints",
    "AtMostOneOf": "kubewright.api.schema._constraints",
    "Choices": "kubewright.api.schema._constraints",
    "EmbeddedResource": "kubewright.api.schema._constraints",
    "ExactlyOneOf": "kubewright.api.schema._constraints",
    "Example": "kubewright.api.schema._constraints",
    "Format": "kubewright.api.schema._constraints",
    "Immutable": "kubewright.api.schema._constraints",
    "Items": "kubewright.api.schema._constraints",
    "Length": "kubewright.api.schema._constraints",
    "ListType": "kubewright.api.schema._constraints",
    "MapType": "kubewright.api.schema._constraints",
    "MultipleOf": "kubewright.api.schema._constraints",
    "Nullable": "kubewright.api.schema._constraints",
    "Pattern": "kubewright.api.schema._constraints",
    "PreserveUnknown": "kubewright.api.schema._constraints",
    "Properties": "kubewright.api.schema._constraints",
    "Range": "kubewright.api.schema._constraints",
    "Rule": "kubewright.api.schema._constraints",
    "Schema": "kubewright.api.schema._constraints",
    "constrain": "kubewright.api.schema._constraints",
    "collection_paused": "kubewright.garbage",
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
    "validate",
]

if not TYPE_CHECKING:
    _find = lazy_exports(__name__, _HOMES)

    def __getattr__(name: str) -> object:
        if name in _HOMES:
            return _find(name)
        # `from kubewright.api import apps` asks for the attribute first; no suggestion is needed then.
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=sys.modules[__name__])


def __dir__() -> list[str]:
    return sorted(__all__)
