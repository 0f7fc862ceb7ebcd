"""`serve_endpoints`: serves the pages of a running operator until it ends."""

from __future__ import annotations

import logging
from contextlib import AsyncExitStack

from kubewright.client import Client
from kubewright.operator.definition import OperatorDefinition
from kubewright.operator.endpoints._pages import DEBUG_PAGES, RunState, Site, sites_of
from kubewright.operator.endpoints._server import HttpServer
from kubewright.operator.settings import SettingError
from kubewright.tasks import background

__all__ = ["serve_endpoints"]

logger = logging.getLogger("kubewright.operator")


async def serve_endpoints(
    operator: OperatorDefinition, run: RunState, client: Client, stack: AsyncExitStack
) -> list[HttpServer]:
    """Serves all pages of an operator until the stack unwinds. Returns the servers, the one of the probes first.

    `client` reviews the tokens of requests. Raises `SettingError` for an address that cannot be used.
    """
    servers = []
    for site in sites_of(operator, run):
        if DEBUG_PAGES in site.pages:
            run.keep_logs()
        server = (
            await _secured(operator, run, client, site, stack) if site.secure else HttpServer(site.bind, site.pages)
        )
        try:
            servers.append(await stack.enter_async_context(server))
        except OSError as error:
            raise SettingError(f"{error.strerror}; choose another address with {site.option}") from None
    return servers


async def _secured(
    operator: OperatorDefinition, run: RunState, client: Client, site: Site, stack: AsyncExitStack
) -> HttpServer:
    # With kubewright.webhook, which an operator without HTTPS does not need.
    from kubewright.operator.endpoints._authorization import Authorizer, authorized
    from kubewright.operator.endpoints._certificate import certificate_for
    from kubewright.operator.endpoints._token_reviews import TokenReviews
    from kubewright.webhook import serving_context

    clock = run.clock
    authorizer = Authorizer(TokenReviews(client, operator.name), clock)
    stack.push_async_callback(authorizer.close)
    certificate = certificate_for(run.settings.metrics_cert_path, operator.name, clock)
    await stack.enter_async_context(certificate)
    check = background(_check_permissions(client, operator.name), name="check the permission to review tokens")
    await stack.enter_async_context(check)
    pages = {path: authorized(handler, path, authorizer) for path, handler in site.pages.items()}
    return HttpServer(
        site.bind, pages, tls=serving_context(certificate), certificate=lambda: certificate.pair.certificate
    )


async def _check_permissions(client: Client, operator: str) -> None:
    """Logs once, at the start, if the operator may not authorize clients. Each request gets the same message."""
    from kubewright.operator.endpoints._token_reviews import missing_permissions, without_reviews

    if await missing_permissions(client):
        logger.warning("%s", without_reviews(operator))
