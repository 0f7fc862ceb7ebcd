"""`Authorizer`: decides by RBAC whether an action is allowed."""

from __future__ import annotations

from typing import Final

from kubewright.cluster._state import State
from kubewright.cluster.access._rbac import RBAC, Decision, RoleRef, Rules
from kubewright.cluster.access._requests import AccessRequest, refusal
from kubewright.cluster.access._rules import EVERYTHING, Rule
from kubewright.cluster.machinery._calls import User

__all__ = ["ALLOWED", "Authorizer"]

ALLOWED: Final = Decision(True)


class Authorizer:
    """Authorization of one server. Without `rbac` everything is allowed, as with the mode AlwaysAllow."""

    def __init__(self, state: State, *, rbac: bool) -> None:
        self.rbac = rbac
        self._policies = RBAC(state)

    def decide(self, access_request: AccessRequest) -> Decision:
        """Returns whether the action is allowed, and why."""
        return self._policies.decide(access_request) if self.rbac else ALLOWED

    def check(self, access_request: AccessRequest) -> None:
        """Raises the 403 of an action that is not allowed."""
        decision = self.decide(access_request)
        if not decision.allowed:
            raise refusal(access_request, decision.reason)

    def rules_for(self, user: User, namespace: str) -> Rules:
        """Returns all rules of a user in a namespace."""
        return self._policies.rules_for(user, namespace) if self.rbac else Rules(list(EVERYTHING), [])

    def rules_of(self, ref: RoleRef, namespace: str) -> tuple[Rule, ...] | None:
        """Returns the rules of a role, or None if it does not exist."""
        return self._policies.rules_of(ref, namespace)
