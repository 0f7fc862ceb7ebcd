"""Warnings for pods and pod templates that are valid but probably wrong. Messages are those of kube-apiserver."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kubewright.api import Quantity
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.names import label_problems

__all__ = ["name_warnings", "pod_warnings"]

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


def pod_warnings(spec: JSONObject, path: str = "spec") -> list[str]:
    """Returns the warnings for the spec of a pod."""
    found = [*_selectors(spec, path), *_volumes(spec, path), *_twice(spec, path), *_ports(spec, path)]
    for field in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(field) or ()):
            found += _container(container, f"{path}.{field}[{index}]")
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        text = "must be >= 0; negative values are invalid and will be treated as 1"
        found.append(f"{path}.terminationGracePeriodSeconds: {text}")
    return found


def _selectors(spec: JSONObject, path: str) -> Iterator[str]:
    for index, each in enumerate(spec.get("topologySpreadConstraints") or ()):
        if each.get("labelSelector") is None:
            yield f"{path}.topologySpreadConstraints[{index}].labelSelector: {_NO_SELECTOR}"
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


def _container(container: JSONObject, path: str) -> Iterator[str]:
    for field in ("limits", "requests"):
        amounts = (container.get("resources") or {}).get(field) or {}
        for name in ("memory", "ephemeral-storage"):
            if name in amounts and Quantity(amounts[name]).as_decimal() % 1:
                text = f'fractional byte value "{amounts[name]}" is invalid, must be an integer'
                yield f"{path}.resources.{field}[{name}]: {text}"
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
    for field in ("initContainers", "containers"):
        for number, container in enumerate(spec.get(field) or ()):
            for index, port in enumerate(container.get("ports") or ()):
                place = f"{path}.{field}[{number}].ports[{index}]"
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
