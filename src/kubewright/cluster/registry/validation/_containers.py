"""Validation of containers, in kube-apiserver's order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kubewright.cluster.machinery._field_errors import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
)
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.registry.validation._common import (
    at_least_zero,
    name_errors,
    one_of,
    port_errors,
    port_name_problems,
    port_or_name_errors,
)
from kubewright.cluster.registry.validation._environment import source_errors, variable_errors
from kubewright.cluster.registry.validation._mounts import device_errors, mount_errors
from kubewright.cluster.registry.validation._resources import amount_errors, claim_name_errors
from kubewright.cluster.registry.validation._restarts import resize_errors, restart_errors
from kubewright.cluster.registry.validation._security import container_security_errors

__all__ = ["container_errors"]

_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")
_MESSAGE_POLICIES: Final = ("File", "FallbackToLogsOnError")
_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_PROBE_NUMBERS: Final = (
    "initialDelaySeconds",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold",
)
_NOT_EPHEMERAL: Final = (
    "lifecycle",
    "livenessProbe",
    "ports",
    "readinessProbe",
    "resizePolicy",
    "resources",
    "restartPolicy",
    "restartPolicyRules",
    "startupProbe",
)
_NO_SIDECAR: Final = "may not be set for init containers without restartPolicy=Always"
_NO_RESTART: Final = "must not be set to 'RestartContainer' for non-sidecar initContainers"
_HEADER: Final = re.compile(r"[-A-Za-z0-9]+")
_HEADER_RULE: Final = (
    "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', "
    "regex used for validation is '[-A-Za-z0-9]+')"
)


@dataclass(frozen=True, slots=True)
class _Pod:
    """The parts of a pod that its containers refer to."""

    volumes: Mapping[str, bool]
    claims: frozenset[str]
    restart_policy: str
    grace: int | None
    host_users: bool


def container_errors(spec: JSONObject, path: str, volumes: Mapping[str, bool]) -> list[FieldError]:
    """Validates the containers of a pod; `volumes` are the names that they can mount, and which of them are claims."""
    pod = _Pod(
        volumes,
        claims=frozenset(claim.get("name", "") for claim in spec.get("resourceClaims") or ()),
        restart_policy=spec.get("restartPolicy", ""),
        grace=spec.get("terminationGracePeriodSeconds"),
        host_users=spec.get("hostUsers") is not False,
    )
    containers = spec.get("containers") or ()
    errors = [] if containers else [required(f"{path}.containers")]
    names: set[str] = set()
    for index, container in enumerate(containers):
        where = f"{path}.containers[{index}]"
        errors += _container(container, where, pod) + _unique(container, where, names)
        errors += _lifecycle(container, where, pod.grace) + restart_errors(container, where)
    errors += _host_ports(containers, f"{path}.containers")
    for index, container in enumerate(spec.get("initContainers") or ()):
        where = f"{path}.initContainers[{index}]"
        errors += _container(container, where, pod)
        errors += restart_errors(container, where, init=True)
        errors += _unique(container, where, names)
        errors += _host_ports([container], f"{path}.initContainers")
        errors += _init_container(container, where, pod)
    return errors + _ephemeral(spec, path, pod, names)


def _init_container(container: JSONObject, where: str, pod: _Pod) -> list[FieldError]:
    if container.get("restartPolicy") == "Always":
        return _lifecycle(container, where, pod.grace)
    fields = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")
    errors = [forbidden(f"{where}.{field}", _NO_SIDECAR) for field in fields if container.get(field) is not None]
    return errors + [
        invalid(f"{where}.resizePolicy[{index}].restartPolicy", "RestartContainer", _NO_RESTART)
        for index, policy in enumerate(container.get("resizePolicy") or ())
        if policy.get("restartPolicy") == "RestartContainer"
    ]


def _ephemeral(spec: JSONObject, path: str, pod: _Pod, names: set[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    others = {other.get("name") for other in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ()))}
    text = "cannot be set for an Ephemeral Container"
    for index, container in enumerate(spec.get("ephemeralContainers") or ()):
        where, image = f"{path}.ephemeralContainers[{index}]", container.get("image", "")
        errors += _container(container, where, pod)
        if image != image.strip():
            errors.append(invalid(f"{where}.image", image, "must not have leading or trailing whitespace"))
        errors += _unique(container, where, names)
        target = container.get("targetContainerName")
        if target and target not in others:
            errors.append(not_found(f"{where}.targetContainerName", target))
        errors += [forbidden(f"{where}.{field}", text) for field in _NOT_EPHEMERAL if container.get(field)]
        for number, mount in enumerate(container.get("volumeMounts") or ()):
            place = f"{where}.volumeMounts[{number}]"
            errors += [forbidden(f"{place}.{field}", text) for field in ("subPath", "subPathExpr") if mount.get(field)]
    return errors


def _unique(container: JSONObject, where: str, names: set[str]) -> list[FieldError]:
    name = container.get("name", "")
    errors = [duplicate(f"{where}.name", name)] if name in names else []
    names.add(name)
    return errors


def _container(container: JSONObject, path: str, pod: _Pod) -> list[FieldError]:
    resources = container.get("resources") or {}
    errors = name_errors(container, path)
    if not container.get("image"):
        errors.append(required(f"{path}.image"))
    errors += one_of(container, "terminationMessagePolicy", path, _MESSAGE_POLICIES)
    errors += _ports(container.get("ports") or (), f"{path}.ports")
    errors += variable_errors(container.get("env") or (), f"{path}.env")
    errors += source_errors(container.get("envFrom") or (), f"{path}.envFrom")
    errors += mount_errors(container, f"{path}.volumeMounts", pod.volumes)
    errors += device_errors(container, f"{path}.volumeDevices", pod.volumes)
    errors += one_of(container, "imagePullPolicy", path, _PULL_POLICIES)
    errors += amount_errors(resources, f"{path}.resources")
    errors += claim_name_errors(resources.get("claims") or (), f"{path}.resources.claims", pod.claims)
    errors += resize_errors(container.get("resizePolicy") or (), f"{path}.resizePolicy", pod.restart_policy)
    return errors + container_security_errors(
        container.get("securityContext"), f"{path}.securityContext", host_users=pod.host_users
    )


def _host_ports(containers: Sequence[JSONObject], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    taken: set[str] = set()
    for index, container in enumerate(containers):
        for number, port in enumerate(container.get("ports") or ()):
            if not port.get("hostPort"):
                continue
            text = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
            if text in taken:
                errors.append(duplicate(f"{path}[{index}].ports[{number}].hostPort", text))
            taken.add(text)
    return errors


def _lifecycle(container: JSONObject, path: str, grace: int | None) -> list[FieldError]:
    errors: list[FieldError] = []
    for field in ("postStart", "preStop"):
        handler = (container.get("lifecycle") or {}).get(field)
        if handler is not None:
            errors += _handler(handler, f"{path}.lifecycle.{field}", grace)
    for field in ("livenessProbe", "readinessProbe", "startupProbe"):
        if (probe := container.get(field)) is not None:
            errors += _probe(probe, f"{path}.{field}", field, grace)
    return errors


def _probe(probe: JSONObject, path: str, kind: str, grace: int | None) -> list[FieldError]:
    errors = _handler(probe, path, grace)
    for field in _PROBE_NUMBERS:
        errors += at_least_zero(probe, field, path)
    seconds, threshold = probe.get("terminationGracePeriodSeconds"), probe.get("successThreshold", 0)
    if seconds is not None and seconds <= 0:
        errors.append(invalid(f"{path}.terminationGracePeriodSeconds", seconds, "must be greater than 0"))
    if kind == "readinessProbe":
        if seconds is not None:
            text = "must not be set for readinessProbes"
            errors.append(invalid(f"{path}.terminationGracePeriodSeconds", seconds, text))
    elif threshold != 1:
        errors.append(invalid(f"{path}.successThreshold", threshold, "must be 1"))
    return errors


def _handler(handler: JSONObject, path: str, grace: int | None) -> list[FieldError]:
    given = [kind for kind in _HANDLERS if handler.get(kind) is not None]
    if not given:
        return [required(path, "must specify a handler type")]
    errors = _action(given[0], handler[given[0]], f"{path}.{given[0]}", grace)
    text = "may not specify more than 1 handler type"
    return errors + [forbidden(f"{path}.{kind}", text) for kind in given[1:]]


def _action(kind: str, action: JSONObject, path: str, grace: int | None) -> list[FieldError]:
    errors: list[FieldError] = []
    match kind:
        case "exec":
            return [] if action.get("command") else [required(f"{path}.command")]
        case "sleep":
            seconds = action.get("seconds", 0)
            if grace is not None and not 0 <= seconds <= grace:
                text = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
                errors.append(invalid(path, seconds, text))
            return errors
        case "httpGet":
            errors = [] if action.get("path") else [required(f"{path}.path")]
            errors += port_or_name_errors(action.get("port"), f"{path}.port")
            if action.get("scheme") not in ("HTTP", "HTTPS"):
                errors.append(not_supported(f"{path}.scheme", action.get("scheme", ""), ["HTTP", "HTTPS"]))
            for header in action.get("httpHeaders") or ():
                if not _HEADER.fullmatch(header.get("name", "")):
                    errors.append(invalid(f"{path}.httpHeaders", header.get("name", ""), _HEADER_RULE))
            return errors
    return port_or_name_errors(action.get("port"), f"{path}.port")


def _ports(ports: Iterable[JSONObject], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    names: set[str] = set()
    for index, port in enumerate(ports):
        where, name = f"{path}[{index}]", port.get("name")
        if name:
            problems = port_name_problems(name)
            errors += [invalid(f"{where}.name", name, problem) for problem in problems]
            if not problems and name in names:
                errors.append(duplicate(f"{where}.name", name))
            names.add(name)
        if not port.get("containerPort"):
            errors.append(required(f"{where}.containerPort"))
        else:
            errors += port_errors(port["containerPort"], f"{where}.containerPort")
        if port.get("hostPort"):
            errors += port_errors(port["hostPort"], f"{where}.hostPort")
        errors += one_of(port, "protocol", where, _PROTOCOLS)
    return errors
