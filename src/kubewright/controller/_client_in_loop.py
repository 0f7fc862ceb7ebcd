"""The client of blocking reconcilers."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from kubewright.client import BlockingClient

if TYPE_CHECKING:
    from kubewright.controller._context_backend import ContextBackend

__all__ = ["ClientInLoop"]

T = TypeVar("T")


class ClientInLoop(BlockingClient):
    """The operator's client, for use in a thread."""

    def __init__(self, backend: ContextBackend[Any]) -> None:
        # The constructor of the base would start a loop in a thread, but the client belongs to the operator's loop.
        self.client = backend.environment.client
        self._backend = backend

    def close(self) -> None:
        """Does nothing: the operator closes its client."""

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return self._backend.wait(work)
