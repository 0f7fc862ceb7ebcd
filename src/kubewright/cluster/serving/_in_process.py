"""The way into the server without sockets: the client's `Transport`."""

from __future__ import annotations

import weakref

from kubewright.client import ConnectionLost, Request, Response
from kubewright.cluster.dispatch._dispatcher import Dispatcher
from kubewright.cluster.machinery._answers import Answer, NoAnswer
from kubewright.cluster.machinery._calls import User

__all__ = ["InProcess"]


class InProcess:
    """Requests of one user, answered in this process. `close` ends the watches that it began.

    Without `warnings`, answers carry none: for the cluster's own parts, whose users cannot heed them.
    """

    def __init__(self, dispatcher: Dispatcher, user: User, *, warnings: bool = True) -> None:
        self._dispatcher = dispatcher
        self._user = user
        self._with_warnings = warnings
        self._closed = False
        self._watches: weakref.WeakSet[Answer] = weakref.WeakSet()

    async def send(self, request: Request) -> Response:
        """One request, one answer."""
        if self._closed:
            raise ConnectionLost("the embedded cluster has stopped, or this client was closed", sent=False)
        if request.before_send is not None:
            request.before_send()
        try:
            answer = await self._dispatcher.handle(request, self._user)
        except NoAnswer as none:
            if none.timeout:
                raise TimeoutError("no answer in time") from None
            raise ConnectionLost("the connection ended without an answer", sent=True) from None
        if not self._with_warnings:
            answer.drop_warnings()
        if answer.stream is not None:
            self._watches.add(answer)
        return answer

    async def close(self) -> None:
        """End every watch; refuse what comes after."""
        self._closed = True
        for answer in list(self._watches):
            answer.close()
