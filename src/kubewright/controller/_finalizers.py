"""`Finalizers`: keep an object from being deleted until its cleanup is done."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Generic, TypeVar

from kubewright.api import Object
from kubewright.cache import Change, ObjectKey
from kubewright.client import Conflict, NotFound
from kubewright.controller._context_backend import ContextBackend
from kubewright.controller._environment import Environment
from kubewright.controller._key_records import KeyRecord
from kubewright.controller._own_writes import OwnWrites
from kubewright.controller._reconcile import NOTHING, Result
from kubewright.controller.apply import Outdated
from kubewright.controller.registration import Handler

__all__ = ["Finalizers", "add_finalizer", "remove_finalizer"]

R = TypeVar("R", bound=Object)

_CONFLICT_ATTEMPTS = 5


class Finalizers(Generic[R]):
    """The finalizers of one controller, with their handlers. False if there are none."""

    def __init__(
        self,
        finalizers: Sequence[tuple[str, Handler]],
        environment: Environment,
        own_writes: OwnWrites,
        call: Callable[[Handler, ContextBackend[R]], Awaitable[Result | None]],
    ) -> None:
        self._finalizers = finalizers
        self._environment = environment
        self._own_writes = own_writes
        self._call = call
        environment.former_finalizers.add_known(name for name, _ in finalizers)

    def __len__(self) -> int:
        return len(self._finalizers)

    @property
    def names(self) -> set[str]:
        """The names of the finalizers."""
        return {name for name, _ in self._finalizers}

    def handlers(self) -> Iterator[Handler]:
        """Yields the handlers."""
        return (handler for _, handler in self._finalizers)

    def must_see(self, change: Change[R]) -> bool:
        """Returns whether a change starts a deletion. No predicate may hide that from the finalizers."""
        old, new = change.old, change.new
        return bool(self._finalizers) and new is not None and new.deleting and (old is None or not old.deleting)

    async def ensure(self, backend: ContextBackend[R], obj: R, record: KeyRecord) -> R:
        """Adds the finalizers that a live object lacks, and returns the updated object."""
        record.finalized = None  # the object may have been restored from a backup: its cleanup is due again
        for name, _ in self._finalizers:
            before = obj.metadata.resource_version
            obj = backend.object = await add_finalizer(self._environment, obj, name)
            if obj.metadata.resource_version != before:
                self._own_writes.note(obj, backend.key)  # the reconciler gets this state next
        return obj

    async def run(self, backend: ContextBackend[R], obj: R, record: KeyRecord) -> Result | None:
        """Calls the handlers whose finalizers the object has, in order. Returns None when all of them are done."""
        if not self._finalizers:
            return None
        if record.finalized is None:
            record.finalized = set()
        done, uid = record.finalized, obj.metadata.uid
        for name, handler in self._finalizers:
            if name not in obj.metadata.finalizers:
                continue
            # A handler that succeeded does not run again if its finalizer could not be removed, or the cache is behind.
            if (uid, name) not in done:
                result = await self._call(handler, backend)
                if result is not None and result != NOTHING:
                    return result  # not finished: the finalizer stays, and the key is requeued
                done.add((uid, name))
            if (left := await remove_finalizer(self._environment, backend.primary(), name)) is not None:
                backend.record_current(left)
        return None


async def add_finalizer(environment: Environment, obj: R, name: str) -> R:
    """Returns the object with the finalizer. Nothing is written if the object has it.

    Raises `Conflict` if the object has changed, and `Outdated` if the server does not find it.
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
    """Removes the finalizer from this object and returns the result; None if another object has taken its name.

    The cleanup is done at this point and must not run again because of an unrelated change. So after a conflict, the
    finalizer is removed from the current state. Raises `Outdated` if the server does not find the object.
    """
    kind, key, uid = type(obj), ObjectKey.of(obj), obj.metadata.uid
    for left in range(_CONFLICT_ATTEMPTS - 1, -1, -1):
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
    """Returns an error that is retried: most likely the object is gone, and the watch is about to report it.

    But a server also responds with 404 while it does not serve the kind, and so may a webhook. A controller that took
    that for a deletion would never reconcile the object again.
    """
    return Outdated(f"{type(obj).__name__} {ObjectKey.of(obj)} was not found: {error}")
