"""Validation of pods and pod templates, in kube-apiserver's order.

Covers the rules that users meet. Containers, volumes, security contexts and scheduling have their own modules. Fields
that depend on the machine (devices, sysctls, Windows) are not validated.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from kubewright.cluster.machinery._field_errors import FieldError, forbidden, invalid, too_long
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.registry.validation._common import MOST_SECONDS, one_of
from kubewright.cluster.registry.validation._containers import container_errors
from kubewright.cluster.registry.validation._environment import file_reference_errors
from kubewright.cluster.registry.validation._placement import (
    affinity_errors,
    gate_errors,
    node_selector_errors,
    spread_errors,
    toleration_errors,
)
from kubewright.cluster.registry.validation._pod_annotations import (
    annotation_update_errors,
    pod_annotation_errors,
    profile_match_errors,
)
from kubewright.cluster.registry.validation._pod_dns import dns_errors, host_alias_errors
from kubewright.cluster.registry.validation._security import pod_security_errors
from kubewright.cluster.registry.validation._volumes import volume_errors
from kubewright.names import label_problems, subdomain_problems

__all__ = ["ephemeral_update_errors", "new_pod_errors", "pod_errors", "pod_update_errors", "template_pod_errors"]

_RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")
_MAX_HOST_NAME: Final = 64
_DNS_POLICIES: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_MUTABLE: Final = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def pod_errors(spec: JSONObject, path: str = "spec", *, other_volumes: Iterable[str] = ()) -> list[FieldError]:
    """Validates the spec of a pod. `other_volumes` are added later: the claims of a StatefulSet."""
    errors, volumes = volume_errors(spec.get("volumes") or (), f"{path}.volumes")
    errors += container_errors(spec, path, volumes | dict.fromkeys(other_volumes, True))
    errors += _host_network(spec, path)
    errors += one_of(spec, "restartPolicy", path, _RESTART_POLICIES)
    errors += one_of(spec, "dnsPolicy", path, _DNS_POLICIES)
    errors += node_selector_errors(spec.get("nodeSelector"), f"{path}.nodeSelector")
    errors += pod_security_errors(spec, path)
    errors += affinity_errors(spec.get("affinity"), f"{path}.affinity")
    errors += dns_errors(spec, f"{path}.dnsConfig")
    errors += gate_errors(spec, path)
    errors += spread_errors(spec.get("topologySpreadConstraints") or (), f"{path}.topologySpreadConstraints")
    errors += _host_name(spec, path)
    for field in ("serviceAccountName", "nodeName"):
        if value := spec.get(field):
            errors += [invalid(f"{path}.{field}", value, problem) for problem in subdomain_problems(value)]
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= MOST_SECONDS:
        text = f"must be between 1 and {MOST_SECONDS}, inclusive"
        errors.append(invalid(f"{path}.activeDeadlineSeconds", deadline, text))
    for field in ("hostname", "subdomain"):
        if value := spec.get(field):
            errors += [invalid(f"{path}.{field}", value, problem) for problem in label_problems(value)]
    errors += toleration_errors(spec.get("tolerations") or (), f"{path}.tolerations")
    errors += host_alias_errors(spec.get("hostAliases") or [], f"{path}.hostAliases")
    for field in ("priorityClassName", "runtimeClassName"):
        if value := spec.get(field):
            errors += [invalid(f"{path}.{field}", value, problem) for problem in subdomain_problems(value)]
    return errors + file_reference_errors(spec, path)


def _host_name(spec: JSONObject, path: str) -> list[FieldError]:
    name, place = spec.get("hostnameOverride"), f"{path}.hostnameOverride"
    if name is None:
        return []
    flags = ("setHostnameAsFQDN", "hostNetwork")
    errors = [forbidden(place, f"may not be specified when {flag} is true") for flag in flags if spec.get(flag)]
    if len(name.encode()) > _MAX_HOST_NAME:
        errors.append(too_long(place, _MAX_HOST_NAME))
    return errors + [invalid(place, name, problem) for problem in subdomain_problems(name)]


def new_pod_errors(obj: JSONObject) -> list[FieldError]:
    """Validates a new pod, which must not have ephemeral containers."""
    metadata, spec = obj["metadata"], obj["spec"]
    errors = pod_annotation_errors(metadata, spec, "metadata.annotations") + pod_errors(spec) + _tokens(spec)
    if spec.get("ephemeralContainers"):
        errors.append(forbidden("spec.ephemeralContainers", "cannot be set on create"))
    return errors + profile_match_errors(metadata, spec, "spec")


def _tokens(spec: JSONObject) -> list[FieldError]:
    """Rejects projected tokens of a pod without a service account. Templates may have them."""
    if spec.get("serviceAccountName"):
        return []
    text = "must not be specified when serviceAccountName is not set"
    return [
        forbidden(f"spec.volumes[{index}].projected.sources[{number}].serviceAccountToken", text)
        for index, volume in enumerate(spec.get("volumes") or ())
        for number, source in enumerate((volume.get("projected") or {}).get("sources") or ())
        if source.get("serviceAccountToken") is not None
    ]


def template_pod_errors(template: JSONObject, path: str, *, other_volumes: Iterable[str] = ()) -> list[FieldError]:
    """Validates the annotations and the spec of a pod template. Paths of metadata are without `metadata`."""
    metadata, spec, place = template.get("metadata") or {}, template.get("spec") or {}, f"{path}.spec"
    errors = pod_annotation_errors(metadata, spec, f"{path}.annotations")
    errors += pod_errors(spec, place, other_volumes=other_volumes) + profile_match_errors(metadata, spec, place)
    if spec.get("ephemeralContainers"):
        errors.append(forbidden(f"{place}.ephemeralContainers", "ephemeral containers not allowed in pod template"))
    return errors


def _host_network(spec: JSONObject, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    text = "must match `containerPort` when `hostNetwork` is true"
    for index, container in enumerate((spec.get("containers") or ()) if spec.get("hostNetwork") else ()):
        for number, port in enumerate(container.get("ports") or ()):
            host = port.get("hostPort", 0)
            if host and host != port.get("containerPort"):  # with host networking, the host port is defaulted
                errors.append(invalid(f"{path}.containers[{index}].ports[{number}].hostPort", host, text))
    return errors


def pod_update_errors(obj: JSONObject, before: JSONObject) -> list[FieldError]:
    """Rejects changes except images, the deadline, and additional tolerations."""
    metadata, spec, old = obj["metadata"], obj["spec"], before["spec"]
    errors = pod_annotation_errors(metadata, spec, "metadata.annotations") + pod_errors(spec) + _tokens(spec)
    errors += annotation_update_errors(metadata, before["metadata"])
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


def ephemeral_update_errors(spec: JSONObject, old: JSONObject) -> list[FieldError]:
    """Rejects changed and removed ephemeral containers."""
    errors, path = pod_errors(spec), "spec.ephemeralContainers"
    given = {container["name"]: container for container in spec.get("ephemeralContainers") or ()}
    for container in old.get("ephemeralContainers") or ():
        name = container["name"]
        if name not in given:
            errors.append(forbidden(path, f'existing ephemeral containers "{name}" may not be removed\n'))
        elif given[name] != container:
            errors.append(forbidden(path, f'existing ephemeral containers "{name}" may not be changed\n'))
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
    """Returns the immutable parts of a spec. A pod with scheduling gates may still change its scheduling directives."""
    made: dict[str, Any] = _without(spec, "activeDeadlineSeconds", "tolerations", "schedulingGates")
    if gated:
        made = _without(made, "nodeSelector", "affinity")
    for field in ("containers", "initContainers"):
        if made.get(field):
            made[field] = [_without(container, "image") for container in made[field]]
    if made.get("terminationGracePeriodSeconds", 0) < 0 or made.get("terminationGracePeriodSeconds") == 1:
        made.pop("terminationGracePeriodSeconds")
    return {name: value for name, value in made.items() if value not in (None, [], {})}
