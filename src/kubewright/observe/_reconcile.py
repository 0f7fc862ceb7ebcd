"""`Reconcile`: one running reconcile. It is the current trace of its requests, which record themselves in it."""

from __future__ import annotations

import random
from collections.abc import Sequence

import msgspec

from kubewright.api import ResourceInfo
from kubewright.cache import ObjectKey
from kubewright.causes import error_text
from kubewright.client import Trace
from kubewright.client.wire import qualified_resource
from kubewright.observe._stats import Ending
from kubewright.redaction import redact

__all__ = ["Reconcile", "Write"]

_WRITES_AT_MOST = 50
_ERROR_AT_MOST = 1_000


class Write(msgspec.Struct, gc=False):
    """A write request. Its change is kept separately, for a while (`History`)."""

    verb: str
    resource: str
    namespace: str
    name: str
    status: int
    seconds: float


class Reconcile(Trace):
    """One reconcile of one object: its trigger and its results so far."""

    # Most reconciles neither fail nor write. These attributes cost nothing until they are set.
    error: str = ""
    writes: tuple[Write, ...] = ()
    more_writes: int = 0
    changes: Sequence[tuple[Write, bytes | None, bytes]] = ()

    def __init__(
        self,
        rng: random.Random,
        controller: str,
        info: ResourceInfo,
        key: ObjectKey,
        *,
        attempt: int = 1,
        trigger: str = "",
        cause: ObjectKey | None = None,
    ) -> None:
        self._rng = rng  # what the base class does; it runs once for each reconcile
        self.controller = controller
        self.info = info
        self.key = key
        self.attempt = attempt
        self.trigger = trigger
        self.cause = cause

    around = Trace.current
    """Wraps the whole reconcile: its requests belong to it, in any task or thread."""

    def failed(self, error: BaseException) -> None:
        """Records the error of the reconcile, as a string of limited length."""
        text = redact(error_text(error))
        self.error = text if len(text) <= _ERROR_AT_MOST else f"{text[:_ERROR_AT_MOST]}…"

    def ended(self, ending: Ending) -> None:
        """Records the result. Called inside of `around`."""

    def wrote(self, write: Write) -> None:
        """Records a write request. The first 50 are kept, the others are counted."""
        if len(self.writes) < _WRITES_AT_MOST:
            self.writes = (*self.writes, write)
        else:
            self.more_writes += 1

    def changed(self, info: ResourceInfo, key: ObjectKey, before: bytes | None, after: bytes) -> None:
        """Records the content of an object before and after its last write. Secrets are left out."""
        resource = qualified_resource(info)
        if resource == "secrets":
            return
        for write in reversed(self.writes):
            if write.name == key.name and write.namespace == key.namespace and write.resource.startswith(resource):
                self.changes = (*self.changes, (write, before, after))
                return
