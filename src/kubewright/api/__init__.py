"""Typed Kubernetes objects.

- `Model`, `Object`, `Resource[Spec, Status]` and `@resource` define kinds; `Untyped` stands for kinds that are not
  known when the program is written.
- The built-in kinds live in one package per API group, imported on first use: `from kubewright.api import apps, core`,
  then `apps.Deployment`; older and newer versions by name: `from kubewright.api.autoscaling import v1`.
- `decode`, `encode`, `to_dict`, `from_dict` go between objects and JSON. An object that does not fit its model raises
  `DecodeError`, which names the object and the field's path.
- Values: `Quantity`, `IntOrString`, `Time`, `MicroTime`, `JSON`. Selectors, conditions and owner references have their
  own functions here.

Objects are ordinary and mutable. `None` means absent; everything else is sent to the server (see `Model`).
"""

from __future__ import annotations

from kubewright.api._codec import DecodeError, decode, encode, from_dict, to_dict
from kubewright.api._model import Model
from kubewright.api._object_meta import ManagedFieldsEntry, ObjectMeta, OwnerReference
from kubewright.api._quantity import Quantity
from kubewright.api._resource import Object, Resource, ResourceInfo, info_of
from kubewright.api._time import MicroTime, Time
from kubewright.api._untyped import Untyped
from kubewright.api._values import JSON, IntOrString

__all__ = [
    "JSON",
    "DecodeError",
    "IntOrString",
    "ManagedFieldsEntry",
    "MicroTime",
    "Model",
    "Object",
    "ObjectMeta",
    "OwnerReference",
    "Quantity",
    "Resource",
    "ResourceInfo",
    "Time",
    "Untyped",
    "decode",
    "encode",
    "from_dict",
    "info_of",
    "to_dict",
]
