"""ValidatingAdmissionPolicies and MutatingAdmissionPolicies, with their bindings: CEL expressions about writes.

`add_policies` makes a cluster accept them and evaluate them on every write. The same engine evaluates the match
conditions of webhooks. Policies can use `object`, `oldObject`, `request`, `namespaceObject`, `params` and their own
`variables`. The `authorizer` and mutations of a scale are rejected with 501. Without the extra `test`, all policies are
rejected.

A policy and its bindings apply as soon as they are written; the real server needs a moment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewright.cluster.policies._install import add_policies
from kubewright.lazy import lazy_exports

if TYPE_CHECKING:
    from kubewright.cluster.policies._conditions import PolicyConditions

__all__ = ["PolicyConditions", "add_policies"]

if not TYPE_CHECKING:  # type checkers report names that do not exist
    __getattr__ = lazy_exports(__name__, {"PolicyConditions": "_conditions"})
