"""Custom resource definitions of the embedded cluster: which ones it accepts, and how it validates their objects.

Supported are structural schemas with every OpenAPI validation, pruning, defaulting, printer columns, the status and
scale subresources, selectable fields, and several versions with the conversion strategies Webhook and None. CEL rules
are evaluated by `kubewright.api.cel` if the extra `test` is installed, and rejected with the reason otherwise.
"""

from __future__ import annotations

from kubewright.cluster.crds._registry import Definitions

__all__ = ["Definitions"]
