"""`add_webhooks`: enables webhooks on a server."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from kubewright.cluster.admission.webhooks._configurations import ConfigurationStrategy
from kubewright.cluster.admission.webhooks._plugins import MutatingWebhooks, ValidatingWebhooks

if TYPE_CHECKING:
    from kubewright.cluster.dispatch._dispatcher import Dispatcher

__all__ = ["add_webhooks"]

_GROUP: Final = "admissionregistration.k8s.io"


def add_webhooks(dispatcher: Dispatcher) -> None:
    """Makes the server accept webhook configurations and call their webhooks on each write."""
    state = dispatcher.state
    for plugin in (MutatingWebhooks, ValidatingWebhooks):
        found = state.types.find(_GROUP, "v1", plugin.plural)
        assert found is not None
        found.make_strategy = partial(
            ConfigurationStrategy, found.api_version, found.kind, found.qualified, state.admission
        )
        state.admission.add(plugin(state, state.webhook_client))
