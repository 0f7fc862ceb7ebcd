"""Validation of containers, in kube-apiserver's order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
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
    local_path_errors,
    name_errors,
    one_of,
    port_errors,
    port_name_problems,
    port_or_name_errors,
)
from kubewright.cluster.registry.validation._resources import amount_errors
from kubewright.cluster.registry.validation._security import container_security_errors

__all__ = ["container_errors"]

_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")
_MESSAGE_POLICIES: Final = ("File", "FallbackToLogsOnError")
_PROPAGATIONS: Final = ("Bidirectional", "HostToContainer", "None")
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
    "startupProbe",
)
_NO_SIDECAR: Final = "may not be set for init containers without restartPolicy=Always"
_ENV_NAME: Final = re.compile(r"[ -<>-~]+")
_ENV_RULE: Final = "a valid environment variable name must consist only of printable ASCII characters other than '='"
_ENV_SOURCES: Final = (
    "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
)
_HEADER: Final = re.compile(r"[-A-Za-z0-9]+")
_HEADER_RULE: Final = (
    "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', "
    "regex used for validation is '[-A-Za-z0-9]+')"
)


def container_errors(spec: JSONObject, path: str, volumes: set[str]) -> list[FieldError]:
    """Validates the containers of a pod; `volumes` are the names that they can mount."""
    grace, host_users = spec.get("terminationGracePeriodSeconds"), spec.get("hostUsers") is not False
    containers = spec.get("containers") or ()
    errors = [] if containers else [required(f"{path}.containers")]
    names: set[str] = set()
    for index, container in enumerate(containers):
        where = f"{path}.containers[{index}]"
        errors += _container(container, where, volumes, host_users=host_users)
        errors += _unique(container, where, names)
        errors += _lifecycle(container, where, grace)
    errors += _host_ports(containers, f"{path}.containers")
    for index, container in enumerate(spec.get("initContainers") or ()):
        where = f"{path}.initContainers[{index}]"
        errors += _container(container, where, volumes, host_users=host_users)
        errors += _unique(container, where, names)
        errors += _host_ports([container], f"{path}.initContainers")
        if container.get("restartPolicy") == "Always":
            errors += _lifecycle(container, where, grace)
        else:
            fields = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")
            errors += [forbidden(f"{where}.{field}", _NO_SIDECAR) for field in fields if container.get(field)]
    return errors + _ephemeral(spec, path, volumes, names, host_users=host_users)


def _ephemeral(
    spec: JSONObject, path: str, volumes: set[str], names: set[str], *, host_users: bool
) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, container in enumerate(spec.get("ephemeralContainers") or ()):
        where = f"{path}.ephemeralContainers[{index}]"
        errors += _container(container, where, volumes, host_users=host_users)
        errors += _unique(container, where, names)
        for field in _NOT_EPHEMERAL:
            if container.get(field):
                errors.append(forbidden(f"{where}.{field}", "cannot be set for an Ephemeral Container"))
        target = container.get("targetContainerName")
        others = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
        if target and all(other.get("name") != target for other in others):
            errors.append(not_found(f"{where}.targetContainerName", target))
    return errors


def _unique(container: JSONObject, where: str, names: set[str]) -> list[FieldError]:
    name = container.get("name", "")
    errors = [duplicate(f"{where}.name", name)] if name in names else []
    names.add(name)
    return errors


def _container(container: JSONObject, path: str, volumes: set[str], *, host_users: bool) -> list[FieldError]:
    errors = name_errors(container, path)
    if not container.get("image"):
        errors.append(required(f"{path}.image"))
    errors += one_of(container, "terminationMessagePolicy", path, _MESSAGE_POLICIES)
    errors += _ports(container.get("ports") or (), f"{path}.ports")
    errors += _variables(container.get("env") or (), f"{path}.env")
    errors += _sources(container.get("envFrom") or (), f"{path}.envFrom")
    errors += _mounts(container, f"{path}.volumeMounts", volumes)
    errors += one_of(container, "imagePullPolicy", path, _PULL_POLICIES)
    errors += amount_errors(container.get("resources") or {}, f"{path}.resources")
    return errors + container_security_errors(
        container.get("securityContext"), f"{path}.securityContext", host_users=host_users
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


def _sources(sources: Iterable[JSONObject], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, source in enumerate(sources):
        where, prefix = f"{path}[{index}]", source.get("prefix", "")
        if prefix and not _ENV_NAME.fullmatch(prefix):
            errors.append(invalid(f"{where}.prefix", prefix, _ENV_RULE))
        given = [field for field in ("configMapRef", "secretRef") if source.get(field) is not None]
        errors += [required(f"{where}.{field}.name") for field in given if not source[field].get("name")]
        if not given:
            errors.append(invalid(path, "", "must specify one of: `configMapRef` or `secretRef`"))
        elif len(given) > 1:
            errors.append(invalid(path, "", "may not have more than one field specified at a time"))
    return errors


def _variables(variables: Iterable[JSONObject], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, variable in enumerate(variables):
        name, where = variable.get("name"), f"{path}[{index}]"
        if not name:
            errors.append(required(f"{where}.name"))
        elif not _ENV_NAME.fullmatch(name):
            errors.append(invalid(f"{where}.name", name, _ENV_RULE))
        source = variable.get("valueFrom")
        if source is None:
            continue
        if not source:
            errors.append(invalid(f"{where}.valueFrom", "", _ENV_SOURCES))
        elif variable.get("value"):
            errors.append(invalid(f"{where}.valueFrom", "", "may not be specified when `value` is not empty"))
        elif len(source) > 1:
            errors.append(invalid(f"{where}.valueFrom", "", "may not have more than one field specified at a time"))
    return errors


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


def _mounts(container: JSONObject, path: str, volumes: set[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    taken: set[str] = set()
    privileged = bool((container.get("securityContext") or {}).get("privileged"))
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        where, name, target = f"{path}[{index}]", mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            errors.append(required(f"{where}.name"))
        if name not in volumes:
            errors.append(not_found(f"{where}.name", name))
        if not target:
            errors.append(required(f"{where}.mountPath"))
        if target in taken:
            errors.append(invalid(f"{where}.mountPath", target, "must be unique"))
        taken.add(target)
        errors += local_path_errors(mount.get("subPath", ""), f"{path}.subPath")
        if expression := mount.get("subPathExpr"):
            if mount.get("subPath"):
                text = "subPathExpr and subPath are mutually exclusive"
                errors.append(invalid(f"{where}.subPathExpr", expression, text))
            errors += local_path_errors(expression, f"{path}.subPathExpr")
        propagation = mount.get("mountPropagation")
        if propagation is not None and propagation not in _PROPAGATIONS:
            errors.append(not_supported(f"{path}.mountPropagation", propagation, _PROPAGATIONS))
        if propagation == "Bidirectional" and not privileged:
            text = "Bidirectional mount propagation is available only to privileged containers"
            errors.append(forbidden(f"{path}.mountPropagation", text))
    return errors
