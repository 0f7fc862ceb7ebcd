"""Webhook configurations: from declarations to the objects that make the API server call the webhooks.

`mutating_configuration`, `validating_configuration` and `conversion_by` build the objects; manifests use them with the
address of a Service. `installed` creates them for a program outside the cluster, by URL, waits until the API server
calls the program, and deletes them at the end. It raises `WebhooksUnreachable` if the API server cannot connect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewright.lazy import lazy_exports

if TYPE_CHECKING:
    from kubewright.webhook.configurations._installing import WebhookAddress, WebhooksUnreachable, installed
    from kubewright.webhook.configurations._objects import (
        conversion_by,
        mutating_configuration,
        validating_configuration,
    )

__all__ = [
    "WebhookAddress",
    "WebhooksUnreachable",
    "conversion_by",
    "installed",
    "mutating_configuration",
    "validating_configuration",
]

# Imported on first use: the types of two API groups, which a deployed operator does not need.
_MODULES = {
    "WebhookAddress": "_installing",
    "WebhooksUnreachable": "_installing",
    "conversion_by": "_objects",
    "installed": "_installing",
    "mutating_configuration": "_objects",
    "validating_configuration": "_objects",
}

if not TYPE_CHECKING:  # type checkers report unknown names
    __getattr__ = lazy_exports(__name__, _MODULES)
