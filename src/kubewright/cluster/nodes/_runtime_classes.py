"""The admission plugin RuntimeClass: applies the overhead and scheduling of a class to the pods that name it."""

from __future__ import annotations

from typing import Any, Final

from kubewright.api import Quantity
from kubewright.cluster._state import State
from kubewright.cluster.admission import Attributes, Plugin
from kubewright.cluster.defaults import add_default_tolerations
from kubewright.cluster.machinery._resources import JSONObject

__all__ = ["RuntimeClasses"]

_CLASSES: Final = "node.k8s.io/runtimeclasses"
_OTHER: Final = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
_WITHOUT: Final = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"


class RuntimeClasses(Plugin):
    """Rejects pods that name an unknown class, or contradict theirs."""

    name = "RuntimeClass"

    def __init__(self, state: State) -> None:
        self._state = state

    def handles(self, attributes: Attributes) -> bool:
        """Returns whether the write creates a pod."""
        return attributes.operation == "CREATE" and not attributes.subresource and attributes.type.qualified == "pods"

    def mutate(self, attributes: Attributes) -> None:
        """Sets the overhead, and merges node selector and tolerations."""
        found = self._class_of(attributes)
        if found is None:
            return
        assert attributes.object is not None
        spec: JSONObject = attributes.object["spec"]
        if found.get("overhead") is not None:
            overhead = found["overhead"].get("podFixed")
            if spec.get("overhead") and not _same(spec["overhead"], overhead):
                raise attributes.forbidden(_OTHER)
            spec["overhead"] = dict(overhead or {})
            if not spec["overhead"]:
                del spec["overhead"]
        if found.get("scheduling") is not None:
            _schedule(attributes, spec, found["scheduling"])

    def validate(self, attributes: Attributes) -> None:
        """Rejects an overhead that is not that of the class."""
        found = self._class_of(attributes)
        assert attributes.object is not None
        given = attributes.object["spec"].get("overhead")
        if found is not None and found.get("overhead") is not None:
            if not _same(given, found["overhead"].get("podFixed")):
                raise attributes.forbidden(_OTHER)
        elif given:
            raise attributes.forbidden(_WITHOUT)

    def _class_of(self, attributes: Attributes) -> JSONObject | None:
        assert attributes.object is not None
        name = (attributes.object.get("spec") or {}).get("runtimeClassName")
        if name is None:
            return None
        found = self._state.storage.get(_CLASSES, "", name)
        if found is None:
            raise attributes.forbidden(f'pod rejected: RuntimeClass "{name}" not found')
        made: JSONObject = found.decode()
        return made


def _same(one: Any, other: Any) -> bool:
    first, second = ({name: Quantity(amount) for name, amount in (each or {}).items()} for each in (one, other))
    return first == second


def _schedule(attributes: Attributes, spec: JSONObject, scheduling: JSONObject) -> None:
    selector = dict(spec.get("nodeSelector") or {})
    for key, value in sorted((scheduling.get("nodeSelector") or {}).items()):
        if selector.get(key, value) != value:
            both = f"nodeSelector[{key}] = {value}; pod.spec.nodeSelector[{key}] = {selector[key]}"
            raise attributes.forbidden(f"conflict: runtimeClass.scheduling.{both}")
        selector[key] = value
    if selector:
        spec["nodeSelector"] = selector
    add_default_tolerations(spec)  # the real server adds them before those of the class
    spec["tolerations"] = _merged([*spec["tolerations"], *(scheduling.get("tolerations") or ())])


def _merged(tolerations: list[JSONObject]) -> list[JSONObject]:
    """Returns the tolerations without those that another one includes."""
    merged: list[JSONObject] = []
    for index, each in enumerate(tolerations):
        later = tolerations[index + 1 :]
        if any(_includes(kept, each) for kept in merged):
            continue
        if not any(other != each and _includes(other, each) for other in later):
            merged.append(each)
    return merged


def _includes(whole: JSONObject, part: JSONObject) -> bool:
    """Returns whether a toleration tolerates everything that another one does."""
    if whole == part:
        return True
    exists = whole.get("operator") == "Exists"
    if part.get("key", "") != whole.get("key", "") and (whole.get("key") or not exists):
        return False
    if whole.get("effect") and part.get("effect", "") != whole["effect"]:
        return False
    most, seconds = whole.get("tolerationSeconds"), part.get("tolerationSeconds")
    if whole.get("effect") == "NoExecute" and most is not None and (seconds is None or seconds > most):
        return False
    if exists:
        return True
    equal = whole.get("operator", "") in ("", "Equal") and part.get("operator") == "Equal"
    return equal and part.get("value", "") == whole.get("value", "")
