"""Defaults of pods and pod templates."""

from __future__ import annotations

from typing import Any, Final

from kubewright.cluster.defaults._fill import each, part, put
from kubewright.cluster.machinery._resources import JSONObject

__all__ = ["pod", "pod_spec", "pod_template", "template"]

_CONTAINERS: Final = ("initContainers", "containers", "ephemeralContainers")
_MODE: Final = 0o644
_TOKEN_SECONDS: Final = 3600


def pod(obj: JSONObject) -> None:
    """Sets the defaults of a pod. Unlike in templates, requests default to limits, and service links are enabled."""
    spec = part(obj, "spec")
    pod_spec(spec)
    put(spec, enableServiceLinks=True)
    for container in each(spec, "initContainers", "containers"):
        if spec.get("hostNetwork"):
            for port in each(container, "ports"):
                put(port, hostPort=port.get("containerPort"))
        resources = container.get("resources") or {}
        for name, value in (resources.get("limits") or {}).items():
            resources.setdefault("requests", {}).setdefault(name, value)


def pod_template(obj: JSONObject) -> None:
    """Sets the defaults of a PodTemplate."""
    template(obj)


def template(holder: dict[str, Any]) -> None:
    """Sets the defaults of the `template` of a workload."""
    pod_spec(part(part(holder, "template"), "spec"))


def pod_spec(spec: dict[str, Any]) -> None:
    """Sets the defaults that pods and templates share."""
    put(
        spec,
        dnsPolicy="ClusterFirst",
        restartPolicy="Always",
        schedulerName="default-scheduler",
        terminationGracePeriodSeconds=30,
    )
    part(spec, "securityContext")
    for volume in each(spec, "volumes"):
        _volume(volume)
    for container in each(spec, *_CONTAINERS):
        _container(container)
    if account := spec.get("serviceAccountName") or spec.get("serviceAccount"):
        spec["serviceAccountName"] = spec["serviceAccount"] = account


def _container(container: dict[str, Any]) -> None:
    tag = container.get("image", "").partition("@")[0].rpartition("/")[2].partition(":")[2]
    pinned = "@" in container.get("image", "")
    latest = not pinned and tag in ("", "latest")
    put(
        container,
        imagePullPolicy="Always" if latest else "IfNotPresent",
        terminationMessagePath="/dev/termination-log",
        terminationMessagePolicy="File",
    )
    for port in each(container, "ports"):
        put(port, protocol="TCP")
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        if container.get(name) is not None:
            _probe(container[name])
    for name in ("postStart", "preStop"):
        _handler((container.get("lifecycle") or {}).get(name) or {})
    for variable in each(container, "env"):
        _field_reference(variable.get("valueFrom"))


def _probe(probe: dict[str, Any]) -> None:
    put(probe, timeoutSeconds=1, periodSeconds=10, successThreshold=1, failureThreshold=3)
    _handler(probe)


def _handler(handler: dict[str, Any]) -> None:
    if (request := handler.get("httpGet")) is not None:
        put(request, path="/", scheme="HTTP")
    if (call := handler.get("grpc")) is not None and "service" not in call:
        call["service"] = ""


def _field_reference(source: dict[str, Any] | None) -> None:
    if source and (reference := source.get("fieldRef")) is not None:
        put(reference, apiVersion="v1")


def _volume(volume: dict[str, Any]) -> None:
    sources = [name for name in volume if name != "name"]
    if not sources:
        volume["emptyDir"] = {}
    for name in ("secret", "configMap", "downwardAPI", "projected"):
        if (source := volume.get(name)) is not None:
            put(source, defaultMode=_MODE)
            _projected(source)
    if (host := volume.get("hostPath")) is not None and "type" not in host:
        host["type"] = ""
    if (iscsi := volume.get("iscsi")) is not None:
        put(iscsi, iscsiInterface="default")
    if (claim := (volume.get("ephemeral") or {}).get("volumeClaimTemplate")) is not None:
        put(part(claim, "spec"), volumeMode="Filesystem")


def _projected(source: dict[str, Any]) -> None:
    for item in each(source, "items"):
        _field_reference(item)
    for projection in each(source, "sources"):
        for item in each(projection.get("downwardAPI"), "items"):
            _field_reference(item)
        if (token := projection.get("serviceAccountToken")) is not None:
            put(token, expirationSeconds=_TOKEN_SECONDS)
