"""`Definitions`: policies with their bindings, compiled when they are first needed after a change."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from kubewright.api import Selector, SelectorError, from_dict
from kubewright.api.cel import types
from kubewright.cluster._kinds import JSONObject
from kubewright.cluster._storage import Entry, Storage
from kubewright.cluster.policies._expressions import Expression, Scope, compiled

__all__ = ["Binding", "Definitions", "Match", "Policy", "Validation", "selector_of"]

_POLICIES: Final = "admissionregistration.k8s.io/validatingadmissionpolicies"
_BINDINGS: Final = "admissionregistration.k8s.io/validatingadmissionpolicybindings"


def selector_of(given: JSONObject | None) -> Selector:
    """A label selector that was accepted."""
    from kubewright.api.meta.v1 import LabelSelector

    try:
        return Selector.from_label_selector(from_dict(LabelSelector, given or {}))
    except SelectorError:  # it was accepted, so this cannot be
        return Selector.nothing()


@dataclass(frozen=True, slots=True)
class Match:
    """Which writes are meant: `matchConstraints` of a policy, `matchResources` of a binding."""

    spec: JSONObject
    namespaces: Selector
    objects: Selector


def _match(spec: JSONObject) -> Match:
    return Match(spec, selector_of(spec.get("namespaceSelector")), selector_of(spec.get("objectSelector")))


@dataclass(frozen=True, slots=True)
class Binding:
    """One binding. Without a `match` it adds no condition of its own."""

    name: str
    spec: JSONObject
    match: Match | None


@dataclass(frozen=True, slots=True)
class Validation:
    """One rule of a policy."""

    raw: JSONObject
    expression: Expression
    message: Expression | None


@dataclass(slots=True)
class Policy:
    """One policy, compiled."""

    name: str
    spec: JSONObject
    match: Match
    conditions: list[Expression]
    variables: list[tuple[str, Expression]]
    validations: list[Validation]
    annotations: list[tuple[str, Expression]]
    bindings: list[Binding] = field(default_factory=list)

    @property
    def fails(self) -> bool:
        """Whether an error refuses the write."""
        return self.spec.get("failurePolicy") != "Ignore"


class Definitions:
    """The policies of a cluster that have a binding, by name."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._entries: tuple[list[Entry], list[Entry]] = ([], [])
        self._policies: list[Policy] = []

    def all(self) -> list[Policy]:
        """Every policy that somebody has bound."""
        entries = (list(self._storage.entries(_POLICIES)), list(self._storage.entries(_BINDINGS)))
        if entries != self._entries:
            self._entries = entries
            self._policies = self._read()
        return self._policies

    def _read(self) -> list[Policy]:
        bound: dict[str, list[Binding]] = {}
        for entry in self._entries[1]:
            spec = entry.decode()["spec"]
            match = spec.get("matchResources")
            made = Binding(entry.name, spec, None if match is None else _match(match))
            bound.setdefault(spec["policyName"], []).append(made)
        policies = [_policy(entry.name, entry.decode()["spec"]) for entry in self._entries[0] if entry.name in bound]
        for policy in policies:
            policy.bindings = bound[policy.name]
        return policies


def _policy(name: str, spec: JSONObject) -> Policy:
    scope = Scope(has_params=spec.get("paramKind") is not None, has_variables=True, fields={})
    assert scope.fields is not None
    variables = []
    for variable in spec.get("variables") or ():
        expression = compiled(variable["expression"], scope)
        variables.append((variable["name"], expression))
        scope.fields[variable["name"]] = types.DYN if expression.program is None else expression.program.checked.type
    return Policy(
        name=name,
        spec=spec,
        match=_match(spec["matchConstraints"]),
        conditions=[compiled(each["expression"], scope, types.BOOL) for each in spec.get("matchConditions") or ()],
        variables=variables,
        validations=[_validation(each, scope) for each in spec.get("validations") or ()],
        annotations=[
            (each["key"], compiled(each["valueExpression"], scope, types.STRING, types.NULL))
            for each in spec.get("auditAnnotations") or ()
        ],
    )


def _validation(raw: JSONObject, scope: Scope) -> Validation:
    message = raw.get("messageExpression")
    said = compiled(message, scope, types.STRING) if message else None
    return Validation(raw, compiled(raw["expression"], scope, types.BOOL), said)
