"""Cookies of the console: the session, and a sign-in with OpenID Connect in progress.

Cookies do not distinguish ports, so their name contains the port: two consoles can run on one machine.
"""

from __future__ import annotations

from typing import Literal

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import Response
from starlette.types import Scope

from kubewright.console.server._security import SECURE

__all__ = ["OIDC_COOKIE", "SESSION_COOKIE", "Cookie"]


class Cookie:
    """One cookie. Scripts cannot read it, and browsers send it only over TLS if the console is reached over TLS."""

    def __init__(self, suffix: str, same_site: Literal["strict", "lax"], max_age: int | None = None) -> None:
        self._suffix = suffix
        self._same_site = same_site
        self._max_age = max_age

    def _name(self, scope: Scope) -> str:
        port = Headers(scope=scope).get("host", "").rpartition(":")[2]
        name = f"kubewright-{port if port.isdigit() else 'console'}{self._suffix}"
        return f"__Host-{name}" if scope.get(SECURE) else name

    def read(self, scope: Scope) -> str | None:
        """Returns the value in a request, or None."""
        return cookie_parser(Headers(scope=scope).get("cookie", "")).get(self._name(scope))

    def set(self, answer: Response, scope: Scope, value: str) -> None:
        """Sets the value in the response to a request."""
        answer.set_cookie(
            self._name(scope),
            value,
            path="/",
            max_age=self._max_age,
            secure=bool(scope.get(SECURE)),
            httponly=True,
            samesite=self._same_site,
        )

    def delete(self, answer: Response, scope: Scope) -> None:
        """Deletes the cookie in the response to a request."""
        answer.delete_cookie(
            self._name(scope), path="/", secure=bool(scope.get(SECURE)), httponly=True, samesite=self._same_site
        )


SESSION_COOKIE = Cookie("", "strict")
# The provider's page sends the browser back, and browsers withhold strict cookies from such a request.
OIDC_COOKIE = Cookie("-oidc", "lax", max_age=600)
