"""The HTTP endpoints of a running operator: `/healthz`, `/readyz`, `/metrics` and `/debug/kubewright`.

`serve_endpoints` serves them at the addresses that the settings name. Secure endpoints use HTTPS, and the API server
authenticates and authorizes each client (`Authorizer`). `HttpServer` is the server behind them: GET and HEAD of known
paths, with bounded connections.
"""

from __future__ import annotations

from kubewright.operator.endpoints._health import Check, HealthPage, check_check
from kubewright.operator.endpoints._pages import is_secure, sites_of
from kubewright.operator.endpoints._server import Handler, HttpServer, Page, PageRequest, Query
from kubewright.operator.endpoints._serving import serve_endpoints

__all__ = [
    "Check",
    "Handler",
    "HealthPage",
    "HttpServer",
    "Page",
    "PageRequest",
    "Query",
    "check_check",
    "is_secure",
    "serve_endpoints",
    "sites_of",
]
