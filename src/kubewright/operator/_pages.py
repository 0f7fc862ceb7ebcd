"""The pages that a running operator serves, by address and path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kubewright.clock import SystemClock
from kubewright.observe import DebugPages, is_loopback
from kubewright.operator._health import Check, HealthPage
from kubewright.operator._http_server import Asked, Handler, Page
from kubewright.operator._values import split_address

if TYPE_CHECKING:
    from kubewright.operator._operator import Operator
    from kubewright.operator._running import Running

__all__ = ["DEBUG_PAGES", "pages_of"]

DEBUG_PAGES: Final = "/debug/kubewright"


def pages_of(operator: Operator, running: Running) -> dict[str, dict[str, Handler]]:
    """For each address that the settings name, its paths. What has no address is not served."""
    settings, served = running.settings, dict[str, dict[str, Handler]]()
    if settings.health_bind is not None:
        served.setdefault(settings.health_bind, {}).update(_health_pages(operator, running))
    if settings.metrics_bind is not None:
        served.setdefault(settings.metrics_bind, {})["/metrics"] = _metrics_page(operator)
    for bind, pages in served.items():
        if settings.debug_pages or (settings.debug_pages is None and is_loopback(split_address(bind)[0])):
            pages[DEBUG_PAGES] = _debug_page(operator, running)
    return served


def _metrics_page(operator: Operator) -> Handler:
    async def page(asked: Asked) -> Page:
        if asked.below:
            return Page(b"not found\n", 404)
        content_type, body = operator.metrics.render(asked.headers.get("Accept", ""))
        return Page(body, content_type=content_type)

    return page


def _debug_page(operator: Operator, running: Running) -> Handler:
    debug = DebugPages(running.sources, name=operator.name, started_at=running.started_at, logs=running.logs)

    async def page(asked: Asked) -> Page:
        # A name that somebody else made lead here would let a web page read what is on this machine.
        if not debug.may_ask(asked.headers.get("Host", "")) and not running.settings.debug_pages:
            return Page(b"ask by an address of this machine, such as 127.0.0.1\n", 403)
        status, body = debug.answer(asked.below)
        return Page(body, status, "application/json")

    return page


def _health_pages(operator: Operator, running: Running) -> dict[str, Handler]:
    clock = operator.clock or SystemClock()
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
