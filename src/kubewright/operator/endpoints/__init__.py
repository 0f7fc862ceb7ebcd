"""The HTTP endpoints of a running operator: `/healthz`, `/readyz`, `/metrics` and `/debug/kubewright`.

`serve_endpoints` serves them at the addresses that the settings name. Secure endpoints use HTTPS, and the API server
authenticates and authorizes each client (`Authorizer`). `HttpServer` is the server behind them: GET and HEAD of known
paths, with bounded connections.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewright.lazy import lazy_exports

if TYPE_CHECKING:
    from kubewright.operator.endpoints._health import HealthPage
    from kubewright.operator.endpoints._pages import RunState, sites_of
    from kubewright.operator.endpoints._server import Handler, HttpServer, Page, PageRequest, Query
    from kubewright.operator.endpoints._serving import serve_endpoints

__all__ = [
    "Handler",
    "HealthPage",
    "HttpServer",
    "Page",
    "PageRequest",
    "Query",
    "RunState",
    "serve_endpoints",
    "sites_of",
]

# Imported on first use: importing an operator's file needs only its definition.
_MODULES = {
    "Handler": "_server",
    "HealthPage": "_health",
    "HttpServer": "_server",
    "Page": "_server",
    "PageRequest": "_server",
    "Query": "_server",
    "RunState": "_pages",
    "serve_endpoints": "_serving",
    "sites_of": "_pages",
}

if not TYPE_CHECKING:  # type checkers report unknown names
    __getattr__ = lazy_exports(__name__, _MODULES)


def __dir__() -> list[str]:
    return sorted(__all__)
