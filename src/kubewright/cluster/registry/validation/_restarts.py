"""Validation of restarts of containers: policies, rules for exit codes, and changes of resources."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kubewright.cluster.machinery._field_errors import (
    FieldError,
    duplicate,
    invalid,
    not_supported,
    required,
    too_many,
)
from kubewright.cluster.machinery._resources import JSONObject

__all__ = ["resize_errors", "restart_errors"]

_POLICIES: Final = ("Always", "Never", "OnFailure")
_ACTIONS: Final = ("Restart", "RestartAllContainers")
_OPERATORS: Final = ("In", "NotIn")
_RESIZED: Final = ("cpu", "memory")
_AFTER_RESIZE: Final = ("NotRequired", "RestartContainer")
_MAX_RULES: Final = 20
_MAX_CODES: Final = 255


def restart_errors(container: JSONObject, path: str, *, init: bool = False) -> list[FieldError]:
    """Validates the restart policy of a container, and its rules for exit codes.

    As on the real server, the rules of an init container without a policy are not validated.
    """
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or ()
    place, errors = f"{path}.restartPolicyRules", list[FieldError]()
    if policy is None and rules:
        errors.append(required(f"{path}.restartPolicy", "must specify restartPolicy when restart rules are used"))
        if init:
            return errors
    elif policy is not None and policy not in _POLICIES:
        errors.append(not_supported(f"{path}.restartPolicy", policy, _POLICIES))
    if len(rules) > _MAX_RULES:
        errors.append(too_many(place, len(rules), _MAX_RULES))
    for index, rule in enumerate(rules):
        where, codes = f"{place}[{index}]", rule.get("exitCodes")
        if rule.get("action", "") not in _ACTIONS:
            errors.append(not_supported(f"{where}.action", rule.get("action", ""), _ACTIONS))
        if codes is None:
            errors.append(required(f"{where}.exitCodes", "must be specified"))
            continue
        if codes.get("operator", "") not in _OPERATORS:
            errors.append(not_supported(f"{where}.exitCodes.operator", codes.get("operator", ""), _OPERATORS))
        if (count := len(codes.get("values") or ())) > _MAX_CODES:
            errors.append(too_many(f"{where}.exitCodes.values", count, _MAX_CODES))
    return errors


def resize_errors(policies: Sequence[JSONObject], path: str, restart_policy: str) -> list[FieldError]:
    """Validates the resize policies. A container that never restarts cannot be restarted for a resize, either."""
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, each in enumerate(policies):
        name, policy = each.get("resourceName", ""), each.get("restartPolicy", "")
        if name in seen:
            errors.append(duplicate(f"{path}[{index}]", name))
        seen.add(name)
        for value, supported in ((name, _RESIZED), (policy, _AFTER_RESIZE)):
            if not value:
                errors.append(required(path))
            elif value not in supported:
                errors.append(not_supported(path, value, supported))
        if restart_policy == "Never" and policy != "NotRequired":
            errors.append(invalid(path, policy, "must be 'NotRequired' when pod `restartPolicy` is 'Never'"))
    return errors
