"""Custom resource definitions of the embedded cluster: which ones it accepts, and how it validates their objects.

Supported are structural schemas with every OpenAPI validation, pruning, defaulting, printer columns, the status and
scale subresources, selectable fields, and several versions with the conversion strategies Webhook and None. CEL rules
are evaluated by `kubewright.api.cel` if the extra `test` is installed, and rejected with the reason otherwise.
"""

from __future__ import annotations

from kubewright.cluster.crds._nulls import drop_nulls
from kubewright.cluster.crds._registry import Definitions
from kubewright.cluster.crds._values import errors_of

__all__ = [
    "Definitions",
    "drop_nulls",
    "errors_of",
]
