"""The files: a dashboard for Grafana, alerts for Prometheus and for the Prometheus operator."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from kubewright.manifests._project import Project
from kubewright.manifests._write import MARK, File, yaml_file
from kubewright.manifests.dashboards._alerts import Alert, alerts
from kubewright.manifests.dashboards._panels import SELECTED, Panel, Row, panels
from kubewright.manifests.manager._metrics import metrics_service_name

__all__ = ["dashboard_files"]

_WIDTH, _HEIGHT = 6, 8  # of a panel; Grafana has 24 columns
_MATCHERS: Final = 'job=~"$job", namespace=~"$namespace"'
_SOURCE: Final = {"type": "prometheus", "uid": "$datasource"}
_SCHEMA: Final = 39
"""Grafana 10.4 and later read it."""


def dashboard_files(project: Project, *, job: str = "") -> list[File]:
    """Returns `dashboard.json`, `alerts.yaml` and `prometheus-rule.yaml`.

    `job` is the label that Prometheus gives to the operator's metrics. Default: that of the project's ServiceMonitor.
    """
    job = job or metrics_service_name(project)
    groups = {"groups": [{"name": project.name, "rules": [_rule(one) for one in alerts(project, job)]}]}
    rule = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": project.prefix, "namespace": project.namespace, "labels": project.labels},
        "spec": groups,
    }
    return [
        _json_file("dashboard.json", _dashboard(project, job)),
        yaml_file("alerts.yaml", groups),
        yaml_file("prometheus-rule.yaml", rule),
    ]


def _rule(alert: Alert) -> dict[str, Any]:
    return {
        "alert": alert.name,
        "expr": alert.expression,
        "for": alert.hold,
        "labels": {"severity": alert.severity},
        "annotations": {"summary": alert.summary, "description": alert.description},
    }


def _dashboard(project: Project, job: str) -> dict[str, Any]:
    return {
        "uid": hashlib.sha256(f"kubewright/{project.name}".encode()).hexdigest()[:16],
        "title": f"Operator {project.name}",
        "tags": ["kubewright", "operator"],
        "timezone": "browser",
        "schemaVersion": _SCHEMA,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": _variables(job)},
        "panels": list(_panels(panels(project))),
    }


def _variables(job: str) -> list[dict[str, Any]]:
    return [
        {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"},
        _variable("namespace", "label_values(controller_runtime_reconcile_total, namespace)", "$__all", "All"),
        _variable("job", "label_values(controller_runtime_reconcile_total, job)", job, job),
    ]


def _variable(name: str, query: str, value: str, text: str) -> dict[str, Any]:
    return {
        "name": name,
        "label": name.capitalize(),
        "type": "query",
        "datasource": _SOURCE,
        "query": {"query": query, "refId": name},
        "definition": query,
        "refresh": 2,
        "includeAll": True,
        "multi": True,
        "allValue": ".*",
        "sort": 1,
        "current": {"selected": True, "text": [text], "value": [value]},
    }


def _panels(rows: Sequence[Row]) -> Iterator[dict[str, Any]]:
    number, top = 0, 0
    for row in rows:
        number += 1
        place = {"x": 0, "y": top, "w": 24, "h": 1}
        yield {"id": number, "type": "row", "title": row.title, "collapsed": False, "gridPos": place, "panels": []}
        for column, panel in enumerate(row.panels):
            number += 1
            place = {"x": column * _WIDTH, "y": top + 1, "w": _WIDTH, "h": _HEIGHT}
            yield {"id": number, "gridPos": place, **_panel(panel)}
        top += 1 + _HEIGHT


def _panel(panel: Panel) -> dict[str, Any]:
    return {
        "type": "timeseries",
        "title": panel.title,
        "description": panel.description,
        "datasource": _SOURCE,
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "options": {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi"}},
        "targets": [
            {
                "refId": chr(ord("A") + index),
                "datasource": _SOURCE,
                "expr": expression.replace(SELECTED, _MATCHERS),
                "legendFormat": legend,
                "range": True,
            }
            for index, (legend, expression) in enumerate(panel.queries.items())
        ],
    }


def _json_file(path: str, content: dict[str, Any]) -> File:
    # JSON has no comments; the mark is the description, on the first line.
    text = json.dumps(content, indent=2).removeprefix("{\n")
    return File(path, f'{{"description": {json.dumps(MARK)},\n{text}\n')
