"""The panels of the dashboard: a title, a unit, and PromQL expressions with their legends.

`SELECTED` in an expression stands for the label matchers of the operator: Grafana's variables, or a fixed job.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kubewright.manifests._project import Project

__all__ = ["SELECTED", "Panel", "Row", "panels"]

SELECTED: Final = "SELECTED"
_RATE: Final = "[$__rate_interval]"


@dataclass(frozen=True, slots=True)
class Panel:
    """A graph over time."""

    title: str
    description: str
    unit: str
    """Grafana's name of the unit: `ops` (per second), `s`, `bytes`, `percentunit`, `short`."""
    queries: Mapping[str, str]
    """Expressions by legend."""


@dataclass(frozen=True, slots=True)
class Row:
    """A group of panels."""

    title: str
    panels: Sequence[Panel]


def panels(project: Project) -> list[Row]:
    """Returns the rows of the dashboard."""
    rows = [_reconciles(), _queue(), _requests(), _caches(), _process(project)]
    return [*rows, _webhooks()] if project.serves_webhooks else rows


def _quantile(metric: str, by: str, quantile: str = "0.99") -> str:
    return f"histogram_quantile({quantile}, sum by ({by}, le) (rate({metric}_bucket{{{SELECTED}}}{_RATE})))"


def _rate(metric: str, by: str, matchers: str = "") -> str:
    inside = f"{SELECTED}, {matchers}" if matchers else SELECTED
    return f"sum by ({by}) (rate({metric}{{{inside}}}{_RATE}))"


def _reconciles() -> Row:
    return Row(
        "Reconciles",
        [
            Panel(
                "Reconciles",
                "Reconciles per second, by result.",
                "ops",
                {"{{controller}} {{result}}": _rate("controller_runtime_reconcile_total", "controller, result")},
            ),
            Panel(
                "Errors",
                "Failed reconciles per second. Terminal errors are not retried; panics are bugs in the program.",
                "ops",
                {
                    "{{controller}} errors": _rate("controller_runtime_reconcile_errors_total", "controller"),
                    "{{controller}} terminal": _rate(
                        "controller_runtime_terminal_reconcile_errors_total", "controller"
                    ),
                    "{{controller}} panics": _rate("controller_runtime_reconcile_panics_total", "controller"),
                    "{{controller}} timeouts": _rate("controller_runtime_reconcile_timeouts_total", "controller"),
                },
            ),
            Panel(
                "Duration",
                "How long reconciles take.",
                "s",
                {
                    "{{controller}} p50": _quantile("controller_runtime_reconcile_time_seconds", "controller", "0.5"),
                    "{{controller}} p99": _quantile("controller_runtime_reconcile_time_seconds", "controller"),
                },
            ),
            Panel(
                "Workers",
                "Running reconciles and their limit.",
                "short",
                {
                    "{{controller}} active": f"sum by (controller) (controller_runtime_active_workers{{{SELECTED}}})",
                    "{{controller}} limit": "max by (controller)"
                    f" (controller_runtime_max_concurrent_reconciles{{{SELECTED}}})",
                },
            ),
        ],
    )


def _queue() -> Row:
    return Row(
        "Queue",
        [
            Panel(
                "Depth",
                "Keys that wait for a worker.",
                "short",
                {"{{controller}}": f"sum by (controller) (workqueue_depth{{{SELECTED}}})"},
            ),
            Panel(
                "Waiting time",
                "From ready to taken.",
                "s",
                {"{{controller}} p99": _quantile("workqueue_queue_duration_seconds", "controller")},
            ),
            Panel(
                "Adds and retries",
                "How often keys became ready, and how often they were added with a delay.",
                "ops",
                {
                    "{{controller}} adds": _rate("workqueue_adds_total", "controller"),
                    "{{controller}} retries": _rate("workqueue_retries_total", "controller"),
                },
            ),
            Panel(
                "Longest running",
                "The age of the oldest key in progress.",
                "s",
                {"{{controller}}": f"max by (controller) (workqueue_longest_running_processor_seconds{{{SELECTED}}})"},
            ),
        ],
    )


