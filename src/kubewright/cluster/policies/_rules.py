"""Validation that both kinds of policies and their bindings share, with the messages of the real server."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from kubewright.api.cel import types
from kubewright.api.schema import cel_name
from kubewright.cluster.admission import condition_errors
from kubewright.cluster.admission.matching import rule_errors
from kubewright.cluster.machinery._field_errors import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.policies._expressions import Scope, compiled
from kubewright.cluster.registry.validation._common import label_selector_errors
from kubewright.names import label_1035_problems, path_segment_problems, subdomain_problems

__all__ = ["binding_errors", "default_match", "expression_errors", "policy_errors"]

_FAILURE: Final = ("Fail", "Ignore")
_MATCH: Final = ("Equivalent", "Exact")
_NOT_FOUND: Final = ("Deny", "Allow")
_IDENTIFIER: Final = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")


def default_match(match: JSONObject | None) -> None:
    """Sets the real server's defaults of `matchConstraints` and `matchResources`."""
    if match is None:
        return
    if match.get("matchPolicy") is None:
        match["matchPolicy"] = "Equivalent"
    for name in ("namespaceSelector", "objectSelector"):
        if match.get(name) is None:
            match[name] = {}
    for rules in ("resourceRules", "excludeResourceRules"):
        for rule in match.get(rules) or ():
            if rule.get("scope") is None:
                rule["scope"] = "*"


def policy_errors(
    spec: JSONObject, old: JSONObject | None, scope: Scope, operations: Sequence[str] = ()
) -> Iterator[FieldError]:
    """Validates the common fields of a policy, and adds its variables to the scope.

    `old` is the previous policy: unchanged match conditions are not validated again. `operations` are the allowed
    operations; default: all.
    """
    policy = spec.get("failurePolicy")
    if policy not in _FAILURE:
        yield not_supported("spec.failurePolicy", policy, _FAILURE)
    kind = spec.get("paramKind")
    if kind is not None:
        yield from _param_kind_errors(kind)
    constraints = spec.get("matchConstraints")
    if constraints is None:
        yield required("spec.matchConstraints")
    else:
        yield from _match_errors(constraints, "spec.matchConstraints", operations, needs_rules=True)
    conditions = spec.get("matchConditions") or []
    if old is None or old.get("matchConditions") != spec.get("matchConditions"):
        bare = Scope(has_params=kind is not None)
        yield from condition_errors(
            conditions, "spec.matchConditions", lambda text, path: expression_errors(text, path, bare, types.BOOL)
        )
    for number, variable in enumerate(spec.get("variables") or ()):
        yield from _variable_errors(variable, f"spec.variables[{number}]", scope)


def _param_kind_errors(kind: JSONObject) -> Iterator[FieldError]:
    path, named = "spec.paramKind.apiVersion", kind.get("apiVersion") or ""
    group, _, version = named.rpartition("/")
    if not named:
        yield required(path)
    elif named.count("/") > 1:
        yield invalid(path, named, f"unexpected GroupVersion string: {named}")
    else:
        if group and (problems := subdomain_problems(group)):
            yield invalid(path, group, ",".join(problems))
        if not version:
            yield invalid(path, named, "version must be specified")
        elif problems := label_1035_problems(version):
            yield invalid(path, version, ",".join(problems))
    name = kind.get("kind") or ""
    if not name:
        yield required("spec.paramKind.kind")
    elif problems := label_1035_problems(name.lower()):
        text = "may have mixed case, but should otherwise match: " + ",".join(problems)
        yield invalid("spec.paramKind.kind", name, text)


def _match_errors(
    match: JSONObject, path: str, operations: Sequence[str], *, needs_rules: bool = False
) -> Iterator[FieldError]:
    if match.get("matchPolicy") not in _MATCH:
        yield not_supported(f"{path}.matchPolicy", match.get("matchPolicy"), _MATCH)
    for name in ("namespaceSelector", "objectSelector"):
        yield from label_selector_errors(match.get(name), f"{path}.{name}")
    for rules in ("resourceRules", "excludeResourceRules"):
        for number, rule in enumerate(match.get(rules) or ()):
            here = f"{path}.{rules}[{number}]"
            seen = set()
            for index, name in enumerate(rule.get("resourceNames") or ()):
                yield from (
                    invalid(f"{here}.resourceNames[{index}]", name, text) for text in path_segment_problems(name)
                )
                if name in seen:
                    yield duplicate(f"{here}.resourceNames[{index}]", name)
                seen.add(name)
            yield from rule_errors(rule, here)
    if needs_rules and not match.get("resourceRules"):
        yield required(f"{path}.resourceRules")
    for rule in match.get("resourceRules") or ():
        for operation in rule.get("operations") or ():
            if operations and operation not in operations:
                yield not_supported(f"{path}.resourceRules.operations", operation, operations)


def expression_errors(text: str, path: str, scope: Scope, *results: types.Type) -> Iterator[FieldError]:
    """Validates an expression whose value must be of one of the types."""
    problem = compiled(text, scope, *results).problem
    if problem:
        yield invalid(path, text, problem)


def _variable_errors(variable: JSONObject, path: str, scope: Scope) -> Iterator[FieldError]:
    name, text = variable.get("name") or "", variable.get("expression") or ""
    if not name.strip():
        yield required(f"{path}.name", "name is not specified")
    elif not _IDENTIFIER.fullmatch(name) or (cel_name(name) != name and "__" not in name):
        yield invalid(f"{path}.name", name, "must be a valid CEL identifier")
    if not text.strip():
        yield required(f"{path}.expression", "expression is not specified")
        return
    expression = compiled(text, scope)
    if expression.problem:
        yield invalid(f"{path}.expression", text, expression.problem)
    assert scope.fields is not None
    scope.fields[name] = types.DYN if expression.program is None else expression.program.checked.type


def binding_errors(spec: JSONObject, operations: Sequence[str] = ()) -> Iterator[FieldError]:
    """Validates a binding."""
    name = spec.get("policyName") or ""
    if not name:
        yield required("spec.policyName")
    else:
        yield from (invalid("spec.policyName", name, problem) for problem in subdomain_problems(name))
    if spec.get("paramRef") is not None:
        yield from _param_ref_errors(spec["paramRef"])
    if spec.get("matchResources") is not None:
        yield from _match_errors(spec["matchResources"], "spec.matchResources", operations)


def _param_ref_errors(reference: JSONObject) -> Iterator[FieldError]:
    path, exclusive = "spec.paramRef", "name and selector are mutually exclusive"
    name, selector = reference.get("name") or "", reference.get("selector")
    if name:
        yield from (invalid(f"{path}.name", name, problem) for problem in path_segment_problems(name))
        if selector is not None:
            yield forbidden(f"{path}.name", exclusive)
    if selector is not None:
        yield from label_selector_errors(selector, f"{path}.selector")
        if name:
            yield forbidden(f"{path}.selector", exclusive)
    if not name and selector is None:
        yield required(path, "one of name or selector must be specified")
    action = reference.get("parameterNotFoundAction")
    if not action:
        yield required(f"{path}.parameterNotFoundAction")
    elif action not in _NOT_FOUND:
        yield not_supported(f"{path}.parameterNotFoundAction", action, _NOT_FOUND)
