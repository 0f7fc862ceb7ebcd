"""Turns plain numbers into Prometheus metric families. Imported by the first scrape."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.samples import Sample
from prometheus_client.utils import floatToGoString

from kubewright.cache import Informer, combined
from kubewright.clock import SystemClock
from kubewright.observe._inspection import Observed
from kubewright.observe._sources import Sources
from kubewright.observe._webhooks import WebhookStats
from kubewright.queue import LOW_PRIORITY, Histogram

__all__ = ["Canonical", "Collector"]

_PRIORITIES_AT_MOST = 25
_OTHER_PRIORITIES = "exceeded_cardinality_limit"


class Collector:
    """Reads the sources at each scrape and stores nothing."""

    def __init__(self, sources: Callable[[], Sources]) -> None:
        self._sources = sources

    def describe(self) -> list[Metric]:
        """Returns nothing: the families are known only when they are collected."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yields every family that has a source."""
        sources = self._sources()
        if controllers := sources.controllers():
            yield from _reconciles(controllers)
            yield from _queues(controllers)
            yield from _memory(controllers)
        if requests := sources.requests():
            yield from _requests(requests)
        if electors := sources.electors():
            leading = GaugeMetricFamily(
                "leader_election_master_status",
                "1 while this process holds the named lease, else 0.",
                labels=["name"],
            )
            for elector in electors:
                leading.add_metric([elector.name], float(elector.is_leader))
            yield leading
        if informers := sources.informers():
            yield from _caches(informers, (sources.clock or SystemClock()).monotonic())
        if recorders := sources.recorders():
            yield from _events(recorders)
        if webhooks := sources.webhooks():
            yield from _webhooks(webhooks)
        if watchdogs := sources.watchdogs():
            counts = {
                "kubewright_event_loop_blocked": ("Calls that blocked the event loop.", "count"),
                "kubewright_event_loop_blocked_seconds": ("Seconds for which they blocked it.", "seconds"),
            }
            for name, (text, field) in counts.items():
                yield CounterMetricFamily(name, text, value=sum(getattr(one, field) for one in watchdogs))
        for certificate in sources.certificates():
            yield GaugeMetricFamily(
                "kubewright_webhook_certificate_expiration_timestamp_seconds",
                "When the certificate of the webhook server expires, in seconds since 1970.",
                value=certificate.expires.timestamp(),
            )


def _caches(informers: Iterable[Informer[Any]], now: float) -> Iterator[Metric]:
    labels = ["group", "version", "kind", "selector"]
    objects = GaugeMetricFamily("kubewright_cache_objects", "Cached objects.", labels=labels)
    sizes = GaugeMetricFamily("kubewright_cache_bytes", "Bytes of JSON of the cached objects.", labels=labels)
    synced = GaugeMetricFamily("kubewright_cache_synced", "1 if the cache is in sync, else 0.", labels=labels)
    up = GaugeMetricFamily("kubewright_watch_up", "1 while the watch is open, else 0.", labels=labels)
    age = GaugeMetricFamily(
        "kubewright_watch_last_event_age_seconds", "Seconds since the server last sent anything.", labels=labels
    )
    counters = {
        "restarts": "Watches that were reopened where they had ended.",
        "relists": "Lists after the first one.",
        "stalls": "Watches that were closed because the server sent nothing for too long.",
        "blocked": "Times that index functions and handlers blocked the event loop for 0.1 s or longer.",
        "blocked_seconds": "Seconds for which they blocked the event loop.",
    }
    counted = {
        field: CounterMetricFamily(f"kubewright_watch_{field}", text, labels=labels) for field, text in counters.items()
    }
    undecodable = CounterMetricFamily(
        "kubewright_undecodable_objects", "States of objects that do not fit their model.", labels=labels
    )
    for values, alike in _by_labels(informers).items():
        health = combined(informer.health for informer in alike)
        objects.add_metric(values, sum(informer.objects for informer in alike))
        sizes.add_metric(values, sum(informer.size for informer in alike))
        synced.add_metric(values, float(all(informer.synced for informer in alike)))
        up.add_metric(values, float(health.state in ("watching", "absent")))
        if health.quiet_since is not None:
            age.add_metric(values, now - health.quiet_since)
        for field, family in counted.items():
            family.add_metric(values, getattr(health, field))
        undecodable.add_metric(values, health.undecodable)
    yield from (objects, sizes, synced, up, age, *counted.values(), undecodable)


def _by_labels(informers: Iterable[Informer[Any]]) -> dict[tuple[str, ...], list[Informer[Any]]]:
    """Returns the informers by their labels. Informers that differ only in namespaces form one series."""
    found: dict[tuple[str, ...], list[Informer[Any]]] = {}
    for informer in informers:
        info = informer.info
        found.setdefault((info.group, info.version, info.kind, informer.selection), []).append(informer)
    return found


