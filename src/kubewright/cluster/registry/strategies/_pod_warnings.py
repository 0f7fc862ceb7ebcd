"""Warnings for pods and pod templates that are valid but probably wrong. Messages are those of kube-apiserver."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kubewright.api import Quantity
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.registry.strategies._path_warnings import overlapping_paths
from kubewright.cluster.registry.validation._addresses import address_warnings
from kubewright.cluster.registry.validation._pod_annotations import (
    APP_ARMOR,
    SECCOMP,
    SECCOMP_POD,
    app_armor_profile,
)
from kubewright.names import label_problems, label_value_problems

__all__ = ["OLD_NODE_LABELS", "name_warnings", "pod_warnings"]

_NO_SELECTOR: Final = "a null labelSelector results in matching no pod"
_OLD_VOLUMES: Final = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
OLD_NODE_LABELS: Final = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
    "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": "deprecated since v1.22; use Taints and Tolerations instead",
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
_OLD_ANNOTATIONS: Final = {
    "scheduler.alpha.kubernetes.io/critical-pod": 'non-functional in v1.16+; use the "priorityClassName" field instead',
    "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "security.alpha.kubernetes.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
}
_OLD_SECCOMP: Final = 'non-functional in v1.27+; use the "seccompProfile" field instead'
_BYTES: Final = ("memory", "ephemeral-storage")
_CONTAINERS: Final = ("initContainers", "containers", "ephemeralContainers")
_AFFINITIES: Final = ("podAffinity", "podAntiAffinity")
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def name_warnings(obj: JSONObject, use: str) -> list[str]:
    """Returns the warning for a name that is not a DNS label, although host names contain it."""
    problems = label_problems(obj["metadata"].get("name", ""))
    if not problems:
        return []
    effect = "which can result in surprising behavior; a DNS label is recommended"
    return [f"metadata.name: this is used in {use}, {effect}: [{' '.join(problems)}]"]


def pod_warnings(pod: JSONObject, path: str = "") -> list[str]:
    """Returns the warnings for a pod, or for the pod template at that path."""
    spec, prefix = pod.get("spec") or {}, f"{path}." if path else ""
    annotations, at = (pod.get("metadata") or {}).get("annotations") or {}, f"{prefix}metadata.annotations"
    place = f"{prefix}spec"
    found = [*_node_labels(spec, place), *_spreads(spec, place)]
    found += [f"{at}[{key}]: {text}" for key, text in _OLD_ANNOTATIONS.items() if key in annotations]
    found += [*_volumes(spec, place), *overlapping_paths(spec.get("volumes") or ())]
    found += [*_twice(spec, place), *_fractions(spec.get("overhead") or {}, f"{place}.overhead")]
    if SECCOMP_POD in annotations and not (spec.get("securityContext") or {}).get("seccompProfile"):
        found.append(f"{at}[{SECCOMP_POD}]: {_OLD_SECCOMP}")
    for field in _CONTAINERS:
        for index, container in enumerate(spec.get(field) or ()):
            found += _profiles(container, annotations, at, spec if path else None)
            found += _container(container, f"{place}.{field}[{index}]")
    found += _ports(spec, place)
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        text = "must be >= 0; negative values are invalid and will be treated as 1"
        found.append(f"{place}.terminationGracePeriodSeconds: {text}")
    found += _affinities(spec, place)
    for index, server in enumerate((spec.get("dnsConfig") or {}).get("nameservers") or ()):
        found += address_warnings(server, f"{place}.dnsConfig.nameservers[{index}]")
    for index, alias in enumerate(spec.get("hostAliases") or ()):
        found += address_warnings(alias.get("ip", ""), f"{place}.hostAliases[{index}].ip")
    return found


def _node_labels(spec: JSONObject, path: str) -> Iterator[str]:
    for key in spec.get("nodeSelector") or ():
        if key in OLD_NODE_LABELS:
            yield f"{path}.nodeSelector[{key}]: {OLD_NODE_LABELS[key]}"
    affinity, place = (spec.get("affinity") or {}).get("nodeAffinity") or {}, f"{path}.affinity.nodeAffinity"
    for index, term in enumerate((affinity.get(_REQUIRED) or {}).get("nodeSelectorTerms") or ()):
        yield from _node_term(term, f"{place}.{_REQUIRED}.nodeSelectorTerms[{index}]", checks_values=False)
    for index, each in enumerate(affinity.get(_PREFERRED) or ()):
        yield from _node_term(each.get("preference") or {}, f"{place}.{_PREFERRED}[{index}].preference")


def _node_term(term: JSONObject, path: str, *, checks_values: bool = True) -> Iterator[str]:
    for index, expression in enumerate(term.get("matchExpressions") or ()):
        place, key = f"{path}.matchExpressions[{index}]", expression.get("key", "")
        if key in OLD_NODE_LABELS:
            yield f"{place}.key: {key} is {OLD_NODE_LABELS[key]}"
        for number, value in enumerate((expression.get("values") or ()) if checks_values else ()):
            for problem in label_value_problems(value):
                yield f"{place}.values[{number}]: {value} is invalid, {problem}"


def _spreads(spec: JSONObject, path: str) -> Iterator[str]:
    for index, each in enumerate(spec.get("topologySpreadConstraints") or ()):
        place, key = f"{path}.topologySpreadConstraints[{index}]", each.get("topologyKey", "")
        if key in OLD_NODE_LABELS:
            yield f"{place}.topologyKey: {key} is {OLD_NODE_LABELS[key]}"
        if each.get("labelSelector") is None:
            yield f"{place}.labelSelector: {_NO_SELECTOR}"


def _affinities(spec: JSONObject, path: str) -> Iterator[str]:
    for kind in _AFFINITIES:
        given, place = (spec.get("affinity") or {}).get(kind) or {}, f"{path}.affinity.{kind}"
        for index, term in enumerate(given.get(_REQUIRED) or ()):
            if term.get("labelSelector") is None:
                yield f"{place}.{_REQUIRED}[{index}].labelSelector: {_NO_SELECTOR}"
        for index, term in enumerate(given.get(_PREFERRED) or ()):
            if (term.get("podAffinityTerm") or {}).get("labelSelector") is None:
                yield f"{place}.{_PREFERRED}[{index}].podAffinityTerm.labelSelector: {_NO_SELECTOR}"


def _volumes(spec: JSONObject, path: str) -> Iterator[str]:
    for index, volume in enumerate(spec.get("volumes") or ()):
        for source in _OLD_VOLUMES.keys() & volume.keys():
            shown = "storageOS" if source == "storageos" else source
            yield f"{path}.volumes[{index}].{shown}: {_OLD_VOLUMES[source]}"
        claim = ((volume.get("ephemeral") or {}).get("volumeClaimTemplate") or {}).get("spec") or {}
        place = f"{path}.volumes[{index}].ephemeral.volumeClaimTemplate.spec.resources"
        for field in ("requests", "limits"):
            amounts = (claim.get("resources") or {}).get(field) or {}
            yield from _fractions(amounts, f"{place}.{field}", ("storage",))


def _twice(spec: JSONObject, path: str) -> Iterator[str]:
    for field, key, word in (("hostAliases", "ip", "ip"), ("imagePullSecrets", "name", "name")):
        seen = set()
        for index, each in enumerate(spec.get(field) or ()):
            value = each.get(key, "")
            if value in seen and value:
                yield f'{path}.{field}[{index}].{key}: duplicate {word} "{value}"'
            if not value and field == "imagePullSecrets":
                yield f'{path}.{field}[{index}].{key}: invalid empty name ""'
            seen.add(value)


def _fractions(amounts: JSONObject, path: str, names: tuple[str, ...] = _BYTES) -> Iterator[str]:
    for name in names:
        if name in amounts and Quantity(amounts[name]).as_decimal() % 1:
            yield f'{path}[{name}]: fractional byte value "{amounts[name]}" is invalid, must be an integer'


def _profiles(container: JSONObject, annotations: JSONObject, path: str, template: JSONObject | None) -> Iterator[str]:
    """Returns warnings for annotations instead of fields. For AppArmor, a pod has got its warnings earlier."""
    name, security = container.get("name", ""), container.get("securityContext") or {}
    if SECCOMP + name in annotations and not security.get("seccompProfile"):
        yield f"{path}[{SECCOMP}{name}]: {_OLD_SECCOMP}"
    if template is None or APP_ARMOR + name not in annotations or security.get("appArmorProfile"):
        return
    of_pod = (template.get("securityContext") or {}).get("appArmorProfile")
    if of_pod is None or of_pod != app_armor_profile(annotations[APP_ARMOR + name]):
        yield f'{path}[{APP_ARMOR}{name}]: deprecated since v1.30; use the "appArmorProfile" field instead'


def _container(container: JSONObject, path: str) -> Iterator[str]:
    resources = container.get("resources") or {}
    for name in _BYTES:
        for field in ("limits", "requests"):
            yield from _fractions(resources.get(field) or {}, f"{path}.resources.{field}", (name,))
    names: set[str] = set()
    for index, variable in enumerate(container.get("env") or ()):
        name = variable.get("name", "")
        value, reference = variable.get("value") or "", f"$({name})"
        if name in names and (variable.get("valueFrom") or value == reference or reference not in value):
            yield f'{path}.env[{index}]: hides previous definition of "{name}", which may be dropped when using apply'
        names.add(name)


def _ports(spec: JSONObject, path: str) -> Iterator[str]:
    """Returns warnings for ports that are defined more than once in all containers."""
    seen: dict[tuple[object, object], list[tuple[str, JSONObject]]] = {}
    names: dict[str, str] = {}
    for field in _CONTAINERS:
        for number, container in enumerate(spec.get(field) or ()):
            for index, port in enumerate(container.get("ports") or ()):
                place = f"{path}.{field}[{number}].ports[{index}]"
                if port.get("hostIP") and not port.get("hostPort"):
                    shown = f"Name:{port.get('name', '')} HostPort:0 ContainerPort:{port.get('containerPort', 0)}"
                    shown += f" Protocol:{port.get('protocol', '')} HostIP:{port['hostIP']}"
                    yield f"{place}: hostIP set without hostPort: {{{shown}}}"
                others = seen.setdefault((port.get("containerPort"), port.get("protocol")), [])
                for other, its in others:
                    if problem := _clash(port, its):
                        yield f"{place}: {problem} port definition with {other}"
                others.append((place, port))
                name = port.get("name") or ""
                if name and (first := names.setdefault(name, place)) != place:
                    use = f"services and probes that select ports by name will use {first}"
                    yield f'{place}: duplicate port name "{name}" with {first}, {use}'


def _clash(one: JSONObject, other: JSONObject) -> str:
    mine, theirs = one.get("hostPort") or 0, other.get("hostPort") or 0
    address, its = one.get("hostIP") or "", other.get("hostIP") or ""
    if (mine, address) == (theirs, its):
        return "duplicate"
    if not mine or not theirs:
        return "overlapping"
    return "dangerously ambiguous" if mine == theirs and bool(address) != bool(its) else ""
