"""The admission plugin Priority, and the priority classes of the system."""

from __future__ import annotations

from typing import Final

from kubewright.cluster._state import State
from kubewright.cluster.admission import Attributes, Plugin
from kubewright.cluster.machinery._resources import JSONObject

__all__ = ["PRIORITY_CLASSES", "Priorities"]

_CLASSES: Final = "scheduling.k8s.io/priorityclasses"
_PREEMPTS: Final = "PreemptLowerPriority"
PRIORITY_CLASSES: Final[dict[str, JSONObject]] = {
    "system-node-critical": {
        "value": 2_000_001_000,
        "description": "Used for system critical pods that must not be moved from their current node.",
        "preemptionPolicy": _PREEMPTS,
    },
    "system-cluster-critical": {
        "value": 2_000_000_000,
        "description": (
            "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary."
        ),
        "preemptionPolicy": _PREEMPTS,
    },
}
"""The classes that every cluster has, without metadata."""


class Priorities(Plugin):
    """Resolves the PriorityClass of new pods, and allows one default class."""

    name = "Priority"

    def __init__(self, state: State) -> None:
        self._state = state

    def handles(self, attributes: Attributes) -> bool:
        """Returns whether the write creates a pod, or concerns a class."""
        if attributes.subresource:
            return False
        if attributes.type.qualified == "pods":
            return attributes.operation == "CREATE"
        written = attributes.operation in ("CREATE", "UPDATE")
        return written and attributes.type.qualified == "priorityclasses.scheduling.k8s.io"

    def mutate(self, attributes: Attributes) -> None:
        """Sets the priority and the preemption policy of a pod."""
        if attributes.type.qualified != "pods":
            return
        assert attributes.object is not None
        spec: JSONObject = attributes.object.setdefault("spec", {})
        found = self._class_of(attributes, spec.get("priorityClassName") or "")
        if found is not None:
            spec["priorityClassName"] = found["metadata"]["name"]
        priority = found["value"] if found is not None else 0
        policy = found.get("preemptionPolicy") if found is not None else _PREEMPTS
        if spec.get("priority") is not None and spec["priority"] != priority:
            raise attributes.forbidden(
                f"the integer value of priority ({spec['priority']}) must not be provided in pod spec; priority "
                f"admission controller computed {priority} from the given PriorityClass name"
            )
        spec["priority"] = priority
        if policy is None:
            return
        if spec.get("preemptionPolicy") is not None and spec["preemptionPolicy"] != policy:
            raise attributes.forbidden(
                f"the string value of PreemptionPolicy ({spec['preemptionPolicy']}) must not be provided in pod spec; "
                f"priority admission controller computed {policy} from the given PriorityClass name"
            )
        spec["preemptionPolicy"] = policy

    def validate(self, attributes: Attributes) -> None:
        """Rejects a second default class."""
        if attributes.type.qualified == "pods":
            return
        assert attributes.object is not None
        there = self._default() if attributes.object.get("globalDefault") else None
        if there is None:
            return
        name = there["metadata"]["name"]
        if attributes.operation == "CREATE" or name != attributes.object["metadata"].get("name"):
            raise attributes.forbidden(f"PriorityClass {name} is already marked as default. Only one default can exist")

    def _class_of(self, attributes: Attributes, name: str) -> JSONObject | None:
        """Returns the class with that name, or the default one for an empty name."""
        if not name:
            return self._default()
        found = self._state.storage.get(_CLASSES, "", name)
        if found is None:
            raise attributes.forbidden(f"no PriorityClass with name {name} was found")
        made: JSONObject = found.decode()
        return made

    def _default(self) -> JSONObject | None:
        """Returns the default class. If two clients created one each at the same time, the lower one."""
        entries = [entry for entry in self._state.storage.entries(_CLASSES) if b'"globalDefault":true' in entry.raw]
        return min((entry.decode() for entry in entries), key=lambda each: int(each["value"]), default=None)
