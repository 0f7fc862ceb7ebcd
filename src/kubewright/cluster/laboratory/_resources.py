"""References to kinds in tests: by class, or by resource name as in `kubectl`."""

from __future__ import annotations

from typing import TypeAlias

from kubewright.api import Object, info_of
from kubewright.cluster._state import State
from kubewright.suggestions import nearest

__all__ = ["Kind", "known_resource_of", "resource_of", "storage_of"]

Kind: TypeAlias = type[Object] | str
"""A kind: its class, or its resource name with group, such as `configmaps` or `deployments.apps`."""


def resource_of(kind: Kind) -> str:
    """Returns the qualified resource name: `deployments.apps`."""
    if isinstance(kind, str):
        return kind
    info = info_of(kind)
    return f"{info.plural}.{info.group}" if info.group else info.plural


def known_resource_of(state: State, kind: Kind) -> str:
    """Returns the resource name of a served kind or of a class. Raises ValueError for any other name.

    A custom kind may be defined later: its name has a group with a dot, such as `foos.example.com`.
    """
    resource = resource_of(kind)
    if not isinstance(kind, str) or any(type_.qualified == resource for type_ in state.types):
        return resource
    served = {type_.qualified for type_ in state.types}
    given = resource.lower()
    singular = next(
        (type_ for type_ in state.types if given in (type_.singular, type_.plural, type_.kind.lower())), None
    )
    meant = singular.qualified if singular is not None else nearest(resource, served)
    if meant is None and resource.count(".") >= 2:
        return resource
    hint = f" Did you mean {meant!r}?" if meant else ""
    raise ValueError(
        f"kind={resource!r} is not a resource of this cluster, so no request would match.{hint} Name a class, or the"
        " plural with its group, such as configmaps or deployments.apps"
    )


def storage_of(state: State, kind: Kind) -> str:
    """Returns the storage name of a kind, which need not be served yet."""
    resource = resource_of(kind)
    for type_ in state.types:
        if type_.qualified == resource:
            return type_.storage
    plural, _, group = resource.partition(".")
    return f"{group}/{plural}"
