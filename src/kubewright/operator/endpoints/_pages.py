"""The pages that a running operator serves: at which address, with or without HTTPS, and for whom.

| page | at | |
|---|---|---|
| `/healthz`, `/readyz` | `health_bind` | plain HTTP, for every client: the kubelet has no token |
| `/metrics` | `metrics_bind` | HTTPS, for authorized clients; plain HTTP, for every client, if it is not secure |
| `/debug/kubewright` | both | on loopback for every client; elsewhere where metrics are secure |

Metrics are secure unless the settings say otherwise or their address is on loopback (`is_secure`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import msgspec

from kubewright.observe import DEBUG_PATH, DebugPages, is_loopback
from kubewright.operator.endpoints._health import Check, HealthPage
from kubewright.operator.endpoints._server import Handler, Page, PageRequest
from kubewright.operator.settings import SettingError, Settings, split_address

if TYPE_CHECKING:
    from kubewright.operator._operator import Operator
    from kubewright.operator._running import Running

__all__ = ["DEBUG_PAGES", "Site", "is_secure", "sites_of"]

DEBUG_PAGES: Final = DEBUG_PATH

logger = logging.getLogger("kubewright.operator")


class Site(msgspec.Struct, frozen=True, kw_only=True):
    """An address with its pages. A secure one is HTTPS, and all of its pages are for authorized clients."""

    bind: str
    secure: bool
    pages: dict[str, Handler]


def is_secure(settings: Settings) -> bool:
    """Whether there is a `/metrics` over HTTPS, for authorized clients."""
    if settings.metrics_bind is None:
        return False
    if settings.metrics_secure is None:
        return not is_loopback(split_address(settings.metrics_bind)[0])
    return settings.metrics_secure


def sites_of(operator: Operator, running: Running) -> list[Site]:
    """The addresses that the settings name, with their pages, probes first. A page without an address is not served.

    Raises `SettingError` if probes and secure metrics are to share an address.
    """
    settings = running.settings
    sites: dict[tuple[str, int, bool], Site] = {}

    def at(bind: str, *, secure: bool) -> dict[str, Handler]:
        return sites.setdefault((*split_address(bind), secure), Site(bind=bind, secure=secure, pages={})).pages

    if settings.health_bind is not None:
        at(settings.health_bind, secure=False).update(_health_pages(operator, running))
    if settings.metrics_bind is not None:
        at(settings.metrics_bind, secure=is_secure(settings))["/metrics"] = _metrics_page(operator)
    addresses = [(host, port) for host, port, _ in sites if port]  # port 0 is a different port for each server
    if len(addresses) != len(set(addresses)):
        raise SettingError(
            f"metrics_bind and health_bind are both {settings.metrics_bind}, but metrics are HTTPS and probes are plain"
            " HTTP: use different ports, or --no-metrics-secure for plain HTTP"
        )
    for site in sites.values():
        if _serves_debug_pages(site, settings, warn=not any(one.secure for one in sites.values())):
            site.pages[DEBUG_PAGES] = _debug_page(operator, running, checks_host=not site.secure)
    return list(sites.values())


def _serves_debug_pages(site: Site, settings: Settings, *, warn: bool) -> bool:
    if is_loopback(split_address(site.bind)[0]):
        return settings.debug_pages is not False
    if not settings.debug_pages or site.secure or settings.metrics_secure is False:
        return settings.debug_pages is True
    if warn:
        logger.warning(
            "%s is not served at %s, which is plain HTTP for every client: give --metrics-bind an address that is not"
            " on loopback, where it is served to authorized clients; or --no-metrics-secure for plain HTTP",
            DEBUG_PAGES,
            site.bind,
        )
    return False


def _metrics_page(operator: Operator) -> Handler:
    async def page(asked: PageRequest) -> Page:
        if asked.below:
            return Page(b"not found\n", 404)
        content_type, body = operator.metrics.render(asked.headers.get("Accept", ""))
        return Page(body, content_type=content_type)

    return page


def _debug_page(operator: Operator, running: Running, *, checks_host: bool) -> Handler:
    debug = DebugPages(running.sources, name=operator.name, started_at=running.started_at, logs=running.logs)
    may_ask: Callable[[str], bool] = debug.may_ask if checks_host else lambda host: True

    async def page(asked: PageRequest) -> Page:
        # A name that somebody else made lead here would let a web page read what is on this machine.
        if not may_ask(asked.headers.get("Host", "")) and not running.settings.debug_pages:
            return Page(b"ask by an address of this machine, such as 127.0.0.1\n", 403)
        status, body = debug.answer(asked.below)
        return Page(body, status, "application/json")

    return page


def _health_pages(operator: Operator, running: Running) -> dict[str, Handler]:
    clock = running.clock
    ready: dict[str, Check] = {
        "caches": lambda: _missing_caches(running),
        "stopping": lambda: "the operator is stopping" if running.stopping else None,
        **({"webhooks": running.webhooks.not_ready} if running.webhooks.wanted else {}),
        **operator.ready_checks,
    }
    return {
        "/healthz": HealthPage("healthz", operator.health_checks, clock),
        "/readyz": HealthPage("readyz", ready, clock),
    }


def _missing_caches(running: Running) -> str | None:
    if running.caches is None:
        return "not started yet"
    missing = sorted({informer.kind.__name__ for informer in running.caches.informers if not informer.synced})
    return f"not in sync yet: {', '.join(missing)}" if missing else None
