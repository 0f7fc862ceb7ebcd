"""Finalizers: keeping an object from going away until what it stands for has been cleaned up."""

from __future__ import annotations

from typing import TypeVar

from kubewright.api import Object
from kubewright.cache import ObjectKey
from kubewright.client import Conflict, NotFound
from kubewright.controller._environment import Environment
from kubewright.controller.apply import Outdated

__all__ = ["add_finalizer", "remove_finalizer"]

R = TypeVar("R", bound=Object)

_TRIES = 5


async def add_finalizer(environment: Environment, obj: R, name: str) -> R:
    """The object with the finalizer, written unless it has it.

    Raises `Conflict` when the object has changed, and `Outdated` when the server does not find it.
    """
    if name in obj.metadata.finalizers:
        return obj
    obj.metadata.finalizers.append(name)
    try:
        updated = await environment.client.update(obj)
    except NotFound as error:
        raise _not_found(obj, error) from error
    environment.caches.written(updated)
    return updated


async def remove_finalizer(environment: Environment, obj: R, name: str) -> R | None:
    """Take the finalizer off this very object, and return it as it is then; None when another has taken its name.

    The clean-up is done by now, and must not be done again only because somebody changed a label meanwhile: after a
    conflict the finalizer is taken off the object as it is now. Raises `Outdated` when the server does not find it.
    """
    kind, key, uid = type(obj), ObjectKey.of(obj), obj.metadata.uid
    for left in range(_TRIES - 1, -1, -1):
        if name not in obj.metadata.finalizers or obj.metadata.uid != uid:
            return obj if obj.metadata.uid == uid else None
        obj.metadata.finalizers.remove(name)
        try:
            updated = await environment.client.update(obj)
        except NotFound as error:
            raise _not_found(obj, error) from error
        except Conflict:
            if not left:
                raise
        else:
            environment.caches.written(updated)
            return updated
        try:
            obj = await environment.client.get(kind, key.name, key.namespace or None)
        except NotFound as error:
            raise _not_found(obj, error) from error
    return None


def _not_found(obj: Object, error: NotFound) -> Outdated:
    """Look again: most likely it is gone, and the watch is about to tell.

    But a server says 404 as well when it does not serve the kind, for a moment or not yet, and webhooks can, too.
    Whoever took that for the end of the object would never look at it again.
    """
    return Outdated(f"{type(obj).__name__} {ObjectKey.of(obj)} was not found: {error}")
