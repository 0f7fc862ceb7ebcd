"""`add_node_calls`: serves `pods/binding` and `pods/eviction`."""

from __future__ import annotations

from typing import Final

from kubewright.cluster._state import State
from kubewright.cluster.dispatch._dispatcher import Dispatcher
from kubewright.cluster.machinery._calls import Call
from kubewright.cluster.machinery._responses import ApiResponse
from kubewright.cluster.nodes._bindings import bind
from kubewright.cluster.nodes._evictions import evict

__all__ = ["add_node_calls"]

_CALLS: Final = {"binding": bind, "eviction": evict}


def add_node_calls(dispatcher: Dispatcher) -> None:
    """Makes the dispatcher serve bindings and evictions."""
    dispatcher.supported |= {f"pods/{name}" for name in _CALLS}
    dispatcher.overrides.append(_override)


async def _override(state: State, call: Call) -> ApiResponse | None:
    if call.type.qualified != "pods" or call.subresource not in _CALLS:
        return None
    return await _CALLS[call.subresource](state, call)
