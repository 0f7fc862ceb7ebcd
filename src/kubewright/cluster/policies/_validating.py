"""`ValidatingPolicies`: the admission plugin for ValidatingAdmissionPolicies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import msgspec

from kubewright.api.cel import EvaluationError
from kubewright.cluster._state import State
from kubewright.cluster.admission import Attributes, ConditionError
from kubewright.cluster.admission.matching import VersionedObject, expression_request
from kubewright.cluster.machinery._failures import Failure
from kubewright.cluster.policies._conditions import all_hold
from kubewright.cluster.policies._definitions import Binding, ValidatingPolicy, Validation, validating_policies
from kubewright.cluster.policies._expressions import Budget, OutOfBudget, values_of, with_variables
from kubewright.cluster.policies._params import ParamsError, params_of
from kubewright.cluster.policies._plugin import PolicyPlugin

__all__ = ["ValidatingPolicies"]

_CODES: Final = {"Forbidden": 403, "Unauthorized": 401, "RequestEntityTooLarge": 413}
_LONGEST_MESSAGE: Final = 5 * 1024
_LONGEST_ANNOTATION: Final = 10 * 1024
_FAILURE: Final = "validation.policy.admission.k8s.io/validation_failure"


@dataclass(frozen=True, slots=True)
class _Denial:
    """The denial of a write by a policy."""

    policy: ValidatingPolicy
    binding: Binding | None
    message: str
    reason: str = "Invalid"

    @property
    def text(self) -> str:
        by = f" with binding '{self.binding.name}'" if self.binding is not None else ""
        return f"ValidatingAdmissionPolicy '{self.policy.name}'{by} denied request: {self.message}"


class ValidatingPolicies(PolicyPlugin[ValidatingPolicy]):
    """Runs every policy with a matching binding."""

    name = "ValidatingAdmissionPolicy"

    def __init__(self, state: State) -> None:
        super().__init__(state, validating_policies(state.storage))

    async def validate(self, attributes: Attributes) -> None:
        """Rejects a write that a policy denies, with the first denial."""
        denials: list[_Denial] = []
        for policy in self.definitions.all():
            type_ = self.matched(policy.match, attributes)
            if type_ is None:
                continue
            versioned = VersionedObject(attributes)
            await versioned.convert_to(type_)
            request, namespace = expression_request(attributes, type_), self.namespace_of(attributes)
            values = values_of(request, versioned.object, versioned.old, namespace)
            collected: dict[str, list[str]] = {}
            for binding in policy.bindings:
                if self.is_bound(binding, attributes):
                    denials += self._evaluate(policy, binding, attributes, values, collected)
            for key, strings in collected.items():
                attributes.annotations[f"{policy.name}/{key}"] = ", ".join(strings)
        if denials:
            raise _refusal(attributes, denials[0])

    def _evaluate(
        self,
        policy: ValidatingPolicy,
        binding: Binding,
        attributes: Attributes,
        values: dict[str, Any],
        collected: dict[str, list[str]],
    ) -> list[_Denial]:
        try:
            params = params_of(self.state, policy, binding, attributes.namespace)
        except ParamsError as error:
            message = f"failed to configure binding: {error}"
            return [_Denial(policy, binding, message)] if policy.fails else []
        denied: list[_Denial] = []
        for param in params:
            for number, denial in self._decisions(policy, binding, {**values, "params": param}, collected):
                for action in binding.spec.get("validationActions") or ():
                    self._act(action, denial, number, attributes, denied)
        return denied

    def _act(self, action: str, denial: _Denial, number: int, attributes: Attributes, denied: list[_Denial]) -> None:
        binding = denial.binding
        assert binding is not None
        match action:
            case "Deny":
                denied.append(denial)
            case "Warn":
                by = f"ValidatingAdmissionPolicy '{denial.policy.name}' with binding '{binding.name}'"
                attributes.warnings.append(f"Validation failed for {by}: {denial.message}")
            case "Audit":
                failure = {
                    "message": denial.message,
                    "policy": denial.policy.name,
                    "binding": binding.name,
                    "expressionIndex": number,
                    "validationActions": binding.spec["validationActions"],
                }
                attributes.annotations[_FAILURE] = msgspec.json.encode([failure]).decode()

    def _decisions(
        self,
        policy: ValidatingPolicy,
        binding: Binding,
        values: dict[str, Any],
        collected: dict[str, list[str]],
    ) -> list[tuple[int, _Denial]]:
        """Returns the denials of a policy's validations, by index."""
        budget = Budget()
        values = with_variables(values, policy.variables, budget)
        try:
            # Match conditions do not see the namespace.
            if not all_hold(policy.conditions, {**values, "namespaceObject": None}):
                return []
        except ConditionError as error:
            return [(0, _Denial(policy, binding, str(error)))] if policy.fails else []
        found = []
        try:
            for number, validation in enumerate(policy.validations):
                denial = _decision(policy, binding, validation, values, budget)
                if denial is not None:
                    found.append((number, denial))
        except OutOfBudget as error:
            return [(0, _Denial(policy, binding, str(error)))] if policy.fails else []
        return [*found, *_annotate(policy, binding, values, collected)]


def _decision(
    policy: ValidatingPolicy, binding: Binding, validation: Validation, values: dict[str, Any], budget: Budget
) -> _Denial | None:
    expression = validation.expression
    if expression.program is None:
        message = f"compilation error: {expression.problem}"
        return _Denial(policy, binding, message) if policy.fails else None
    try:
        if budget.run(expression.program, values) is True:
            return None
    except EvaluationError as error:
        message = f"expression '{expression.text}' resulted in error: {error}"
        return _Denial(policy, binding, message) if policy.fails else None
    custom = _message(validation, values, budget)
    message = custom or (validation.raw.get("message") or "").strip()
    message = message or f"failed expression: {expression.text.strip()}"
    return _Denial(policy, binding, message, validation.raw.get("reason") or "Invalid")


def _message(validation: Validation, values: dict[str, Any], budget: Budget) -> str:
    """Returns the result of the message expression, or an empty string if it is not a valid message."""
    if validation.message is None or validation.message.program is None:
        return ""
    try:
        text = budget.run(validation.message.program, values)
    except EvaluationError:
        return ""
    text = text.strip() if isinstance(text, str) else ""
    return "" if len(text.encode()) > _LONGEST_MESSAGE or "\n" in text else text


def _annotate(
    policy: ValidatingPolicy, binding: Binding, values: dict[str, Any], collected: dict[str, list[str]]
) -> list[tuple[int, _Denial]]:
    """Collects the audit annotations. Returns a denial for each that cannot be evaluated."""
    budget, found = Budget(), []
    for key, expression in policy.annotations:
        try:
            if expression.program is None:
                raise EvaluationError(expression.problem)
            value = budget.run(expression.program, values)
        except (EvaluationError, OutOfBudget) as error:
            if policy.fails:
                message = f"expression '{expression.text}' resulted in error: {error}"
                found.append((0, _Denial(policy, binding, message)))
            continue
        text = value.strip()[:_LONGEST_ANNOTATION] if isinstance(value, str) else ""
        if text and text not in collected.setdefault(key, []):
            collected[key].append(text)
    return found


def _refusal(attributes: Attributes, denial: _Denial) -> Failure:
    failure = attributes.forbidden(denial.text)
    failure.code = _CODES.get(denial.reason, 422)
    failure.reason = denial.reason
    failure.details = {**(failure.details or {}), "causes": [{"message": denial.text}]}
    return failure
