"""A client `Transport` that calls the server without sockets."""

from __future__ import annotations

import weakref

from kubewright.client import ConnectionLost, Request, Response
from kubewright.cluster.dispatch._dispatcher import Dispatcher
from kubewright.cluster.machinery._calls import User
from kubewright.cluster.machinery._responses import ApiResponse, NoResponse
from kubewright.programs import current_program

__all__ = ["InProcess"]


class InProcess:
    """Sends the requests of one user to a server in this process. `close` ends the watches that it started.

    With `warnings=False`, responses have no warnings: for parts of the cluster whose users cannot act on them.
    """

    def __init__(self, dispatcher: Dispatcher, user: User, *, warnings: bool = True) -> None:
        if not isinstance(user, User):
            raise TypeError(
                f'user must be a User, such as User("jane"), not {user!r}; for a name, call client_as("jane")'
            )
        self._dispatcher = dispatcher
        self._user = user
        self._with_warnings = warnings
        self._closed = False
        self._watches: weakref.WeakKeyDictionary[ApiResponse, None] = weakref.WeakKeyDictionary()

    async def send(self, request: Request) -> Response:
        """Sends a request and returns the response."""
        if self._closed:
            raise ConnectionLost("the embedded cluster has stopped, or this client was closed", sent=False)
        if request.before_send is not None:
            request.before_send()
        program = current_program()
        try:
            handled = self._dispatcher.handle(request, self._user)
            response = await (handled if program is None else program.call(handled))
        except NoResponse as none:
            if none.timeout:
                raise TimeoutError("no response within the timeout") from None
            raise ConnectionLost("the connection was closed without a response", sent=True) from None
        if not self._with_warnings:
            response.drop_warnings()
        if response.stream is not None:
            self._watches[response] = None
            if program is not None:
                program.owns(response)
        return response

    async def close(self) -> None:
        """Ends all watches and rejects further requests."""
        self._closed = True
        for response in list(self._watches):
            response.close()
