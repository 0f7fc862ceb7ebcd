"""Finds the strategy of a built-in kind."""

from __future__ import annotations

from typing import Final

from kubewright.cluster.registry.strategies._builtin import (
    BuiltinStrategy,
    ImmutableDataStrategy,
    NamespaceStrategy,
    SecretStrategy,
)
from kubewright.cluster.registry.strategies._roles import ROLE_STRATEGIES
from kubewright.cluster.registry.strategies._workloads import WORKLOADS

__all__ = ["strategy_for"]

_STRATEGIES: Final[dict[tuple[str, str], type[BuiltinStrategy]]] = {
    ("", "ConfigMap"): ImmutableDataStrategy,
    ("", "Namespace"): NamespaceStrategy,
    ("", "Secret"): SecretStrategy,
    **WORKLOADS,
    **ROLE_STRATEGIES,
}


def strategy_for(api_version: str, kind: str, resource: str) -> BuiltinStrategy:
    """Returns the strategy of a built-in kind; `resource` is its qualified plural, such as `deployments.apps`."""
    strategy = _STRATEGIES.get((api_version.rpartition("/")[0], kind), BuiltinStrategy)
    return strategy(api_version, kind, resource)
