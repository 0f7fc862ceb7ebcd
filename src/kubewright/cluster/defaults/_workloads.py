"""Defaults of the workload kinds."""

from __future__ import annotations

from typing import Final

from kubewright.cluster.defaults._fill import each, part, put
from kubewright.cluster.defaults._pods import template
from kubewright.cluster.machinery._resources import JSONObject

__all__ = ["TEMPLATE_GENERATION", "daemon_set", "deployment", "replica_set", "replication_controller", "stateful_set"]


TEMPLATE_GENERATION: Final = "deprecated.daemonset.template.generation"


def deployment(obj: JSONObject) -> None:
    """Sets the defaults of a Deployment: one replica, rolling update with 25 %."""
    spec = part(obj, "spec")
    put(spec, replicas=1, revisionHistoryLimit=10, progressDeadlineSeconds=600)
    strategy = part(spec, "strategy")
    put(strategy, type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        put(part(strategy, "rollingUpdate"), maxUnavailable="25%", maxSurge="25%")
    template(spec)


def replica_set(obj: JSONObject) -> None:
    """Defaults to one replica."""
    spec = part(obj, "spec")
    put(spec, replicas=1)
    template(spec)


def replication_controller(obj: JSONObject) -> None:
    """Defaults to one replica, and derives selector and labels from the template."""
    spec = part(obj, "spec")
    put(spec, replicas=1)
    if spec.get("template") is None:  # required, but not created
        return
    template(spec)
    labels = (spec["template"].get("metadata") or {}).get("labels")
    if labels:
        put(spec, selector=dict(labels))
        put(obj["metadata"], labels=dict(labels))


def stateful_set(obj: JSONObject) -> None:
    """Sets the defaults of a StatefulSet: one replica, ordered, claims retained."""
    spec = part(obj, "spec")
    put(spec, replicas=1, revisionHistoryLimit=10, podManagementPolicy="OrderedReady")
    update = part(spec, "updateStrategy")
    put(update, type="RollingUpdate")
    if update["type"] == "RollingUpdate":
        put(part(update, "rollingUpdate"), partition=0)
    put(part(spec, "persistentVolumeClaimRetentionPolicy"), whenDeleted="Retain", whenScaled="Retain")
    template(spec)
    for claim in each(spec, "volumeClaimTemplates"):
        put(claim, apiVersion="v1", kind="PersistentVolumeClaim")
        put(part(claim, "spec"), volumeMode="Filesystem")
        put(part(claim, "status"), phase="Pending")


def daemon_set(obj: JSONObject) -> None:
    """Defaults to a rolling update of one node at a time."""
    spec = part(obj, "spec")
    put(spec, revisionHistoryLimit=10)
    update = part(spec, "updateStrategy")
    put(update, type="RollingUpdate")
    if update["type"] == "RollingUpdate":
        put(part(update, "rollingUpdate"), maxUnavailable=1, maxSurge=0)
    template(spec)
    # A field of the old API that the server keeps in an annotation.
    put(part(obj["metadata"], "annotations"), **{TEMPLATE_GENERATION: "0"})
