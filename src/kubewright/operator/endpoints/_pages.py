"""The pages of a running operator: their addresses, with or without HTTPS, and their clients.

| page | address | clients |
|---|---|---|
| `/healthz`, `/readyz` | `health_bind` | plain HTTP, every client: the kubelet has no token |
| `/metrics`, own pages | `metrics_bind` | HTTPS for authorized clients; plain HTTP for every client if not secure |
| `/debug/kubewright` | both | on loopback for every client; elsewhere only where metrics are secure |

Metrics are secure unless the settings disable it or the address is on loopback (`Settings.has_secure_metrics`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Final, Protocol

import msgspec

from kubewright.cache import Caches
from kubewright.clock import Clock
from kubewright.observe import DEBUG_PATH, DebugPages, LogBook, Sources, is_loopback
from kubewright.operator.definition import Check, OperatorDefinition
from kubewright.operator.endpoints._health import HealthPage
from kubewright.operator.endpoints._server import Handler, Page, PageRequest
from kubewright.operator.settings import SettingError, Settings, split_address

__all__ = ["DEBUG_PAGES", "RunState", "Site", "sites_of"]

DEBUG_PAGES: Final = DEBUG_PATH

logger = logging.getLogger("kubewright.operator")


class WebhookState(Protocol):
    """The state of the webhooks of a run."""

    wanted: bool

    def not_ready(self) -> str | None:
        """Returns why the API server cannot call the webhooks of this replica, or None."""


class RunState(Protocol):
    """The state of a run that the pages show, as `Running` has it."""

    settings: Settings
    clock: Clock
    started_at: datetime
    stopping: bool
    caches: Caches | None
    sources: Sources
    logs: LogBook

    @property
    def webhooks(self) -> WebhookState:
        """The webhooks of the run."""

    def keep_logs(self) -> LogBook:
        """Starts to keep the last log lines about each object."""


class Site(msgspec.Struct, frozen=True, kw_only=True):
    """An address with its pages. A secure one is HTTPS, and all its pages require authorization."""

    bind: str
    option: str
    """The option that sets the address."""
    secure: bool
    pages: dict[str, Handler]


def sites_of(operator: OperatorDefinition, run: RunState) -> list[Site]:
    """Returns the addresses of the settings with their pages, probes first. A page without an address is not served.

    Raises `SettingError` if probes and secure metrics share an address.
    """
    settings = run.settings
    sites: dict[tuple[str, int, bool], Site] = {}

    def at(bind: str, option: str, *, secure: bool) -> dict[str, Handler]:
        site = Site(bind=bind, option=option, secure=secure, pages={})
        return sites.setdefault((*split_address(bind), secure), site).pages

    if settings.health_bind is not None:
        at(settings.health_bind, "--health-bind", secure=False).update(_health_pages(operator, run))
    if settings.metrics_bind is not None:
        pages = at(settings.metrics_bind, "--metrics-bind", secure=settings.has_secure_metrics)
        pages["/metrics"] = _metrics_page(operator)
        pages.update((path, partial(page, run)) for path, page in operator.pages.items())
    addresses = [(host, port) for host, port, _ in sites if port]  # port 0 is a different port for each server
    if len(addresses) != len(set(addresses)):
        raise SettingError(
            f"metrics_bind and health_bind are both {settings.metrics_bind}, but metrics are HTTPS and probes are plain"
            " HTTP: use different ports, or --no-metrics-secure for plain HTTP"
        )
    for site in sites.values():
        if _serves_debug_pages(site, settings, warn=not any(one.secure for one in sites.values())):
            site.pages[DEBUG_PAGES] = _debug_page(operator, run, checks_host=not site.secure)
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


def _metrics_page(operator: OperatorDefinition) -> Handler:
    async def page(request: PageRequest) -> Page:
        if request.below:
            return Page(b"not found\n", 404)
        content_type, body = operator.metrics.render(request.headers.get("Accept", ""))
        return Page(body, content_type=content_type)

    return page


def _debug_page(operator: OperatorDefinition, run: RunState, *, checks_host: bool) -> Handler:
    debug = DebugPages(run.sources, name=operator.name, started_at=run.started_at, logs=run.logs)
    may_ask: Callable[[str], bool] = debug.may_ask if checks_host else lambda host: True

    async def page(request: PageRequest) -> Page:
        # Prevents DNS rebinding: a web page must not read this page by a host name that resolves to loopback.
        if not may_ask(request.headers.get("Host", "")) and not run.settings.debug_pages:
            return Page(b"ask by an address of this machine, such as 127.0.0.1\n", 403)
        status, body = debug.answer(request.below)
        return Page(body, status, "application/json")

    return page


def _health_pages(operator: OperatorDefinition, run: RunState) -> dict[str, Handler]:
    ready: dict[str, Check] = {
        "caches": lambda: _missing_caches(run.caches),
        "stopping": lambda: "the operator is stopping" if run.stopping else None,
        **({"webhooks": run.webhooks.not_ready} if run.webhooks.wanted else {}),
        **operator.ready_checks,
    }
    return {
        "/healthz": HealthPage("healthz", operator.health_checks, run.clock),
        "/readyz": HealthPage("readyz", ready, run.clock),
    }


def _missing_caches(caches: Caches | None) -> str | None:
    if caches is None:
        return "not started yet"
    missing = sorted({informer.kind.__name__ for informer in caches.informers if not informer.synced})
    return f"not in sync yet: {', '.join(missing)}" if missing else None