def _reconciles(controllers: Iterable[Observed]) -> Iterator[Metric]:
    label = ["controller"]
    total = CounterMetricFamily(
        "controller_runtime_reconcile", "Reconciles, by result.", labels=["controller", "result"]
    )
    errors = CounterMetricFamily("controller_runtime_reconcile_errors", "Reconciles that failed.", labels=label)
    terminal = CounterMetricFamily(
        "controller_runtime_terminal_reconcile_errors", "Reconciles that failed and are not retried.", labels=label
    )
    panics = CounterMetricFamily(
        "controller_runtime_reconcile_panics", "Reconciles that failed because of a bug in the program.", labels=label
    )
    timeouts = CounterMetricFamily(
        "controller_runtime_reconcile_timeouts", "Reconciles that exceeded their timeout.", labels=label
    )
    time = HistogramMetricFamily("controller_runtime_reconcile_time_seconds", "How long reconciles take.", labels=label)
    most = GaugeMetricFamily(
        "controller_runtime_max_concurrent_reconciles", "Maximum number of concurrent reconciles.", labels=label
    )
    active = GaugeMetricFamily("controller_runtime_active_workers", "Running reconciles.", labels=label)
    loops = CounterMetricFamily(
        "kubewright_write_loops",
        "Reconciles that were slowed down because they repeat a write that triggers them.",
        labels=label,
    )
    paused = GaugeMetricFamily("kubewright_paused_objects", "Objects that are paused by an annotation.", labels=label)
    for controller in controllers:
        name, stats = controller.name, controller.stats
        paused.add_metric([name], controller.paused_objects)
        loops.add_metric([name], stats.write_loops)
        failed = stats.reconciles["error"] + stats.reconciles["terminal_error"]
        total.add_metric([name, "error"], failed)
        for result in ("requeue", "requeue_after", "success"):
            total.add_metric([name, result], stats.reconciles[result])
        errors.add_metric([name], failed)
        terminal.add_metric([name], stats.reconciles["terminal_error"])
        panics.add_metric([name], stats.bugs)
        timeouts.add_metric([name], stats.timeouts)
        _add_histogram(time, [name], stats.durations.snapshot())
        most.add_metric([name], controller.concurrency)
        active.add_metric([name], stats.active)
    yield from (total, errors, terminal, panics, timeouts, time, most, active, loops, paused)


def _queues(controllers: Iterable[Observed]) -> Iterator[Metric]:
    labels = ["name", "controller"]
    depth = GaugeMetricFamily("workqueue_depth", "Ready keys, by priority.", labels=[*labels, "priority"])
    adds = CounterMetricFamily("workqueue_adds", "How often a key became ready.", labels=labels)
    waited = HistogramMetricFamily(
        "workqueue_queue_duration_seconds", "How long keys are ready before a worker takes them.", labels=labels
    )
    worked = HistogramMetricFamily("workqueue_work_duration_seconds", "How long workers process a key.", labels=labels)
    unfinished = GaugeMetricFamily(
        "workqueue_unfinished_work_seconds", "How long the running keys have been running, added up.", labels=labels
    )
    longest = GaugeMetricFamily(
        "workqueue_longest_running_processor_seconds",
        "How long the longest running key has been running.",
        labels=labels,
    )
    retries = CounterMetricFamily("workqueue_retries", "How often a key was added with a delay.", labels=labels)
    for controller in controllers:
        stats, values = controller.queue.stats(), [controller.name, controller.name]
        for priority, keys in _depths(stats.depth_by_priority):
            depth.add_metric([*values, priority], keys)
        adds.add_metric(values, stats.adds)
        _add_histogram(waited, values, stats.queue_duration)
        _add_histogram(worked, values, stats.work_duration)
        unfinished.add_metric(values, stats.unfinished_work_seconds)
        longest.add_metric(values, stats.longest_running_processor_seconds)
        retries.add_metric(values, stats.retries)
    yield from (depth, adds, waited, worked, unfinished, longest, retries)


def _depths(by_priority: dict[int, int]) -> Iterator[tuple[str, int]]:
    """Returns the depth by priority. The usual priorities are always included, so that an empty queue reads 0."""
    depths = {0: 0, LOW_PRIORITY: 0, **by_priority}
    if len(depths) <= _PRIORITIES_AT_MOST:
        yield from ((str(priority), keys) for priority, keys in sorted(depths.items()))
    else:
        yield _OTHER_PRIORITIES, sum(depths.values())


def _memory(controllers: Iterable[Observed]) -> Iterator[Metric]:
    objects = GaugeMetricFamily(
        "kubewright_history_objects", "Objects whose last reconciles are remembered.", labels=["controller"]
    )
    size = GaugeMetricFamily(
        "kubewright_history_bytes", "Estimated memory of the last reconciles.", labels=["controller"]
    )
    for controller in controllers:
        objects.add_metric([controller.name], len(controller.history))
        size.add_metric([controller.name], controller.history.size + controller.history.change_size)
    yield from (objects, size)


