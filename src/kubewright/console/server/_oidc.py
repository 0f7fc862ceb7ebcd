"""The two addresses of sign-in with OpenID Connect: where it starts, and where the provider sends the browser back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from html import escape
from typing import Final

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from kubewright.console._backend import Backend
from kubewright.console.access import BearerToken, SignInError, SignInUnavailable, Viewer, username_of
from kubewright.console.oidc import OIDCSignIn
from kubewright.console.server._cookies import OIDC_COOKIE, SESSION_COOKIE
from kubewright.console.server._security import CLIENT_ADDRESS, SECURE

__all__ = ["OIDC_CALLBACK", "OIDC_START", "OIDCEndpoints", "refresh_page"]

OIDC_START: Final = "/sign-in/oidc"
OIDC_CALLBACK: Final = "/sign-in/oidc/callback"
_MAX_PARAMETERS: Final = 20

Throttle = Callable[[Callable[[], Awaitable[Viewer]], str], Awaitable[Viewer]]
"""Calls a function that verifies a token, unless too many sign-ins from an address have failed."""


class OIDCEndpoints:
    """Answers requests for the two addresses. Raises `SignInError` for a sign-in that failed."""

    def __init__(self, console: Backend, flow: OIDCSignIn, throttle: Throttle, failed: Callable[[str], None]) -> None:
        """Takes functions that throttle the verification of tokens, and that count a failure of an address."""
        self._console = console
        self._flow = flow
        self._throttle = throttle
        self._failed = failed

    async def begin(self, request: Request, next_: str) -> Response:
        """Sends the browser to the provider."""
        scheme = "https" if request.scope.get(SECURE) else "http"
        # The host is one of the console's own, and the provider knows the addresses of its clients.
        address = f"{scheme}://{request.headers['host']}{OIDC_CALLBACK}"
        target, secret = await self._flow.begin(address, next_)
        answer = RedirectResponse(target, 303, {"cache-control": "no-store"})
        OIDC_COOKIE.set(answer, request.scope, secret)
        return answer

    async def complete(self, request: Request) -> Response:
        """Exchanges the code of the provider for a session."""
        address = request.scope.get(CLIENT_ADDRESS, "")
        parameters = request.query_params.multi_items()[:_MAX_PARAMETERS]
        if len({name for name, _ in parameters}) != len(parameters):
            raise SignInError("The response of the provider is ambiguous. Sign in again.")
        try:
            grant = await self._flow.complete(OIDC_COOKIE.read(request.scope) or "", dict(parameters))
        except SignInUnavailable:
            raise
        except SignInError:
            self._failed(address)
            raise
        token = BearerToken(grant.id_token)
        viewer = await self._throttle(lambda: self._console.viewer_with_id_token(token), address)
        session, secret = self._console.sessions.begin(viewer)
        self._flow.keep(session, self._console.sessions, token, grant, lambda: username_of(viewer.client))
        self._console.audit.signed_in(viewer.name, address, "oidc")
        answer = refresh_page(grant.next)
        OIDC_COOKIE.delete(answer, request.scope)
        SESSION_COOKIE.set(answer, request.scope, secret)
        return answer


def refresh_page(path: str) -> Response:
    """Returns a page that opens a path of this console.

    A redirect would not work after a request that another site started: the browser then withholds strict cookies.
    """
    page = f'<!doctype html><meta http-equiv="refresh" content="0; url={escape(path)}"><title>Kubewright</title>'
    return HTMLResponse(page, headers={"cache-control": "no-store"})
