"""What the server demands of pods and of their templates, in its words and in its order.

These are the rules that people run into: names, images, ports, variables, mounts, amounts. What needs knowledge of
machines (devices, security, probes) is taken as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from kubewright.api import Quantity
from kubewright.cluster._field_errors import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
)
from kubewright.cluster._kinds import JSONObject
from kubewright.cluster._names import label_problems, subdomain_problems

__all__ = ["at_least_zero", "pod_errors", "pod_update_errors", "port_errors"]

_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")
_MESSAGE_POLICIES: Final = ("File", "FallbackToLogsOnError")
_RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")
_DNS_POLICIES: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_MOST_PORT: Final = 65535
_MOST_SECONDS: Final = 2**31 - 1
_ENV_NAME: Final = re.compile(r"[ -<>-~]+")
_ENV_RULE: Final = "a valid environment variable name must consist only of printable ASCII characters other than '='"
_ENV_SOURCES: Final = (
    "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
)
_MUTABLE: Final = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def at_least_zero(spec: JSONObject, field: str, path: str) -> list[FieldError]:
    """A number that is counted from zero, where it is given."""
    value = spec.get(field)
    if value is None or value >= 0:
        return []
    return [invalid(f"{path}.{field}", value, "must be greater than or equal to 0")]


def port_errors(value: int, path: str) -> list[FieldError]:
    """A number of a port."""
    good = 1 <= value <= _MOST_PORT
    return [] if good else [invalid(path, value, f"must be between 1 and {_MOST_PORT}, inclusive")]


def pod_errors(spec: JSONObject, path: str = "spec", *, other_volumes: Iterable[str] = ()) -> list[FieldError]:
    """The rules of a pod's spec. `other_volumes` are those that somebody adds later: the claims of a StatefulSet."""
    errors, volumes = _volumes(spec.get("volumes") or (), f"{path}.volumes")
    volumes |= set(other_volumes)
    containers = spec.get("containers") or ()
    if not containers:
        errors.append(required(f"{path}.containers"))
    names: set[str] = set()
    for kind, found in (("containers", containers), ("initContainers", spec.get("initContainers") or ())):
        for index, container in enumerate(found):
            place = f"{path}.{kind}[{index}]"
            errors += _container(container, place, volumes)
            if container.get("name") in names:
                errors.append(duplicate(f"{place}.name", container["name"]))
            names.add(container.get("name", ""))
    errors += _one_of(spec, "restartPolicy", path, _RESTART_POLICIES)
    errors += _one_of(spec, "dnsPolicy", path, _DNS_POLICIES)
    for field in ("serviceAccountName", "nodeName"):
        if value := spec.get(field):
            errors += [invalid(f"{path}.{field}", value, problem) for problem in subdomain_problems(value)]
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= _MOST_SECONDS:
        text = f"must be between 1 and {_MOST_SECONDS}, inclusive"
        errors.append(invalid(f"{path}.activeDeadlineSeconds", deadline, text))
    for field in ("hostname", "subdomain"):
        if value := spec.get(field):
            errors += [invalid(f"{path}.{field}", value, problem) for problem in label_problems(value)]
    return errors


def _one_of(obj: JSONObject, field: str, path: str, supported: tuple[str, ...]) -> list[FieldError]:
    value = obj.get(field)
    if not value:
        return [required(f"{path}.{field}")]
    return [] if value in supported else [not_supported(f"{path}.{field}", value, supported)]


def _name(obj: JSONObject, path: str) -> list[FieldError]:
    name = obj.get("name")
    if not name:
        return [required(f"{path}.name")]
    return [invalid(f"{path}.name", name, problem) for problem in label_problems(name)]


def _volumes(volumes: Iterable[JSONObject], path: str) -> tuple[list[FieldError], set[str]]:
    errors: list[FieldError] = []
    names: set[str] = set()
    for index, volume in enumerate(volumes):
        place = f"{path}[{index}]"
        found = _name(volume, place)
        if volume.get("name") in names:
            found.append(duplicate(f"{place}.name", volume["name"]))
        if not found:
            names.add(volume["name"])
        errors += found
    return errors, names


def _container(container: JSONObject, path: str, volumes: set[str]) -> list[FieldError]:
    errors = _name(container, path)
    if not container.get("image"):
        errors.append(required(f"{path}.image"))
    errors += _one_of(container, "terminationMessagePolicy", path, _MESSAGE_POLICIES)
    errors += _ports(container.get("ports") or (), f"{path}.ports")
    errors += _variables(container.get("env") or (), f"{path}.env")
    errors += _mounts(container.get("volumeMounts") or (), f"{path}.volumeMounts", volumes)
    errors += _one_of(container, "imagePullPolicy", path, _PULL_POLICIES)
    return errors + _amounts(container.get("resources") or {}, f"{path}.resources")


