"""`PodRunner`: the part of a node that really runs pods, instead of simulating them."""

from __future__ import annotations

from typing import Any, Protocol

from kubewright.api import core

__all__ = ["PodRunner"]


class PodRunner(Protocol):
    """Runs some of the pods of a node."""

    def notice(self, pod: core.Pod) -> bool:
        """Takes a state of a pod of this node. Returns False if the node is to simulate the pod."""

    def forget(self, uid: str) -> None:
        """Ends everything that runs for a pod that no longer exists."""

    def node_status(self) -> dict[str, Any]:
        """Returns fields of the node's status that differ from those of a simulated node."""
