"""The common part of the plugins for both kinds of policies: matching."""

from __future__ import annotations

from typing import Generic, TypeVar

from kubewright.cluster._state import State
from kubewright.cluster.admission import Attributes, Plugin
from kubewright.cluster.admission.matching import is_exempt, matched_type, matches_namespace, matches_object
from kubewright.cluster.machinery._resources import JSONObject, ResourceType
from kubewright.cluster.policies._definitions import Binding, Definitions, Match, Policy

__all__ = ["PolicyPlugin"]

P = TypeVar("P", bound=Policy)


class PolicyPlugin(Plugin, Generic[P]):
    """An admission plugin that evaluates policies."""

    def __init__(self, state: State, definitions: Definitions[P]) -> None:
        self.state = state
        self.definitions = definitions

    def handles(self, attributes: Attributes) -> bool:
        """Returns whether any policy could apply."""
        return bool(self.definitions.all()) and not is_exempt(attributes)

    def matched(self, match: Match, attributes: Attributes) -> ResourceType | None:
        """Returns the version of the resource in which the write matches; None if it does not match."""
        if not matches_namespace(self.state, match.namespaces, attributes):
            return None
        if not matches_object(match.objects, attributes.object, attributes.old):
            return None
        spec, policy = match.spec, match.spec.get("matchPolicy") or ""
        excluded = _named(spec.get("excludeResourceRules"), attributes)
        if matched_type(self.state, excluded, policy, attributes) is not None:
            return None
        if not spec.get("resourceRules"):
            return attributes.type
        return matched_type(self.state, _named(spec["resourceRules"], attributes), policy, attributes)

    def is_bound(self, binding: Binding, attributes: Attributes) -> bool:
        """Returns whether a binding matches a write that its policy matches."""
        return binding.match is None or self.matched(binding.match, attributes) is not None

    def namespace_of(self, attributes: Attributes) -> JSONObject | None:
        """Returns the Namespace of the write."""
        if attributes.type.storage == "/namespaces" or not attributes.namespace:
            return None
        found = self.state.storage.get("/namespaces", "", attributes.namespace)
        return None if found is None else found.decode()


def _named(rules: list[JSONObject] | None, attributes: Attributes) -> list[JSONObject]:
    """Returns the rules without `resourceNames`, and those that name the object."""
    return [rule for rule in rules or () if attributes.name in (rule.get("resourceNames") or [attributes.name])]
