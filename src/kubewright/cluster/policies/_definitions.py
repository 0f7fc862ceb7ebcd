"""`Definitions`: policies with their bindings, compiled on first use after a change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

from kubewright.api import Selector
from kubewright.api.cel import JSON_PATCH, OBJECT, types
from kubewright.cluster.admission.matching import label_selector
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.policies._expressions import Expression, Scope, compiled
from kubewright.cluster.storage._storage import Entry, Storage

__all__ = [
    "Binding",
    "Definitions",
    "Match",
    "MutatingPolicy",
    "Mutation",
    "Policy",
    "ValidatingPolicy",
    "Validation",
    "mutating_policies",
    "validating_policies",
]

P = TypeVar("P", bound="Policy")

_GROUP: Final = "admissionregistration.k8s.io"


@dataclass(frozen=True, slots=True)
class Match:
    """The writes that match: `matchConstraints` of a policy, `matchResources` of a binding."""

    spec: JSONObject
    namespaces: Selector
    objects: Selector


def _match(spec: JSONObject) -> Match:
    return Match(spec, label_selector(spec.get("namespaceSelector")), label_selector(spec.get("objectSelector")))


@dataclass(frozen=True, slots=True)
class Binding:
    """One binding. Without a `match` it does not restrict its policy."""

    name: str
    spec: JSONObject
    match: Match | None


@dataclass(slots=True, kw_only=True)
class Policy:
    """A compiled policy of either kind."""

    name: str
    spec: JSONObject
    match: Match
    conditions: list[Expression]
    variables: list[tuple[str, Expression]]
    bindings: list[Binding] = field(default_factory=list)

    @property
    def fails(self) -> bool:
        """Returns whether an error rejects the write."""
        return self.spec.get("failurePolicy") != "Ignore"


@dataclass(frozen=True, slots=True)
class Validation:
    """One validation of a policy."""

    raw: JSONObject
    expression: Expression
    message: Expression | None


@dataclass(slots=True, kw_only=True)
class ValidatingPolicy(Policy):
    """One ValidatingAdmissionPolicy."""

    validations: list[Validation]
    annotations: list[tuple[str, Expression]]


@dataclass(frozen=True, slots=True)
class Mutation:
    """One mutation of a policy: an `Object` to apply, or a list of JSON Patch operations."""

    is_json_patch: bool
    expression: Expression


@dataclass(slots=True, kw_only=True)
class MutatingPolicy(Policy):
    """One MutatingAdmissionPolicy."""

    mutations: list[Mutation]


class Definitions(Generic[P]):
    """The policies of one kind that have a binding, by name."""

    def __init__(self, storage: Storage, kind: str, read: Callable[[str, JSONObject], P]) -> None:
        self._storage = storage
        self._storages = (f"{_GROUP}/{kind}admissionpolicies", f"{_GROUP}/{kind}admissionpolicybindings")
        self._compile = read
        self._entries: tuple[list[Entry], ...] = ()
        self._policies: list[P] = []

    def all(self) -> list[P]:
        """Returns every policy that has a binding."""
        entries = tuple(list(self._storage.entries(storage)) for storage in self._storages)
        if entries != self._entries:
            self._entries = entries
            self._policies = self._read(*entries)
        return self._policies

    def _read(self, policies: list[Entry], bindings: list[Entry]) -> list[P]:
        bound: dict[str, list[Binding]] = {}
        for entry in bindings:
            spec = entry.decode()["spec"]
            match = spec.get("matchResources")
            made = Binding(entry.name, spec, None if match is None else _match(match))
            bound.setdefault(spec["policyName"], []).append(made)
        found = [self._compile(entry.name, entry.decode()["spec"]) for entry in policies if entry.name in bound]
        for policy in found:
            policy.bindings = bound[policy.name]
        return found


def validating_policies(storage: Storage) -> Definitions[ValidatingPolicy]:
    """Returns the ValidatingAdmissionPolicies of a cluster."""
    return Definitions(storage, "validating", _validating)


def mutating_policies(storage: Storage) -> Definitions[MutatingPolicy]:
    """Returns the MutatingAdmissionPolicies of a cluster."""
    return Definitions(storage, "mutating", _mutating)


def _common(name: str, spec: JSONObject) -> tuple[Scope, dict[str, Any]]:
    """Returns the scope of the policy's expressions, and the fields that both kinds have."""
    scope = Scope(has_params=spec.get("paramKind") is not None, has_variables=True, fields={})
    assert scope.fields is not None
    variables = []
    for variable in spec.get("variables") or ():
        expression = compiled(variable["expression"], scope)
        variables.append((variable["name"], expression))
        scope.fields[variable["name"]] = types.DYN if expression.program is None else expression.program.checked.type
    conditions = [compiled(each["expression"], scope, types.BOOL) for each in spec.get("matchConditions") or ()]
    match = _match(spec["matchConstraints"])
    return scope, {"name": name, "spec": spec, "match": match, "conditions": conditions, "variables": variables}


def _validating(name: str, spec: JSONObject) -> ValidatingPolicy:
    scope, common = _common(name, spec)
    return ValidatingPolicy(
        **common,
        validations=[_validation(each, scope) for each in spec.get("validations") or ()],
        annotations=[
            (each["key"], compiled(each["valueExpression"], scope, types.STRING, types.NULL))
            for each in spec.get("auditAnnotations") or ()
        ],
    )


def _validation(raw: JSONObject, scope: Scope) -> Validation:
    message = raw.get("messageExpression")
    compiled_message = compiled(message, scope, types.STRING) if message else None
    return Validation(raw, compiled(raw["expression"], scope, types.BOOL), compiled_message)


def _mutating(name: str, spec: JSONObject) -> MutatingPolicy:
    scope, common = _common(name, spec)
    return MutatingPolicy(**common, mutations=[_mutation(each, scope.for_patches()) for each in spec["mutations"]])


def _mutation(raw: JSONObject, scope: Scope) -> Mutation:
    if raw["patchType"] == "JSONPatch":
        return Mutation(True, compiled(raw["jsonPatch"]["expression"], scope, types.list_of(JSON_PATCH)))
    return Mutation(False, compiled(raw["applyConfiguration"]["expression"], scope, OBJECT))
