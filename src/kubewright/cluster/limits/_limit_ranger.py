"""`LimitRanger`: defaults and limits of LimitRanges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kubewright.api import Quantity
from kubewright.cluster._state import State
from kubewright.cluster.admission import Attributes, Plugin
from kubewright.cluster.limits._amounts import Amounts, amounts_of, pod_limits, pod_requests
from kubewright.cluster.machinery._resources import JSONObject

__all__ = ["LimitRanger"]

_STORAGE: Final = "/limitranges"
_ANNOTATION: Final = "kubernetes.io/limit-ranger"


class LimitRanger(Plugin):
    """Sets and checks requests and limits of pods and claims by the LimitRanges of their namespace."""

    name = "LimitRanger"

    def __init__(self, state: State) -> None:
        self._storage = state.storage

    def handles(self, attributes: Attributes) -> bool:
        """Returns whether the write creates a pod or writes a claim."""
        if attributes.subresource or not self._storage.count(_STORAGE):
            return False
        if attributes.type.qualified == "pods":
            return attributes.operation == "CREATE"
        return attributes.type.qualified == "persistentvolumeclaims" and attributes.operation in ("CREATE", "UPDATE")

    def mutate(self, attributes: Attributes) -> None:
        """Sets default requests and limits of containers."""
        if attributes.type.qualified != "pods" or attributes.object is None:
            return
        for limits in self._ranges(attributes.namespace):
            _fill(attributes.object, limits)

    def validate(self, attributes: Attributes) -> None:
        """Rejects requests and limits outside the allowed range."""
        obj, old = attributes.object, attributes.old
        if obj is None or (old is not None and "deletionTimestamp" in old["metadata"]):
            return
        check = _pod_problems if attributes.type.qualified == "pods" else _claim_problems
        for limits in self._ranges(attributes.namespace):
            problems = list(dict.fromkeys(problem for limit in limits for problem in check(limit, obj["spec"])))
            if problems:
                raise attributes.forbidden(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")

    def _ranges(self, namespace: str) -> list[list[JSONObject]]:
        entries = self._storage.entries(_STORAGE, namespace)
        return [(entry.decode().get("spec") or {}).get("limits") or [] for entry in entries]


def _fill(pod: JSONObject, limits: list[JSONObject]) -> None:
    defaults: dict[str, dict[str, str]] = {"limits": {}, "requests": {}}
    for limit in limits:
        if limit.get("type") == "Container":
            defaults["limits"] |= limit.get("default") or {}
            defaults["requests"] |= limit.get("defaultRequest") or {}
    notes: list[str] = []
    for field, kind in (("containers", "container"), ("initContainers", "init container")):
        for container in pod["spec"].get(field) or ():
            for amounts, word in (("requests", "request"), ("limits", "limit")):
                given = (container.get("resources") or {}).get(amounts) or {}
                missing = sorted(name for name in defaults[amounts] if name not in given)
                if missing:
                    filled = given | {name: defaults[amounts][name] for name in missing}
                    container["resources"] = {**(container.get("resources") or {}), amounts: filled}
                    notes.append(f"{', '.join(missing)} {word} for {kind} {container.get('name', '')}")
    if notes:
        metadata = pod["metadata"]
        text = f"LimitRanger plugin set: {'; '.join(notes)}"
        metadata["annotations"] = {**(metadata.get("annotations") or {}), _ANNOTATION: text}


def _pod_problems(limit: JSONObject, spec: JSONObject) -> Iterator[str]:
    kind = limit.get("type", "")
    if kind == "Container":
        for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
            resources = container.get("resources") or {}
            yield from _problems(
                limit, kind, amounts_of(resources.get("requests")), amounts_of(resources.get("limits"))
            )
    elif kind == "Pod":
        yield from _problems(limit, kind, pod_requests(spec), pod_limits(spec))


def _claim_problems(limit: JSONObject, spec: JSONObject) -> Iterator[str]:
    kind = limit.get("type", "")
    if kind != "PersistentVolumeClaim":
        return
    requests = amounts_of((spec.get("resources") or {}).get("requests"))
    for name, text in sorted((limit.get("min") or {}).items()):
        yield from _too_little(kind, name, Quantity(text), requests, {})
    for name, text in sorted((limit.get("max") or {}).items()):
        rule = f"maximum {name} usage per {kind} is {text}"
        if name not in requests:
            yield f"{rule}.  No request is specified"
        elif requests[name] > Quantity(text):
            yield f"{rule}, but request is {requests[name]}"


def _problems(limit: JSONObject, kind: str, requests: Amounts, limits: Amounts) -> Iterator[str]:
    for name, text in sorted((limit.get("min") or {}).items()):
        yield from _too_little(kind, name, Quantity(text), requests, limits)
    for name, text in sorted((limit.get("max") or {}).items()):
        rule, most = f"maximum {name} usage per {kind} is {text}", Quantity(text)
        if name not in limits:
            yield f"{rule}.  No limit is specified"
        elif limits[name] > most:
            yield f"{rule}, but limit is {limits[name]}"
        elif name in requests and requests[name] > most:
            yield f"{rule}, but request is {requests[name]}"
    for name, text in sorted((limit.get("maxLimitRequestRatio") or {}).items()):
        yield from _uneven(kind, name, text, requests, limits)


def _too_little(kind: str, name: str, least: Quantity, requests: Amounts, limits: Amounts) -> Iterator[str]:
    rule = f"minimum {name} usage per {kind} is {least}"
    if name not in requests:
        yield f"{rule}.  No request is specified"
    elif requests[name] < least:
        yield f"{rule}, but request is {requests[name]}"
    elif name in limits and limits[name] < least:
        yield f"{rule}, but limit is {limits[name]}"


def _uneven(kind: str, name: str, text: str, requests: Amounts, limits: Amounts) -> Iterator[str]:
    rule = f"{name} max limit to request ratio per {kind} is {text}"
    if not requests.get(name):
        yield f"{rule}, but no request is specified or request is 0"
    elif not limits.get(name):
        yield f"{rule}, but no limit is specified or limit is 0"
    else:
        ratio = float(limits[name]) / float(requests[name])
        if ratio > float(Quantity(text)):
            yield f"{rule}, but provided ratio is {ratio:f}"
