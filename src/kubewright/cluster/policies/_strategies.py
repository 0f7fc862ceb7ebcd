"""Strategies of policies and bindings: defaults and validation, with the messages of the real server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kubewright.api.cel import JSON_PATCH, OBJECT, types
from kubewright.cluster.machinery._field_errors import FieldError, duplicate, invalid, not_supported, required
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.policies._expressions import Scope, compiled
from kubewright.cluster.policies._rules import binding_errors, default_match, expression_errors, policy_errors
from kubewright.cluster.registry.strategies._builtin import BuiltinStrategy
from kubewright.names import qualified_name_problems

__all__ = ["MutatingBinding", "MutatingPolicy", "ValidatingBinding", "ValidatingPolicy"]

_REASONS: Final = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_ACTIONS: Final = ("Audit", "Deny", "Warn")
_MOST_ANNOTATIONS: Final = 20
_LONGEST_ANNOTATION: Final = 5 * 1024
_LINE_BREAK: Final = re.compile(r"[\n\r]")
_NOTHING_ASKED: Final = "validations or auditAnnotations must contain at least one item"
_BOTH: Final = (
    "must not contain both Deny and Warn (repeating the same validation failure information in the API response and "
    "headers serves no purpose)"
)
_MUTABLE: Final = ("*", "CONNECT", "CREATE", "UPDATE")
_REINVOCATION: Final = ("IfNeeded", "Never")
_PATCHES: Final = {
    "ApplyConfiguration": ("applyConfiguration", OBJECT),
    "JSONPatch": ("jsonPatch", types.list_of(JSON_PATCH)),
}


class _Policy(BuiltinStrategy):
    """Strategy of policies."""

    def default(self, obj: JSONObject) -> None:
        """Sets the real server's defaults."""
        spec = obj.setdefault("spec", {})
        if spec.get("failurePolicy") is None:
            spec["failurePolicy"] = "Fail"
        default_match(spec.get("matchConstraints"))

    def validate_create(self, obj: JSONObject) -> list[FieldError]:
        """Validates every field and expression."""
        return list(self.errors(obj, None))

    def validate_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> list[FieldError]:
        """Validates the policy; unchanged match conditions are not validated again."""
        return [] if subresource == "status" else list(self.errors(obj, old))

    def errors(self, obj: JSONObject, old: JSONObject | None) -> Iterator[FieldError]:
        """Validates a policy."""
        spec, before = obj.get("spec") or {}, None if old is None else old.get("spec") or {}
        scope = Scope(
            has_params=spec.get("paramKind") is not None, has_variables=bool(spec.get("variables")), fields={}
        )
        yield from policy_errors(spec, before, scope, self.operations)
        yield from self.own_errors(obj, spec, scope)

    operations: tuple[str, ...] = ()
    """The operations that it may match; default: all."""

    def own_errors(self, obj: JSONObject, spec: JSONObject, scope: Scope) -> Iterator[FieldError]:
        """Validates the fields that only this kind of policy has."""
        raise NotImplementedError


class _Binding(BuiltinStrategy):
    """Strategy of bindings."""

    operations: tuple[str, ...] = ()

    def default(self, obj: JSONObject) -> None:
        """Sets the real server's defaults."""
        default_match((obj.get("spec") or {}).get("matchResources"))

    def validate_create(self, obj: JSONObject) -> list[FieldError]:
        """Validates the binding."""
        return list(binding_errors(obj.get("spec") or {}, self.operations))

    def validate_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> list[FieldError]:
        """Validates the binding."""
        return self.validate_create(obj)


# Validating policies


class ValidatingPolicy(_Policy):
    """Strategy of ValidatingAdmissionPolicies."""

    def own_errors(self, obj: JSONObject, spec: JSONObject, scope: Scope) -> Iterator[FieldError]:
        """Validates validations and audit annotations."""
        validations, annotations = spec.get("validations") or [], spec.get("auditAnnotations") or []
        if not validations and not annotations:
            yield required("spec.validations", _NOTHING_ASKED)
            yield required("spec.auditAnnotations", _NOTHING_ASKED)
            return
        for number, validation in enumerate(validations):
            yield from _validation_errors(validation, f"spec.validations[{number}]", scope)
        yield from _annotation_errors(annotations, obj["metadata"].get("name", ""), scope)


class ValidatingBinding(_Binding):
    """Strategy of ValidatingAdmissionPolicyBindings."""

    def validate_create(self, obj: JSONObject) -> list[FieldError]:
        """Validates the binding and its validation actions."""
        actions = (obj.get("spec") or {}).get("validationActions") or []
        return [*super().validate_create(obj), *_action_errors(actions)]


def _validation_errors(validation: JSONObject, path: str, scope: Scope) -> Iterator[FieldError]:
    text, message = validation.get("expression") or "", validation.get("message") or ""
    said = validation.get("messageExpression") or ""
    if not text.strip():
        yield required(f"{path}.expression", "expression is not specified")
    else:
        yield from expression_errors(text, f"{path}.expression", scope, types.BOOL)
    if said and not said.strip():
        yield invalid(f"{path}.messageExpression", said, "must be non-empty if specified")
    elif said:
        yield from expression_errors(said, f"{path}.messageExpression", scope, types.STRING)
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


# Mutating policies


class MutatingPolicy(_Policy):
    """Strategy of MutatingAdmissionPolicies."""

    operations = _MUTABLE

    def own_errors(self, obj: JSONObject, spec: JSONObject, scope: Scope) -> Iterator[FieldError]:
        """Validates mutations."""
        mutations = spec.get("mutations") or []
        if not mutations:
            yield required("spec.mutations", "mutations must contain at least one item")
        for number, mutation in enumerate(mutations):
            yield from _mutation_errors(mutation, f"spec.mutations[{number}]", scope.for_patches())
        reinvocation = spec.get("reinvocationPolicy") or ""
        if not reinvocation:
            yield required("spec.reinvocationPolicy")
        elif reinvocation not in _REINVOCATION:
            yield not_supported("spec.reinvocationPolicy", reinvocation, _REINVOCATION)


class MutatingBinding(_Binding):
    """Strategy of MutatingAdmissionPolicyBindings."""

    operations = _MUTABLE


def _mutation_errors(mutation: JSONObject, path: str, scope: Scope) -> Iterator[FieldError]:
    patch_type = mutation.get("patchType") or ""
    if not patch_type:
        yield required(f"{path}.patchType")
        return
    if patch_type not in _PATCHES:
        yield not_supported(f"{path}.patchType", patch_type, sorted(_PATCHES))
        return
    for name, (member, result) in _PATCHES.items():
        patch, here = mutation.get(member), f"{path}.{member}"
        if name != patch_type:
            if patch is not None:
                yield invalid(here, f"{{{member}}}", f"must not be specified when patchType is {patch_type}")
        elif patch is None:
            yield required(here, f"must be specified when patchType is {patch_type}")
        elif text := (patch.get("expression") or "").strip():
            yield from expression_errors(text, f"{here}.expression", scope, result)
        else:
            yield required(f"{here}.expression")
