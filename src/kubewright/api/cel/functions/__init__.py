"""Implementations of CEL's functions by name: CEL's own, its extensions, and Kubernetes'."""

from __future__ import annotations

from kubewright.api.cel.functions._implementations import IMPLEMENTATIONS

__all__ = ["IMPLEMENTATIONS"]
