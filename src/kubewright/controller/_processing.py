"""`ObjectProcessing`: which handlers run for the object of a key."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Generic, NoReturn, TypeVar

from kubewright.api import Object
from kubewright.cache import ObjectKey, Snapshot
from kubewright.controller._context_backend import ContextBackend
from kubewright.controller._decoding import FOR_GOOD, decoded
from kubewright.controller._deletions import DeletionCallbacks
from kubewright.controller._finalizers import Finalizers
from kubewright.controller._key_records import KeyRecord
from kubewright.controller._reconcile import Result
from kubewright.controller.registration import Handler
from kubewright.observe import Reconcile

__all__ = ["ObjectProcessing"]

R = TypeVar("R", bound=Object)


class ObjectProcessing(Generic[R]):
    """Runs the `deleted` callbacks, the finalizers and the reconciler of one controller for a key.

    `lookup` returns the cached object, `call` calls a handler, `backend_for` makes its context, and `check_deleting` is
    called for an object in deletion. `clear_pause` removes the condition of an earlier pause.
    """

    def __init__(
        self,
        reconcile: Handler | None,
        lookup: Callable[[ObjectKey], Snapshot[R] | None],
        finalizers: Finalizers[R],
        deletions: DeletionCallbacks[R],
        call: Callable[[Handler, ContextBackend[R]], Awaitable[Result | None]],
        backend_for: Callable[[ObjectKey, R | None, Reconcile, str], ContextBackend[R]],
        check_deleting: Callable[[Snapshot[R], Reconcile], None],
        clear_pause: Callable[[ContextBackend[R], Snapshot[R]], None],
    ) -> None:
        self.by_key = reconcile is not None and reconcile.by_key
        """Whether the reconciler takes the key, and so runs for absent objects and objects in deletion, too."""
        self._reconcile = reconcile
        self._decodes = bool(finalizers) or not self.by_key
        self._adds_finalizers = bool(finalizers)
        self._lookup = lookup
        self._finalizers = finalizers
        self._deletions = deletions
        self._call = call
        self._backend_for = backend_for
        self._check_deleting = check_deleting
        self._clear_pause = clear_pause

    async def run(self, key: ObjectKey, record: KeyRecord, run: Reconcile, *, callbacks: bool = True) -> Result | None:
        """Runs the callbacks for deleted objects of this key, then finalizes or reconciles the existing object."""
        if callbacks and record.deleted and (failure := await self._deletions.run(record, run)) is not None:
            await self._run_despite(failure, key, record, run)
        snapshot = self._lookup(key)
        if snapshot is None and (not self.by_key or await self._deletions.selection.excludes(key)):
            return None
        if snapshot is not None and snapshot.deleting:
            self._check_deleting(snapshot, run)
        obj: R | None = None
        if snapshot is not None and self._decodes:
            obj = decoded(snapshot)
            record.undecodable = None
        backend = self._backend_for(key, obj, run, run.trigger)
        if snapshot is not None:
            self._clear_pause(backend, snapshot)
        if obj is not None and obj.metadata.deletion_timestamp is not None:
            result = await self._finalizers.run(backend, obj, record)
            if not self.by_key or result is not None:
                return result
        elif obj is not None and self._adds_finalizers:
            await self._finalizers.ensure(backend, obj, record)
        if self._reconcile is None:
            await backend.flush()
            return None
        if self.by_key:
            backend.object = None
        return await self._call(self._reconcile, backend)

    async def _run_despite(self, failure: Exception, key: ObjectKey, record: KeyRecord, run: Reconcile) -> NoReturn:
        """Processes the existing object although a callback for its predecessor failed; then raises that failure.

        The callback may depend on a system that is down, and the existing object must not wait for that.
        """
        try:
            await self.run(key, record, run, callbacks=False)
        except FOR_GOOD as error:
            raise (error if isinstance(failure, FOR_GOOD) else failure) from error
        raise failure
