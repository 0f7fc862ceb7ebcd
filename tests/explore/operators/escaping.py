"""Depends on the machine: its date, its monotonic time, and a thread."""

from __future__ import annotations

import datetime
import threading
import time

import kubewright as kw
from kubewright.api import core, meta


class SiteSpec(kw.Model):
    """The desired state."""

    replicas: int = 1
    message: str | None = None
    labels: dict[str, str] | None = None


@kw.resource("explored.example.com/v1")
class Site(kw.Resource[SiteSpec, None]):
    """A site."""


operator = kw.Operator("site-operator")


@operator.reconciles(Site, owns=[core.ConfigMap])
async def sync(site: Site, ctx: kw.Context[Site]) -> None:
    """Writes what the machine says."""
    thread = threading.Thread(target=time.monotonic)
    thread.start()
    thread.join()
    written = datetime.datetime.now(datetime.UTC).isoformat()
    data = {"written": written, "elapsed": f"{time.monotonic():.3f}"}
    await ctx.apply(core.ConfigMap(metadata=meta.ObjectMeta(name=site.metadata.name), data=data))
