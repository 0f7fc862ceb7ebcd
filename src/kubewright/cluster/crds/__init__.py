"""Custom resource definitions of the embedded cluster: which are accepted, and what their objects obey.

Structural schemas with every rule of OpenAPI, pruning, defaults, printer columns, the status and scale subresources,
selectable fields, and several versions: converted by a webhook, or different in nothing but their name. CEL rules are
evaluated by `kubewright.api.cel`, where the extra `cel` is installed, and refused with the reason elsewhere.
"""

from __future__ import annotations

from kubewright.cluster.crds._registry import Definitions

__all__ = ["Definitions"]
