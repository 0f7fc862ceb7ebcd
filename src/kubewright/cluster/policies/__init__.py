"""ValidatingAdmissionPolicies and MutatingAdmissionPolicies, with their bindings: CEL about any write.

`add_policies` makes a cluster accept them, and ask them at every write. The same engine evaluates the match conditions
of webhooks. What a policy may ask: `object`, `oldObject`, `request`, `namespaceObject`, `params` and its own
`variables`. What it may not, and is refused with 501: the `authorizer`, and changes to a scale. Without the extra `cel`
policies are refused as a whole.

A policy and its bindings count from the moment of their writing, where the real server takes a moment.
"""

from __future__ import annotations

from kubewright.cluster.policies._room import add_policies

__all__ = ["add_policies"]
