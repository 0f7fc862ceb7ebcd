"""Validation of the indexes and policies of Jobs, and of their updates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kubewright.cluster.machinery._field_errors import FieldError, duplicate, invalid, not_supported, required
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.registry.validation._common import at_least_zero, label_key_errors

__all__ = ["index_errors", "index_intervals", "indexes_problem", "job_update_errors", "policy_errors"]

_ACTIONS: Final = ("Count", "FailIndex", "FailJob", "Ignore")
_OPERATORS: Final = ("In", "NotIn")
_STATUSES: Final = ("False", "True", "Unknown")


def index_errors(spec: JSONObject, path: str) -> list[FieldError]:
    """Validates completion mode and the backoff limit per index."""
    errors = at_least_zero(spec, "backoffLimitPerIndex", path) + at_least_zero(spec, "maxFailedIndexes", path)
    limit, most = spec.get("backoffLimitPerIndex"), spec.get("maxFailedIndexes")
    if most is not None and limit is None:
        errors.append(required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified"))
    mode = spec.get("completionMode")
    if mode not in (None, "NonIndexed", "Indexed"):
        errors.append(not_supported(f"{path}.completionMode", mode, ["NonIndexed", "Indexed"]))
    if mode == "Indexed":
        if spec.get("completions") is None:
            errors.append(required(f"{path}.completions", "when completion mode is Indexed"))
        elif most is not None and most > spec["completions"]:
            errors.append(invalid(f"{path}.maxFailedIndexes", most, "must be less than or equal to completions"))
    elif mode in (None, "NonIndexed"):
        for field, value in (("backoffLimitPerIndex", limit), ("maxFailedIndexes", most)):
            if value is not None:
                errors.append(invalid(f"{path}.{field}", value, "requires indexed completion mode"))
    return errors


def policy_errors(spec: JSONObject, path: str) -> list[FieldError]:
    """Validates failure policy, success policy and pod replacement policy."""
    errors: list[FieldError] = []
    pod = (spec.get("template") or {}).get("spec") or {}
    names = {each.get("name") for each in (*(pod.get("containers") or ()), *(pod.get("initContainers") or ()))}
    for index, rule in enumerate((spec.get("podFailurePolicy") or {}).get("rules") or ()):
        errors += _failure_rule(rule, f"{path}.podFailurePolicy.rules[{index}]", names, spec)
    if (success := spec.get("successPolicy")) is not None:
        if spec.get("completionMode") != "Indexed":
            errors.append(invalid(f"{path}.successPolicy", success, "requires indexed completion mode"))
        else:
            errors += _success_rules(success.get("rules") or (), f"{path}.successPolicy.rules", spec)
    replacement = spec.get("podReplacementPolicy")
    if replacement is not None:
        if spec.get("podFailurePolicy") is not None:
            if replacement != "Failed":
                errors.append(not_supported(f"{path}.podReplacementPolicy", replacement, ["Failed"]))
        elif replacement not in ("Failed", "TerminatingOrFailed"):
            supported = ["Failed", "TerminatingOrFailed"]
            errors.append(not_supported(f"{path}.podReplacementPolicy", replacement, supported))
    return errors


def _failure_rule(rule: JSONObject, path: str, names: set[Any], spec: JSONObject) -> list[FieldError]:
    action, codes, conditions = rule.get("action", ""), rule.get("onExitCodes"), rule.get("onPodConditions")
    errors: list[FieldError] = []
    if not action:
        errors.append(required(f"{path}.action", f"valid values: {_go_list(_ACTIONS)}"))
    elif action == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
        errors.append(invalid(f"{path}.action", action, "requires the backoffLimitPerIndex to be set"))
    elif action not in _ACTIONS:
        errors.append(not_supported(f"{path}.action", action, _ACTIONS))
    if codes is not None:
        errors += _exit_codes(codes, f"{path}.onExitCodes", names)
    for index, pattern in enumerate(conditions or ()):
        place, status = f"{path}.onPodConditions[{index}]", pattern.get("status", "")
        errors += label_key_errors(pattern.get("type", ""), f"{place}.type")
        if not status:
            errors.append(required(f"{place}.status", f"valid values: {_go_list(_STATUSES)}"))
        elif status not in _STATUSES:
            errors.append(not_supported(f"{place}.status", status, _STATUSES))
    if (codes is not None) == bool(conditions):
        text = "specifying both OnExitCodes and OnPodConditions is not supported"
        if codes is None:
            text = "specifying one of OnExitCodes and OnPodConditions is required"
        errors.append(FieldError("FieldValueInvalid", path, f"Invalid value: {text}"))
    return errors


def _exit_codes(codes: JSONObject, path: str, names: set[Any]) -> list[FieldError]:
    operator, values, name = codes.get("operator", ""), codes.get("values") or [], codes.get("containerName")
    errors: list[FieldError] = []
    if not operator:
        errors.append(required(f"{path}.operator", f"valid values: {_go_list(_OPERATORS)}"))
    elif operator not in _OPERATORS:
        errors.append(not_supported(f"{path}.operator", operator, _OPERATORS))
    if name is not None and name not in names:
        text = "must be one of the container or initContainer names in the pod template"
        errors.append(invalid(f"{path}.containerName", name, text))
    if not values:
        errors.append(invalid(f"{path}.values", values, "at least one value is required"))
    for index, value in enumerate(values):
        if operator == "In" and value == 0:
            errors.append(invalid(f"{path}.values[{index}]", value, "must not be 0 for the In operator"))
        if value in values[:index]:
            errors.append(duplicate(f"{path}.values[{index}]", value))
    if values != sorted(values):
        errors.append(invalid(f"{path}.values", values, "must be ordered"))
    return errors


def _go_list(words: Sequence[str]) -> str:
    return "[" + " ".join(f'"{word}"' for word in words) + "]"


def _success_rules(rules: Sequence[JSONObject], path: str, spec: JSONObject) -> list[FieldError]:
    if not rules:
        return [required(path, "at least one rules must be specified when the successPolicy is specified")]
    errors: list[FieldError] = []
    for index, rule in enumerate(rules):
        place, text, count = f"{path}[{index}]", rule.get("succeededIndexes"), rule.get("succeededCount")
        total = 0
        if text is None and count is None:
            why = "at least one of succeededCount or succeededIndexes must be specified"
            errors.append(required(place, why))
        if text is not None:
            total, problem = _indexes(text, spec.get("completions") or 0)
            if problem:
                why = f"error parsing succeededIndexes: {problem}"
                errors.append(invalid(f"{place}.succeededIndexes", text, why))
        if count is not None:
            errors += at_least_zero(rule, "succeededCount", place)
            most = spec.get("completions") or 0
            for limit, what in ((most, "completions"), (total if text is not None else count, "")):
                if count > limit:
                    named = f"specified {what}" if what else "indexes in the specified succeededIndexes field"
                    why = f"must be less than or equal to {limit} (the number of {named})"
                    errors.append(invalid(f"{place}.succeededCount", count, why))
    return errors


def indexes_problem(text: str, completions: int) -> str:
    """Returns the error of a string like `0-2,5`; empty if it is valid."""
    return _indexes(text, completions)[1]


def index_intervals(text: str, completions: int) -> list[tuple[int, int]]:
    """Returns the valid intervals of a string like `0-2,5`."""
    found = (_interval(part, completions) for part in text.split(",") if text)
    return [each for each in found if isinstance(each, tuple)]


def _indexes(text: str, completions: int) -> tuple[int, str]:
    """Returns the number of indexes in a string like `0-2,5`, and the error."""
    total, last = 0, -1
    for part in text.split(",") if text else ():
        found = _interval(part, completions)
        if isinstance(found, str):
            return 0, found
        if found[0] <= last:
            return 0, f"non-increasing order, previous: {last}, current: {found[0]}"
        total += found[1] - found[0] + 1
        last = found[1]
    return total, ""


def _interval(part: str, completions: int) -> tuple[int, int] | str:
    """Returns the first and last index of a part, or its error."""
    ends: list[int] = []
    given = part.split("-")
    if len(given) > 2:
        rule = "an index interval can have at most two parts separated by '-'"
        return f'the fragment "{part}" violates the requirement that {rule}'
    for each in given:
        if not (each.isascii() and each.isdigit()):
            return f'cannot convert string to integer for index: "{each}"'
        if int(each) >= completions:
            return f'too large index: "{each}"'
        ends.append(int(each))
    if len(ends) == 2 and ends[1] <= ends[0]:
        return f"non-increasing order, previous: {ends[0]}, current: {ends[1]}"
    return ends[0], ends[-1]


def job_update_errors(obj: JSONObject, old: JSONObject) -> list[FieldError]:
    """Rejects changes of immutable fields. A suspended Job that never started may change where its pods run."""
    spec, before, text = obj["spec"], old["spec"], "field is immutable"
    errors: list[FieldError] = []
    if spec.get("completions") != before.get("completions"):
        if spec.get("completionMode") != "Indexed":
            errors.append(invalid("spec.completions", spec.get("completions"), text))
        elif spec.get("completions") is not None and spec["completions"] != spec.get("parallelism"):
            tandem = "can only be modified in tandem with spec.parallelism"
            errors.append(invalid("spec.completions", spec["completions"], tandem))
    if spec.get("selector") != before.get("selector"):
        errors.append(invalid("spec.selector", spec.get("selector"), text))
    placeable = bool(before.get("suspend")) and not (old.get("status") or {}).get("startTime")
    if _template_of(spec, placeable=placeable) != _template_of(before, placeable=placeable):
        errors.append(invalid("spec.template", spec.get("template"), text))
    fixed = ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy")
    return errors + [
        invalid(f"spec.{field}", spec.get(field), text) for field in fixed if spec.get(field) != before.get(field)
    ]


def _template_of(spec: JSONObject, *, placeable: bool) -> JSONObject:
    template: JSONObject = spec.get("template") or {}
    if not placeable:
        return template
    free = ("nodeSelector", "tolerations", "schedulingGates", "affinity")
    pod = {name: value for name, value in (template.get("spec") or {}).items() if name not in free}
    metadata = {
        name: value for name, value in (template.get("metadata") or {}).items() if name not in ("labels", "annotations")
    }
    return {**template, "metadata": metadata, "spec": pod}
