"""Policies and bindings themselves: defaults, and which are accepted, with the words of the real server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kubewright.api._cel import cel_name
from kubewright.api._names import (
    label_1035_problems,
    path_segment_problems,
    qualified_name_problems,
    subdomain_problems,
)
from kubewright.api.cel import types
from kubewright.cluster._field_errors import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from kubewright.cluster._kinds import JSONObject
from kubewright.cluster._rules_common import label_selector_errors
from kubewright.cluster._strategies import BuiltinStrategy
from kubewright.cluster.admission._conditions import condition_errors
from kubewright.cluster.admission._configurations import rule_errors
from kubewright.cluster.policies._expressions import Scope, compiled

__all__ = ["BindingStrategy", "PolicyStrategy"]

_FAILURE: Final = ("Fail", "Ignore")
_MATCH: Final = ("Equivalent", "Exact")
_REASONS: Final = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_ACTIONS: Final = ("Audit", "Deny", "Warn")
_NOT_FOUND: Final = ("Deny", "Allow")
_MOST_ANNOTATIONS: Final = 20
_LONGEST_ANNOTATION: Final = 5 * 1024
_IDENTIFIER: Final = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")
_LINE_BREAK: Final = re.compile(r"[\n\r]")
_NOTHING_ASKED: Final = "validations or auditAnnotations must contain at least one item"
_BOTH: Final = (
    "must not contain both Deny and Warn (repeating the same validation failure information in the API response and "
    "headers serves no purpose)"
)


def _default_match(match: JSONObject | None) -> None:
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


class PolicyStrategy(BuiltinStrategy):
    """The rules of policies."""

    def default(self, obj: JSONObject) -> None:
        """What the real server fills in."""
        spec = obj.setdefault("spec", {})
        if spec.get("failurePolicy") is None:
            spec["failurePolicy"] = "Fail"
        _default_match(spec.get("matchConstraints"))

    def validate_create(self, obj: JSONObject) -> list[FieldError]:
        """Every rule, and every expression."""
        return list(_policy_errors(obj, None))

    def validate_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> list[FieldError]:
        """The same; conditions that were there before are not looked at again."""
        return [] if subresource == "status" else list(_policy_errors(obj, old))


class BindingStrategy(BuiltinStrategy):
    """The rules of bindings."""

    def default(self, obj: JSONObject) -> None:
        """What the real server fills in."""
        _default_match((obj.get("spec") or {}).get("matchResources"))

    def validate_create(self, obj: JSONObject) -> list[FieldError]:
        """Every rule."""
        return list(_binding_errors(obj.get("spec") or {}))

    def validate_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> list[FieldError]:
        """The same."""
        return self.validate_create(obj)


# Policies


def _policy_errors(obj: JSONObject, old: JSONObject | None) -> Iterator[FieldError]:
    spec = obj.get("spec") or {}
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
        yield from _match_errors(constraints, "spec.matchConstraints")
        if not constraints.get("resourceRules"):
            yield required("spec.matchConstraints.resourceRules")
    conditions = spec.get("matchConditions") or []
    if old is None or (old.get("spec") or {}).get("matchConditions") != spec.get("matchConditions"):
        bare = Scope(has_params=kind is not None)
        yield from condition_errors(
            conditions, "spec.matchConditions", lambda text, path: _problem(text, path, bare, types.BOOL)
        )
    variables = spec.get("variables") or []
    scope = Scope(has_params=kind is not None, has_variables=bool(variables), fields={})
    for number, variable in enumerate(variables):
        yield from _variable_errors(variable, f"spec.variables[{number}]", scope)
    validations, annotations = spec.get("validations") or [], spec.get("auditAnnotations") or []
    if not validations and not annotations:
        yield required("spec.validations", _NOTHING_ASKED)
        yield required("spec.auditAnnotations", _NOTHING_ASKED)
        return
    for number, validation in enumerate(validations):
        yield from _validation_errors(validation, f"spec.validations[{number}]", scope)
    yield from _annotation_errors(annotations, obj["metadata"].get("name", ""), scope)


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


def _match_errors(match: JSONObject, path: str) -> Iterator[FieldError]:
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


def _problem(text: str, path: str, scope: Scope, *results: types.Type) -> Iterator[FieldError]:
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


def _validation_errors(validation: JSONObject, path: str, scope: Scope) -> Iterator[FieldError]:
    text, message = validation.get("expression") or "", validation.get("message") or ""
    said = validation.get("messageExpression") or ""
    if not text.strip():
        yield required(f"{path}.expression", "expression is not specified")
    else:
        yield from _problem(text, f"{path}.expression", scope, types.BOOL)
    if said and not said.strip():
        yield invalid(f"{path}.messageExpression", said, "must be non-empty if specified")
    elif said:
        yield from _problem(said, f"{path}.messageExpression", scope, types.STRING)
    if message and not message.strip():
        yield invalid(f"{path}.message", message, "must be non-empty if specified")
    elif _LINE_BREAK.search(message.strip()):
        yield invalid(f"{path}.message", message, "must not contain line breaks")
    reason = validation.get("reason")
    if reason is not None and reason not in _REASONS:
        yield not_supported(f"{path}.reason", reason, _REASONS)


def _annotation_errors(annotations: list[JSONObject], name: str, scope: Scope) -> Iterator[FieldError]:
    path, seen = "spec.auditAnnotations", set()
    if len(annotations) > _MOST_ANNOTATIONS:
        yield invalid(path, annotations, f"must not have more than {_MOST_ANNOTATIONS} auditAnnotations")
    for number, annotation in enumerate(annotations):
        here, key = f"{path}[{number}]", annotation.get("key") or ""
        text = annotation.get("valueExpression") or ""
        full = f"{name}/{key}"
        yield from (invalid(f"{here}.key", full, problem) for problem in qualified_name_problems(full))
        if not text.strip():
            yield required(f"{here}.valueExpression", "valueExpression is not specified")
        elif len(text.strip()) > _LONGEST_ANNOTATION:
            yield required(f"{here}.valueExpression", f"must not exceed {_LONGEST_ANNOTATION} bytes in length")
        else:
            problem = compiled(text.strip(), scope, types.STRING, types.NULL).problem
            if problem:
                yield invalid(f"{here}.valueExpression", text, problem)
        if key in seen:
            yield duplicate(f"{here}.key", key)
        seen.add(key)


# Bindings


def _binding_errors(spec: JSONObject) -> Iterator[FieldError]:
    name = spec.get("policyName") or ""
    if not name:
        yield required("spec.policyName")
    else:
        yield from (invalid("spec.policyName", name, problem) for problem in subdomain_problems(name))
    if spec.get("paramRef") is not None:
        yield from _param_ref_errors(spec["paramRef"])
    if spec.get("matchResources") is not None:
        yield from _match_errors(spec["matchResources"], "spec.matchResources")
    yield from _action_errors(spec.get("validationActions") or [])


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


def _action_errors(actions: list[str]) -> Iterator[FieldError]:
    path = "spec.validationActions"
    for number, action in enumerate(actions):
        if action not in _ACTIONS:
            yield not_supported(f"{path}[{number}]", action, _ACTIONS)
        if action in actions[:number]:
            yield duplicate(f"{path}[{number}]", action)
    if {"Deny", "Warn"} <= {*actions}:
        yield invalid(path, actions, _BOTH)
    if not actions:
        yield required(path, "at least one validation action is required")
