"""The client of blocking reconcilers."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from kubewright.client import BlockingClient

if TYPE_CHECKING:
    from kubewright.controller._session import Session

__all__ = ["ClientInLoop"]

T = TypeVar("T")


class ClientInLoop(BlockingClient):
    """The operator's client, for use in a thread."""

    def __init__(self, session: Session[Any]) -> None:
        # The constructor of the base would start a loop in a thread, but the client belongs to the operator's loop.
        self.client = session.environment.client
        self._session = session

    def close(self) -> None:
        """Does nothing: the operator closes its client."""

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return self._session.wait(work)
