"""Whether a container is started again: its rules, its policy, the policy of its pod. No I/O."""

from __future__ import annotations

from kubewright.api import core
from kubewright.cluster.processes._state import AnyContainer, ContainerKind

__all__ = ["restarts"]


def restarts(pod: core.Pod, container: AnyContainer, kind: ContainerKind, code: int) -> bool:
    """Returns whether a container that ended with this exit code is started again."""
    if kind in ("sidecar", "ephemeral"):
        return kind == "sidecar"
    for rule in container.restart_policy_rules or ():
        on = rule.exit_codes
        if on is not None and (code in (on.values or ())) == (on.operator == "In"):
            return rule.action == "Restart"
    policy = container.restart_policy or pod.spec.restart_policy or "Always"
    if kind == "init" and policy == "Always":
        policy = "OnFailure"
    return policy == "Always" or (policy == "OnFailure" and code != 0)
