"""The pages that a running operator serves, by address and path."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewright.clock import SystemClock
from kubewright.operator._health import Check, HealthPage
from kubewright.operator._http_server import Handler

if TYPE_CHECKING:
    from kubewright.operator._operator import Operator
    from kubewright.operator._running import Running

__all__ = ["pages_of"]


def pages_of(operator: Operator, running: Running) -> dict[str, dict[str, Handler]]:
    """For each address that the settings name, its paths. What has no address is not served."""
    settings, served = running.settings, dict[str, dict[str, Handler]]()
    if settings.health_bind is not None:
        served.setdefault(settings.health_bind, {}).update(_health_pages(operator, running))
    return served


def _health_pages(operator: Operator, running: Running) -> dict[str, Handler]:
    clock = operator.clock or SystemClock()
    ready: dict[str, Check] = {
        "caches": lambda: _missing_caches(running),
        "stopping": lambda: "the operator is stopping" if running.stopping else None,
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
