"""Admission webhooks: their configurations, and the plugins that call them.

`add_webhooks` makes a server accept MutatingWebhookConfigurations and ValidatingWebhookConfigurations and call the
webhooks that they name.
"""

from __future__ import annotations

from kubewright.cluster.admission.webhooks._install import add_webhooks
from kubewright.cluster.admission.webhooks._review import Response

__all__ = ["Response", "add_webhooks"]
