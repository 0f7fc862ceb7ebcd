"""ValidatingAdmissionPolicies from the CEL rules of a kind.

The definition already contains the rules. A policy with the same rules can do more: it can be bound to some namespaces,
warn or audit before it denies, and be tightened without changing the kind.

A policy has no `self`: each rule is wrapped so that its part of the object has that name. Rules that a policy cannot
express are left out and reported: rules about changes inside of lists and maps, and rules that also apply to creations.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from kubewright.api import Object, ObjectMeta, admissionregistration, info_of
from kubewright.api.schema import cel_name, schema_of
from kubewright.manifests._write import File, yaml_file

__all__ = ["Policies", "policies_of", "policy_files"]

_RULES: Final = "x-kubernetes-validations"
_OLD_SELF: Final = re.compile(r"(?<![\w.])oldSelf(?!\w)")
_MAX_MESSAGE_LENGTH: Final = 1024


@dataclass(frozen=True)
class Policies:
    """The policy of a kind, its binding, which denies, and a message for each rule that it cannot express."""

    policy: admissionregistration.ValidatingAdmissionPolicy
    binding: admissionregistration.ValidatingAdmissionPolicyBinding
    left_out: list[str]


def policies_of(kind: type[Object]) -> Policies | None:
    """Returns the CEL rules of a kind as a policy; None if it has no rules."""
    info, left_out = info_of(kind), list[str]()
    validations = [
        validation
        for place, rule in _rules(schema_of(kind), _SchemaPath())
        if (validation := _validation(place, rule, left_out)) is not None
    ]
    if not validations:
        return None
    name = f"{info.version}.{info.plural}.{info.group}"
    match = admissionregistration.MatchResources(
        resource_rules=[
            admissionregistration.NamedRuleWithOperations(
                api_groups=[info.group],
                api_versions=[info.version],
                resources=[info.plural],
                operations=["CREATE", "UPDATE"],
            )
        ]
    )
    policy = admissionregistration.ValidatingAdmissionPolicy(
        metadata=ObjectMeta(name=name),
        spec=admissionregistration.ValidatingAdmissionPolicySpec(
            failure_policy="Fail", match_constraints=match, validations=validations
        ),
    )
    binding = admissionregistration.ValidatingAdmissionPolicyBinding(
        metadata=ObjectMeta(name=name),
        spec=admissionregistration.ValidatingAdmissionPolicyBindingSpec(policy_name=name, validation_actions=["Deny"]),
    )
    return Policies(policy, binding, left_out)


def policy_files(kinds: Iterable[type[Object]]) -> tuple[list[File], list[str]]:
    """Returns `policy/<group>_<plural>_<version>.yaml` for each kind with rules, and the rules that were left out."""
    from kubewright.manifests._files import kustomization

    files, left_out = list[File](), list[str]()
    for kind in kinds:
        made = policies_of(kind)
        if made is not None:
            info = info_of(kind)
            path = f"policy/{info.group}_{info.plural}_{info.version}.yaml"
            files.append(yaml_file(path, made.policy, made.binding))
            left_out += [f"{info}: {text}" for text in made.left_out]
    return [*files, *kustomization("policy", files)], left_out


@dataclass(frozen=True)
class _SchemaPath:
    """A part of the object: its CEL expression, and the conditions under which it exists."""

    path: str = ""
    """The path in error messages: `.spec.ports[*]`."""
    steps: tuple[tuple[str, str], ...] = ()
    """Pairs of a step and a name: `("member", "spec")`, `("items", "")`, `("values", "")`."""

    def member(self, name: str) -> _SchemaPath:
        return _SchemaPath(f"{self.path}.{name}", (*self.steps, ("member", name)))

    def elements(self, how: str) -> _SchemaPath:
        return _SchemaPath(f"{self.path}[*]", (*self.steps, (how, "")))

    @property
    def is_plain(self) -> bool:
        """Whether only members lead here, so that the old value is known."""
        return all(how == "member" for how, _ in self.steps)


def _rules(schema: Mapping[str, Any], place: _SchemaPath) -> Iterator[tuple[_SchemaPath, Mapping[str, Any]]]:
    for rule in schema.get(_RULES, ()):
        yield place, rule
    for name, part in schema.get("properties", {}).items():
        yield from _rules(part, place.member(name))
    if isinstance(items := schema.get("items"), Mapping):
        yield from _rules(items, place.elements("items"))
    if isinstance(values := schema.get("additionalProperties"), Mapping):
        yield from _rules(values, place.elements("values"))


def _validation(
    place: _SchemaPath, rule: Mapping[str, Any], left_out: list[str]
) -> admissionregistration.Validation | None:
    text = rule["rule"].strip()
    about_changes = _OLD_SELF.search(text) is not None
    if rule.get("optionalOldSelf"):
        left_out.append(f"{place.path or '.'}: {text}: it also applies to creations, which a policy cannot express")
        return None
    if about_changes and not place.is_plain:
        left_out.append(f"{place.path}: {text}: a policy does not know the old value of an element")
        return None
    expression = _bound(place.steps, "object", "self", text)
    if about_changes:
        inside = _bound(place.steps, "oldObject", "oldSelf", text)
        expression = f"request.operation != 'UPDATE' || {_bound(place.steps, 'object', 'self', inside)}"
    where = place.path.removeprefix(".")
    said = rule.get("message") or f"failed rule: {' '.join(text.split())}"
    return admissionregistration.Validation(
        expression=expression,
        message=(f"{where}: {said}" if where else said)[:_MAX_MESSAGE_LENGTH],
        reason="Invalid",
    )


def _bound(steps: tuple[tuple[str, str], ...], here: str, name: str, rule: str, depth: int = 0) -> str:
    """Returns the rule, which is true if its part does not exist. The part gets a name: `[object.spec].all(self,
    ...)`.
    """
    if not steps:
        return f"[{here}].all({name}, {rule})"
    (how, member), rest = steps[0], steps[1:]
    if how == "member":
        there = f"{here}.{cel_name(member)}"
        return f"(!has({there}) || {there} == null || {_bound(rest, there, name, rule, depth)})"
    each = f"{name}Place{depth}"
    inner = each if how == "items" else f"{here}[{each}]"
    return f"{here}.all({each}, {_bound(rest, inner, name, rule, depth + 1)})"
