"""The HTTP endpoints of a running operator: `/healthz`, `/readyz`, `/metrics` and `/debug/kubewright`.

`serve_endpoints` serves them at the addresses that the settings name. Secure endpoints use HTTPS, and the API server
authenticates and authorizes each client (`Authorizer`). Without files, a `SelfSignedCertificate` is
served. `HttpServer` is the server behind them: GET and HEAD of known paths, with bounded connections.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewright.lazy import lazy_exports

if TYPE_CHECKING:
    from kubewright.operator.endpoints._authorization import (
        ALLOW_SECONDS,
        ALLOWED,
        DENY_SECONDS,
        MOST_CACHED,
        MOST_REVIEWS,
        MOST_WAITING,
        Authorizer,
        Decision,
        authorized,
        bearer_token,
    )
    from kubewright.operator.endpoints._certificate import SelfSignedCertificate, fingerprint_of, issue, issue_in_child
    from kubewright.operator.endpoints._health import HealthPage
    from kubewright.operator.endpoints._pages import RunState, sites_of
    from kubewright.operator.endpoints._server import CONNECTIONS, Handler, HttpServer, Page, PageRequest, Query
    from kubewright.operator.endpoints._serving import serve_endpoints

__all__ = [
    "ALLOWED",
    "ALLOW_SECONDS",
    "CONNECTIONS",
    "DENY_SECONDS",
    "MOST_CACHED",
    "MOST_REVIEWS",
    "MOST_WAITING",
    "Authorizer",
    "Decision",
    "Handler",
    "HealthPage",
    "HttpServer",
    "Page",
    "PageRequest",
    "Query",
    "RunState",
    "SelfSignedCertificate",
    "authorized",
    "bearer_token",
    "fingerprint_of",
    "issue",
    "issue_in_child",
    "serve_endpoints",
    "sites_of",
]

# Imported on first use: importing an operator's file needs only its definition.
_MODULES = {
    "CONNECTIONS": "_server",
    "SelfSignedCertificate": "_certificate",
    "fingerprint_of": "_certificate",
    "issue": "_certificate",
    "issue_in_child": "_certificate",
    "ALLOW_SECONDS": "_authorization",
    "ALLOWED": "_authorization",
    "DENY_SECONDS": "_authorization",
    "MOST_CACHED": "_authorization",
    "MOST_REVIEWS": "_authorization",
    "MOST_WAITING": "_authorization",
    "Authorizer": "_authorization",
    "Decision": "_authorization",
    "authorized": "_authorization",
    "bearer_token": "_authorization",
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
