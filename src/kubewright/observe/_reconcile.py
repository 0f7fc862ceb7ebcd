"""`Reconcile`: one reconcile while it runs. Requests find it as the current trace, and leave their marks on it."""

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
from kubewright.redaction import showable

__all__ = ["Reconcile", "Write"]

_WRITES_AT_MOST = 50
_ERROR_AT_MOST = 1_000


class Write(msgspec.Struct, gc=False):
    """A request that was to change something. What it changed is kept elsewhere, for a while (`History`)."""

    verb: str
    resource: str
    namespace: str
    name: str
    status: int
    seconds: float


class Reconcile(Trace):
    """What one reconcile of one object is about, and what came of it so far."""

    # Most reconciles neither fail nor write: what they do not have costs them nothing.
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
        self._rng = rng  # what the base class does; it is called for each reconcile
        self.controller = controller
        self.info = info
        self.key = key
        self.attempt = attempt
        self.trigger = trigger
        self.cause = cause

    around = Trace.current
    """For the length of the whole reconcile: its requests, in whatever task or thread, belong to it."""

    def failed(self, error: BaseException) -> None:
        """It ended with this. What is kept is its text, cut."""
        text = showable(error_text(error))
        self.error = text if len(text) <= _ERROR_AT_MOST else f"{text[:_ERROR_AT_MOST]}…"

    def ended(self, ending: Ending) -> None:
        """Returns how it ended is known now. Called inside of `around`."""

    def wrote(self, write: Write) -> None:
        """Returns a request was made. The first 50 are remembered, the others counted."""
        if len(self.writes) < _WRITES_AT_MOST:
            self.writes = (*self.writes, write)
        else:
            self.more_writes += 1

    def changed(self, info: ResourceInfo, key: ObjectKey, before: bytes | None, after: bytes) -> None:
        """An object was this and is that now: the last write of it did it. Contents of Secrets are not taken."""
        resource = qualified_resource(info)
        if resource == "secrets":
            return
        for write in reversed(self.writes):
            if write.name == key.name and write.namespace == key.namespace and write.resource.startswith(resource):
                self.changes = (*self.changes, (write, before, after))
                return
