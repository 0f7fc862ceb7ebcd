"""The web server: uvicorn and NiceGUI in the caller's event loop.

A request passes these layers:

1. `_listener.py` accepts connections within `Limits`; `_connections.py` decides which connection to close.
2. `CompressionMiddleware` compresses responses.
3. `SecurityMiddleware` checks `Host` and `Origin`, and sets the security headers of responses.
4. `AuthenticationMiddleware` finds the session, or redirects to the sign-in page.
5. `HeadMiddleware` answers `HEAD` requests, `AssetMiddleware` requests for scripts. NiceGUI serves everything else.

Importing this package imports NiceGUI, which takes seconds.
"""

from __future__ import annotations

from kubewright.console.server._assets import AssetMiddleware
from kubewright.console.server._authentication import AuthenticationMiddleware
from kubewright.console.server._compression import CompressionMiddleware
from kubewright.console.server._connections import Connection, Connections
from kubewright.console.server._handler_signatures import remember_handler_signatures
from kubewright.console.server._open_pages import KNOWN_EVENTS, guard_socket_events, guarded_handlers, open_pages_of
from kubewright.console.server._page_builds import PageBuilds
from kubewright.console.server._security import AllowedHosts, client_address
from kubewright.console.server._server import serve

__all__ = [
    "KNOWN_EVENTS",
    "AllowedHosts",
    "AssetMiddleware",
    "AuthenticationMiddleware",
    "CompressionMiddleware",
    "Connection",
    "Connections",
    "PageBuilds",
    "client_address",
    "guard_socket_events",
    "guarded_handlers",
    "open_pages_of",
    "remember_handler_signatures",
    "serve",
]
