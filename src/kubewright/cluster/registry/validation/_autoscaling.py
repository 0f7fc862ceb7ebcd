"""Validation of HorizontalPodAutoscalers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kubewright.api import Quantity
from kubewright.cluster.machinery._field_errors import FieldError, forbidden, invalid, not_supported, required
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.registry.validation._resources import resource_name_errors
from kubewright.names import label_problems, path_segment_problems

__all__ = ["autoscaler_errors"]

_METRIC_TYPES: Final = ("ContainerResource", "External", "Object", "Pods", "Resource")
_TARGET_TYPES: Final = ("Utilization", "Value", "AverageValue")
_SELECT_POLICIES: Final = ("Disabled", "Max", "Min")
_POLICY_TYPES: Final = ("Percent", "Pods")
_MAX_WINDOW: Final = 3600
_MAX_PERIOD: Final = 1800


def autoscaler_errors(spec: JSONObject, old: JSONObject | None = None) -> list[FieldError]:
    """Validates the spec of a HorizontalPodAutoscaler; `old` is the spec before an update."""
    least, most, before = spec.get("minReplicas"), spec.get("maxReplicas", 0), old or {}
    lowest = 0 if before.get("minReplicas") == 0 else 1
    errors: list[FieldError] = []
    if least is not None and least < lowest:
        errors.append(invalid("spec.minReplicas", least, f"must be greater than or equal to {lowest}"))
    if most == 0:
        errors.append(required("spec.maxReplicas", "must be set and greater than 0"))
    elif most < 0:
        errors.append(invalid("spec.maxReplicas", most, "must be greater than or equal to 1"))
    if least is not None and most < least:
        errors.append(invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`"))
    errors += _scale_target(spec.get("scaleTargetRef") or {}, before.get("scaleTargetRef"))
    errors += _metrics(spec.get("metrics") or [], least, before.get("metrics") or [])
    for name in ("scaleUp", "scaleDown"):
        if (rules := (spec.get("behavior") or {}).get(name)) is not None:
            errors += _scaling_rules(rules, f"spec.behavior.{name}")
    return errors


def _scale_target(target: JSONObject, old: JSONObject | None) -> list[FieldError]:
    errors = _reference(target, "spec.scaleTargetRef")
    names = ("apiVersion", "kind")
    if old is not None and [target.get(name) for name in names] == [old.get(name) for name in names]:
        return errors  # an update that keeps them may keep an invalid version
    core = target.get("kind") == "ReplicationController"
    return errors + _version_errors(target, "spec.scaleTargetRef", core=core)


def _reference(target: JSONObject, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for name in ("kind", "name"):
        value, place = target.get(name, ""), f"{path}.{name}"
        errors += [invalid(place, value, each) for each in path_segment_problems(value)] if value else [required(place)]
    return errors


def _version_errors(target: JSONObject, path: str, *, core: bool) -> list[FieldError]:
    version = target.get("apiVersion", "")
    if version.count("/") > 1:
        return [invalid(f"{path}.apiVersion", version, f"unexpected GroupVersion string: {version}")]
    if core or "/" in version[1:]:
        return []
    return [invalid(f"{path}.apiVersion", version, "apiVersion must specify API group")]


def _metrics(metrics: list[JSONObject], least: int | None, old: list[JSONObject]) -> list[FieldError]:
    kept = any(_version_errors(each["object"].get("describedObject") or {}, "", core=True) for each in _objects(old))
    errors: list[FieldError] = []
    for index, metric in enumerate(metrics):
        errors += _metric(metric, f"spec.metrics[{index}]", versions=not kept)
    if least == 0 and not any(each.get("type") in ("Object", "External") for each in metrics):
        text = "must specify at least one Object or External metric to support scaling to zero replicas"
        errors.append(forbidden("spec.metrics", text))
    return errors


def _objects(metrics: list[JSONObject]) -> list[JSONObject]:
    return [each for each in metrics if each.get("type") == "Object" and each.get("object") is not None]


def _metric(metric: JSONObject, path: str, *, versions: bool) -> list[FieldError]:
    type_ = metric.get("type", "")
    known = type_ in _METRIC_TYPES
    unknown = [] if known else [not_supported(f"{path}.type", type_, _METRIC_TYPES)]
    errors = [] if type_ else [required(f"{path}.type", "must specify a metric source type")]
    errors += unknown
    present = [name for name in _SOURCES if metric.get(name) is not None]
    if present:
        errors += _source(present[0], metric[present[0]], f"{path}.{present[0]}", versions=versions)
    expected = type_[:1].lower() + type_[1:] if known else ""
    if expected and expected not in present:
        errors.append(required(f"{path}.{expected}", "must populate information for the given metric source"))
    errors += unknown
    if len(present) != 1:
        text = "must populate the given metric source only"
        errors += [forbidden(f"{path}.{name}", text) for name in present if name != expected]
    return errors


def _source(name: str, source: JSONObject, path: str, *, versions: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    if name == "object":
        described = source.get("describedObject") or {}
        errors += _reference(described, f"{path}.describedObject")
        errors += _version_errors(described, f"{path}.describedObject", core=True) if versions else []
    return errors + _SOURCES[name](source, path)


def _identified(source: JSONObject, path: str) -> list[FieldError]:
    name = (source.get("metric") or {}).get("name", "")
    place = f"{path}.metric.name"
    if not name:
        return [required(place, "must specify a metric name"), *_target(source, path)]
    return [*(invalid(place, name, each) for each in path_segment_problems(name)), *_target(source, path)]


def _object(source: JSONObject, path: str) -> list[FieldError]:
    target, errors = source.get("target") or {}, _identified(source, path)
    if target.get("value") is None and target.get("averageValue") is None:
        text = "must set either a target value or averageValue"
        errors.append(required(f"{path}.target.averageValue", text))
    return errors


def _external(source: JSONObject, path: str) -> list[FieldError]:
    target, errors = source.get("target") or {}, _identified(source, path)
    given = [target.get(name) is not None for name in ("value", "averageValue")]
    if not any(given):
        text = "must set either a target value for metric or a per-pod target"
        errors.append(required(f"{path}.target.averageValue", text))
    if all(given):
        text = "may not set both a target value for metric and a per-pod target"
        errors.append(forbidden(f"{path}.target.value", text))
    return errors


def _pods(source: JSONObject, path: str) -> list[FieldError]:
    errors = _identified(source, path)
    if (source.get("target") or {}).get("averageValue") is None:
        errors.append(required(f"{path}.target.averageValue", "must specify a positive target averageValue"))
    return errors


def _resource(source: JSONObject, path: str) -> list[FieldError]:
    errors = [] if source.get("name") else [required(f"{path}.name", "must specify a resource name")]
    return errors + _usage(source, path)


def _container_resource(source: JSONObject, path: str) -> list[FieldError]:
    name, container = source.get("name", ""), source.get("container", "")
    text = "must specify a resource name"
    errors = resource_name_errors(name, f"{path}.name") if name else [required(f"{path}.name", text)]
    if container:
        errors += [invalid(f"{path}.container", container, each) for each in label_problems(container)]
    else:
        errors.append(required(f"{path}.container", "must specify a container"))
    return errors + _usage(source, path)


def _usage(source: JSONObject, path: str) -> list[FieldError]:
    target, errors = source.get("target") or {}, _target(source, path)
    given = [target.get(name) is not None for name in ("averageUtilization", "averageValue")]
    if not any(given):
        text = "must set either a target raw value or a target utilization"
        errors.append(required(f"{path}.target.averageUtilization", text))
    if all(given):
        text = "may not set both a target raw value and a target utilization"
        errors.append(forbidden(f"{path}.target.averageValue", text))
    return errors


_SOURCES: Final[dict[str, Callable[[JSONObject, str], list[FieldError]]]] = {
    "object": _object,
    "external": _external,
    "pods": _pods,
    "resource": _resource,
    "containerResource": _container_resource,
}
"""The sources of a metric, in the order in which the real server checks them. It validates only the first one."""


def _target(source: JSONObject, path: str) -> list[FieldError]:
    target, place = source.get("target") or {}, f"{path}.target"
    type_, used = target.get("type", ""), target.get("averageUtilization")
    errors = [] if type_ else [required(f"{place}.type", "must specify a metric target type")]
    if type_ not in _TARGET_TYPES:
        errors.append(invalid(f"{place}.type", type_, "must be either Utilization, Value, or AverageValue"))
    amounts = {name: target[name] for name in ("value", "averageValue") if target.get(name) is not None}
    odd = {name: amount for name, amount in amounts.items() if Quantity(amount) <= Quantity("0")}
    errors += [invalid(f"{place}.{name}", amount, "must be positive") for name, amount in odd.items()]
    if used is not None and used < 1:
        errors.append(invalid(f"{place}.averageUtilization", used, "must be greater than 0"))
    return errors


def _scaling_rules(rules: JSONObject, path: str) -> list[FieldError]:
    window, chosen = rules.get("stabilizationWindowSeconds"), rules.get("selectPolicy")
    errors: list[FieldError] = []
    if window is not None and window < 0:
        text = "must be greater than or equal to zero"
        errors.append(invalid(f"{path}.stabilizationWindowSeconds", window, text))
    if window is not None and window > _MAX_WINDOW:
        text = f"must be less than or equal to {_MAX_WINDOW}"
        errors.append(invalid(f"{path}.stabilizationWindowSeconds", window, text))
    if chosen is not None and chosen not in _SELECT_POLICIES:
        errors.append(not_supported(f"{path}.selectPolicy", chosen, _SELECT_POLICIES))
    if not rules.get("policies"):
        errors.append(required(f"{path}.policies", "must specify at least one Policy"))
    for index, policy in enumerate(rules.get("policies") or ()):
        errors += _policy(policy, f"{path}.policies[{index}]")
    if (tolerance := rules.get("tolerance")) is not None and Quantity(tolerance) < Quantity("0"):
        errors.append(invalid(f"{path}.tolerance", tolerance, "must be greater than or equal to 0"))
    return errors


def _policy(policy: JSONObject, path: str) -> list[FieldError]:
    type_, period = policy.get("type", ""), policy.get("periodSeconds", 0)
    errors = [] if type_ in _POLICY_TYPES else [not_supported(f"{path}.type", type_, _POLICY_TYPES)]
    if (value := policy.get("value", 0)) <= 0:
        errors.append(invalid(f"{path}.value", value, "must be greater than zero"))
    if period <= 0:
        errors.append(invalid(f"{path}.periodSeconds", period, "must be greater than zero"))
    if period > _MAX_PERIOD:
        errors.append(invalid(f"{path}.periodSeconds", period, f"must be less than or equal to {_MAX_PERIOD}"))
    return errors
