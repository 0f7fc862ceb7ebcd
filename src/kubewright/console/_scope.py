"""Keys of the ASGI scope, by which the middleware of the server hands values to the pages."""

from __future__ import annotations

from typing import Final

__all__ = ["BACKEND", "SESSION"]

SESSION: Final = "kubewright.session"
"""The `Session` of a request."""

BACKEND: Final = "kubewright.backend"
"""The backend of the requested kubeconfig context, and the viewer there. Set for requests of pages only."""
