"""Validation of the rules that webhooks and policies match writes with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kubewright.cluster.machinery._field_errors import FieldError, invalid, not_supported, required
from kubewright.cluster.machinery._resources import JSONObject

__all__ = ["rule_errors"]

_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES: Final = ("*", "Cluster", "Namespaced")


def rule_errors(rule: JSONObject, path: str) -> Iterator[FieldError]:
    """Validates a rule: operations, groups, versions, resources and scope."""
    operations = rule.get("operations") or []
    if not operations:
        yield required(f"{path}.operations")
    yield from _alone(operations, f"{path}.operations", "operations")
    for index, operation in enumerate(operations):
        if operation not in _OPERATIONS:
            yield not_supported(f"{path}.operations[{index}]", operation, _OPERATIONS)
    for field, what in (("apiGroups", "API groups"), ("apiVersions", "API versions")):
        values = rule.get(field) or []
        if not values:
            yield required(f"{path}.{field}")
        yield from _alone(values, f"{path}.{field}", what)
    for index, version in enumerate(rule.get("apiVersions") or ()):
        if not version:
            yield required(f"{path}.apiVersions[{index}]")
    yield from _resources(rule.get("resources") or [], f"{path}.resources")
    scope = rule.get("scope")
    if scope is not None and scope not in _SCOPES:
        yield not_supported(f"{path}.scope", scope, _SCOPES)


def _alone(values: list[str], path: str, what: str) -> Iterator[FieldError]:
    if len(values) > 1 and "*" in values:
        yield invalid(path, values, f"if '*' is present, must not specify other {what}")


def _resources(resources: list[str], path: str) -> Iterator[FieldError]:
    if not resources:
        yield required(path)
    all_subs: set[str] = set()
    all_resources: set[str] = set()
    plain = False
    for index, pattern in enumerate(resources):
        here = f"{path}[{index}]"
        if not pattern:
            yield required(here)
            continue
        resource, slash, sub = pattern.partition("/")
        if not slash:
            plain = pattern != "*"
            continue
        if resource in all_subs:
            yield invalid(here, pattern, f"if '{resource}/*' is present, must not specify {pattern}")
        if sub in all_resources:
            yield invalid(here, pattern, f"if '*/{sub}' is present, must not specify {pattern}")
        if sub == "*":
            all_subs.add(resource)
        if resource == "*":
            all_resources.add(sub)
    if len(resources) > 1 and "*/*" in resources:
        yield invalid(path, resources, "if '*/*' is present, must not specify other resources")
    if "*" in resources and plain:
        text = "if '*' is present, must not specify other resources without subresources"
        yield invalid(path, resources, text)
