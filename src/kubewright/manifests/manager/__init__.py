"""The manager: the Deployment that runs the operator, and the objects that belong to it.

Each optional part (metrics, webhooks, certificates) describes its changes to the pod as an `Addition`. The same
`Addition` becomes a kustomize component, a condition in a Helm chart, or part of an OLM bundle.

- `deployment(project, additions)` returns the Deployment; `namespace`, `budget` and `spread` belong to it.
- `metrics_additions` and `webhook_addition` describe what metrics and webhooks add to the pod.
- `metrics_service`, `service_monitor`, `webhook_service` and `network_policy` return the other objects.
- `operator_access`, `people_access`, `certificate_access` and `metrics_access` return the roles.
- `cert_manager_objects` and `metrics_cert_manager_objects` return the objects that cert-manager needs.
"""

from __future__ import annotations

from kubewright.manifests.manager._access import certificate_access, operator_access, people_access, service_account
from kubewright.manifests.manager._certificates import (
    cert_manager_objects,
    certificate_addition,
    injected_from,
    metrics_cert_manager_objects,
)
from kubewright.manifests.manager._deployment import Addition, budget, deployment, health_port, namespace, spread
from kubewright.manifests.manager._metrics import (
    ServiceMonitor,
    metrics_access,
    metrics_additions,
    metrics_service,
    service_monitor,
)
from kubewright.manifests.manager._network_policy import metrics_ingress, network_policy, webhook_ingress
from kubewright.manifests.manager._webhooks import WEBHOOK_PORT, webhook_addition, webhook_service

__all__ = [
    "WEBHOOK_PORT",
    "Addition",
    "ServiceMonitor",
    "budget",
    "cert_manager_objects",
    "certificate_access",
    "certificate_addition",
    "deployment",
    "health_port",
    "injected_from",
    "metrics_access",
    "metrics_additions",
    "metrics_cert_manager_objects",
    "metrics_ingress",
    "metrics_service",
    "namespace",
    "network_policy",
    "operator_access",
    "people_access",
    "service_account",
    "service_monitor",
    "spread",
    "webhook_addition",
    "webhook_ingress",
    "webhook_service",
]
