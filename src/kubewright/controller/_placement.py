"""`placed`: an object in the namespace where it is written."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from kubewright.api import Object
from kubewright.cache import ObjectKey
from kubewright.client.wire import info_of_object

__all__ = ["placed"]

O = TypeVar("O", bound=Object)  # noqa: E741


def placed(obj: O, owner: ObjectKey, owner_name: str) -> O:
    """Returns a copy of the object. Default namespace: that of the owner.

    Raises ValueError if the namespace does not fit the scope of the kind: the server's error would not name the fix.
    """
    info, meta = info_of_object(obj), obj.metadata
    namespace = (meta.namespace or owner.namespace) if info.namespaced else ""
    if meta.namespace and not info.namespaced:
        raise ValueError(f"{obj} cannot be in a namespace: {info} is cluster-scoped. Leave metadata.namespace out")
    if info.namespaced and not namespace:
        raise ValueError(f"{obj} needs a namespace, and {owner_name} is cluster-scoped. Set metadata.namespace")
    copied = msgspec.structs.replace(meta, namespace=namespace, owner_references=list(meta.owner_references))
    copied.remember(meta.origin)
    return msgspec.structs.replace(obj, metadata=copied)
