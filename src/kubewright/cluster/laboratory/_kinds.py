"""How tests name kinds: by their class, or as `kubectl` does."""

from __future__ import annotations

from typing import TypeAlias

from kubewright.api import Object, info_of
from kubewright.cluster._state import State

__all__ = ["Kind", "resource_of", "storage_of"]

Kind: TypeAlias = type[Object] | str
"""A kind: its class, or the name of its resource with its group, `configmaps` or `deployments.apps`."""


def resource_of(kind: Kind) -> str:
    """The resource as error messages name it: `deployments.apps`."""
    if isinstance(kind, str):
        return kind
    info = info_of(kind)
    return f"{info.plural}.{info.group}" if info.group else info.plural


def storage_of(state: State, kind: Kind) -> str:
    """Under which name the objects of a kind are stored; it may be one that is not served yet."""
    resource = resource_of(kind)
    for type_ in state.types:
        if type_.qualified == resource:
            return type_.storage
    plural, _, group = resource.partition(".")
    return f"{group}/{plural}"
