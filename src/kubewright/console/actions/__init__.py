"""Actions on objects beyond editing them: reconcile now, scale, restart a rollout, and kubectl commands.

`actions_of` returns the actions that a kind supports, as plain values. A page shows and sends them.
"""

from __future__ import annotations

from kubewright.console.actions._actions import Action, actions_of, kubectl, scaled_to

__all__ = ["Action", "actions_of", "kubectl", "scaled_to"]