def _requests(requests: Iterable[Any]) -> Iterator[Metric]:
    counts = CounterMetricFamily(
        "rest_client_requests", "Requests to the API server, each attempt.", labels=["code", "method", "host"]
    )
    retries = CounterMetricFamily(
        "rest_client_request_retries", "Attempts after the first.", labels=["code", "verb", "host"]
    )
    durations = HistogramMetricFamily(
        "rest_client_request_duration_seconds", "How long requests take, without watches.", labels=["verb", "host"]
    )
    for stats in requests:
        for (code, method), count in sorted(stats.counts.items()):
            counts.add_metric([code, method, stats.host], count)
        for (code, method), count in sorted(stats.retries.items()):
            retries.add_metric([code, method, stats.host], count)
        for method, measured in sorted(stats.durations.items()):
            _add_histogram(durations, [method, stats.host], measured.snapshot())
    yield from (counts, retries, durations)


def _events(recorders: Iterable[Any]) -> Iterator[Metric]:
    label = ["component"]
    recorded = CounterMetricFamily("kubewright_events_recorded", "Events that were recorded.", labels=label)
    written = CounterMetricFamily("kubewright_events_written", "Events that reached the server.", labels=label)
    merged = CounterMetricFamily(
        "kubewright_events_aggregated", "Events that were merged into an earlier one.", labels=[*label, "how"]
    )
    dropped = CounterMetricFamily(
        "kubewright_events_dropped", "Events that were not written.", labels=[*label, "reason"]
    )
    waiting = GaugeMetricFamily("kubewright_events_waiting", "Queued events.", labels=label)
    for recorder in recorders:
        name, stats = recorder.component, recorder.stats
        recorded.add_metric([name], stats.recorded)
        written.add_metric([name], stats.written)
        merged.add_metric([name, "repeated"], stats.repeated)
        merged.add_metric([name, "combined"], stats.combined)
        for reason in ("line_full", "spam", "rejected", "unreachable", "stopped"):
            dropped.add_metric([name, reason], stats.dropped[reason])
        waiting.add_metric([name], stats.waiting)
    yield from (recorded, written, merged, dropped, waiting)


def _webhooks(servers: Sequence[WebhookStats]) -> Iterator[Metric]:
    label = ["webhook"]
    requests = CounterMetricFamily(
        "controller_runtime_webhook_requests", "Requests to webhooks, by HTTP status.", labels=[*label, "code"]
    )
    in_flight = GaugeMetricFamily(
        "controller_runtime_webhook_requests_in_flight", "Requests in progress.", labels=label
    )
    latency = HistogramMetricFamily(
        "controller_runtime_webhook_latency_seconds", "How long responses take.", labels=label
    )
    reviews = CounterMetricFamily("kubewright_webhook_reviews", "Reviews, by result.", labels=[*label, "result"])
    hanging = GaugeMetricFamily(
        "kubewright_webhook_hanging_handlers",
        "Calls of plain handlers that timed out and have not returned: each occupies a thread.",
        value=sum(len(stats.hanging) for stats in servers),
    )
    for stats in servers:
        for (path, code), count in sorted(stats.requests.items()):
            requests.add_metric([path, code], count)
        for path, count in sorted(stats.in_flight.items()):
            in_flight.add_metric([path], count)
        for path, measured in sorted(stats.latency.items()):
            _add_histogram(latency, [path], measured.snapshot())
        for (path, result), count in sorted(stats.reviews.items()):
            reviews.add_metric([path, result], count)
    yield from (requests, in_flight, latency, reviews, hanging)


def _add_histogram(family: HistogramMetricFamily, labels: list[str], histogram: Histogram) -> None:
    """Labels buckets as Go formats numbers, "1" and not "1.0": Prometheus 2 treats these as different series."""
    buckets = [(_go(bound), float(count)) for bound, count in histogram.cumulative()]
    family.add_metric(labels, buckets=buckets, sum_value=histogram.sum)


def _go(bound: float) -> str:
    return _canonical_text(bound).removesuffix(".0")


def _canonical_text(bound: float) -> str:
    return str(floatToGoString(bound))  # type: ignore[no-untyped-call]


class Canonical:
    """A registry whose buckets have the labels that OpenMetrics requires: "1.0"."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def collect(self) -> Iterator[Metric]:
        """Returns the registry's families."""
        for family in self._registry.collect():
            if family.type == "histogram":
                family.samples = [_canonical(sample) for sample in family.samples]
            yield family


def _canonical(sample: Sample) -> Sample:
    bound = sample.labels.get("le")
    if bound is None:
        return sample
    return sample._replace(labels={**sample.labels, "le": _canonical_text(float(bound))})
