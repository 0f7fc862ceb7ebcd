"""`actions_of`: what a viewer can do with an object beyond editing it. Pure: an `Action` describes one request.

Every action is one merge patch, sent with the viewer's own credentials, so RBAC decides. It names the kubectl command
that does the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from shlex import quote
from typing import Any, Final

from kubewright.api import info_of
from kubewright.console.kinds import Kind
from kubewright.controller import RECONCILE_ANNOTATION
from kubewright.pausing import PAUSE_ANNOTATION, pause_of

__all__ = ["Action", "actions_of", "kubectl", "scaled_to"]

_RESTARTED_AT: Final = "kubectl.kubernetes.io/restartedAt"  # the annotation of `kubectl rollout restart`
_ROLLOUTS: Final = frozenset(["apps/deployments", "apps/statefulsets", "apps/daemonsets"])


@dataclass(frozen=True)
class Action:
    """One action on one object."""

    name: str
    title: str
    icon: str
    explanation: str
    patch: Mapping[str, Any] = field(default_factory=dict)
    """The merge patch. For scaling, it depends on the number (`scaled_to`)."""
    subresource: str = ""
    command: str = ""
    """The kubectl command that does the same."""
    replicas: int | None = None
    """The current number of replicas, if the action asks for a new one."""


def actions_of(
    kind: Kind,
    namespace: str,
    name: str,
    obj: Mapping[str, Any],
    now: datetime,
    *,
    pause_annotation: str = PAUSE_ANNOTATION,
) -> list[Action]:
    """Returns the actions that the kind supports. It does not check whether the viewer may perform them.

    `pause_annotation` is the one that the kind's operator uses.
    """
    target = f"{_resource(kind)}/{quote(name)}" + (f" --namespace {quote(namespace)}" if namespace else "")
    stamp = now.isoformat(timespec="seconds").replace("+00:00", "Z")
    found: list[Action] = []
    if kind.custom:
        found.append(
            Action(
                "reconcile",
                "Reconcile now",
                "sync",
                "Sets an annotation. An operator that is built with Kubewright, or that reconciles every change, then "
                "reconciles the object.",
                {"metadata": {"annotations": {RECONCILE_ANNOTATION: stamp}}},
                command=f"kubectl annotate {target} --overwrite {RECONCILE_ANNOTATION}={stamp}",
            )
        )
        found.append(_pause_or_resume(target, obj, pause_annotation))
    if "scale" in info_of(kind.resource).subresources:
        replicas = (obj.get("spec") or {}).get("replicas")
        current = replicas if isinstance(replicas, int) and not isinstance(replicas, bool) else 1
        found.append(
            Action(
                "scale",
                "Scale",
                "unfold_more",
                "Changes the number of replicas.",
                subresource="scale",
                command=f"kubectl scale {target} --replicas",
                replicas=current,
            )
        )
    if kind.path in _ROLLOUTS:
        found.append(
            Action(
                "restart",
                "Restart rollout",
                "restart_alt",
                "Replaces all pods, following the update strategy.",
                {"spec": {"template": {"metadata": {"annotations": {_RESTARTED_AT: stamp}}}}},
                command=f"kubectl rollout restart {target}",
            )
        )
    return found


def _pause_or_resume(target: str, obj: Mapping[str, Any], annotation: str) -> Action:
    annotations = (obj.get("metadata") or {}).get("annotations") or {}
    if pause_of({name: value for name, value in annotations.items() if isinstance(value, str)}, annotation):
        return Action(
            "resume",
            "Resume",
            "play_arrow",
            "Removes the annotation that pauses the object. An operator that is built with Kubewright then reconciles "
            "the object immediately.",
            {"metadata": {"annotations": {annotation: None}}},
            command=f"kubectl annotate {target} {annotation}-",
        )
    return Action(
        "pause",
        "Pause",
        "pause",
        "Sets an annotation. An operator that is built with Kubewright then does not reconcile the object until it is "
        "resumed, and does not run its finalizers.",
        {"metadata": {"annotations": {annotation: "true"}}},
        command=f"kubectl annotate {target} --overwrite {annotation}=true",
    )


def scaled_to(replicas: int) -> dict[str, Any]:
    """Returns the patch of the subresource `scale`."""
    return {"spec": {"replicas": replicas}}


def kubectl(verb: str, kind: Kind, namespace: str, name: str, *options: str) -> str:
    """Returns a kubectl command about an object."""
    where = ["--namespace", quote(namespace)] if namespace else []
    return " ".join(["kubectl", verb, _resource(kind), quote(name), *where, *options])


def _resource(kind: Kind) -> str:
    return f"{kind.plural}.{kind.group}" if kind.group else kind.plural
