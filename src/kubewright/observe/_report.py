"""`report`: the whole operator at one moment, as a typed snapshot that can be shown, sent as JSON and stored.

Counters (reconciles, retries, histograms) begin at the start of the run. To get rates, take two reports. A report has
no content of objects.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Literal

import msgspec

from kubewright.api import ResourceInfo
from kubewright.cache import Informer, WatchState
from kubewright.clock import SystemClock
from kubewright.observe._inspection import Observed
from kubewright.observe._sources import Elector, Sources
from kubewright.observe._webhooks import WebhookStats
from kubewright.pausing import PAUSE_ANNOTATION
from kubewright.queue import Histogram

__all__ = [
    "CacheReport",
    "ControllerReport",
    "KindName",
    "LeaderReport",
    "OperatorReport",
    "WebhookReport",
    "report",
]


class _Part(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The base of all parts: JSON names in camel case."""


class KindName(_Part, frozen=True, kw_only=True):
    """A kind."""

    group: str
    version: str
    kind: str
    plural: str

    @classmethod
    def of(cls, info: ResourceInfo) -> KindName:
        """Returns the name of this kind."""
        return cls(group=info.group, version=info.version, kind=info.kind, plural=info.plural)


class ControllerReport(_Part, frozen=True, kw_only=True):
    """A controller: its results, its running reconciles, its queue."""

    name: str
    api_version: str
    kind: str
    plural: str = ""
    owns: tuple[KindName, ...] = ()
    """The kinds whose objects trigger their owner."""
    reconciles: dict[str, int]
    """The number of reconciles by result."""
    durations: Histogram | None = None
    """How long reconciles took."""
    active: int
    concurrency: int
    ready: int
    """Keys that wait for a worker."""
    delayed: int
    """Keys that are delayed."""
    retries: int = 0
    """How often a key was added with a delay."""
    write_loops: int = 0
    """How often a key was slowed down because it keeps triggering itself."""
    longest_running_seconds: float = 0.0
    remembered: int
    """Objects whose last reconciles are remembered."""
    remembered_bytes: int
    pause_annotation: str = PAUSE_ANNOTATION
    """The annotation that pauses objects."""

    @property
    def group(self) -> str:
        """The API group of the kind that is reconciled."""
        return self.api_version.rpartition("/")[0]


class CacheReport(_Part, frozen=True, kw_only=True):
    """A cache, and the watch that fills it."""

    group: str
    version: str
    kind: str
    selection: str = ""
    """The label and field selectors; empty for all objects."""
    namespaces: tuple[str, ...] = ()
    """The cached namespaces; empty for all."""
    synced: bool
    objects: int
    bytes: int
    state: WatchState
    last_event_at: datetime | None = None
    relists: int = 0
    restarts: int = 0
    stalls: int = 0
    undecodable: int = 0
    blocked: int = 0
    blocked_seconds: float = 0.0
    last_error: str = ""


class LeaderReport(_Part, frozen=True, kw_only=True):
    """The state of a replica in its election."""

    lease: str
    identity: str
    """The identity of this replica."""
    state: Literal["new", "standby", "leading", "over"]
    leader: str
    """The holder of the lease; empty if it is free."""
    since: str = ""
    """When the holder acquired the lease, as written in the Lease."""
    renewals: int = 0
    """How often this replica has renewed the lease."""
    transitions: int = 0
    failures: int = 0
    last_error: str = ""


class WebhookReport(_Part, frozen=True, kw_only=True):
    """The requests to one path of the webhook server."""

    path: str
    requests: int
    allowed: int = 0
    refused: int = 0
    failed: int = 0
    in_flight: int = 0


class OperatorReport(_Part, frozen=True, kw_only=True):
    """The whole operator at one moment."""

    name: str = ""
    version: str = ""
    """The version of Kubewright."""
    at: datetime
    started_at: datetime | None = None
    controllers: tuple[ControllerReport, ...] = ()
    caches: tuple[CacheReport, ...] = ()
    leader: LeaderReport | None = None
    """None without leader election."""
    webhooks: tuple[WebhookReport, ...] = ()
    certificate_expires_at: datetime | None = None
    """When the certificate of the webhooks expires."""
    requests: dict[str, int] = {}
    """Requests to the API server, by HTTP status; `<error>` for those without a response."""


def report(sources: Sources, *, name: str = "", started_at: datetime | None = None) -> OperatorReport:
    """Returns everything that is known about an operator. Call it in the operator's event loop."""
    from kubewright.version import VERSION

    requests: dict[str, int] = {}
    for stats in sources.requests():
        for (code, _), count in sorted(stats.counts.items()):
            requests[code] = requests.get(code, 0) + count
    return OperatorReport(
        name=name,
        version=VERSION,
        at=(sources.clock or SystemClock()).now(),
        started_at=started_at,
        controllers=tuple(_controller(one) for one in sources.controllers()),
        caches=tuple(_cache(one) for one in sources.informers()),
        leader=next((_leader(one) for one in sources.electors()), None),
        webhooks=tuple(part for one in sources.webhooks() for part in _webhooks(one)),
        certificate_expires_at=min((one.expires for one in sources.certificates()), default=None),
        requests=requests,
    )


def _controller(controller: Observed) -> ControllerReport:
    queue = controller.queue.stats()
    return ControllerReport(
        name=controller.name,
        api_version=controller.info.api_version,
        kind=controller.info.kind,
        plural=controller.info.plural,
        owns=tuple(KindName.of(info) for info in controller.owns),
        reconciles=dict(controller.stats.reconciles),
        durations=controller.stats.durations.snapshot(),
        active=controller.stats.active,
        concurrency=controller.concurrency,
        ready=queue.depth,
        delayed=queue.delayed,
        retries=queue.retries,
        write_loops=controller.stats.write_loops,
        longest_running_seconds=queue.longest_running_processor_seconds,
        remembered=len(controller.history),
        remembered_bytes=controller.history.size + controller.history.change_size,
        pause_annotation=controller.pause_annotation,
    )


def _cache(informer: Informer[Any]) -> CacheReport:
    info, health = informer.info, informer.health
    return CacheReport(
        group=info.group,
        version=info.version,
        kind=info.kind,
        selection=informer.selection,
        namespaces=informer.namespaces,
        synced=informer.synced,
        objects=informer.objects,
        bytes=informer.size,
        state=health.state,
        last_event_at=health.last_event_at,
        relists=health.relists,
        restarts=health.restarts,
        stalls=health.stalls,
        undecodable=health.undecodable,
        blocked=health.blocked,
        blocked_seconds=health.blocked_seconds,
        last_error=health.last_error,
    )


def _leader(elector: Elector) -> LeaderReport:
    status = elector.status
    return LeaderReport(
        lease=status.lease,
        identity=status.identity,
        state=status.state,
        leader=status.leader,
        since=status.since,
        renewals=status.renewals,
        transitions=status.transitions,
        failures=status.failures,
        last_error=status.last_error,
    )


def _webhooks(stats: WebhookStats) -> Iterator[WebhookReport]:
    for path in sorted({path for path, _ in stats.requests} | {path for path, _ in stats.reviews}):
        yield WebhookReport(
            path=path,
            requests=sum(count for (one, _), count in stats.requests.items() if one == path),
            allowed=stats.reviews[path, "allowed"],
            refused=stats.reviews[path, "refused"],
            failed=stats.reviews[path, "failed"],
            in_flight=stats.in_flight[path],
        )
