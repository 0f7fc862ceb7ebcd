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

from kubewright.api._codec import DecodeError, decode, encode, from_dict, to_dict
from kubewright.api._conditions import find_condition, is_condition_true, remove_condition, set_condition
from kubewright.api._constraints import (
    AtLeastOneOf,
    AtMostOneOf,
    Choices,
    EmbeddedResource,
    ExactlyOneOf,
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
    Rule,
    Schema,
    constrain,
)
from kubewright.api._definition import Column, Conversion, Scale
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
from kubewright.api._yaml import from_yaml
from kubewright.garbage import collection_paused

__all__ = [
    "JSON",
    "AlreadyOwned",
    "AtLeastOneOf",
    "AtMostOneOf",
    "Choices",
    "Column",
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
