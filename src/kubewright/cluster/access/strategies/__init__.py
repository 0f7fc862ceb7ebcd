"""Strategies of the RBAC kinds: validation of roles and bindings."""

from __future__ import annotations

from kubewright.cluster.access.strategies._roles import ROLE_STRATEGIES

__all__ = ["ROLE_STRATEGIES"]
