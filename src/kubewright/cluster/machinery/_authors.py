"""The author of a write: the user and the request, or the part of the cluster, that makes it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from kubewright.cluster.machinery._calls import Call

__all__ = ["API_SERVER", "AUTHOR", "CONTROLLER_MANAGER", "Author", "writing_as"]

API_SERVER: Final = "system:apiserver"
"""The user of writes that the API server makes itself, such as the deletion of expired events."""


CONTROLLER_MANAGER: Final = "system:kube-controller-manager"
"""The user of the cluster's own controllers that use the API: those of workloads, the scheduler and the kubelets."""


class Author:
    """The author of writes in a context. It ends with the request, also for tasks that the request started."""

    __slots__ = ("call", "ended", "request", "user", "verb")

    def __init__(self, user: str, call: Call | None = None, request: int = 0, verb: str = "") -> None:
        self.user = user
        self.verb = verb
        self.call = call
        self.request = request
        self.ended = False


AUTHOR: Final[ContextVar[Author | None]] = ContextVar("kubewright-cluster-author", default=None)


@contextmanager
def writing_as(user: str = API_SERVER) -> Iterator[None]:
    """Attributes the writes in the block to a part of the cluster instead of the current request."""
    author = Author(user)
    token = AUTHOR.set(author)
    try:
        yield
    finally:
        author.ended = True
        AUTHOR.reset(token)
