"""The alerts: conditions that a person must act on, with the time for which they must hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kubewright.manifests._project import Project

__all__ = ["Alert", "alerts"]


@dataclass(frozen=True, slots=True)
class Alert:
    """One alert. `critical`: the operator does not work. `warning`: it will not work, or not for some objects."""

    name: str
    expression: str
    hold: str
    """How long the condition must hold."""
    severity: Literal["critical", "warning"]
    summary: str
    description: str


def alerts(project: Project, job: str) -> list[Alert]:
    """Returns the alerts of an operator whose metrics have this `job` label."""
    of = f'job="{job}"'
    found = [*_running(project, of), *_reconciling(of), *_connecting(of)]
    return [*found, *_webhooks(of)] if project.serves_webhooks else found


def _running(project: Project, of: str) -> list[Alert]:
    found = [
        Alert(
            "OperatorDown",
            f"absent(up{{{of}}} == 1)",
            "10m",
            "critical",
            f"{project.name} is not running",
            "Prometheus can read the metrics of no replica. Check the pods, and whether Prometheus may read /metrics.",
        ),
        Alert(
            "OperatorEventLoopBlocked",
            f"sum by (pod) (increase(kubewright_event_loop_blocked_total{{{of}}}[15m])) > 0",
            "0m",
            "warning",
            "A call blocks the event loop in {{ $labels.pod }}",
            "While it runs, nothing else does: probes, watches, lease renewal. The log has the stack of the call.",
        ),
    ]
    if project.leader_election:
        found.append(
            Alert(
                "OperatorWithoutLeader",
                f"sum(leader_election_master_status{{{of}}}) == 0",
                "5m",
                "critical",
                f"No replica of {project.name} leads",
                "Nothing is reconciled. Check the Lease and the permission to update it.",
            )
        )
    return found


def _reconciling(of: str) -> list[Alert]:
    rate = f"sum by (controller) (rate(controller_runtime_reconcile_total{{{of}}}[10m]))"
    return [
        Alert(
            "OperatorReconcileErrors",
            f"sum by (controller) (rate(controller_runtime_reconcile_errors_total{{{of}}}[10m])) / ({rate} > 0) > 0.1",
            "15m",
            "warning",
            "{{ $labels.controller }}: {{ $value | humanizePercentage }} of the reconciles fail",
            "Failed objects have a Warning event. `kubewright why KIND/NAME` shows the last error of one of them.",
        ),
        Alert(
            "OperatorReconcilePanics",
            f"sum by (controller) (increase(controller_runtime_reconcile_panics_total{{{of}}}[15m])) > 0",
            "0m",
            "warning",
            "{{ $labels.controller }} has a bug",
            "A reconcile ended with an exception such as AttributeError or TypeError. The log has the traceback.",
        ),
        Alert(
            "OperatorReconcileStuck",
            f"max by (controller) (workqueue_longest_running_processor_seconds{{{of}}}) > 600",
            "5m",
            "warning",
            "{{ $labels.controller }}: a reconcile has been running for {{ $value | humanizeDuration }}",
            "It occupies a worker. Set a `timeout` for the controller, and one for its calls to other systems.",
        ),
        Alert(
            "OperatorQueueDelay",
            "histogram_quantile(0.99, sum by (controller, le)"
            f" (rate(workqueue_queue_duration_seconds_bucket{{{of}}}[10m]))) > 60",
            "15m",
            "warning",
            "{{ $labels.controller }}: objects wait for {{ $value | humanizeDuration }}",
            "There is more work than the workers can do. Increase `concurrency`, or look for slow reconciles.",
        ),
        Alert(
            "OperatorWriteLoop",
            f"sum by (controller) (increase(kubewright_write_loops_total{{{of}}}[30m])) > 0",
            "0m",
            "warning",
            "{{ $labels.controller }} triggers itself",
            "A reconcile writes something else each time, so that its own write triggers the next one.",
        ),
        Alert(
            "OperatorUndecodableObjects",
            f"sum by (kind) (increase(kubewright_undecodable_objects_total{{{of}}}[30m])) > 0",
            "0m",
            "warning",
            "Objects of {{ $labels.kind }} do not match their model",
            "These objects are not reconciled. The log and their events name the field.",
        ),
    ]


def _connecting(of: str) -> list[Alert]:
    failed = f'sum(rate(rest_client_requests_total{{{of}, code=~"5..|<error>"}}[10m]))'
    return [
        Alert(
            "OperatorWatchClosed",
            f"min by (kind) (kubewright_watch_up{{{of}}}) == 0",
            "10m",
            "warning",
            "The watch of {{ $labels.kind }} is closed",
            "Changes are not noticed. Check the permissions of the operator, and the API server.",
        ),
        Alert(
            "OperatorCacheNotSynced",
            f"min by (kind) (kubewright_cache_synced{{{of}}}) == 0",
            "15m",
            "warning",
            "The cache of {{ $labels.kind }} is not in sync",
            "Controllers that read this kind do not start. Check whether the kind is defined and may be listed.",
        ),
        Alert(
            "OperatorApiErrors",
            f"{failed} / (sum(rate(rest_client_requests_total{{{of}}}[10m])) > 0) > 0.05",
            "15m",
            "warning",
            "{{ $value | humanizePercentage }} of the requests to the API server fail",
            "The API server is overloaded, restarting, or cannot be reached.",
        ),
    ]


def _webhooks(of: str) -> list[Alert]:
    expires = f"min(kubewright_webhook_certificate_expiration_timestamp_seconds{{{of}}}) - time()"
    return [
        Alert(
            "OperatorWebhookFailures",
            f'sum by (webhook) (rate(kubewright_webhook_reviews_total{{{of}, result="failed"}}[10m])) > 0',
            "10m",
            "critical",
            "The webhook {{ $labels.webhook }} fails",
            "The API server rejects the requests that it guards. The log has the exception.",
        ),
        Alert(
            "OperatorWebhookCertificateExpires",
            f"{expires} < 7 * 24 * 3600",
            "1h",
            "critical",
            "The certificate of the webhooks expires in {{ $value | humanizeDuration }}",
            "It is not renewed. Check the log of the operator, or cert-manager.",
        ),
    ]
