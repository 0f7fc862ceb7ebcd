"""`DeletionCallbacks`: calls the `deleted` callbacks for objects that are gone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from kubewright.api import Object
from kubewright.cache import Change
from kubewright.controller._context_backend import ContextBackend
from kubewright.controller._decoding import FOR_GOOD, decoded
from kubewright.controller._key_records import KeyRecord, KeyRecords
from kubewright.controller._reconcile import Result
from kubewright.controller._selection import Selection
from kubewright.controller.registration import Handler
from kubewright.observe import Reconcile

__all__ = ["DeletionCallbacks"]

R = TypeVar("R", bound=Object)


class DeletionCallbacks(Generic[R]):
    """The `deleted` callbacks of one controller. False if there are none."""

    def __init__(
        self,
        handlers: Sequence[Handler],
        records: KeyRecords,
        backend_for: Callable[[R, Reconcile], ContextBackend[R]],
        call: Callable[[Handler, ContextBackend[R]], Awaitable[Result | None]],
        selection: Selection[R],
    ) -> None:
        self.handlers = handlers
        self._records = records
        self._backend_for = backend_for
        self._call = call
        self.selection = selection

    def __len__(self) -> int:
        return len(self.handlers)

    def add(self, change: Change[R]) -> None:
        """Stores the last state of a deleted object until its callbacks run."""
        if self.handlers and change.old is not None:
            record = self._records.ensure(change.key)
            record.deleted = [*(record.deleted or ()), change.old]

    async def run(self, record: KeyRecord, run: Reconcile) -> Exception | None:
        """Calls the callbacks for each deleted object of this key. Returns the first error.

        A callback that fails is called again, unless it fails with a `TerminalError`. Objects that exist and only left
        the label selection of the controller are not deleted: nothing is called for them.
        """
        failure: Exception | None = None
        while record.deleted:
            try:
                last = record.deleted[0]
                if not await self.selection.lost(last):
                    backend = self._backend_for(decoded(last), run)
                    for handler in self.handlers:
                        await self._call(handler, backend)
            except FOR_GOOD as error:
                failure = failure or error
            except Exception as error:
                return error
            record.deleted = record.deleted[1:] or None
        return failure
