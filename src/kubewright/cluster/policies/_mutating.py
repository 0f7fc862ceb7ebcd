"""`MutatingPolicies`: the admission plugin for MutatingAdmissionPolicies.

Policies run one after another, by name, and their mutations in order; each sees the result of the ones before it.
Policies with the reinvocation policy IfNeeded run once more if the object changed.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass

from kubewright.api.cel import EvaluationError
from kubewright.cluster._state import State
from kubewright.cluster.admission import Attributes, ConditionError
from kubewright.cluster.admission.matching import Reinvocations, VersionedObject, expression_request
from kubewright.cluster.machinery._failures import Failure, internal, unsupported
from kubewright.cluster.machinery._resources import JSONObject, ResourceType, UnreadableObject
from kubewright.cluster.policies._conditions import all_hold
from kubewright.cluster.policies._definitions import Binding, MutatingPolicy, Mutation, mutating_policies
from kubewright.cluster.policies._expressions import Budget, OutOfBudget, values_of, with_variables
from kubewright.cluster.policies._params import ParamsError, params_of
from kubewright.cluster.policies._patchers import Unmutable, applied, json_patched
from kubewright.cluster.policies._plugin import PolicyPlugin

__all__ = ["MutatingPolicies"]


@dataclass(frozen=True, slots=True)
class _Invocation:
    """One evaluation of a policy: there is one for each parameter."""

    policy: MutatingPolicy
    binding: Binding
    type: ResourceType
    params: JSONObject | None

    @property
    def key(self) -> str:
        metadata = (self.params or {}).get("metadata") or {}
        return "/".join((self.policy.name, self.binding.name, metadata.get("namespace", ""), metadata.get("name", "")))


@dataclass(frozen=True, slots=True)
class _Error:
    """An error of a policy."""

    policy: MutatingPolicy
    binding: Binding
    message: str
    reason: str = ""

    @property
    def text(self) -> str:
        return f"policy '{self.policy.name}' with binding '{self.binding.name}' denied request: {self.message}"


class MutatingPolicies(PolicyPlugin[MutatingPolicy]):
    """Runs every policy with a matching binding, in the mutating phase."""

    name = "MutatingAdmissionPolicy"

    def __init__(self, state: State) -> None:
        super().__init__(state, mutating_policies(state.storage))

    async def mutate(self, attributes: Attributes) -> None:
        """Applies the mutations of all policies. An error rejects the write unless the failure policy is Ignore."""
        errors: list[_Error] = []
        invocations = self._invocations(attributes, errors)
        if invocations:
            await self._invoke(invocations, attributes, errors)
        errors = [error for error in errors if error.policy.fails]
        if errors:
            raise _refusal(attributes, errors)

    def _invocations(self, attributes: Attributes, errors: list[_Error]) -> list[_Invocation]:
        found = []
        for policy in self.definitions.all():
            type_ = self.matched(policy.match, attributes)
            if type_ is None:
                continue
            for binding in policy.bindings:
                if not self.is_bound(binding, attributes):
                    continue
                try:
                    params = params_of(self.state, policy, binding, attributes.namespace)
                except ParamsError as error:
                    errors.append(_Error(policy, binding, f"failed to configure binding: {error}"))
                    continue
                found += [_Invocation(policy, binding, type_, each) for each in params]
        return found

    async def _invoke(self, invocations: list[_Invocation], attributes: Attributes, errors: list[_Error]) -> None:
        reinvocations: Reinvocations = attributes.notes.setdefault(self.name, Reinvocations())
        if attributes.round and attributes.object != reinvocations.last_object:
            reinvocations.schedule()
        versioned, namespace = VersionedObject(attributes), self.namespace_of(attributes)
        for invocation in invocations:
            await versioned.convert_to(invocation.type)
            request = expression_request(attributes, invocation.type)
            values = values_of(request, versioned.object, versioned.old, namespace, invocation.params)
            if not self._conditions_hold(invocation, values, errors):
                continue
            if attributes.round and invocation.key not in reinvocations.due:
                continue
            if not versioned.is_resource:
                raise unsupported(f"mutating policies about {attributes.type.plural}/{attributes.subresource}")
            before = versioned.object
            for mutation in invocation.policy.mutations:
                if versioned.object is None:
                    continue
                values["object"] = versioned.object
                try:
                    versioned.replace(_mutated(invocation, mutation, values))
                except Unmutable as error:
                    errors.append(_Error(invocation.policy, invocation.binding, str(error), "Invalid"))
                except UnreadableObject as error:
                    raise internal(str(error)) from None
            if versioned.object != before:
                reinvocations.schedule()
            if invocation.policy.spec.get("reinvocationPolicy") == "IfNeeded":
                reinvocations.called.add(invocation.key)
        if versioned.changed and versioned.object is not None:
            reinvocations.schedule()
            attributes.reinvoke = True
            await versioned.convert_to(attributes.type)
            attributes.replace(versioned.object)
        reinvocations.last_object = deepcopy(attributes.object)

    def _conditions_hold(self, invocation: _Invocation, values: JSONObject, errors: list[_Error]) -> bool:
        """Returns whether the match conditions of the policy hold."""
        policy = invocation.policy
        try:  # match conditions do not see the namespace
            visible = with_variables({**values, "namespaceObject": None}, policy.variables, Budget())
            return all_hold(policy.conditions, visible)
        except ConditionError as error:
            errors.append(_Error(policy, invocation.binding, str(error), "Invalid"))
            return False


def _mutated(invocation: _Invocation, mutation: Mutation, values: JSONObject) -> JSONObject:
    """Returns the object after one mutation. Raises `Unmutable`."""
    budget, expression = Budget(), mutation.expression
    if expression.program is None:
        raise Unmutable(expression.problem)
    try:
        made = budget.run(expression.program, with_variables(values, invocation.policy.variables, budget))
    except EvaluationError as error:
        raise Unmutable(f"expression '{expression.text}' resulted in error: {error}") from None
    except OutOfBudget as error:
        raise Unmutable(str(error)) from None
    return (json_patched if mutation.is_json_patch else applied)(invocation.type, values["object"], made)


def _refusal(attributes: Attributes, errors: list[_Error]) -> Failure:
    failure = attributes.forbidden(errors[0].text)
    failure.message = errors[0].text
    failure.reason = errors[0].reason or failure.reason
    failure.details = {**(failure.details or {}), "causes": [{"message": error.text} for error in errors]}
    return failure
