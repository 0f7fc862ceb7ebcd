"""`serve_endpoints`: serves the pages of a running operator until it ends."""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from kubewright.client import Client
from kubewright.operator.endpoints._pages import DEBUG_PAGES, Site, sites_of
from kubewright.operator.endpoints._server import HttpServer
from kubewright.operator.settings import SettingError

if TYPE_CHECKING:
    from kubewright.operator._operator import Operator
    from kubewright.operator._running import Running

__all__ = ["serve_endpoints"]

logger = logging.getLogger("kubewright.operator")


async def serve_endpoints(
    operator: Operator, running: Running, client: Client, stack: AsyncExitStack
) -> list[HttpServer]:
    """Serve all pages of an operator until the stack unwinds; the servers, that of the probes first.

    `client` reviews the tokens of requests. Raises `SettingError` for an address that cannot be used.
    """
    servers = []
    for site in sites_of(operator, running):
        if DEBUG_PAGES in site.pages:
            running.keep_logs()
        server = await _secured(operator, running, client, site, stack) if site.secure else _plain(site)
        try:
            servers.append(await stack.enter_async_context(server))
        except OSError as error:
            raise SettingError(str(error.strerror)) from None
    return servers


def _plain(site: Site) -> HttpServer:
    return HttpServer(site.bind, site.pages)


async def _secured(
    operator: Operator, running: Running, client: Client, site: Site, stack: AsyncExitStack
) -> HttpServer:
    from kubewright.operator.endpoints._authorization import Authorizer, authorized
    from kubewright.operator.endpoints._certificate import certificate_for
    from kubewright.operator.endpoints._token_reviews import TokenReviews
    from kubewright.webhook import serving_context

    clock = running.clock
    authorizer = Authorizer(TokenReviews(client, operator.name), clock)
    stack.push_async_callback(authorizer.close)
    certificate = certificate_for(running.settings.metrics_cert_path, operator.name, clock)
    await stack.enter_async_context(certificate)
    checking = asyncio.create_task(_check(client, operator.name), name="check the permission to review tokens")
    stack.push_async_callback(_ended, checking)
    pages = {path: authorized(handler, path, authorizer) for path, handler in site.pages.items()}
    return HttpServer(site.bind, pages, tls=serving_context(certificate))


async def _check(client: Client, operator: str) -> None:
    """Log once, at the start, that no client can be authorized; each of its requests gets the same message."""
    from kubewright.operator.endpoints._token_reviews import missing_permissions, without_reviews

    if await missing_permissions(client):
        logger.warning("%s", without_reviews(operator))


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
