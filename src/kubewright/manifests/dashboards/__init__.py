"""A Grafana dashboard and Prometheus alerts for an operator, from the metrics that it exposes.

- `dashboard_files(project)` returns the files: `dashboard.json` for Grafana, `alerts.yaml` for Prometheus, and
  `prometheus-rule.yaml` with the same alerts for the Prometheus operator.
- `panels(project)` and `alerts(project)` return their contents. Read `_panels.py` first.

Parts that the project does not have (webhooks, leader election) have neither panels nor alerts.
"""

from __future__ import annotations

from kubewright.manifests.dashboards._alerts import Alert, alerts
from kubewright.manifests.dashboards._files import dashboard_files
from kubewright.manifests.dashboards._panels import Panel, Row, panels

__all__ = ["Alert", "Panel", "Row", "alerts", "dashboard_files", "panels"]
