"""Validation of RuntimeClasses."""

from __future__ import annotations

from kubewright.cluster.machinery._field_errors import FieldError, duplicate, invalid, required
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.registry.validation._common import label_map_errors
from kubewright.cluster.registry.validation._placement import toleration_errors
from kubewright.cluster.registry.validation._resources import amount_errors
from kubewright.names import label_problems

__all__ = ["runtime_class_errors"]


def runtime_class_errors(obj: JSONObject) -> list[FieldError]:
    """Validates a new RuntimeClass."""
    handler = obj.get("handler", "")
    errors = [invalid("handler", handler, problem) for problem in label_problems(handler)] if handler else []
    if not handler:
        errors.append(required("handler"))
    if (overhead := obj.get("overhead")) is not None:
        errors += amount_errors({"limits": overhead.get("podFixed") or {}}, "overhead")
    if (scheduling := obj.get("scheduling")) is not None:
        errors += label_map_errors(scheduling.get("nodeSelector"), "scheduling.nodeSelector")
        errors += _tolerations(scheduling.get("tolerations") or [])
    return errors


def _tolerations(tolerations: list[JSONObject]) -> list[FieldError]:
    path = "scheduling.tolerations"
    errors = toleration_errors(tolerations, path)
    seen: set[tuple[str, ...]] = set()
    for index, each in enumerate(tolerations):
        key = tuple(each.get(field, "") for field in ("key", "operator", "value", "effect"))
        if key in seen:
            names = ("Key", "Operator", "Value", "Effect", "TolerationSeconds")
            shown = dict(zip(names, (*key, each.get("tolerationSeconds")), strict=True))
            errors.append(duplicate(f"{path}[{index}]", shown))
        seen.add(key)
    return errors