def _variables(variables: Iterable[JSONObject], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, variable in enumerate(variables):
        name, place = variable.get("name"), f"{path}[{index}]"
        if not name:
            errors.append(required(f"{place}.name"))
        elif not _ENV_NAME.fullmatch(name):
            errors.append(invalid(f"{place}.name", name, _ENV_RULE))
        source = variable.get("valueFrom")
        if source is None:
            continue
        if not source:
            errors.append(invalid(f"{place}.valueFrom", "", _ENV_SOURCES))
        elif variable.get("value"):
            errors.append(invalid(f"{place}.valueFrom", "", "may not be specified when `value` is not empty"))
        elif len(source) > 1:
            errors.append(invalid(f"{place}.valueFrom", "", "may not have more than one field specified at a time"))
    return errors


def _ports(ports: Iterable[JSONObject], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    names: set[str] = set()
    for index, port in enumerate(ports):
        place, name = f"{path}[{index}]", port.get("name")
        if name:
            problems = _port_name_problems(name)
            errors += [invalid(f"{place}.name", name, problem) for problem in problems]
            if not problems and name in names:
                errors.append(duplicate(f"{place}.name", name))
            names.add(name)
        if not port.get("containerPort"):
            errors.append(required(f"{place}.containerPort"))
        else:
            errors += port_errors(port["containerPort"], f"{place}.containerPort")
        if port.get("hostPort"):
            errors += port_errors(port["hostPort"], f"{place}.hostPort")
        errors += _one_of(port, "protocol", place, _PROTOCOLS)
    return errors


def _port_name_problems(name: str) -> list[str]:
    found = []
    if len(name) > 15:
        found.append("must be no more than 15 characters")
    if not re.fullmatch(r"[-a-z0-9]+", name):
        found.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search(r"[a-z]", name):
        found.append("must contain at least one letter (a-z)")
    if "--" in name:
        found.append("must not contain consecutive hyphens")
    if name.startswith("-") or name.endswith("-"):
        found.append("must not begin or end with a hyphen")
    return found


def _mounts(mounts: Iterable[JSONObject], path: str, volumes: set[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    taken: set[str] = set()
    for index, mount in enumerate(mounts):
        place, name, target = f"{path}[{index}]", mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            errors.append(required(f"{place}.name"))
        if name not in volumes:
            errors.append(not_found(f"{place}.name", name))
        if not target:
            errors.append(required(f"{place}.mountPath"))
        if target in taken:
            errors.append(invalid(f"{place}.mountPath", target, "must be unique"))
        taken.add(target)
    return errors


def _amounts(resources: JSONObject, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for field, amounts in (("limits", limits), ("requests", requests)):
        for resource, amount in amounts.items():
            if Quantity(amount) < Quantity("0"):
                text = "must be greater than or equal to 0"
                errors.append(invalid(f"{path}.{field}[{resource}]", amount, text))
            if field == "requests" and resource in limits and Quantity(amount) > Quantity(limits[resource]):
                text = f"must be less than or equal to {resource} limit of {limits[resource]}"
                errors.append(invalid(f"{path}.requests", amount, text))
    return errors


def pod_update_errors(spec: JSONObject, old: JSONObject) -> list[FieldError]:
    """A pod stays what it is but for its images, its deadline, and what it tolerates in addition."""
    errors = pod_errors(spec)
    for field in ("containers", "initContainers"):
        if len(spec.get(field) or ()) != len(old.get(field) or ()):
            return [*errors, forbidden(f"spec.{field}", "pod updates may not add or remove containers")]
    errors += _deadline(spec.get("activeDeadlineSeconds"), old.get("activeDeadlineSeconds"))
    kept = [_without(each, "tolerationSeconds") for each in spec.get("tolerations") or ()]
    if any(_without(each, "tolerationSeconds") not in kept for each in old.get("tolerations") or ()):
        text = "existing toleration can not be modified except its tolerationSeconds"
        errors.append(forbidden("spec.tolerations", text))
    gates = old.get("schedulingGates") or ()
    if any(gate not in gates for gate in spec.get("schedulingGates") or ()):
        errors.append(forbidden("spec.schedulingGates", "only deletion is allowed, but found new scheduling gate"))
    if _fixed(spec, gated=bool(gates)) != _fixed(old, gated=bool(gates)):
        errors.append(forbidden("spec", f"pod updates may not change fields other than {_MUTABLE}"))
    return errors


def _deadline(new: int | None, old: int | None) -> list[FieldError]:
    if old is None or new == old:
        return []
    if new is None:
        text = "must not update from a positive integer to nil value"
        return [invalid("spec.activeDeadlineSeconds", None, text)]
    text = "must be less than or equal to previous value"
    return [invalid("spec.activeDeadlineSeconds", new, text)] if new > old else []


def _without(obj: JSONObject, *fields: str) -> JSONObject:
    return {name: value for name, value in obj.items() if name not in fields}


def _fixed(spec: JSONObject, *, gated: bool) -> dict[str, Any]:
    """The parts of a spec that nobody may change. While a pod waits at a gate, it may still be told where to go."""
    made: dict[str, Any] = _without(spec, "activeDeadlineSeconds", "tolerations", "schedulingGates")
    if gated:
        made = _without(made, "nodeSelector", "affinity")
    for field in ("containers", "initContainers"):
        if made.get(field):
            made[field] = [_without(container, "image") for container in made[field]]
    if made.get("terminationGracePeriodSeconds", 0) < 0 or made.get("terminationGracePeriodSeconds") == 1:
        made.pop("terminationGracePeriodSeconds")
    return {name: value for name, value in made.items() if value not in (None, [], {})}
