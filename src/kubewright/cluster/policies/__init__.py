"""ValidatingAdmissionPolicies and MutatingAdmissionPolicies, with their bindings: CEL expressions about writes.

`add_policies` makes a cluster accept them and evaluate them on every write. The same engine evaluates the match
conditions of webhooks. Policies can use `object`, `oldObject`, `request`, `namespaceObject`, `params` and their own
`variables`. The `authorizer` and mutations of a scale are rejected with 501. Without the extra `test`, all policies are
rejected.

A policy and its bindings apply as soon as they are written; the real server needs a moment.
"""

from __future__ import annotations

from kubewright.cluster.policies._conditions import PolicyConditions
from kubewright.cluster.policies._install import add_policies

__all__ = ["PolicyConditions", "add_policies"]