def _requests() -> Row:
    return Row(
        "API server",
        [
            Panel(
                "Requests",
                "Requests per second, by status. <error> is a request without a response.",
                "ops",
                {"{{method}} {{code}}": _rate("rest_client_requests_total", "method, code")},
            ),
            Panel(
                "Duration",
                "How long requests take.",
                "s",
                {"{{verb}} p99": _quantile("rest_client_request_duration_seconds", "verb")},
            ),
            Panel(
                "Retries",
                "Retried requests per second.",
                "ops",
                {"{{verb}} {{code}}": _rate("rest_client_request_retries_total", "verb, code")},
            ),
            Panel(
                "Events",
                "Events of objects that were written or dropped, per second.",
                "ops",
                {
                    "written": f"sum(rate(kubewright_events_written_total{{{SELECTED}}}{_RATE}))",
                    "dropped {{reason}}": _rate("kubewright_events_dropped_total", "reason"),
                },
            ),
        ],
    )


def _caches() -> Row:
    return Row(
        "Caches and watches",
        [
            Panel(
                "Objects",
                "Cached objects.",
                "short",
                {"{{kind}}": f"sum by (kind) (kubewright_cache_objects{{{SELECTED}}})"},
            ),
            Panel(
                "Size",
                "JSON of cached objects.",
                "bytes",
                {"{{kind}}": f"sum by (kind) (kubewright_cache_bytes{{{SELECTED}}})"},
            ),
            Panel(
                "Open watches",
                "1 while the watch is open on every replica.",
                "short",
                {"{{kind}}": f"min by (kind) (kubewright_watch_up{{{SELECTED}}})"},
            ),
            Panel(
                "Restarts and relists",
                "Reopened watches and repeated lists, per second.",
                "ops",
                {
                    "{{kind}} restarts": _rate("kubewright_watch_restarts_total", "kind"),
                    "{{kind}} relists": _rate("kubewright_watch_relists_total", "kind"),
                },
            ),
        ],
    )


def _process(project: Project) -> Row:
    leader = {"{{pod}} leads": f"max by (pod) (leader_election_master_status{{{SELECTED}}})"}
    up = {"{{pod}} up": f"max by (pod) (up{{{SELECTED}}})"}
    return Row(
        "Process",
        [
            Panel(
                "Replicas",
                "Running replicas and their leader.",
                "short",
                up | leader if project.leader_election else up,
            ),
            Panel(
                "CPU",
                "Cores that a replica uses.",
                "short",
                {"{{pod}}": f"sum by (pod) (rate(process_cpu_seconds_total{{{SELECTED}}}{_RATE}))"},
            ),
            Panel(
                "Memory",
                "Resident memory of a replica.",
                "bytes",
                {"{{pod}}": f"sum by (pod) (process_resident_memory_bytes{{{SELECTED}}})"},
            ),
            Panel(
                "Blocked event loop",
                "Share of the time in which a call blocked the event loop.",
                "percentunit",
                {"{{pod}}": f"sum by (pod) (rate(kubewright_event_loop_blocked_seconds_total{{{SELECTED}}}{_RATE}))"},
            ),
        ],
    )


def _webhooks() -> Row:
    return Row(
        "Webhooks",
        [
            Panel(
                "Requests",
                "Requests per second, by status.",
                "ops",
                {"{{webhook}} {{code}}": _rate("controller_runtime_webhook_requests_total", "webhook, code")},
            ),
            Panel(
                "Reviews",
                "Reviews per second, by result.",
                "ops",
                {"{{webhook}} {{result}}": _rate("kubewright_webhook_reviews_total", "webhook, result")},
            ),
            Panel(
                "Duration",
                "How long requests take.",
                "s",
                {"{{webhook}} p99": _quantile("controller_runtime_webhook_latency_seconds", "webhook")},
            ),
            Panel(
                "Certificate",
                "Time until the certificate expires.",
                "s",
                {"expires": f"min(kubewright_webhook_certificate_expiration_timestamp_seconds{{{SELECTED}}}) - time()"},
            ),
        ],
    )
